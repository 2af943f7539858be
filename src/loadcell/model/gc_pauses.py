"""Pauses of a garbage collector, whichever collector and version; and metrics of a trial by them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from loadcell.model.message import MessageCode
from loadcell.model.metrics import Direction, Kind, declare
from loadcell.model.panels import SampleTable

#: `young` and `mixed` copy objects out of young, and of some old regions; `full` compacts the heap;
#: `degenerated` finishes a cycle that ran short of memory; `cycle` is a short pause of a concurrent cycle
#: (initial mark, remark, cleanup, and all of ZGC and Shenandoah).
PauseKind = Literal["young", "mixed", "full", "degenerated", "cycle"]
PAUSE_KINDS: Final[tuple[PauseKind, ...]] = ("young", "mixed", "full", "degenerated", "cycle")
#: Clock of instants in a log: CLOCK_MONOTONIC of the machine, the wall clock, or time since the JVM's start.
LogClock = Literal["monotonic", "utc", "uptime"]
#: No room to promote objects, none for the survivors of a collection (G1), or a concurrent cycle that did not
#: end in time.
Failure = Literal["promotion", "to-space", "concurrent-mode"]


@dataclass(frozen=True, slots=True)
class Pause:
    """A pause; `name` and `cause` are the collector's words. Sizes of the heap where it states them."""

    end_ns: int
    duration_ns: int
    kind: PauseKind
    name: str
    cause: str = ""
    before_bytes: int | None = None
    after_bytes: int | None = None
    capacity_bytes: int | None = None
    #: growth of the old generation
    promoted_bytes: int | None = None
    #: number of its line, from 1
    line: int = 0
    #: its end by the wall clock, where the log has that beside another one
    utc_ns: int | None = None
    #: metaspace (before JDK 8 the permanent generation) in use after it
    metaspace_bytes: int | None = None
    failures: tuple[Failure, ...] = ()

    @property
    def start_ns(self) -> int:
        return self.end_ns - self.duration_ns


@dataclass(frozen=True, slots=True)
class Durations:
    """Number, total and longest of events; `longest_line` is the line of the longest."""

    count: int = 0
    total_ns: int = 0
    longest_ns: int = 0
    longest_line: int = 0

    def plus(self, duration_ns: int, line: int) -> Durations:
        """The same with one more event."""
        is_longest = not self.count or duration_ns > self.longest_ns
        return Durations(
            self.count + 1,
            self.total_ns + duration_ns,
            duration_ns if is_longest else self.longest_ns,
            line if is_longest else self.longest_line,
        )


#: No event.
NONE: Final = Durations()


@dataclass(frozen=True, slots=True)
class PauseTotals:
    """All pauses of a log, also those that are not retained one by one.

    `stopped_ns` counts a pause within another once. `classes` are numbers of pauses by classes of durations
    (`loadcell.model.duration_classes`). `allocated_bytes` and `promoted_bytes` are sums between the first and
    the last collection; None where no line has them.
    """

    all: Durations = NONE
    stopped_ns: int = 0
    by_kind: Mapping[PauseKind, Durations] = field(default_factory=dict)
    by_cause: Mapping[str, Durations] = field(default_factory=dict)
    failures: Mapping[Failure, Durations] = field(default_factory=dict)
    classes: Mapping[int, int] = field(default_factory=dict)
    allocated_bytes: int | None = None
    promoted_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class HeapDump:
    """A heap dump that the log has; what it does not state is None or empty."""

    line: int
    end_ns: int | None = None
    duration_ns: int | None = None
    size_bytes: int | None = None
    path: str = ""


@dataclass(frozen=True, slots=True)
class LiveSet:
    """Heap in use after a collection of the old generation: live objects, and few others.

    With `has_allocated` the program allocated meanwhile (ZGC, Shenandoah), and those objects are in it.
    """

    end_ns: int
    used_bytes: int
    line: int
    has_allocated: bool = False


@dataclass(frozen=True, slots=True)
class ObjectSizes:
    """Number of objects of a class of sizes, and the largest of them."""

    largest_bytes: int
    count: int


