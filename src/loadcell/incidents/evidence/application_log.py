"""Evidence from the logs of services: threads, clock steps, messages; and spans of other events."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

from loadcell.incidents.evidence.base import Evidence, Quote
from loadcell.incidents.evidence.log_clocks import ClockStep, clock_steps
from loadcell.incidents.evidence.log_silences import Silence, silences
from loadcell.model.application_log import ApplicationLogs, LogLine, LogMessage

#: Events besides the log: pauses of a collector, trials of a run, faults of a trial.
SpanKind = Literal["gc-pause", "trial", "fault"]
SPAN_KINDS: Final[tuple[SpanKind, ...]] = ("gc-pause", "trial", "fault")


@dataclass(frozen=True)
class Spans:
    """Spans of time of one kind, from one source, as begins and ends in ns since 1970.

    `covered` is the time in which the source has all of its spans, where that is known. Without `has_date`
    the source has no time by the wall clock.
    """

    kind: SpanKind
    source: str
    spans: tuple[tuple[int, int], ...]
    covered: tuple[int, int] | None = None
    has_date: bool = True

    def is_apart(self, begin_ns: int, end_ns: int) -> bool:
        """True if the source has no time in common with this one."""
        return self.covered is not None and not (self.covered[0] <= end_ns and begin_ns <= self.covered[1])

    def covers(self, begin_ns: int, end_ns: int) -> bool:
        """True if the source knows all of its spans in at least half of this time."""
        if self.covered is None:
            return False
        common_ns = min(end_ns, self.covered[1]) - max(begin_ns, self.covered[0])
        return common_ns > 0 and common_ns >= (end_ns - begin_ns) / 2


@dataclass(frozen=True)
class ApplicationLog(Evidence):
    """The logs of all services of one call. Instants are UTC; those of a log without a date are not dated.

    `position` gives the file and the line of a line of all files, `others` are events of other sources.
    """

    kind = "application-log"

    logs: ApplicationLogs
    position: Callable[[int], tuple[str, int]] = lambda number: ("", number)
    redacted: Callable[[str], str] = lambda text: text
    others: tuple[Spans, ...] = ()

    @property
    def begin_ns(self) -> int:
        """First instant."""
        return min((service.begin_ns for service in self.logs.services if service.entries), default=0)

    @property
    def end_ns(self) -> int:
        """Last instant."""
        return max((service.end_ns for service in self.logs.services if service.entries), default=0)

    @property
    def duration_ns(self) -> int:
        """Time from the first instant to the last."""
        return max(0, self.end_ns - self.begin_ns)

    @property
    def has_date(self) -> bool:
        """True if all stamps have a date."""
        return all(service.has_date for service in self.logs.services)

    @property
    def entries(self) -> int:
        """Number of all entries."""
        return sum(service.entries for service in self.logs.services)

    def utc_ns(self, instant_ns: int) -> int | None:
        """An instant by the wall clock."""
        return instant_ns if self.has_date else None

    @cached_property
    def clock_steps(self) -> tuple[ClockStep, ...]:
        """Lasting steps back of all services, those of one instant as one."""
        return clock_steps(self.logs.services)

    @cached_property
    def silences(self) -> tuple[Silence, ...]:
        """Unusual silences, the longest first; those of the clock's leaps and of idle threads are none."""
        return tuple(silence for silence in self._all_silences if not silence.is_idle)

    @property
    def idle_silences(self) -> tuple[Silence, ...]:
        """Silences of threads whose pool or service had hardly any lines, either; the longest first."""
        return tuple(silence for silence in self._all_silences if silence.is_idle)

    @cached_property
    def _all_silences(self) -> tuple[Silence, ...]:
        leaps = [leap for step in self.clock_steps for leap in step.leaps]
        return silences(self.logs.services, leaps)

    def kinds_at(self, silence: Silence) -> list[SpanKind]:
        """Kinds of events that take half of a silence, with its middle."""
        gap = silence.gap
        middle_ns = (gap.begin_ns + gap.end_ns) // 2
        return [
            kind
            for kind in SPAN_KINDS
            if any(
                begin_ns <= middle_ns <= end_ns and end_ns - begin_ns >= gap.duration_ns / 2
                for spans in self.others
                if spans.kind == kind
                for begin_ns, end_ns in spans.spans
            )
        ]

    @property
    def errors(self) -> list[LogMessage]:
        """Messages of errors, the most frequent first."""
        return [message for message in self.logs.messages if message.level == "error"]

    def quotes(self, lines: Iterable[LogLine]) -> tuple[Quote, ...]:
        """Lines with their places, without secrets."""
        return tuple(Quote(*self.position(line.number), self.redacted(line.text).rstrip()) for line in lines)
