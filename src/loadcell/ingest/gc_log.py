"""GC logs of all collectors, with rotated files: the unified format (-Xlog:gc*) of JDK 9 and later, and that
of JDK 8 and before; also with lines of other programs between.
"""

from __future__ import annotations

import contextlib
import glob
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from loadcell.ingest import gc_legacy_lines
from loadcell.ingest.gc_decorators import DATE, instants, is_single_in_nanoseconds, utc_ns
from loadcell.ingest.gc_gathering import OVERTAKEN_NS, Gathering
from loadcell.ingest.gc_legacy import Legacy, flags_of
from loadcell.ingest.gc_unified import YOUNG_LINE, Unified, is_needless, seconds_ns
from loadcell.ingest.printed_numbers import UnusableNumberError, digits
from loadcell.model.gc_pauses import GcLog, HeapDump, LogClock

#: The best one first, for a measurement of this machine.
_CLOCKS: Final[tuple[LogClock, ...]] = ("monotonic", "utc", "uptime")
#: The best one first where the log is all that is known.
DATED_CLOCKS: Final[tuple[LogClock, ...]] = ("utc", "monotonic", "uptime")
#: The best one first for the order of events, which a step of the wall clock turns.
STEADY_CLOCKS: Final[tuple[LogClock, ...]] = ("uptime", "monotonic", "utc")
#: Of the first line that has a time; others are in no file.
_MOST_WITHOUT_TIME: Final = 10_000
_LINE: Final = re.compile(r"^((?:\[[^\]]*\])+) ?(.*)$")
_DECORATOR: Final = re.compile(r"\[([^\]]*)\]")
#: A line of the log behind the beginning of another one, or of the output of the program.
_WITHIN: Final = re.compile(rf"\[(?:{DATE}|\d{{1,12}}[.,]\d{{3}}s|\d{{1,18}}[mn]s)\]")
_DUMPED: Final = re.compile(r"Heap dump file created \[(\d{1,18}) bytes in (\d{1,9})[.,](\d{1,9}) secs\]")
_DUMPING: Final = re.compile(r"Dumping heap to (\S+)")
_OUT_OF_MEMORY: Final = "java.lang.OutOfMemoryError"


