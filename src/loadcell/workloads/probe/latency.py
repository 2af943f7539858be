"""Duration of one access to memory, by a chase through pointers."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from loadcell.model.json import JsonObject
from loadcell.model.message import Labels
from loadcell.model.metrics import declare
from loadcell.plan.units import Size
from loadcell.workloads.probe.section import Section

declare(
    "access_ns",
    "count",
    "probe latency: nanoseconds that one access takes",
    "lower",
    additive=False,
    headline=True,
)


_NOTE = Labels("note", ("probe.latency",))


class LatencyOptions(Section):
    """Latency of memory. As a factor `size` shows the caches one after the other."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="latency")

    size: Annotated[Size, Field(ge=128, le=2**50)] = Field(
        default=Size(256 * 2**20),
        description="The working set of each thread: pointers in lines of 64 bytes, in one cycle of random order.",
    )

    def engine(self) -> JsonObject:
        return {"size": int(self.size)}

    def notes(self) -> tuple[str, ...]:
        return _NOTE.names
