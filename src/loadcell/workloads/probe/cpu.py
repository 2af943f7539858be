"""Processors, by the definition of sysbench's `cpu` test."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from loadcell.model.json import JsonObject
from loadcell.model.message import Labels
from loadcell.model.metrics import declare
from loadcell.plan.workload import declare_unit
from loadcell.workloads.probe.section import Section

EVENT = declare_unit("event")
declare("events_per_s", "rate", "probe cpu: events by sysbench's definition, of all threads together")


_NOTE = Labels("note", ("probe.cpu",))


class CpuOptions(Section):
    """Number of times per second that all primes below a bound are found by trial division, as `sysbench cpu`
    does.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, title="cpu")

    max_prime: int = Field(
        default=10_000,
        ge=4,
        le=1_000_000_000,
        description="Every number from 3 up to below this one is divided by 2 and on, up to its square root: that is an event. As "
        "`--cpu-max-prime`.",
    )

    @property
    def unit(self) -> str:
        return EVENT

    def engine(self) -> JsonObject:
        return self.model_dump()

    def notes(self) -> tuple[str, ...]:
        return _NOTE.names
