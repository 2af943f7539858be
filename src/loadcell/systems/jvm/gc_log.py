"""The GC log of a JVM that loadcell started: its lines since an instant, from all files of the rotation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from loadcell.store.layout import GC_LOG

#: Monotonic time of a line (decorator `timenanos`).
_NANOSECONDS: Final = re.compile(r"\[(\d+)ns\]")
#: Lines that describe the collector and the heap at the start: a reader needs them in each trial. JDK 11 has
#: no `gc,init`.
_HEADS: Final = re.compile(r"\[gc,init\s*\]|\[gc\s*\] Using |\[gc,heap,coops|\[gc,heap\s*\] Heap region size")
_MOST_HEADS: Final = 60


def files(directory: Path) -> list[Path]:
    """Files of the log, the oldest first."""
    files_by_time: list[tuple[int, Path]] = []
    for path in directory.glob(f"{GC_LOG}*"):
        try:
            files_by_time.append((path.stat().st_mtime_ns, path))
        except OSError:  # rotated away
            continue
    return [path for _, path in sorted(files_by_time)]


def lines_since(directory: Path, since_ns: int) -> Iterator[str]:
    """Lines of the log from an instant on. A file that disappears is left out."""
    for path in files(directory):
        try:
            with path.open(encoding="utf-8", errors="replace") as file:
                for line in file:
                    instant = _NANOSECONDS.search(line)
                    if instant is not None and int(instant[1]) >= since_ns:
                        yield line
        except OSError:
            continue


def heads(directory: Path, since_ns: int) -> list[str]:
    """The lines of a start that describe the collector and the heap."""
    lines: list[str] = []
    for line in lines_since(directory, since_ns):
        if _HEADS.search(line):
            lines.append(line)
        if len(lines) >= _MOST_HEADS:
            break
    return lines
