"""Affinity: placements of processes and their memory in a plan, and what they are on a machine's layout.

A placement is stored as text, in one way of writing each. Everything here is pure: `loadcell.linux.cpu` reads
the layout of a machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from loadcell.model.message import Message, MessageCode
from loadcell.plan.parts import Advice, Options
from loadcell.plan.problems import INVALID, SettingError, nearest, shown

ALLOWED_CPUS = MessageCode("allowed.cpus")
ALLOWED_MEMORY = MessageCode("allowed.memory")
ALLOWED_NODE = MessageCode("allowed.node")
INVALID_NO_NUMBERS = MessageCode("plan.found-no-numbers", value=str, allowed=Message)
INVALID_BACKWARDS = MessageCode("plan.found-backwards", value=str, range=str, allowed=Message)
INVALID_TOO_LARGE_NUMBER = MessageCode("plan.found-too-large-number", value=str, number=str, allowed=Message)

#: levels that are made from the machine's layout
ONE_NODE, HALF, ALL = "one node", "half the cores", "all"
INTERLEAVE = "interleave"
#: what a processor's or a node's number may be: the most that Linux can be built for (CONFIG_NR_CPUS,
#: CONFIG_NODES_SHIFT)
_LARGEST = 8191


_NUMBERED = re.compile(r"(cpus?|nodes?)\s+(\S.*)", re.IGNORECASE)
_LIST = r"\d+(-\d+)?(,\d+(-\d+)?)*"


def numbers(text: str, allowed: MessageCode = ALLOWED_NODE) -> tuple[int, ...]:
    """`0-2,8` -> 0, 1, 2, 8. Raises SettingError."""
    numbers_set: set[int] = set()
    for part in text.split(","):
        first, dash, last = (word.strip() for word in part.partition("-"))
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise SettingError(INVALID_NO_NUMBERS(value=shown(text), allowed=allowed()))
        low, high = int(first), int(last or first)
        if high < low:
            message = INVALID_BACKWARDS(value=shown(text), range=f"{low}-{high}", allowed=allowed())
            raise SettingError(message, f"{high}-{low}")
        if high > _LARGEST:
            message = INVALID_TOO_LARGE_NUMBER(value=shown(text), number=str(high), allowed=allowed())
            raise SettingError(message)
        numbers_set.update(range(low, high + 1))
    return tuple(sorted(numbers_set))


def ranges(processors: Iterable[int]) -> str:
    """The other way round, as the kernel writes it: 0, 1, 2, 8 -> `0-2,8`."""
    parts: list[list[int]] = []
    for number in sorted(processors):
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in parts)


def _placement(value: Any, kinds: tuple[str, ...], words: tuple[str, ...], allowed: MessageCode) -> str:
    """The one way of writing what `value` says: a kind with its numbers, or one of the words."""
    if not isinstance(value, str):
        near = f"{kinds[0]}s {value}" if isinstance(value, int) and not isinstance(value, bool) else None
        raise SettingError(INVALID(value=shown(value), allowed=allowed()), near)
    text = " ".join(value.split())
    if text.lower() in words:
        return text.lower()
    numbered = _NUMBERED.fullmatch(text)
    kind = numbered[1].lower().rstrip("s") if numbered else ""
    if numbered and kind in kinds:
        listed_numbers = numbers(numbered[2], allowed)
        plural = "s" if kind == "cpu" or len(listed_numbers) > 1 else ""
        return f"{kind}{plural} {ranges(listed_numbers)}"
    near = f"{kinds[0]}s {text}" if re.fullmatch(_LIST, text) else nearest(text, words)
    raise SettingError(INVALID(value=shown(value), allowed=allowed()), near)


def _cpus(value: Any) -> str:
    return _placement(value, ("cpu", "node"), (ONE_NODE, HALF, ALL), ALLOWED_CPUS)


def _memory(value: Any) -> str:
    return _placement(value, ("node",), (INTERLEAVE,), ALLOWED_MEMORY)


def _node(value: Any) -> str:
    """`0` or `0-1`: a number by itself is one too, as `--cpunodebind=0` has it."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        value = str(value)
    if not isinstance(value, str):
        raise SettingError(INVALID(value=shown(value), allowed=ALLOWED_NODE()))
    named = _NUMBERED.fullmatch(" ".join(value.split()))
    if named and named[1].lower().startswith("node"):
        raise SettingError(INVALID(value=shown(value), allowed=ALLOWED_NODE()), f"node: {named[2]}")
    return ranges(numbers(value))


