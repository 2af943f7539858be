"""Garbage collections of a JVM as evidence."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import ClassVar, Final, Literal

from loadcell.incidents.evidence.base import MOST_QUOTES, Evidence, Quote
from loadcell.model.gc_pauses import GcLog, LiveSet, Pause

#: Causes of full collections that somebody asked for: they do not show that memory is short.
REQUESTED: Final = frozenset({
    "System.gc()", "Heap Inspection Initiated GC", "Heap Dump Initiated GC", "Diagnostic Command",
    "JvmtiEnv ForceGarbageCollection", "WhiteBox Initiated Full GC",
})  # fmt: skip

#: Options of heap dumps at full collections.
DUMP_FLAGS: Final = ("-XX:+HeapDumpBeforeFullGC", "-XX:+HeapDumpAfterFullGC")


#: Option of a heap dump on the first OutOfMemoryError.
ERROR_FLAG: Final = "-XX:+HeapDumpOnOutOfMemoryError"

#: Signs of a heap dump on an OutOfMemoryError: a heap that a full collection leaves full, and the usual name.
Lack = Literal["", "full-heap", "name"]
#: Share of the heap that a full collection before an OutOfMemoryError leaves in use.
FULL_SHARE: Final = 0.85


def dumps_often(flags: Iterable[str]) -> bool:
    """True for options with heap dumps at full collections."""
    return any(flag.startswith(DUMP_FLAGS) for flag in flags)


#: Last values of a log, and their share of those before, that show the end of the program alone.
_MOST_DROPPED: Final = 2
_DROPPED: Final = 0.1


@dataclass(frozen=True, slots=True)
class DumpFile:
    """A heap dump on the disk."""

    path: str
    size_bytes: int
    written_ns: int
    #: other JVMs that may have written it
    others: tuple[int, ...] = ()
    #: sign of an OutOfMemoryError that it does not have
    lacks: Lack = ""


@dataclass(frozen=True)
class Collections(Evidence):
    """Garbage collections of one JVM: pauses, cycles, safepoints, heap dumps.

    Instants of `log` are by its clock. `quote` gives the line of a number that the log has, None where its
    text was not retained. `dump_files` lie beside the log. `timeout_ns` is that of the clients, where known.
    `pid` is the process that writes the log, of a running JVM.
    """

    kind: ClassVar[str] = "collections"

    log: GcLog
    quote: Callable[[int], Quote | None] = lambda _: None
    dump_files: tuple[DumpFile, ...] = ()
    #: dumps on an OutOfMemoryError; those that lack a sign are doubtful
    error_dumps: tuple[DumpFile, ...] = ()
    timeout_ns: int | None = None
    pid: int | None = None

    @property
    def process(self) -> int | None:
        """The running JVM."""
        return self.pid

    @property
    def begin_ns(self) -> int:
        """First instant."""
        return self.log.begin_ns or 0

    @property
    def end_ns(self) -> int:
        """Last instant."""
        instants = [pause.end_ns for pause in self.log.pauses[-1:]]
        return max([*instants, *([] if self.log.last_ns is None else [self.log.last_ns])], default=0)

    @property
    def duration_ns(self) -> int:
        """Time from the first instant to the last."""
        return max(0, self.end_ns - self.begin_ns)

    @property
    def capacity_bytes(self) -> int | None:
        """Largest size of the heap."""
        return max((pause.capacity_bytes for pause in self.log.pauses if pause.capacity_bytes), default=None)

    @property
    def is_concurrent(self) -> bool:
        """True for collectors that have no full collections in the ordinary course (ZGC)."""
        return self.log.collector.startswith("Z")

    @property
    def requested(self) -> tuple[int, int]:
        """Number of collections that somebody asked for, and their time in ns."""
        items = [item for cause, item in self.log.totals.by_cause.items() if cause in REQUESTED]
        return sum(item.count for item in items), sum(item.total_ns for item in items)

    def live_sets(self) -> tuple[LiveSet, ...]:
        """Heap in use after collections of the old generation, without a drop at the end of the process."""
        live = self.log.around.live_sets
        dropped = self._dropped([(item.end_ns, item.used_bytes) for item in live])
        return live[: len(live) - dropped]

    def full_before_exit(self) -> list[Pause]:
        """Full collections of the collector without those that found next to nothing alive at the end."""
        full = self.full()
        return full[: len(full) - self._dropped([(item.end_ns, item.after_bytes or 0) for item in full])]

    def _dropped(self, used: Sequence[tuple[int, int]]) -> int:
        """Number of last values that are those of a process that has released everything to end."""
        for count in range(min(_MOST_DROPPED, len(used) - 1), 0, -1):
            before = median(value for _, value in used[:-count])
            later = sum(pause.end_ns > used[-count][0] for pause in self.log.pauses[-_MOST_DROPPED:])
            is_end = later < _MOST_DROPPED
            if is_end and all(value < _DROPPED * before for _, value in used[-count:]):
                return count
        return 0

    def full(self) -> list[Pause]:
        """Full collections that the collector itself started, in the order of time."""
        return [pause for pause in self.log.pauses if pause.kind == "full" and pause.cause not in REQUESTED]

    def utc_ns(self, instant_ns: int) -> int | None:
        """An instant by the wall clock, by the nearest pause that has it."""
        if self.log.clock == "utc":
            return instant_ns
        ends_ns, offsets_ns = self._dated
        after = bisect_left(ends_ns, instant_ns)
        near = range(max(0, after - 1), min(len(ends_ns), after + 1))
        nearest = min(near, key=lambda index: abs(ends_ns[index] - instant_ns), default=None)
        return None if nearest is None else instant_ns + offsets_ns[nearest]

    @cached_property
    def _dated(self) -> tuple[list[int], list[int]]:
        """Ends of the pauses that have the wall clock, in their order, and its difference from the clock of
        the log.
        """
        dated = [(pause.end_ns, pause.utc_ns) for pause in self.log.pauses if pause.utc_ns is not None]
        return [end_ns for end_ns, _ in dated], [utc_ns - end_ns for end_ns, utc_ns in dated]

    def quotes(self, lines: Iterable[int]) -> tuple[Quote, ...]:
        """Lines of evidence by number, where their text was retained."""
        return tuple(quote for number in lines if (quote := self.quote(number)) is not None)

    def span_of_lines(self, lines: Sequence[int]) -> tuple[int, int] | None:
        """Instants of lines by the last pause before each, or the first one; None of none."""
        pauses = self.log.pauses
        if not lines or not pauses:
            return None
        before = [[pause for pause in pauses if pause.line <= line] for line in (lines[0], lines[-1])]
        begin, end = (items[-1] if items else pauses[0] for items in before)
        return begin.end_ns, max(begin.end_ns, end.end_ns)

    def quotes_of(self, pauses: Iterable[Pause]) -> tuple[Quote, ...]:
        """Lines of pauses."""
        return self.quotes(pause.line for pause in pauses)

    def quotes_with(self, pauses: Sequence[Pause], decisive: Sequence[Pause]) -> tuple[Quote, ...]:
        """Lines of as many pauses as a diagnosis shows: the decisive ones, the last ones, and the first."""
        chosen = [*decisive, *pauses[-1:], *pauses[:1], *pauses[-2:-MOST_QUOTES:-1]]
        lines = sorted(list(dict.fromkeys(pause.line for pause in chosen))[:MOST_QUOTES])
        return self.quotes(lines)


def span_ns(pauses: Sequence[Pause]) -> tuple[int, int] | None:
    """Begin of the first pause and end of the last; None of none."""
    return (pauses[0].start_ns, pauses[-1].end_ns) if pauses else None
