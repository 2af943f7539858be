"""Memory, by the definitions of sysbench's `memory` test, of mbw and of STREAM."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, model_validator

from loadcell.model.json import JsonObject
from loadcell.model.message import Labels
from loadcell.model.metrics import declare
from loadcell.plan.units import Size
from loadcell.workloads.probe.section import Section

declare("mib_per_s", "count", "probe memory: MiB a second, of all threads together", headline=True)
declare(
    "best_mib_per_s",
    "count",
    "probe memory, STREAM's tests by one thread: MiB a second in the best pass",
    additive=False,
)

Test = Literal["sysbench", "memcpy", "dumb", "mcblock", "copy", "scale", "add", "triad"]

#: Which tool's a test is, by the last part of its note's key; settings that only sysbench's test has.
_TOOLS = {
    "sysbench": "sysbench",
    **dict.fromkeys(("memcpy", "dumb"), "mbw"),
    "mcblock": "mcblock",
    **dict.fromkeys(("copy", "scale", "add", "triad"), "stream"),
}
_NOTE = Labels("note", (f"probe.memory.{tool}" for tool in dict.fromkeys(_TOOLS.values())))
_OF_SYSBENCH = ("block", "access", "operation", "scope")
#: what all of them work in
_WORD = 8
_LARGEST = 2**50

_Bytes = Annotated[Size, Field(ge=_WORD, le=_LARGEST)]


class MemoryOptions(Section):
    """Number of MiB a second go through memory, as `sysbench memory`, mbw or STREAM counts them."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="memory")

    test: Test = Field(
        default="sysbench",
        description="`sysbench`: passes over a block. mbw's: `memcpy` (one call), `dumb` (word by word), `mcblock` (blocks of 256 KiB). "
        "STREAM's: `copy` (c = a), `scale` (b = 3 c), `add` (c = a + b), `triad` (a = b + 3 c).",
    )
    size: _Bytes = Field(
        default=Size(256 * 2**20),
        description="Tests of mbw and STREAM: the size of one array. Each thread has two of its own (mbw) or three (STREAM).",
    )
    block: _Bytes = Field(
        default=Size(1024),
        description="`sysbench`: what a pass goes over, as `--memory-block-size`.",
    )
    access: Literal["seq", "rnd"] = Field(
        default="seq",
        description="`sysbench`: word after word, or words drawn at random, as `--memory-access-mode`.",
    )
    operation: Literal["read", "write", "none"] = Field(
        default="write", description="`sysbench`: what is done with each word, as `--memory-oper`."
    )
    scope: Literal["global", "local"] = Field(
        default="global",
        description="`sysbench`: one block for all threads, or each thread its own, as `--memory-scope`.",
    )

    @model_validator(mode="after")
    def _is_consistent(self) -> MemoryOptions:
        named = self.model_fields_set
        if self.test != "sysbench":
            strange = [name for name in _OF_SYSBENCH if name in named]
            if strange:
                raise ValueError(
                    f"`{strange[0]}` belongs to the test `sysbench`, and the test is `{self.test}`"
                )
        elif "size" in named:
            raise ValueError("`size` is of the arrays of mbw and STREAM: sysbench's test has a `block`")
        for name in ("size", "block"):
            size: Size = getattr(self, name)
            if size % _WORD:
                raise ValueError(f"`{name}` ({size.text}) is no whole number of words of {_WORD} bytes")
        return self

    def engine(self) -> JsonObject:
        if self.test == "sysbench":
            return {"test": self.test, **{name: getattr(self, name) for name in _OF_SYSBENCH}}
        return {"test": self.test, "size": int(self.size)}

    def notes(self) -> tuple[str, ...]:
        return (f"probe.memory.{_TOOLS[self.test]}",)