def _schema(kinds: str, words: tuple[str, ...]) -> WithJsonSchema:
    pattern = rf"^\s*({kinds}\s+{_LIST}|{'|'.join(words)})\s*$"
    return WithJsonSchema({"type": "string", "pattern": pattern, "examples": [*words]})


Cpus = Annotated[str, BeforeValidator(_cpus), _schema("(cpus?|nodes?)", (ONE_NODE, HALF, ALL))]
Memory = Annotated[str, BeforeValidator(_memory), _schema("nodes?", (INTERLEAVE,))]
_NODE_SCHEMA = {
    "anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": rf"^\s*{_LIST}\s*$"}]
}
Node = Annotated[str, BeforeValidator(_node), WithJsonSchema(_NODE_SCHEMA)]


class Affinity(Options):
    """On which processors target and client run, and from which memory the target takes its own."""

    node: Node | None = Field(
        default=None,
        description="All of it on one NUMA node, or on several (`0-1`): processors and memory of the "
        "target, and of the client unless `client` says where that runs. As `numactl "
        "--cpunodebind=0 --membind=0` round all of it; not with `target` or `memory`.",
    )
    target: Cpus | None = Field(
        default=None,
        description="Processors of the target, with all that it starts: `cpus 0-31`, `node 0`, or from the "
        "machine's layout `one node`, `half the cores`, `all`. Default: as loadcell itself may "
        "run.",
    )
    client: Cpus | None = Field(
        default=None, description="Processors of the process that makes the load, written the same way."
    )
    memory: Memory | None = Field(
        default=None,
        description="Where the target's memory comes from: `node 0` (that node only), `interleave` (all "
        "nodes in turn). Default: the node of whichever processor touches it first.",
    )

    @property
    def is_set(self) -> bool:
        """True if the plan sets any of it."""
        return bool(self.document())

    @property
    def placements(self) -> dict[str, str]:
        """Where `target`, `client` and `memory` are to be: `node` is written out as what it means for each of
        them.
        """
        there = "" if self.node is None else f"node{'' if self.node.isdecimal() else 's'} {self.node}"
        placements = {key: getattr(self, key) or there for key in ("target", "client", "memory")}
        return {key: placement for key, placement in placements.items() if placement}

    def document(self) -> dict[str, str]:
        """Plain JSON values: what is given."""
        return {key: value for key, value in self.model_dump().items() if value is not None}


AFFINITY_NO_CPU = MessageCode("affinity.no-cpu", cpus=str)
AFFINITY_OFFLINE = MessageCode("affinity.offline", cpus=str)
AFFINITY_RESTRICTED = MessageCode("affinity.kept-from", cpus=str)
AFFINITY_NO_NODE = MessageCode("affinity.no-node", node=str)
AFFINITY_NO_MEMORY = MessageCode("affinity.no-memory", node=str)
AFFINITY_NODES_WITHOUT_CPU = MessageCode("affinity.nodes-without-cpu", nodes=str)
AFFINITY_CPUS = MessageCode("affinity.cpus", cpus=str)
AFFINITY_NODE = MessageCode("affinity.node", nodes=str)
AFFINITY_NODES = MessageCode("affinity.nodes", nodes=str)
AFFINITY_MEMORY_OF = MessageCode("affinity.memory-of", nodes=str)
AFFINITY_MEMORY_ONE_NODE = MessageCode("affinity.memory-one-node", "caution", placement=str)
AFFINITY_SHARED_CPUS = MessageCode("affinity.shared-cpus", "caution", cpus=str)
AFFINITY_EQUAL_LEVELS = MessageCode(
    "affinity.equal-levels", "caution", all=str, cpus=str, half=str, one_node=str
)
AFFINITY_ONE_CORE = MessageCode("affinity.one-core", "caution", cpus=str)
AFFINITY_ONE_NODE = MessageCode("affinity.one-node", "caution", cpus=str, half=str, placement=str)
AFFINITY_SIBLING_THREADS = MessageCode("affinity.sibling-threads", "caution", cpus=str)
AFFINITY_PARTLY_USABLE = MessageCode("affinity.partly-usable", "caution", cpus=str, placement=str, usable=str)
PLACEMENT_IMPOSSIBLE = MessageCode("plan.placement-impossible", finding=Message, allowed=Message)
AFFINITY_INTERLEAVED = MessageCode("affinity.interleaved")
AFFINITY_MEMORY_AT = MessageCode("affinity.memory-at", placement=str)


