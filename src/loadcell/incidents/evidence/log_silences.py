"""Silences in the logs of services that are far beyond the usual time between two lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from loadcell.model import duration_classes
from loadcell.model.application_log import Gap, Leap, LogThread, Service
from loadcell.stats import long_gaps

#: Less is no silence for people.
LEAST_NS: Final = 10**9
#: Longer ones are as well those of a night or of a job without work, unless an error ends them.
WITHOUT_WORK_NS: Final = 1800 * 10**9
#: Of the shorter one: silences of several threads that overlap so far are one.
_OVERLAP: Final = 0.8
_MOST: Final = 500


@dataclass(frozen=True)
class Silence:
    """Time without a line of a thread; `threads` are those of a service that were silent.

    Without names all of the service was silent. `chance` is the number of such gaps that chance would cause.
    `is_open` is true of one that lasts to the end of the log.
    """

    service: str
    threads: tuple[str, ...]
    gap: Gap
    chance: float
    usual_ns: int
    is_total: bool = False
    is_open: bool = False

    @property
    def duration_ns(self) -> int:
        return self.gap.duration_ns

    @property
    def may_lack_work(self) -> bool:
        """True of one that may be time without work."""
        return self.duration_ns >= WITHOUT_WORK_NS and not self.gap.ends_in_error


def silences(services: Sequence[Service], leaps: Iterable[Leap] = ()) -> tuple[Silence, ...]:
    """Silences of all services, the longest first; those of leaps of the clock are none."""
    of_clock = list(leaps)
    tests = max(1, sum(len(service.threads) for service in services))
    events = [
        silence
        for service in services
        for silence in _merged([item for thread in service.threads for item in _of(thread, service, tests)])
        if not any(_is_of(silence.gap, leap) for leap in of_clock)
    ]
    return tuple(sorted(events, key=lambda event: -event.duration_ns)[:_MOST])


def _of(thread: LogThread, service: Service, tests: int) -> Iterator[Silence]:
    """Silences of one thread; that of its service is total."""
    if sum(thread.gaps.values()) < long_gaps.FEWEST:
        return
    gaps = [(float(duration_classes.middle_ns(key)), thread.gaps[key]) for key in sorted(thread.gaps)[::-1]]
    durations = [float(gap.duration_ns) for gap in thread.longest]
    level = long_gaps.LEVEL / tests
    number = long_gaps.outliers(gaps, durations, level)
    usual = thread.longest[number].duration_ns if number < len(thread.longest) else 0
    for gap in thread.longest[:number]:
        is_abrupt = gap.duration_ns >= long_gaps.FACTOR * gap.before_ns
        if gap.duration_ns >= LEAST_NS and is_abrupt and not gap.at_rotation:
            yield Silence(
                service.name,
                (thread.name,) if thread.name else (),
                gap,
                long_gaps.expected(_shorter(gaps, gap), gap.duration_ns),
                usual,
                is_total=not thread.name,
            )


def _shorter(gaps: Sequence[tuple[float, int]], gap: Gap) -> list[tuple[float, int]]:
    shorter = [(value, count) for value, count in gaps if value < gap.duration_ns / long_gaps.ALIKE]
    return shorter or list(gaps)


def open_silences(service: Service) -> list[tuple[LogThread, int]]:
    """Threads that have been silent to the end of the log for unusually long, and for how long."""
    silent = []
    for thread in service.threads[1:]:
        duration_ns = service.end_ns - thread.end_ns
        count = sum(thread.gaps.values())
        if duration_ns < LEAST_NS or count < long_gaps.FEWEST:
            continue
        gaps = [
            (float(duration_classes.middle_ns(key)), thread.gaps[key]) for key in sorted(thread.gaps)[::-1]
        ]
        longest_ns = thread.longest[0].duration_ns
        is_long = duration_ns >= long_gaps.FACTOR * longest_ns
        if is_long and long_gaps.expected(gaps, duration_ns) <= long_gaps.LEVEL / len(service.threads):
            silent.append((thread, duration_ns))
    return sorted(silent, key=lambda item: -item[1])


def _merged(events: list[Silence]) -> list[Silence]:
    """Silences of threads that overlap as one; a total one has those of all threads."""
    merged: list[Silence] = []
    for event in sorted(events, key=lambda event: (not event.is_total, -event.duration_ns)):
        for index, other in enumerate(merged):
            overlap = min(event.gap.end_ns, other.gap.end_ns) - max(event.gap.begin_ns, other.gap.begin_ns)
            if overlap >= _OVERLAP * min(event.duration_ns, other.duration_ns):
                if not other.is_total:
                    merged[index] = replace(other, threads=(*other.threads, *event.threads))
                break
        else:
            merged.append(event)
    return merged


def _is_of(gap: Gap, leap: Leap) -> bool:
    """True if a leap of the clock makes most of a gap."""
    overlap = min(gap.end_ns, leap.after_ns) - max(gap.begin_ns, leap.before_ns)
    return overlap >= _OVERLAP * gap.duration_ns
