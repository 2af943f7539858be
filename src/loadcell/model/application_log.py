"""Contents of the logs of services: threads and their silences, clock steps, and messages over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

#: Levels of entries, whatever their words: `FATAL`, `SEVERE`, `panic` and `5xx` are errors.
LogLevel = Literal["error", "warning", "other"]
LOG_LEVELS: Final[tuple[LogLevel, ...]] = ("error", "warning", "other")


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of all files by its number from 1, and the beginning of its text."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Gap:
    """Time without a line of a thread, between two lines.

    `before_ns` is the longest of the last gaps before it. `at_rotation` is true where another file begins.
    `passed` counts the lines of the others of its pool, or of its service, in it.
    """

    begin_ns: int
    end_ns: int
    before: LogLine
    after: LogLine
    before_ns: int = 0
    ends_in_error: bool = False
    at_rotation: bool = False
    passed: int = 0

    @property
    def duration_ns(self) -> int:
        return self.end_ns - self.begin_ns


@dataclass(frozen=True, slots=True)
class LogThread:
    """Lines of a thread or job of one service; its gaps by classes of durations, and the longest ones.

    The thread without a name is the service: all lines of it. `work` counts the gaps by classes of the lines
    of others in them (`Gap.passed`), `passed` is that number from the last line to the end of the log. In all
    gaps, of `gap_ns` in total, these others wrote `lines_of_others`. `pool` is the name of the threads that
    differ in numbers alone.
    """

    name: str
    lines: int
    begin_ns: int
    end_ns: int
    last: LogLine
    gaps: Mapping[int, int] = field(default_factory=dict)
    longest: tuple[Gap, ...] = ()
    work: Mapping[int, int] = field(default_factory=dict)
    passed: int = 0
    pool: str = ""
    lines_of_others: int = 0
    gap_ns: int = 0


@dataclass(frozen=True, slots=True)
class Leap:
    """Two successive lines of a log, and the difference of their time stamps.

    `usual_ns` is the usual time between two lines before it, which is no part of its size, and `long_ns` a
    long one; `resolution_ns` is the unit of the stamps.
    """

    before_ns: int
    after_ns: int
    before: LogLine
    after: LogLine
    usual_ns: int = 0
    long_ns: int = 0
    resolution_ns: int = 0

    @property
    def size_ns(self) -> int:
        return self.after_ns - self.before_ns - self.usual_ns

    @property
    def range_ns(self) -> tuple[int, int]:
        """Least and greatest size, positive: between the two lines no time or a long one may have passed."""
        difference_ns = self.after_ns - self.before_ns
        ends = sorted((abs(difference_ns), abs(difference_ns - self.long_ns)))
        return max(0, ends[0] - self.resolution_ns), ends[1] + self.resolution_ns


@dataclass(frozen=True, slots=True)
class StepBack:
    """A lasting step back of the time stamps: later lines continue from there.

    `threads` are those whose stamps went back, up to a limit, and `thread_count` is their number. `leaps` are
    the leaps forward within ten minutes whose sizes are next to its size: at most one before, one after it.
    """

    leap: Leap
    threads: tuple[str, ...] = ()
    thread_count: int = 0
    leaps: tuple[Leap, ...] = ()

    @property
    def size_ns(self) -> int:
        return -self.leap.size_ns


@dataclass(frozen=True, slots=True)
class LogMessage:
    """A message without its values, and the entries of an error by time slot."""

    text: str
    level: LogLevel
    count: int
    begin_ns: int
    end_ns: int
    first: LogLine
    slots: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ErrorMessage:
    """Entries of an error in one service by time slot.

    `lines` are the first ones of equal parts of the entries of the service, with their instants.
    """

    text: str
    count: int
    slots: Mapping[int, int]
    lines: tuple[tuple[int, LogLine], ...] = ()


@dataclass(frozen=True, slots=True)
class Service:
    """The log of one service: one file, or several that follow each other.

    `steps` are lasting steps back, `zone_changes` those by whole half hours of a log without a zone, and
    `late_lines` counts lines out of order by more than half a second. With `is_unordered` there are
    more than in a log of one host. `error_begins` has the begins of error episodes: errors after some
    time without one. `slots` and `errors` have the entries of this service by time slot, and its errors.
    """

    name: str
    files: tuple[str, ...]
    lines: int
    entries: int
    begin_ns: int
    end_ns: int
    threads: tuple[LogThread, ...]
    steps: tuple[StepBack, ...] = ()
    step_count: int = 0
    furthest_back_ns: int = 0
    zone_changes: tuple[Leap, ...] = ()
    late_lines: int = 0
    furthest_late_ns: int = 0
    is_unordered: bool = False
    error_begins: tuple[int, ...] = ()
    #: threads that were not followed one by one
    more_threads: int = 0
    #: stamps without a zone, which are taken as those of this machine
    has_zone: bool = True
    #: stamps without a date
    has_date: bool = True
    slots: Mapping[int, int] = field(default_factory=dict)
    errors: tuple[ErrorMessage, ...] = ()
    #: threads whose names differ in numbers alone, each as one
    pools: tuple[LogThread, ...] = ()


@dataclass(frozen=True, slots=True)
class ApplicationLogs:
    """Logs of all services of one call; messages and entries are counted by slots of `slot_ns` since 1970.

    `unstamped` counts lines without a time, of which `continued` belong to the entry before by their shape:
    stack traces, indented lines. `examples` are the others.
    """

    services: tuple[Service, ...]
    messages: tuple[LogMessage, ...]
    slot_ns: int
    entries: Mapping[int, int]
    lines: int
    unstamped: int
    continued: int
    examples: tuple[LogLine, ...] = ()
