"""Contents of a GC log, gathered event by event, whatever its format.

For a trial every pause is retained, up to a limit. For a log of any length memory is bounded: notable pauses
are retained, of the others an even selection, and totals count all of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Final

from loadcell.ingest.gc_counters import MOST_NAMES, Counter, HeapGrowth, count, durations_of
from loadcell.ingest.gc_humongous import HumongousObjects
from loadcell.model import duration_classes
from loadcell.model.gc_pauses import (
    NONE,
    Around,
    Durations,
    Failure,
    GcLog,
    HeapChange,
    HeapDump,
    LiveSet,
    LogClock,
    Pause,
    PauseKind,
    PauseTotals,
)

#: Pauses that are retained for a trial: a day with ten a second.
MOST_PAUSES: Final = 1_000_000
#: Of a log of any length: ordinary pauses, and as many notable ones.
MOST_SELECTED: Final = 20_000
#: Lines that were not understood, which are retained.
_MOST_EXAMPLES: Final = 5
#: Values of the live set; of more, the lower ones of neighbours are retained.
_MOST_LIVE_SETS: Final = 2_000
_MOST_DUMPS: Final = 1_000
_MOST_ERRORS: Final = 100
#: Characters of a line that are retained.
_LONGEST_TEXT: Final = 200
#: A pause of this length is notable.
LONG_NS: Final = 250_000_000
#: A step of the wall clock: uptime and date of a line are rounded, and written one after the other.
_CLOCK_STEP_NS: Final = 500_000_000
#: Lines of concurrent threads overtake one another by less.
OVERTAKEN_NS: Final = 10**9
#: Pauses that are counted together.
MOST_ROWS: Final = 500
#: Kinds of pauses that are notable.
_NOTABLE: Final = ("full", "degenerated")
#: Names of collections that neither begin nor end a mark of the old generation.
_ORDINARY: Final = frozenset({"Young", "Young (Normal)", "Young (Prepare Mixed)", "Young (Mixed)"})
#: Different durations that are counted one by one.
_MOST_LENGTHS: Final = 100_000
#: Pauses that a later one may enclose.
_NESTED: Final = 4

#: The fields of a pause in their order, and its line.
Row = tuple[
    int, int, PauseKind, str, str, int | None, int | None, int | None, int | None, int, int | None,
    int | None, tuple[Failure, ...], str,
]  # fmt: skip


@dataclass
class Gathering:
    """Events of one JVM so far. With `selects` memory is bounded; pauses from `long_ns` on are notable."""

    #: pauses and changes before this instant of the log's clock are not wanted
    since_ns: Mapping[LogClock, int] = field(default_factory=dict)
    selects: bool = False
    long_ns: int = LONG_NS
    clock: LogClock | None = None
    collector: str = ""
    #: number of the present line in the files, and lines of this JVM
    number: int = 0
    lines: int = 0
    unread: int = 0
    latest_ns: int = 0
    first_ns: int | None = None
    last_ns: int | None = None
    doubtful_ns: int | None = None
    restart_line: int | None = None
    vm: str = ""
    flags: tuple[str, ...] = ()
    region_bytes: int = 0
    humongous: HumongousObjects = field(default_factory=HumongousObjects)
    examples: list[tuple[int, str]] = field(default_factory=list)
    errors: list[int] = field(default_factory=list)
    stalls: Durations = NONE
    reaching: Counter = field(default_factory=Counter)
    left_out: int = 0
    safepoints: dict[str, Counter] = field(default_factory=dict)
    concurrent: dict[str, Counter] = field(default_factory=dict)
    dumps: list[HeapDump] = field(default_factory=list)
    texts: dict[int, str] = field(default_factory=dict)
    clock_steps: int = 0
    furthest_back_ns: int = 0
    #: pauses that are not counted yet
    rows: list[Row] = field(default_factory=list)
    _pauses: list[Row] = field(default_factory=list)
    _notable: list[Row] = field(default_factory=list)
    _changes: list[HeapChange] = field(default_factory=list)
    _stride: int = 1
    _ordinary: int = 0
    #: by kind and cause
    _counters: dict[tuple[PauseKind, str | None], Counter] = field(default_factory=dict)
    _lengths: dict[int, int] = field(default_factory=dict)
    _stopped_ns: int = 0
    _failures: dict[Failure, Counter] = field(default_factory=dict)
    _classes: dict[int, int] = field(default_factory=dict)
    _latest: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=_NESTED))
    _growth: HeapGrowth = field(default_factory=HeapGrowth)
    _live_sets: list[LiveSet] = field(default_factory=list)
    _lowest: tuple[LiveSet, str] | None = None
    #: lines of the live sets by their number
    _live_texts: dict[int, str] = field(default_factory=dict)
    _is_marked: bool = False
    _offset_ns: int | None = None
    _shift_ns: int = 0

    def __post_init__(self) -> None:
        self._notable_ns = min(self.long_ns, LONG_NS)

    def onward(self, end_ns: int) -> int:
        """An instant in a log that has the wall clock alone: a step back of that does not turn the order."""
        if not self.selects or self.clock != "utc":
            return end_ns
        if end_ns + self._shift_ns < self.latest_ns - OVERTAKEN_NS:
            back_ns = self.latest_ns - end_ns - self._shift_ns
            self._shift_ns += back_ns
            self.clock_steps += 1
            self.furthest_back_ns = max(self.furthest_back_ns, back_ns)
        return end_ns + self._shift_ns

    def not_understood(self, line: str, number: int | None = None) -> None:
        """Count a line, by default the present one, and retain the first."""
        self.unread += 1
        if len(self.examples) < _MOST_EXAMPLES:
            self.examples.append((self.number if number is None else number, line.strip()))

    def is_wanted(self, end_ns: int) -> bool:
        """True if an instant of the log's clock is within the wanted time."""
        return self.clock is None or end_ns >= self.since_ns.get(self.clock, end_ns)

    def pause(self, pause: Pause, text: str) -> None:
        """A pause, whose line is `text`."""
        if not self.is_wanted(pause.end_ns):
            return
        self.rows.append((
            pause.end_ns, pause.duration_ns, pause.kind, pause.name, pause.cause, pause.before_bytes,
            pause.after_bytes, pause.capacity_bytes, pause.promoted_bytes, pause.line, pause.utc_ns,
            pause.metaspace_bytes, pause.failures, text,
        ))  # fmt: skip
        if len(self.rows) >= MOST_ROWS:
            self.settle()

    def settle(self) -> None:
        """Count the pauses of `rows`: of a log with millions of pauses few become objects."""
        counters, lengths, latest, grow = self._counters, self._lengths, self._latest, self._growth.add
        is_by_date, notable_ns = self.clock == "utc", self._notable_ns
        stopped_ns, offset_ns, stride, ordinary = (
            self._stopped_ns, self._offset_ns, 1 if not self.selects else self._stride, self._ordinary,
        )  # fmt: skip
        latest_kind = latest_cause = ""
        counter = Counter()
        for row in self.rows:
            (
                end_ns, duration_ns, kind, name, cause, before_bytes, after_bytes, _, promoted_bytes, line,
                utc_ns, _, failures, text,
            ) = row  # fmt: skip
            if cause is not latest_cause or kind is not latest_kind:
                counter = counters.get((kind, cause)) or self._counter_of(kind, cause)
                latest_kind, latest_cause = kind, cause
            counter.count += 1
            counter.total_ns += duration_ns
            if duration_ns > counter.longest_ns:
                counter.longest_ns, counter.longest_line = duration_ns, line
            lengths[duration_ns] = lengths.get(duration_ns, 0) + 1
            start_ns = end_ns - duration_ns
            if latest and latest[-1][1] > start_ns:
                stopped_ns -= min(duration_ns, self._within(start_ns, end_ns))
            stopped_ns += duration_ns
            latest.append((start_ns, end_ns))
            if utc_ns is not None and not is_by_date:
                step_ns = 0 if offset_ns is None else utc_ns - end_ns - offset_ns
                if step_ns > _CLOCK_STEP_NS or step_ns < -_CLOCK_STEP_NS:
                    self._step_clock(step_ns, line, text)
                offset_ns = utc_ns - end_ns
            if duration_ns >= notable_ns or failures or kind in _NOTABLE:
                self._retain_notable(row)
            else:
                ordinary += 1
                if not ordinary % stride:
                    self._retain(row)
                    stride = 1 if not self.selects else self._stride
            if before_bytes is not None and after_bytes is not None:
                if self._is_marked or name not in _ORDINARY:
                    self._follow_live_set(kind, name, LiveSet(end_ns, after_bytes, line), text)
                grow(start_ns, end_ns, before_bytes, after_bytes, 0, promoted_bytes)
                if not self.selects:
                    change = HeapChange(end_ns, before_bytes, after_bytes, 0, promoted_bytes, duration_ns)
                    self._retain_change(change)
        self._stopped_ns, self._offset_ns, self._ordinary = stopped_ns, offset_ns, ordinary
        self.rows.clear()
        if len(lengths) > _MOST_LENGTHS:
            self._count_lengths()

    def change(self, change: HeapChange, line: int, text: str, *, is_total: bool) -> None:
        """A concurrent cycle, whose line is `text`. `is_total`: it collected the complete heap, of which the
        live set remains.
        """
        if not self.is_wanted(change.end_ns):
            return
        self.settle()
        if is_total:
            self._live(LiveSet(change.end_ns, change.after_bytes, line, has_allocated=True), text)
        end_ns = change.end_ns
        self._growth.add(
            end_ns, end_ns, change.before_bytes, change.after_bytes, change.allocated_bytes,
            change.promoted_bytes,
        )  # fmt: skip
        self._retain_change(change)

    def note(self, line: int, text: str) -> None:
        """Retain a line of evidence."""
        if len(self.texts) < MOST_SELECTED:
            self.texts[line] = text.strip()[:_LONGEST_TEXT]

    def phase(self, name: str, duration_ns: int) -> None:
        """A phase beside the program."""
        count(self.concurrent, name, duration_ns, self.number)

    def safepoint(self, operation: str, duration_ns: int, reaching_ns: int, text: str) -> None:
        """A safepoint: the time in which the program stood, and the part until all threads did."""
        count(self.safepoints, operation, duration_ns, self.number)
        self.reaching.add(reaching_ns, self.number)
        if duration_ns >= self.long_ns:
            self.note(self.number, text)

    def stall(self, duration_ns: int, text: str) -> None:
        """A thread that waited for memory."""
        self.stalls = self.stalls.plus(duration_ns, self.number)
        if self.stalls.longest_line == self.number or self.stalls.count <= _MOST_EXAMPLES:
            self.note(self.number, text)

    def dump(self, dump: HeapDump, text: str) -> None:
        """A heap dump, which several lines may state."""
        if len(self.dumps) < _MOST_DUMPS:
            self.dumps.append(dump)
            self.note(dump.line, text)

    def error(self, text: str) -> None:
        """A line with an OutOfMemoryError."""
        if len(self.errors) < _MOST_ERRORS:
            self.errors.append(self.number)
            self.note(self.number, text)

    def log(self) -> GcLog:
        """All of it."""
        self.settle()
        self._count_lengths()
        if self._lowest is not None:
            self._live(*self._lowest)
            self._lowest = None
        by_kind: dict[PauseKind, Counter] = {}
        by_cause: dict[str, Counter] = {}
        every = Counter()
        for (kind, cause), counter in self._counters.items():
            every.merge(counter)
            by_kind.setdefault(kind, Counter()).merge(counter)
            if cause is not None:
                by_cause.setdefault(cause, Counter()).merge(counter)
        return GcLog(
            self.clock or "uptime",
            self.collector,
            # lines of concurrent threads may overtake one another
            tuple(Pause(*row[:-1]) for row in sorted((*self._notable, *self._pauses), key=itemgetter(0))),
            tuple(sorted(self._changes, key=lambda change: change.end_ns)),
            self.lines,
            self.unread,
            self.left_out,
            self.doubtful_ns,
            tuple(self.examples),
            self.first_ns,
            self.last_ns,
            self.restart_line,
            PauseTotals(
                every.durations(),
                self._stopped_ns,
                durations_of(by_kind),
                durations_of(by_cause),
                durations_of(self._failures),
                self._classes,
                self._growth.allocated_bytes,
                self._growth.promoted_bytes,
            ),
            Around(
                self.vm, self.flags, durations_of(self.safepoints), self.reaching.durations(),
                durations_of(self.concurrent), self.stalls, tuple(self.dumps), tuple(self._live_sets),
                self.clock_steps, self.furthest_back_ns, tuple(self.errors), self._texts(),
                self.region_bytes, self.humongous.sizes(),
            ),
        )  # fmt: skip

    def _texts(self) -> dict[int, str]:
        """Lines that may be evidence: of events, of live sets, and of the pauses that a long log retains."""
        pauses = self._pauses if self.selects else []
        return {
            **{row[9]: row[-1].strip()[:_LONGEST_TEXT] for row in pauses}, **self._live_texts, **self.texts
        }  # fmt: skip

    def _within(self, start_ns: int, end_ns: int) -> int:
        """The time of the pauses that one encloses: the inner pause of two ends first."""
        return sum(
            inner_end_ns - inner_start_ns
            for inner_start_ns, inner_end_ns in self._latest
            if start_ns <= inner_start_ns and inner_end_ns <= end_ns
        )

    def _counter_of(self, kind: PauseKind, cause: str) -> Counter:
        """The counter of a kind and a cause; causes beyond the limit share one without a name."""
        is_beyond = len(self._counters) >= MOST_NAMES
        return self._counters.setdefault((kind, None if is_beyond else cause), Counter())

    def _count_lengths(self) -> None:
        """Count the different durations by their class."""
        for duration_ns, times in self._lengths.items():
            number = duration_classes.of(duration_ns)
            self._classes[number] = self._classes.get(number, 0) + times
        self._lengths.clear()

    def _step_clock(self, step_ns: int, line: int, text: str) -> None:
        self.clock_steps += 1
        self.furthest_back_ns = max(self.furthest_back_ns, -step_ns)
        self.note(line, text)

    def _retain_notable(self, row: Row) -> None:
        duration_ns, line, failures = row[1], row[9], row[12]
        self.note(line, row[-1])
        for failure in failures:
            count(self._failures, failure, duration_ns, line)
        if self.selects and len(self._notable) < MOST_SELECTED:
            self._notable.append(row)
        else:
            self._retain(row)

    def _retain(self, row: Row) -> None:
        if not self.selects:
            if len(self._pauses) < MOST_PAUSES:
                self._pauses.append(row)
            else:
                self.left_out += 1
            return
        self._pauses.append(row)
        if len(self._pauses) > MOST_SELECTED:
            del self._pauses[::2]
            self._stride *= 2

    def _retain_change(self, change: HeapChange) -> None:
        if not self.selects and len(self._changes) < MOST_PAUSES:
            self._changes.append(change)

    def _follow_live_set(self, kind: PauseKind, name: str, live_set: LiveSet, text: str) -> None:
        """The live set by a pause: after a full collection, or the lowest one between a mark of the old
        generation and the next.
        """
        if kind == "full":
            self._is_marked, self._lowest = False, None
            self._live(live_set, text)
        elif kind == "cycle" and name.startswith("Remark"):
            self._is_marked = True
        elif "Initial Mark" in name or "Concurrent Start" in name:
            if self._lowest is not None:
                self._live(*self._lowest)
            self._is_marked, self._lowest = False, None
        elif self._is_marked and (
            self._lowest is None or live_set.used_bytes < self._lowest[0].used_bytes
        ):  # fmt: skip
            self._lowest = live_set, text

    def _live(self, live_set: LiveSet, text: str) -> None:
        self._live_sets.append(live_set)
        self._live_texts[live_set.line] = text.strip()[:_LONGEST_TEXT]
        if len(self._live_sets) == _MOST_LIVE_SETS:
            pairs = zip(self._live_sets[::2], self._live_sets[1::2], strict=True)
            self._live_sets = [min(pair, key=lambda item: item.used_bytes) for pair in pairs]
            self._live_texts = {item.line: self._live_texts[item.line] for item in self._live_sets}
