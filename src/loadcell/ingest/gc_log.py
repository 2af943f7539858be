"""GC logs in the unified format (-Xlog:gc*) of JDK 11 to 25, of all collectors, with rotated files.

A pause is one line, written at its end, with its duration. What belongs to it (growth of the old generation)
stands in lines before it, with the number of its collection, maybe in the file before.
"""

from __future__ import annotations

import contextlib
import glob
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

from loadcell.ingest.printed_numbers import UnusableNumberError, integer
from loadcell.model.gc_pauses import GcLog, HeapChange, LogClock, Pause, PauseKind

#: Pauses that are retained: a day with ten a second.
MOST_PAUSES: Final = 1_000_000
#: The best one first, for a measurement of this machine.
_CLOCKS: Final[tuple[LogClock, ...]] = ("monotonic", "utc", "uptime")
#: The best one first where the log is all that is known.
DATED_CLOCKS: Final[tuple[LogClock, ...]] = ("utc", "monotonic", "uptime")
#: Lines that were not understood, which are retained.
_MOST_EXAMPLES: Final = 5
#: Lines of concurrent threads overtake one another by less.
_OVERTAKEN_NS: Final = 10**9
_UNITS: Final = {"B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_LINE: Final = re.compile(r"^((?:\[[^\]]*\])+) ?(.*)$")
_DECORATOR: Final = re.compile(r"\[([^\]]*)\]")
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.,]\d{3}[+-]\d{4}")
_UPTIME: Final = re.compile(r"(\d{1,18})[.,](\d{3})s")
_MILLISECONDS: Final = re.compile(r"(\d{1,18})ms")
_NANOSECONDS: Final = re.compile(r"(\d{1,18})ns")
_SIZES: Final = r"(\d{1,18})([BKMG])(?:\(\d+%\))?->(\d{1,18})([BKMG])(?:\((?:(\d{1,18})([BKMG])|\d+%)\))?"
_PAUSE: Final = re.compile(
    rf"^GC\((\d+)\) (?:[yYO]: )?Pause (.+?)(?: {_SIZES})? (\d{{1,18}})[.,](\d{{1,18}})ms$"
)
#: The line of a pause's end always has its duration after the heap.
_CUT_PAUSE: Final = re.compile(r"^GC\(\d+\) (?:[yYO]: )?Pause .*->")
#: A cycle of ZGC or Shenandoah: its heap is in no line of a pause.
_CYCLE: Final = re.compile(
    rf"^GC\((\d+)\) (?:(?:Garbage|Minor|Major) Collection \(.*\)|Concurrent cleanup(?: \([^)]*\))*) {_SIZES}"
)
_CAUSE: Final = re.compile(r"^GC\((\d+)\) (?:Garbage|Minor|Major) Collection \((.*)\)$")
_OLD: Final = re.compile(
    r"^GC\((\d+)\) (?:ParOldGen|Tenured|CMS|PSOldGen): (\d{1,18})K(?:\(\d+K\))?->(\d{1,18})K"
)
_OLD_REGIONS: Final = re.compile(r"^GC\((\d+)\) Old regions: (\d{1,18})->(\d{1,18})")
#: Of ZGC, by phase: the last column is the sum at the end of the cycle.
_TABLE: Final = re.compile(r"^GC\((\d+)\) (?:[yYO]: +)?(Allocated|Promoted): .*?(\d{1,18})M \(\d+%\)[ -]*$")
_REGION: Final = re.compile(r"^Heap [Rr]egion [Ss]ize: (\d{1,18})([KMG])")
_COLLECTOR: Final = re.compile(r"^(?:Using|Initializing) (?:The )?(.*?)(?: Collector| Garbage Collector)?$")
_BRACKETS: Final = re.compile(r" ?\(((?:[^()]|\(\))*)\)")
#: Kinds of a pause that stand in brackets; another text there is its cause.
_SUBKINDS: Final = frozenset({
    "Normal", "Mixed", "Prepare Mixed", "Concurrent Start", "Concurrent End", "Initial Mark", "Young", "Old",
    "Global", "Major", "Minor", "unload classes", "process weakrefs", "update refs", "Mark", "Evacuation",
    "Update Refs", "Outside of Cycle", "Roots", "Bootstrap Old",
})  # fmt: skip
_SIDE_NOTES: Final = ("Evacuation Failure", "To-space")


