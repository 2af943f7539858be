"""A machine's layout, as far as placing processes goes, and what the placements of a plan are on it.

Pure: `loadcell.linux.cpu` reads a machine's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from loadcell.model.message import Message, MessageCode
from loadcell.plan.affinity import (
    ALL,
    HALF,
    INTERLEAVE,
    ONE_NODE,
    Affinity,
    numbers,
    ranges,
)
from loadcell.plan.parts import Advice
from loadcell.plan.problems import SettingError

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
