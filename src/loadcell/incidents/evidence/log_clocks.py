"""Steps of the clock in the logs of services: those of one instant, and steps of opposite sign."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from loadcell.ingest.log_steps import LIKE
from loadcell.model import duration_classes
from loadcell.model.application_log import Leap, LogLine, Service, StepBack

#: Steps of several services within this time are one.
_WITHIN_NS: Final = 2 * 10**9
#: A leap forward is one of the clock only where lines are so much denser.
_DENSER: Final = 3


@dataclass(frozen=True)
class ClockStep:
    """A step back, with the leaps forward of its size before and after it.

    `threads` and `services` are the numbers of those that show it, of `of_services` with lines at its time.
    """

    leap: Leap
    leaps: tuple[Leap, ...]
    threads: int
    services: tuple[str, ...]

    @property
    def size_ns(self) -> int:
        """Its size, positive."""
        return -self.leap.size_ns

    @property
    def is_returned(self) -> bool:
        """True if a leap of opposite sign and of its size is near it."""
        return bool(self.leaps)

    @property
    def lines(self) -> tuple[LogLine, ...]:
        """Lines before and after each change, in their order."""
        changes = sorted((self.leap, *self.leaps), key=lambda leap: leap.after.number)
        return tuple(dict.fromkeys(line for leap in changes for line in (leap.before, leap.after)))

    @property
    def span_ns(self) -> tuple[int, int]:
        """From the first change to the last."""
        instants = [
            instant for leap in (self.leap, *self.leaps) for instant in (leap.before_ns, leap.after_ns)
        ]
        return min(instants), max(instants)


def clock_steps(services: Iterable[Service]) -> tuple[ClockStep, ...]:
    """Steps of all services, in the order of time."""
    pairs = sorted(
        ((step, service) for service in services for step in service.steps),
        key=lambda pair: pair[0].leap.after_ns,
    )
    groups: list[list[tuple[StepBack, Service]]] = []
    for pair in pairs:
        is_same = groups and _is_same(groups[-1][-1], pair)
        if is_same:
            groups[-1].append(pair)
        else:
            groups.append([pair])
    return tuple(_step(group) for group in groups)


def _is_same(earlier: tuple[StepBack, Service], later: tuple[StepBack, Service]) -> bool:
    """True if two services show one step."""
    larger = max(earlier[0].size_ns, later[0].size_ns)
    return (
        earlier[1] is not later[1]
        and later[0].leap.after_ns - earlier[0].leap.after_ns <= _WITHIN_NS
        and abs(earlier[0].size_ns - later[0].size_ns) <= LIKE * larger
    )


def _step(group: Sequence[tuple[StepBack, Service]]) -> ClockStep:
    step, _ = max(group, key=lambda pair: pair[0].thread_count)
    leaps = next((of_clock for item, service in group if (of_clock := _of_clock(item, service))), ())
    threads = sum(max(1, item.thread_count) for item, _ in group)
    return ClockStep(step.leap, leaps, threads, tuple(service.name for _, service in group))


def _of_clock(step: StepBack, service: Service) -> tuple[Leap, ...]:
    """Leaps of a step that are no usual time between two lines of the service."""
    gaps = service.threads[0].gaps if service.threads else {}
    usual_ns = duration_classes.quantile_ns(gaps, 0.9) or 0
    return tuple(leap for leap in step.leaps if leap.size_ns >= _DENSER * usual_ns)