@dataclass
class _Reader:
    """State between the lines of a log: of collections that have not ended."""

    #: pauses and changes before this instant of the log's clock are not wanted
    since_ns: Mapping[LogClock, int] = field(default_factory=dict)
    clocks: tuple[LogClock, ...] = _CLOCKS
    clock: LogClock | None = None
    #: the clock is monotonic, or the time since the JVM's start: lines have a single time, in nanoseconds
    is_doubtful: bool = False
    first_ns: int | None = None
    last_decorators: str = ""
    latest_ns: int = 0
    restart_line: int | None = None
    collector: str = ""
    region_bytes: int = 0
    lines: int = 0
    unread: int = 0
    examples: list[tuple[int, str]] = field(default_factory=list)
    left_out: int = 0
    pauses: list[Pause] = field(default_factory=list)
    changes: list[HeapChange] = field(default_factory=list)
    causes: dict[str, str] = field(default_factory=dict)
    promoted: dict[str, int] = field(default_factory=dict)
    allocated: dict[str, int] = field(default_factory=dict)

    def take(self, line: str) -> None:
        self.lines += 1
        match = _LINE.match(line.rstrip("\r\n"))
        if match is None:
            if line.strip():
                self._not_understood(line)
            return
        if self.clock is None:  # also that of a log without a pause
            self.first_ns = self._instant(match[1])
        self.last_decorators = match[1]
        try:
            is_understood = self._of_jvm(match[1], match[2].strip())
        except UnusableNumberError:
            is_understood = False
        if not is_understood:
            self._not_understood(line)

    def _not_understood(self, line: str) -> None:
        self.unread += 1
        if len(self.examples) < _MOST_EXAMPLES:
            self.examples.append((self.lines, line.strip()))

    def _of_jvm(self, decorators: str, text: str) -> bool:
        """False for a line that should be understood, and is not."""
        if text.startswith("GC("):
            return self._of_collection(decorators, text)
        if (region := _REGION.match(text)) is not None:
            self.region_bytes = integer(region[1]) * _UNITS[region[2]]
        elif not self.collector and text.startswith(("Using ", "Initializing The ")):
            named = _COLLECTOR.match(text)
            self.collector = named[1] if named is not None and "workers" not in text else ""
        return True

    def _of_collection(self, decorators: str, text: str) -> bool:
        if (pause := _PAUSE.match(text)) is not None:
            return self._pause(decorators, pause)
        if (cycle := _CYCLE.match(text)) is not None:
            number, *sizes = cycle.groups()
            before, after, _ = _bytes(sizes)
            if (end_ns := self._instant(decorators)) is not None and before is not None and after is not None:
                allocated, promoted = self.allocated.pop(number, 0), self.promoted.pop(number, None)
                if self._is_wanted(end_ns):
                    self.changes.append(HeapChange(end_ns, before, after, allocated, promoted))
            self.causes.pop(number, None)
        elif (cause := _CAUSE.match(text)) is not None:
            self.causes[cause[1]] = cause[2]
        elif (old := _OLD.match(text)) is not None:
            self.promoted[old[1]] = (integer(old[3]) - integer(old[2])) * _UNITS["K"]
        elif (regions := _OLD_REGIONS.match(text)) is not None and self.region_bytes:
            self.promoted[regions[1]] = (integer(regions[3]) - integer(regions[2])) * self.region_bytes
        elif (row := _TABLE.match(text)) is not None:
            # a major cycle has a table of each generation, and that of the old one lasts longer
            values = self.allocated if row[2] == "Allocated" else self.promoted
            values[row[1]] = max(values.get(row[1], 0), integer(row[3]) * _UNITS["M"])
        else:
            return not _CUT_PAUSE.match(text)
        return True

    def _pause(self, decorators: str, match: re.Match[str]) -> bool:
        end_ns = self._instant(decorators)
        if end_ns is None:
            return False
        if self.clock == "uptime" and end_ns < self.latest_ns - _OVERTAKEN_NS:
            self.restart_line = self.restart_line or self.lines
        self.latest_ns = max(self.latest_ns, end_ns)
        number, words, *sizes, milliseconds, fraction = match.groups()
        before, after, capacity = _bytes(sizes)
        name, cause = _name(words)
        kind = _kind(name)
        promoted = self.promoted.pop(number, None) if before is not None else None
        pause = Pause(
            end_ns,
            integer(milliseconds) * 1_000_000 + integer(fraction.ljust(6, "0")[:6]),
            kind,
            name,
            cause or self.causes.get(number, ""),
            before,
            after,
            capacity,
            None if promoted is None or kind not in ("young", "mixed") else max(0, promoted),
        )
        if not self._is_wanted(end_ns):
            return True
        if len(self.pauses) >= MOST_PAUSES:
            self.left_out += 1
            return True
        self.pauses.append(pause)
        if before is not None and after is not None:
            change = HeapChange(end_ns, before, after, 0, pause.promoted_bytes, pause.duration_ns)
            self.changes.append(change)
        return True

    def _is_wanted(self, end_ns: int) -> bool:
        return self.clock is None or end_ns >= self.since_ns.get(self.clock, end_ns)

    def _instant(self, decorators: str) -> int | None:
        """Time of a line by the clock of the log; None if the line does not have it."""
        words = _DECORATOR.findall(decorators)
        instants = _instants(words)
        if self.clock is None:
            self.clock = next((clock for clock in self.clocks if clock in instants), None)
            is_single = len(instants) == 1 == sum(_NANOSECONDS.fullmatch(word) is not None for word in words)
            self.is_doubtful = self.clock == "monotonic" and is_single
        return instants.get(self.clock) if self.clock is not None else None


