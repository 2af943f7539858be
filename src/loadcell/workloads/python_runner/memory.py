"""Memory of an interpreter under test: its limit, and its resident set over time."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from loadcell.linux import limited_groups, memory_kills, procfs

#: How the limit is imposed, as records have it.
CONTROL_GROUP_V2, CONTROL_GROUP_V1, ADDRESS_SPACE = "cgroup v2", "cgroup v1", "RLIMIT_AS"
#: File of the resident set over time, in the directory of a load.
CURVE: Final = "python-memory.csv"
_INTERVAL_S = 0.01
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class MemoryLimit:
    """A limit, and the file of its control group that a process enters it by; None with RLIMIT_AS."""

    kind: str
    entry: Path | None = None

    def was_reached(self) -> bool:
        """True if the kernel has killed a process of the group for it."""
        if self.entry is None:
            return False
        return memory_kills.count_of(self.entry.parent) > 0


@contextlib.contextmanager
def limited(size_bytes: int | None) -> Iterator[MemoryLimit | None]:
    """A control group with this limit, or else RLIMIT_AS; None without a limit."""
    if size_bytes is None:
        yield None
        return
    present = limited_groups.hierarchy("memory")
    if present is None:
        yield MemoryLimit(ADDRESS_SPACE)
        return
    name = "memory.max" if present.unified else "memory.limit_in_bytes"
    group = limited_groups.group_of(present, os.getpid(), limited_groups.new_name())
    try:
        limits = limited_groups.with_present_limits(present, group, {name: str(size_bytes)})
        limited_groups.make(group, limits)
    except OSError:
        with contextlib.suppress(OSError):
            limited_groups.remove(group, group.parent)
        yield MemoryLimit(ADDRESS_SPACE)
        return
    for swap in ("memory.swap.max", "memory.memsw.limit_in_bytes"):
        if (group / swap).exists():
            with contextlib.suppress(OSError):
                (group / swap).write_text("0" if present.unified else str(size_bytes))
    try:
        yield MemoryLimit(CONTROL_GROUP_V2 if present.unified else CONTROL_GROUP_V1, group / "cgroup.procs")
    finally:
        with contextlib.suppress(OSError):
            limited_groups.remove(group, group.parent)


class MemoryCurve(threading.Thread):
    """Samples the resident set of processes every 10 ms until it is stopped, and writes it to a file."""

    def __init__(self, file: Path, processes: Sequence[int]) -> None:
        super().__init__(daemon=True)
        self._file, self._processes = file, processes
        self._end = threading.Event()

    def run(self) -> None:
        with self._file.open("w", encoding="utf-8") as curve:
            curve.write("mono_ns,rss_bytes\n")
            while not self._end.wait(_INTERVAL_S):
                if (resident_bytes := self._resident_bytes()) > 0:
                    curve.write(f"{time.monotonic_ns()},{resident_bytes}\n")

    def stop(self) -> None:
        """End, with the file complete."""
        self._end.set()
        self.join()

    def _resident_bytes(self) -> int:
        pages = 0
        for process in self._processes:
            fields = procfs.text(procfs.ROOT / "proc" / str(process) / "statm").split()
            pages += int(fields[1]) if len(fields) > 1 else 0
        return pages * _PAGE_BYTES