@dataclass(frozen=True, slots=True)
class Around:
    """Contents of a log besides its pauses.

    `safepoints` are by the operation's name, `concurrent` by that of the phase; `reaching` is the time until
    all threads stand. `stalls` are those of threads that wait for memory (ZGC). `clock_steps` counts those of
    the wall clock, and `furthest_back_ns` is the longest one back. `errors` are lines with an
    OutOfMemoryError. `texts` are the lines of notable events by number.
    """

    vm: str = ""
    flags: tuple[str, ...] = ()
    safepoints: Mapping[str, Durations] = field(default_factory=dict)
    reaching: Durations = NONE
    concurrent: Mapping[str, Durations] = field(default_factory=dict)
    stalls: Durations = NONE
    dumps: tuple[HeapDump, ...] = ()
    live_sets: tuple[LiveSet, ...] = ()
    clock_steps: int = 0
    furthest_back_ns: int = 0
    errors: tuple[int, ...] = ()
    texts: Mapping[int, str] = field(default_factory=dict)
    #: size of a region of G1; 0 where the log has no line of it
    region_bytes: int = 0
    #: humongous objects by size, the smallest first
    humongous: tuple[ObjectSizes, ...] = ()


@dataclass(frozen=True, slots=True)
class HeapChange:
    """A collection, or a whole concurrent cycle: heap in use before and after it; `allocated_bytes` by the
    program meanwhile. `duration_ns` is that of its pause, 0 of a cycle.
    """

    end_ns: int
    before_bytes: int
    after_bytes: int
    allocated_bytes: int = 0
    promoted_bytes: int | None = None
    duration_ns: int = 0

    def encloses(self, earlier: HeapChange) -> bool:
        """True if a change that ended earlier is within the pause of this one."""
        return self.end_ns - self.duration_ns <= earlier.end_ns - earlier.duration_ns < self.end_ns


@dataclass(frozen=True, slots=True)
class GcLog:
    """Contents of a log in the order of time. `lines` were read, and `unread` of them were not understood;
    `examples` are the first of these by their number.
    """

    clock: LogClock = "monotonic"
    collector: str = ""
    pauses: tuple[Pause, ...] = ()
    changes: tuple[HeapChange, ...] = ()
    lines: int = 0
    unread: int = 0
    #: pauses beyond the limit of the reader
    left_out: int = 0
    #: time of the last line where its clock may as well be the uptime
    doubtful_ns: int | None = None
    examples: tuple[tuple[int, str], ...] = ()
    #: times of the first and the last line
    first_ns: int | None = None
    last_ns: int | None = None
    #: line at which the time since the JVM's start begins again
    restart_line: int | None = None
    totals: PauseTotals = PauseTotals()
    around: Around = Around()

    @property
    def begin_ns(self) -> int | None:
        """First instant: a pause may have begun before the first line. None without any."""
        starts = [pause.start_ns for pause in self.pauses[:1]]
        return min([*starts, *([] if self.first_ns is None else [self.first_ns])], default=None)

    def since(self, start_ns: int) -> GcLog:
        """The same with instants from `start_ns` on the log's clock."""
        return replace(
            self,
            pauses=tuple(replace(pause, end_ns=pause.end_ns - start_ns) for pause in self.pauses),
            changes=tuple(replace(change, end_ns=change.end_ns - start_ns) for change in self.changes),
        )


#: The source of samples, which no monitor of a plan has.
SOURCE: Final = "gc"
PAUSES: Final = "pauses"
#: A row per second: pauses that ended in it.
TABLE: Final = SampleTable(
    "gc", ("pauses", "pause_ms", "longest_pause_ms", "heap_after_bytes", "allocated_bytes")
)
PAUSES_TABLE: Final = SampleTable(
    "gc-pauses",
    (
        "duration_ms", "kind", "name", "cause", "before_bytes", "after_bytes", "capacity_bytes",
        "promoted_bytes",
    ), text=frozenset({"kind", "name", "cause"}),
)  # fmt: skip

COUNT: Final = "gc.pauses"
TOTAL: Final = "gc.pause.total"
LONGEST: Final = "gc.pause.max"
SHARE: Final = "gc.pause.share"
ALLOCATION: Final = "gc.allocation"
PROMOTION: Final = "gc.promotion"
IN_P99: Final = "gc.slow.p99"
IN_P999: Final = "gc.slow.p99.9"
_METRICS: dict[str, tuple[Kind, Direction]] = {
    COUNT: ("count", "lower"),
    TOTAL: ("time", "lower"),
    LONGEST: ("time", "lower"),
    SHARE: ("share", "lower"),
    ALLOCATION: ("bandwidth", "neither"),
    PROMOTION: ("bandwidth", "neither"),
    IN_P99: ("share", "neither"),
    IN_P999: ("share", "neither"),
}
#: All of them, in the order of the report, which has a table of them.
KEYS: Final = tuple(_METRICS)

for _key, (_kind, _better) in _METRICS.items():
    declare(_key, _kind, MessageCode(f"metric-meaning.{_key}", "info")(), _better, per_group=False)
