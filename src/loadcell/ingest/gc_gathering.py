"""Contents of a GC log, gathered event by event, whatever its format.

For a trial every pause is retained, up to a limit. For a log of any length memory is bounded: notable pauses
are retained, of the others an even selection, and totals count all of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

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
#: Names of causes, phases and operations; a damaged log could have any number.
_MOST_NAMES: Final = 200
_MOST_DUMPS: Final = 1_000
_MOST_ERRORS: Final = 100
#: Characters of a line that are retained.
_LONGEST_TEXT: Final = 200
#: A pause of this length is notable.
_LONG_NS: Final = 250_000_000
#: A step of the wall clock: uptime and date of a line are rounded, and written one after the other.
_CLOCK_STEP_NS: Final = 500_000_000
#: Lines of concurrent threads overtake one another by less.
OVERTAKEN_NS: Final = 10**9
#: Pauses that a later one may enclose.
_NESTED: Final = 4

Name = TypeVar("Name", bound=str)


class Counter:
    """Durations that are counted in place."""

    __slots__ = ("count", "longest_line", "longest_ns", "total_ns")

    def __init__(self) -> None:
        self.count = self.total_ns = self.longest_ns = self.longest_line = 0

    def add(self, duration_ns: int, line: int) -> None:
        """Count one more."""
        if not self.count or duration_ns > self.longest_ns:
            self.longest_ns, self.longest_line = duration_ns, line
        self.count += 1
        self.total_ns += duration_ns

    def durations(self) -> Durations:
        """The values so far."""
        return Durations(self.count, self.total_ns, self.longest_ns, self.longest_line)


@dataclass
class Gathering:
    """Events of one JVM so far. With `selects` memory is bounded; pauses from `long_ns` on are notable."""

    #: pauses and changes before this instant of the log's clock are not wanted
    since_ns: Mapping[LogClock, int] = field(default_factory=dict)
    selects: bool = False
    long_ns: int = _LONG_NS
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
    _pauses: list[Pause] = field(default_factory=list)
    _notable: list[Pause] = field(default_factory=list)
    _changes: list[HeapChange] = field(default_factory=list)
    _stride: int = 1
    _ordinary: int = 0
    _all: Counter = field(default_factory=Counter)
    _stopped_ns: int = 0
    _by_kind: dict[PauseKind, Counter] = field(default_factory=dict)
    _by_cause: dict[str, Counter] = field(default_factory=dict)
    _failures: dict[Failure, Counter] = field(default_factory=dict)
    _classes: dict[int, int] = field(default_factory=dict)
    _latest: deque[Pause] = field(default_factory=lambda: deque(maxlen=_NESTED))
    _latest_change: tuple[int, int, int] | None = None
    _allocated_bytes: int | None = None
    _promoted_bytes: int | None = None
    _live_sets: list[LiveSet] = field(default_factory=list)
    _lowest: LiveSet | None = None
    _is_marked: bool = False
    _offset_ns: int | None = None
    _shift_ns: int = 0

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

    def not_understood(self, line: str) -> None:
        """Count a line, and retain the first."""
        self.unread += 1
        if len(self.examples) < _MOST_EXAMPLES:
            self.examples.append((self.number, line.strip()))

    def is_wanted(self, end_ns: int) -> bool:
        """True if an instant of the log's clock is within the wanted time."""
        return self.clock is None or end_ns >= self.since_ns.get(self.clock, end_ns)

    def pause(self, pause: Pause, text: str) -> None:
        """A pause, whose line is `text`."""
        if not self.is_wanted(pause.end_ns):
            return
        self._count(pause)
        self._note_wall_clock(pause, text)
        is_notable = pause.kind in ("full", "degenerated") or bool(pause.failures)
        is_notable = is_notable or pause.duration_ns >= min(self.long_ns, _LONG_NS)
        if is_notable:
            self.note(pause.line, text)
        self._retain(pause, is_notable=is_notable)
        if pause.before_bytes is None or pause.after_bytes is None:
            return
        self._follow_live_set(pause, pause.after_bytes)
        self._change(
            pause.end_ns, pause.before_bytes, pause.after_bytes, 0, pause.promoted_bytes, pause.duration_ns
        )

    def change(self, change: HeapChange, line: int, *, is_total: bool) -> None:
        """A concurrent cycle. `is_total`: it collected the complete heap, of which the live set remains."""
        if not self.is_wanted(change.end_ns):
            return
        if is_total:
            self._live(LiveSet(change.end_ns, change.after_bytes, line, has_allocated=True))
        self._change(
            change.end_ns,
            change.before_bytes,
            change.after_bytes,
            change.allocated_bytes,
            change.promoted_bytes,
            0,
        )

    def note(self, line: int, text: str) -> None:
        """Retain a line of evidence."""
        if len(self.texts) < MOST_SELECTED:
            self.texts[line] = text.strip()[:_LONGEST_TEXT]

    def phase(self, name: str, duration_ns: int) -> None:
        """A phase beside the program."""
        _count(self.concurrent, name, duration_ns, self.number)

    def safepoint(self, operation: str, duration_ns: int, reaching_ns: int, text: str) -> None:
        """A safepoint: the time in which the program stood, and the part until all threads did."""
        _count(self.safepoints, operation, duration_ns, self.number)
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
        if self._lowest is not None:
            self._live(self._lowest)
            self._lowest = None
        return GcLog(
            self.clock or "uptime",
            self.collector,
            # lines of concurrent threads may overtake one another
            tuple(sorted((*self._notable, *self._pauses), key=lambda pause: pause.end_ns)),
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
                self._all.durations(),
                self._stopped_ns,
                _durations(self._by_kind),
                _durations(self._by_cause),
                _durations(self._failures),
                self._classes,
                self._allocated_bytes,
                self._promoted_bytes,
            ),
            Around(
                self.vm, self.flags, _durations(self.safepoints), self.reaching.durations(),
                _durations(self.concurrent), self.stalls, tuple(self.dumps), tuple(self._live_sets),
                self.clock_steps, self.furthest_back_ns, tuple(self.errors), self.texts,
            ),
        )  # fmt: skip

    def _count(self, pause: Pause) -> None:
        duration_ns, line = pause.duration_ns, pause.line
        self._all.add(duration_ns, line)
        _count(self._by_kind, pause.kind, duration_ns, line)
        _count(self._by_cause, pause.cause, duration_ns, line)
        for failure in pause.failures:
            _count(self._failures, failure, duration_ns, line)
        number = duration_classes.of(duration_ns)
        self._classes[number] = self._classes.get(number, 0) + 1
        start_ns = pause.end_ns - duration_ns
        if self._latest and self._latest[-1].end_ns > start_ns:
            # the inner pause of two ends first
            duration_ns -= sum(
                earlier.duration_ns
                for earlier in self._latest
                if start_ns <= earlier.start_ns and earlier.end_ns <= pause.end_ns
            )
        self._stopped_ns += max(0, duration_ns)
        self._latest.append(pause)

    def _note_wall_clock(self, pause: Pause, text: str) -> None:
        if pause.utc_ns is None or self.clock == "utc":
            return
        offset_ns = pause.utc_ns - pause.end_ns
        if self._offset_ns is not None and abs(offset_ns - self._offset_ns) > _CLOCK_STEP_NS:
            self.clock_steps += 1
            self.furthest_back_ns = max(self.furthest_back_ns, self._offset_ns - offset_ns)
            self.note(pause.line, text)
        self._offset_ns = offset_ns

    def _retain(self, pause: Pause, *, is_notable: bool) -> None:
        if not self.selects:
            if len(self._pauses) < MOST_PAUSES:
                self._pauses.append(pause)
            else:
                self.left_out += 1
            return
        if is_notable and len(self._notable) < MOST_SELECTED:
            self._notable.append(pause)
            return
        self._ordinary += 1
        if self._ordinary % self._stride:
            return
        self._pauses.append(pause)
        if len(self._pauses) > MOST_SELECTED:
            del self._pauses[::2]
            self._stride *= 2

    def _change(
        self,
        end_ns: int,
        before_bytes: int,
        after_bytes: int,
        allocated_bytes: int,
        promoted_bytes: int | None,
        duration_ns: int,
    ) -> None:
        earlier = self._latest_change
        self._latest_change = end_ns, duration_ns, after_bytes
        if earlier is not None:
            earlier_end_ns, earlier_ns, earlier_bytes = earlier
            is_within = end_ns - duration_ns <= earlier_end_ns - earlier_ns < earlier_end_ns < end_ns
            if not is_within:
                grown = max(0, before_bytes - earlier_bytes) + allocated_bytes
                self._allocated_bytes = (self._allocated_bytes or 0) + grown
        if promoted_bytes is not None:
            self._promoted_bytes = (self._promoted_bytes or 0) + promoted_bytes
        if not self.selects and len(self._changes) < MOST_PAUSES:
            change = HeapChange(
                end_ns, before_bytes, after_bytes, allocated_bytes, promoted_bytes, duration_ns
            )
            self._changes.append(change)

    def _follow_live_set(self, pause: Pause, after_bytes: int) -> None:
        """The live set by a pause: after a full collection, or the lowest one between a mark of the old
        generation and the next.
        """
        if pause.kind == "full":
            self._is_marked, self._lowest = False, None
            self._live(LiveSet(pause.end_ns, after_bytes, pause.line))
        elif pause.name.startswith("Remark"):
            self._is_marked = True
        elif "Initial Mark" in pause.name or "Concurrent Start" in pause.name:
            if self._lowest is not None:
                self._live(self._lowest)
            self._is_marked, self._lowest = False, None
        elif self._is_marked and (self._lowest is None or after_bytes < self._lowest.used_bytes):
            self._lowest = LiveSet(pause.end_ns, after_bytes, pause.line)

    def _live(self, live_set: LiveSet) -> None:
        self._live_sets.append(live_set)
        if len(self._live_sets) == _MOST_LIVE_SETS:
            pairs = zip(self._live_sets[::2], self._live_sets[1::2], strict=True)
            self._live_sets = [min(pair, key=lambda item: item.used_bytes) for pair in pairs]


def _count(counters: dict[Name, Counter], name: Name, duration_ns: int, line: int) -> None:
    counter = counters.get(name)
    if counter is None:
        if len(counters) >= _MOST_NAMES:
            return
        counter = counters[name] = Counter()
    counter.add(duration_ns, line)


def _durations(counters: Mapping[Name, Counter]) -> dict[Name, Durations]:
    return {name: counter.durations() for name, counter in counters.items()}
