"""Memory of an interpreter under test: its limit, its resident set over time, and spans on its curve."""

from __future__ import annotations

import contextlib
import csv
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from loadcell.linux import limited_groups, memory_kills, procfs
from loadcell.model.python_memory import SPANS

#: How the limit is imposed, as records have it.
CONTROL_GROUP_V2, CONTROL_GROUP_V1, ADDRESS_SPACE = "cgroup v2", "cgroup v1", "RLIMIT_AS"
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

    def __init__(self, file: Path) -> None:
        super().__init__(daemon=True)
        self._file = file
        #: Processes, which more may join.
        self.processes: list[int] = []
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
        for process in list(self.processes):
            fields = procfs.text(procfs.ROOT / "proc" / str(process) / "statm").split()
            pages += int(fields[1]) if len(fields) > 1 else 0
        return pages * _PAGE_BYTES


class Spans:
    """Steps and marked calls of a load, from the lines in which the harness reports their begin and end."""

    def __init__(self) -> None:
        self._ends_ns: dict[tuple[str, int], int | None] = {}

    def add(self, name: str, begin_ns: int, end_ns: int | None) -> None:
        """A span that has begun, or ended."""
        self._ends_ns[name, begin_ns] = end_ns

    def write(self, directory: Path) -> None:
        """Write them into their file, in the order of their begin."""
        rows = sorted(self._ends_ns.items(), key=lambda item: item[0][1])
        with (directory / SPANS).open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["name", "begin_mono_ns", "end_mono_ns"])
            writer.writerows([name, begin_ns, end_ns] for (name, begin_ns), end_ns in rows)