def read(
    lines: Iterable[str],
    since_ns: Mapping[LogClock, int] | None = None,
    clocks: tuple[LogClock, ...] = _CLOCKS,
) -> GcLog:
    """A log, whose files follow one another; the clock is the first of `clocks` that its lines have. Pauses
    before `since_ns`, an instant by each clock, are not wanted.
    """
    reader = _Reader(since_ns or {}, clocks)
    for line in lines:
        reader.take(line)
    last_ns = reader._instant(reader.last_decorators)
    return GcLog(
        reader.clock or "uptime",
        reader.collector,
        # lines of concurrent threads may overtake one another
        tuple(sorted(reader.pauses, key=lambda pause: pause.end_ns)),
        tuple(sorted(reader.changes, key=lambda change: change.end_ns)),
        reader.lines,
        reader.unread,
        reader.left_out,
        last_ns if reader.is_doubtful else None,
        tuple(reader.examples),
        reader.first_ns,
        last_ns,
        reader.restart_line,
    )


def read_files(directory: Path, name: str, since_ns: Mapping[LogClock, int] | None = None) -> GcLog:
    """The log `name` of a directory with its rotated files (`name.0` and so on), the oldest first."""
    return read((line for path in files(directory, name) for line in _lines(path)), since_ns)


def files(directory: Path, name: str) -> list[Path]:
    """Files of a log in the order of time: the one in use, which has no number, is the last."""
    rotated = re.compile(rf"{re.escape(name)}\.\d+")
    paths = [
        path
        for path in directory.glob(f"{glob.escape(name)}*")
        if path.name == name or rotated.fullmatch(path.name)
    ]
    return sorted(paths, key=lambda path: (path.name == name, first_instant(path)))


def is_uptime(log: GcLog, directory: Path, name: str, mono_ns: int, utc_ns: int) -> bool:
    """True if the single time of the lines, in nanoseconds, is that since the JVM's start (`uptimenanos`).

    The monotonic time of the last line is that at which the file was written. `mono_ns` and `utc_ns` are one
    instant, after which a line can only be monotonic.
    """
    if log.doubtful_ns is None or log.doubtful_ns >= mono_ns:
        return False
    written_ns = max((_written_ns(path) for path in files(directory, name)), default=0)
    return abs(written_ns - utc_ns - (log.doubtful_ns - mono_ns)) > _WRITTEN_WITHIN_NS