class _Reader:
    """Lines of a log, one after the other. With `splits` it begins again where another JVM starts."""

    def __init__(
        self,
        since_ns: Mapping[LogClock, int],
        clocks: tuple[LogClock, ...],
        *,
        splits: bool = False,
        long_ns: int | None = None,
    ) -> None:
        self._since_ns, self._clocks, self._splits, self._long_ns = since_ns, clocks, splits, long_ns
        self.ended: list[GcLog] = []
        self._number = 0
        self._decorators = ""
        self._read_times: tuple[str, Mapping[LogClock, int]] = ("", {})
        self._begin()

    def _begin(self) -> None:
        self._gathering = Gathering(self._since_ns, selects=self._splits)
        if self._long_ns is not None:
            self._gathering.long_ns = self._long_ns
        self._unified = Unified(self._gathering)
        self._legacy = Legacy(self._gathering, self._place)
        self._is_doubtful = False

    def take(self, line: str) -> None:
        """The next line."""
        self._number += 1
        gathering = self._gathering
        gathering.number = self._number
        gathering.lines += 1
        if not line or line.isspace():
            return
        if not self._understands(line):
            self._gathering.not_understood(line)

    def end(self) -> GcLog:
        """The log, or that of its last JVM."""
        self._legacy.finish()
        gathering = self._gathering
        if self._decorators and (last_ns := self._instant(self._decorators)) is not None:
            last_ns = gathering.onward(last_ns)
            gathering.last_ns = max(gathering.latest_ns, last_ns) if self._splits else last_ns
        gathering.doubtful_ns = gathering.last_ns if self._is_doubtful else None
        return gathering.log()

    def _understands(self, line: str) -> bool:
        if line[0] == "[" and not line.startswith(gc_legacy_lines.STARTS):
            if self._splits and self._gathering.clock == "uptime" and self._is_young(line):
                return True
            end = line.find("] ") + 1
            if end and self._gathering.clock is not None and is_needless(line, end + 1):
                self._decorators = line[:end]
                return True
            match = _LINE.match(line.rstrip("\r\n"))
            if match is not None and self._takes(match[1], match[2].strip(), line):
                return True
            if self._is_of_program(line):
                return True
            self._take_within(line)
            return False
        if self._is_of_program(line):
            return True
        self._note_stamp(line)
        if self._legacy.take(line):
            return True
        self._take_within(line)
        return False

    def _is_young(self, line: str) -> bool:
        """Take the most frequent line of a log by the uptime; the others are not changed by it."""
        match = YOUNG_LINE.match(line)
        if match is None:
            return False
        end_ns = digits(match[2]) * 10**9 + digits(match[3]) * 10**6
        self._note_instant(end_ns)
        gathering = self._gathering
        gathering.latest_ns = gathering.last_ns = max(gathering.latest_ns, end_ns)
        date_ns = None
        if match[1] is not None:
            with contextlib.suppress(ValueError):  # a damaged line
                date_ns = utc_ns(match[1])
        self._unified.young(match, line, end_ns, date_ns)
        return True

    def _take_within(self, line: str) -> None:
        """Take a line that begins within another one, whose end is lost."""
        inner = _WITHIN.search(line, 1)
        match = None if inner is None else _LINE.match(line[inner.start() :].rstrip("\r\n"))
        if match is not None:
            self._takes(match[1], match[2].strip(), line)

    def _takes(self, decorators: str, text: str, line: str) -> bool:
        if self._gathering.clock is None:  # also that of a log without a pause
            self._gathering.first_ns = self._instant(decorators)
        self._decorators = decorators
        if not text.startswith("GC(") and self._is_undated(decorators):
            return False
        if text.startswith(("Using ", "Initializing The ")) and self._gathering.collector:
            self._note_header(self._instant(decorators))
        elif "Pause " in text and "ms" in text and (instant_ns := self._instant(decorators)) is not None:
            self._note_instant(instant_ns)
        try:
            is_understood = self._unified.take(
                text, line, lambda: self._end_ns(decorators), lambda: self._utc_ns(decorators)
            )
        except UnusableNumberError:
            return False
        if text.startswith(("CommandLine flags", "jvm_args")) and (flags := flags_of(text)) is not None:
            self._gathering.flags = flags
        return is_understood

    def _is_of_program(self, line: str) -> bool:
        """True for what the JVM prints besides: heap dumps, and errors."""
        gathering = self._gathering
        if _OUT_OF_MEMORY in line:
            gathering.error(line)
        elif "eap" not in line:
            return False
        elif (made := _DUMPED.search(line)) is not None:
            duration_ns = seconds_ns(made[2], made[3])
            gathering.dump(HeapDump(self._number, None, duration_ns, digits(made[1])), line)
        elif (begun := _DUMPING.search(line)) is not None:
            gathering.dump(HeapDump(self._number, path=begun[1]), line)
        else:
            return False
        return True

    def _note_stamp(self, line: str) -> None:
        """The time at the start of a line of JDK 8."""
        if not line[0].isdigit():
            return
        instant_ns = self._of_clock(gc_legacy_lines.stamps(line))
        if instant_ns is None:
            return
        self._note_instant(instant_ns)
        gathering = self._gathering
        ordered_ns = gathering.onward(instant_ns)
        gathering.first_ns = ordered_ns if gathering.first_ns is None else gathering.first_ns
        gathering.last_ns = gathering.latest_ns = max(gathering.latest_ns, ordered_ns)

    def _note_instant(self, instant_ns: int) -> None:
        """An instant before the latest one: another JVM, which in a log of one is noted."""
        gathering = self._gathering
        if gathering.clock == "utc" or instant_ns >= gathering.latest_ns - OVERTAKEN_NS:
            return
        if self._splits:
            self._start_again(instant_ns)
        elif gathering.clock == "uptime":
            gathering.restart_line = gathering.restart_line or self._number

    def _note_header(self, instant_ns: int | None) -> None:
        """The first line of a JVM that is not the first one."""
        gathering = self._gathering
        is_same = instant_ns is not None and gathering.clock != "utc" and instant_ns >= gathering.latest_ns
        if self._splits and not is_same:
            self._start_again(instant_ns)

    def _start_again(self, instant_ns: int | None) -> None:
        """Begin the log of another JVM."""
        gathering = self._gathering
        decorators, self._decorators = self._decorators, ""
        legacy = self._legacy
        gathering.lines -= 1
        self.ended.append(self.end())
        self._begin()
        self._gathering.clock, self._gathering.number, self._gathering.lines = (
            gathering.clock,
            self._number,
            1,
        )
        self._gathering.first_ns = instant_ns
        self._gathering.vm, self._gathering.flags = legacy.next_vm, legacy.next_flags
        self._legacy.was_header = legacy.was_header
        self._decorators = decorators

    def _end_ns(self, decorators: str) -> int | None:
        gathering = self._gathering
        end_ns = self._instant(decorators)
        if end_ns is None:
            return None
        end_ns = gathering.onward(end_ns)
        gathering.latest_ns = max(gathering.latest_ns, end_ns)
        if self._splits:
            gathering.last_ns = gathering.latest_ns
        return end_ns

    def _place(self, times: Mapping[LogClock, int]) -> int | None:
        """The instant of a line of JDK 8."""
        instant_ns = self._of_clock(times)
        return None if instant_ns is None else self._gathering.onward(instant_ns)

    def _of_clock(self, times: Mapping[LogClock, int]) -> int | None:
        gathering = self._gathering
        if gathering.clock is None:
            gathering.clock = next((clock for clock in self._clocks if clock in times), None)
        return times.get(gathering.clock) if gathering.clock is not None else None

    def _instant(self, decorators: str) -> int | None:
        """Time of a line by the clock of the log; None if the line does not have it."""
        times = self._times(decorators)
        if self._gathering.clock is None:
            instant_ns = self._of_clock(times)
            is_single = is_single_in_nanoseconds(_DECORATOR.findall(decorators))
            self._is_doubtful = self._gathering.clock == "monotonic" and is_single
            return instant_ns
        return times.get(self._gathering.clock)

    def _is_undated(self, decorators: str) -> bool:
        """True for brackets without the time that the lines of this log have: those of another program."""
        return self._gathering.clock is not None and self._instant(decorators) is None

    def _utc_ns(self, decorators: str) -> int | None:
        return None if self._gathering.clock == "utc" else self._times(decorators).get("utc")

    def _times(self, decorators: str) -> Mapping[LogClock, int]:
        """Times of the present line, read once."""
        if self._read_times[0] != decorators:
            self._read_times = decorators, instants(_DECORATOR.findall(decorators))
        return self._read_times[1]


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
    return reader.end()