@dataclass(frozen=True)
class Topology:
    """`usable` are the processors that this process may run on, `memory_nodes` the nodes that it may have
    memory of.

    `cores` are the hardware threads of each core, `nodes` the online processors of each NUMA node.
    """

    online: tuple[int, ...]
    usable: tuple[int, ...]
    cores: tuple[tuple[int, ...], ...]
    nodes: Mapping[int, tuple[int, ...]]
    memory_nodes: tuple[int, ...]
    offline: tuple[int, ...] = ()

    def cpus_of(self, placement: str) -> tuple[int, ...]:
        """The processors that a placement means here, in order; never none. Raises SettingError."""
        if placement == ALL:
            return self.usable
        if placement == ONE_NODE:
            return max(self._usable_nodes().values(), key=len)  # the first of those with most
        if placement == HALF:
            cores = self._usable_cores()
            half = cores[: max(1, len(cores) // 2)]
            return tuple(sorted(number for core in half for number in core))
        kind, _, listed = placement.partition(" ")
        wanted = numbers(listed)
        return self._nodes(wanted) if kind.startswith("node") else self._cpus(wanted)

    def written(self, placement: str) -> str:
        """The same as the kernel writes it: `0-3,8`."""
        return ranges(self.cpus_of(placement))

    def memory_of(self, placement: str) -> str:
        """The kernel's name of the policy that a placement of memory means here. Raises SettingError."""
        if placement == INTERLEAVE:
            return f"interleave:{ranges(self.memory_nodes)}"
        wanted = numbers(placement.partition(" ")[2])
        self._existing_nodes(wanted)
        without = [number for number in wanted if number not in self.memory_nodes]
        if without:
            raise _impossible(
                AFFINITY_NO_MEMORY(node=str(without[0])),
                AFFINITY_MEMORY_OF(nodes=_named(self.memory_nodes)),
            )
        return f"bind:{ranges(wanted)}"

    def _cpus(self, wanted: tuple[int, ...]) -> tuple[int, ...]:
        allowed = AFFINITY_CPUS(cpus=ranges(self.usable))
        unknown = tuple(number for number in wanted if number not in (*self.online, *self.offline))
        if unknown:
            raise _impossible(AFFINITY_NO_CPU(cpus=ranges(unknown)), allowed)
        off = tuple(number for number in wanted if number in self.offline)
        if off:
            raise _impossible(AFFINITY_OFFLINE(cpus=ranges(off)), allowed)
        offline = tuple(number for number in wanted if number not in self.usable)
        if offline:
            raise _impossible(AFFINITY_RESTRICTED(cpus=ranges(offline)), allowed)
        return wanted

    def _nodes(self, wanted: tuple[int, ...]) -> tuple[int, ...]:
        self._existing_nodes(wanted)
        usable = self._usable_nodes()
        nodes = tuple(sorted(number for node in wanted for number in usable.get(node, ())))
        if not nodes:
            raise _impossible(AFFINITY_NODES_WITHOUT_CPU(nodes=_named(wanted)), _named(tuple(usable)))
        return nodes

    def _existing_nodes(self, wanted: tuple[int, ...]) -> None:
        unknown = [number for number in wanted if number not in self.nodes]
        if unknown:
            raise _impossible(AFFINITY_NO_NODE(node=str(unknown[0])), _named(tuple(self.nodes)))

    def _usable_nodes(self) -> dict[int, tuple[int, ...]]:
        """Nodes with processors of ours, each with these."""
        usable = set(self.usable)
        nodes = {node: tuple(sorted(usable.intersection(cpus))) for node, cpus in sorted(self.nodes.items())}
        return {node: cpus for node, cpus in nodes.items() if cpus} or {0: self.usable}

    def _usable_cores(self) -> list[tuple[int, ...]]:
        """Cores with threads of ours, node by node, whatever the numbers of their threads."""
        usable = set(self.usable)
        home = {cpu: node for node, cpus in self.nodes.items() for cpu in cpus}
        cores = (tuple(cpu for cpu in core if cpu in usable) for core in self.cores)
        return sorted((core for core in cores if core), key=lambda core: (home.get(core[0], 0), core))

    def remarks(self, affinity: Affinity, *, in_worker: bool) -> Iterator[Advice]:
        """Remarks on possible placements. `in_worker`: target and client are one process."""
        there = affinity.placements
        for key in ("target", "client"):
            if getattr(affinity, key) is not None:
                yield from self._remarks_on(f"affinity.{key}", there[key])
        if affinity.node is not None:
            yield from self._remarks_on("affinity.node", there["memory"])
        if affinity.memory is not None and len(self.memory_nodes) == 1:
            interleaved = affinity.memory == INTERLEAVE
            memory = AFFINITY_INTERLEAVED() if interleaved else AFFINITY_MEMORY_AT(placement=affinity.memory)
            yield Advice("affinity.memory", AFFINITY_MEMORY_ONE_NODE(placement=memory))
        if affinity.client is None or "target" not in there or in_worker:
            return
        target, client = set(self.cpus_of(there["target"])), set(self.cpus_of(affinity.client))
        shared = tuple(sorted(target & client))
        siblings = [core for core in self.cores if target & set(core) and client & set(core)]
        if shared:
            yield Advice("affinity.client", AFFINITY_SHARED_CPUS(cpus=ranges(shared)))
        elif siblings:
            yield Advice("affinity.client", AFFINITY_SIBLING_THREADS(cpus=ranges(siblings[0])))

    def _remarks_on(self, path: str, placement: str) -> Iterator[Advice]:
        everything = ranges(self.usable)
        if placement == ONE_NODE and len(self.nodes) == 1:
            yield Advice(path, AFFINITY_EQUAL_LEVELS(one_node=ONE_NODE, cpus=everything, all=ALL, half=HALF))
        if placement == HALF and len(self._usable_cores()) == 1:
            yield Advice(path, AFFINITY_ONE_CORE(cpus=everything))
        if placement.startswith("node") and len(self.nodes) == 1:
            yield Advice(path, AFFINITY_ONE_NODE(placement=placement, cpus=everything, half=HALF))
        if placement.startswith("node"):
            wanted = [cpu for node in numbers(placement.partition(" ")[2]) for cpu in self.nodes[node]]
            cpus = self.cpus_of(placement)
            if len(cpus) < len(wanted):
                yield Advice(
                    path,
                    AFFINITY_PARTLY_USABLE(
                        placement=placement, cpus=ranges(tuple(wanted)), usable=ranges(cpus)
                    ),
                )


def _impossible(finding: Message, allowed: Message) -> SettingError:
    return SettingError(PLACEMENT_IMPOSSIBLE(finding=finding, allowed=allowed))


def _named(numbers: tuple[int, ...]) -> Message:
    return (AFFINITY_NODES if len(numbers) > 1 else AFFINITY_NODE)(nodes=ranges(numbers))


@dataclass(frozen=True)
class Pin:
    """Where processes run, as the kernel writes it: processors `0-3,8`; memory `bind:0`, `interleave:0-1`.

    Empty: as it comes.
    """

    cpus: str = ""
    memory: str = ""

    @property
    def is_set(self) -> bool:
        """True if anything is to be done."""
        return bool(self.cpus or self.memory)

    @property
    def size(self) -> int | None:
        """Number of processors; None where that is as it comes."""
        return len(numbers(self.cpus)) if self.cpus else None


#: no placement is set
ANYWHERE = Pin()