def _written_ns(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:  # rotated away meanwhile
        return 0


def in_measurement(log: GcLog, mono_ns: int, utc_ns: int) -> GcLog | None:
    """The same with instants from the start of the measurement, which is given by both clocks; None where the
    lines have only the time since the JVM's start.
    """
    if log.clock == "uptime":
        return None
    start_ns = mono_ns if log.clock == "monotonic" else utc_ns
    return log.since(start_ns)


def _lines(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            yield from file
    except OSError:  # rotated away meanwhile
        return


def first_instant(path: Path, clocks: Sequence[LogClock] = _CLOCKS) -> tuple[int, int]:
    """Time of the first line that has one, by the first of `clocks` that it has, after the rank of that."""
    for line in _lines(path):
        if (match := _LINE.match(line)) is not None:
            instants: Mapping[LogClock, int] = _instants(_DECORATOR.findall(match[1]))
            for rank, clock in enumerate(clocks):
                if clock in instants:
                    return rank, instants[clock]
    return -1, 0


def _instants(decorators: Iterable[str]) -> dict[LogClock, int]:
    """Times in nanoseconds by their clock. Two decorators have the same form: time since the JVM's start, and
    by the clock of the machine, which is never the smaller one. Where either is possible, the wall clock is
    the better one.
    """
    instants: dict[LogClock, int] = {}
    finest: list[int] = []
    for word in decorators:
        with contextlib.suppress(ValueError):  # a damaged line
            if (match := _NANOSECONDS.fullmatch(word)) is not None:
                finest.append(integer(match[1]))
            elif (match := _UPTIME.fullmatch(word)) is not None:
                instants["uptime"] = integer(match[1]) * 10**9 + integer(match[2]) * 10**6
            elif _DATE.fullmatch(word):
                date = datetime.strptime(word.replace(",", "."), "%Y-%m-%dT%H:%M:%S.%f%z")
                instants["utc"] = round(date.timestamp() * 1e3) * 10**6
            elif (match := _MILLISECONDS.fullmatch(word)) is not None:
                value = integer(match[1]) * 10**6
                instants["utc" if value > _LONGEST_UPTIME_NS else "uptime"] = value
    if finest:
        uptime = instants.get("uptime")
        highest = max(finest)
        if uptime is not None and abs(highest - uptime) < _SAME_NS:
            instants["uptime"] = highest
        elif uptime is not None or len(finest) > 1 or "utc" not in instants:
            instants["monotonic"] = highest
    return instants


#: Thirty years; times of the wall clock in ms are larger.
_LONGEST_UPTIME_NS: Final = 10**18
#: Two decorators of one line that are the same time.
_SAME_NS: Final = 10**8
#: Between the time of a line and the one of its file: buffers, and steps of the wall clock.
_WRITTEN_WITHIN_NS: Final = 60 * 10**9


def _bytes(sizes: list[str | None]) -> tuple[int | None, int | None, int | None]:
    """Heap in use before and after, and its size."""
    before, after, capacity = (
        None if number is None else integer(number) * _UNITS[unit or "B"]
        for number, unit in zip(sizes[::2], sizes[1::2], strict=True)
    )
    return before, after, capacity


def _name(words: str) -> tuple[str, str]:
    """`Young (Normal) (G1 Evacuation Pause)` as name and cause."""
    cause = ""
    name = _BRACKETS.sub("", words)
    for text in _BRACKETS.findall(words):
        if text in _SUBKINDS or text.split(" ")[0].isdigit():
            name += f" ({text})"
        elif not text.startswith(_SIDE_NOTES):
            cause = cause or text
    return name, cause


def _kind(name: str) -> PauseKind:
    if name.startswith("Young"):
        return "mixed" if "(Mixed)" in name else "young"
    if name.startswith("Full"):
        return "full"
    return "degenerated" if name.startswith("Degenerated") else "cycle"
