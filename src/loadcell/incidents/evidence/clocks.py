"""The wall clock of a host as evidence: its steps, the services that set it, and their servers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, Final

from loadcell.incidents.evidence.base import Evidence, Quote
from loadcell.model.message import Message, MessageCode

NOT_RECORDED = MessageCode("incident.time-services.not-recorded", "info")

#: A larger change is a step that matters, and no slewing (at most 0.5 ms/s).
STEP_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class ClockReading:
    """Wall clock minus steady clock at an instant of the steady clock."""

    instant_ns: int
    offset_ns: int


@dataclass(frozen=True, slots=True)
class ClockStep:
    """A step of the wall clock, positive forth, with the line that states it."""

    instant_ns: int
    size_s: float
    quote: Quote | None = None


@dataclass(frozen=True)
class TimeServer:
    """A configured server: its time minus that of this host, or the reason for none."""

    name: str
    service: str
    offset_s: float | None = None
    reason: Message | None = None


@dataclass(frozen=True)
class Clocks(Evidence):
    """Readings in the order of time, steps stated by logs, services that set the clock (`guest_tools` may),
    and their servers. `is_synchronised` is the opinion of the kernel. Without
    `has_services` nobody looked for services; with `has_hidden` those of others were not visible.

    Instants are by the steady clock.
    """

    kind: ClassVar[str] = "clocks"

    readings: tuple[ClockReading, ...]
    logged: tuple[ClockStep, ...] = ()
    services: tuple[str, ...] = ()
    guest_tools: tuple[str, ...] = ()
    servers: tuple[TimeServer, ...] = ()
    is_synchronised: bool | None = None
    has_services: bool = True
    has_hidden: bool = False

    @property
    def begin_ns(self) -> int | None:
        """First reading, or an earlier step of a log."""
        return min((*self._instants_ns, *(step.instant_ns for step in self.logged)), default=None)

    @property
    def end_ns(self) -> int | None:
        """Last reading."""
        return max((*self._instants_ns, *(step.instant_ns for step in self.logged)), default=None)

    @cached_property
    def _instants_ns(self) -> list[int]:
        return [reading.instant_ns for reading in self.readings]

    @property
    def watched_s(self) -> float:
        """Time between the first reading and the last."""
        return (self._instants_ns[-1] - self._instants_ns[0]) / 1e9 if self._instants_ns else 0.0

    @cached_property
    def steps(self) -> tuple[ClockStep, ...]:
        """Steps above `STEP_S` of readings and logs, in the order of time; one that is in both counts once.

        A time service steps from 128 ms on: smaller steps of a log are ordinary.
        """
        changes = (*self._changes(), *self.logged)
        steps = sorted(
            (step for step in changes if abs(step.size_s) > STEP_S), key=lambda step: step.instant_ns
        )
        results: list[ClockStep] = []
        for step in steps:
            if not any(_is_same(step, other) for other in results):
                results.append(step)
        return tuple(results)

    @property
    def largest_change_s(self) -> float:
        """Largest change between two readings."""
        changes = (abs(after.offset_ns - before.offset_ns) for before, after in pairwise(self.readings))
        return max(changes, default=0) / 1e9

    def _changes(self) -> Iterator[ClockStep]:
        for before, after in pairwise(self.readings):
            yield ClockStep(after.instant_ns, (after.offset_ns - before.offset_ns) / 1e9)

    def utc_ns(self, instant_ns: int) -> int | None:
        """An instant by the wall clock of that time."""
        if not self.readings:
            return None
        index = min(bisect_left(self._instants_ns, instant_ns), len(self.readings) - 1)
        return instant_ns + self.readings[index].offset_ns


def _is_same(step: ClockStep, other: ClockStep) -> bool:
    is_near = abs(step.instant_ns - other.instant_ns) < _SAME_NS
    return is_near and abs(step.size_s - other.size_s) < 0.1 * abs(other.size_s)


_SAME_NS: Final = 2 * 10**9
