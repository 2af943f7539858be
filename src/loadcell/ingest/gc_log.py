"""GC logs of all collectors, with rotated files: the unified format (-Xlog:gc*) of JDK 9 and later, and that
of JDK 8 and before; also with lines of other programs between.
"""

from __future__ import annotations

import glob
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from loadcell.ingest import gc_legacy_lines
from loadcell.ingest.gc_decorators import instants
from loadcell.ingest.gc_reader import DECORATOR, LINE, Reader
from loadcell.model.gc_pauses import GcLog, LogClock

#: The best one first, for a measurement of this machine.
_CLOCKS: Final[tuple[LogClock, ...]] = ("monotonic", "utc", "uptime")
#: The best one first where the log is all that is known.
DATED_CLOCKS: Final[tuple[LogClock, ...]] = ("utc", "monotonic", "uptime")
#: The best one first for the order of events, which a step of the wall clock turns.
STEADY_CLOCKS: Final[tuple[LogClock, ...]] = ("uptime", "monotonic", "utc")
#: Of the first line that has a time; others are in no file.
_MOST_WITHOUT_TIME: Final = 10_000


def read(
    lines: Iterable[str],
    since_ns: Mapping[LogClock, int] | None = None,
    clocks: tuple[LogClock, ...] = _CLOCKS,
) -> GcLog:
    """A log, whose files follow one another; the clock is the first of `clocks` that its lines have. Pauses
    before `since_ns`, an instant by each clock, are not wanted.
    """
    reader = Reader(since_ns or {}, clocks)
    for line in lines:
        reader.take(line)
    return reader.end()


def read_jvms(lines: Iterable[str], long_ns: int | None = None) -> tuple[GcLog, ...]:
    """The log of each JVM that wrote these lines, in memory that does not grow with them. Pauses from
    `long_ns` on are retained one by one, whatever their number.
    """
    reader = Reader({}, STEADY_CLOCKS, splits=True, long_ns=long_ns)
    reader.take_all(lines)
    return (*reader.ended, reader.end())


def read_files(directory: Path, name: str, since_ns: Mapping[LogClock, int] | None = None) -> GcLog:
    """The log `name` of a directory with its rotated files (`name.0` and so on), the oldest first."""
    return read((line for path in files(directory, name) for line in _lines(path)), since_ns)


def position(begins: Sequence[int], number: int) -> tuple[int, int]:
    """Index of the file that has a line, and the line's number there; lines count from 1.

    `number` counts the lines of all files, `begins` has the number of lines before each file.
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
        match = LINE.match(line)
        times = instants(DECORATOR.findall(match[1])) if match is not None else gc_legacy_lines.stamps(line)
        for rank, clock in enumerate(clocks):
            if clock in times:
                return rank, times[clock]
        if number > _MOST_WITHOUT_TIME:
            break
    return -1, 0


#: Between the time of a line and the one of its file: buffers, and steps of the wall clock.
_WRITTEN_WITHIN_NS: Final = 60 * 10**9