def read_jvms(lines: Iterable[str], long_ns: int | None = None) -> tuple[GcLog, ...]:
    """The log of each JVM that wrote these lines, in memory that does not grow with them. Pauses from
    `long_ns` on are retained one by one, whatever their number.
    """
    reader = _Reader({}, STEADY_CLOCKS, splits=True, long_ns=long_ns)
    for line in lines:
        reader.take(line)
    return (*reader.ended, reader.end())


def read_files(directory: Path, name: str, since_ns: Mapping[LogClock, int] | None = None) -> GcLog:
    """The log `name` of a directory with its rotated files (`name.0` and so on), the oldest first."""
    return read((line for path in files(directory, name) for line in _lines(path)), since_ns)


def position(begins: Sequence[int], number: int) -> tuple[int, int]:
    """The file by its index, and the line in it, of a line of all files; lines count from 1. `begins` has the
    number of lines before each file.
    """
    index = bisect_right(begins, number - 1) - 1
    return index, number - begins[index]


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
    return first_instant_of(_lines(path), clocks)


def first_instant_of(lines: Iterable[str], clocks: Sequence[LogClock] = _CLOCKS) -> tuple[int, int]:
    """The same of lines."""
    for number, line in enumerate(lines):
        match = _LINE.match(line)
        times = instants(_DECORATOR.findall(match[1])) if match is not None else gc_legacy_lines.stamps(line)
        for rank, clock in enumerate(clocks):
            if clock in times:
                return rank, times[clock]
        if number > _MOST_WITHOUT_TIME:
            break
    return -1, 0


#: Between the time of a line and the one of its file: buffers, and steps of the wall clock.
_WRITTEN_WITHIN_NS: Final = 60 * 10**9
