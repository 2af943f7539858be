"""Where processes run and where their memory lies: what a plan says of it.

Placements are kept as text, in one way of writing each; what they are on a machine is `plan/topology.py`'s to
say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from loadcell.model.message import Message, MessageCode
from loadcell.plan.parts import Options
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
