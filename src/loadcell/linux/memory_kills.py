"""Processes that the kernel killed for want of memory: its counters in a process' control groups."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from loadcell.linux.cgroups import folders, memory_limit
from loadcell.linux.procfs import read_small

#: Files with a line `oom_kill N`: v2 and v1 of a group, and that of the machine.
_IN_GROUP = ("memory.events", "memory.oom_control")
_OF_MACHINE = "proc/vmstat"
_NAME = "oom_kill"


class MemoryKills:
    """Tells whether the kernel has killed processes of a process' groups, or of the machine, since `watch`.

    Groups are kept by their first count: a process may enter others later.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._before: dict[Path, int] = {}
        #: the smallest limit of the groups, None without one
        self.limit_bytes: int | None = None

    def watch(self, pid: int) -> None:
        """Note the counters of the present groups of a process."""
        groups = folders(self._root, pid)
        if not groups:
            return
        for path, count in _counts(self._root, groups).items():
            self._before.setdefault(path, count)
        self.limit_bytes = memory_limit(groups)

    def occurred(self) -> bool:
        """True if a counter has increased."""
        return any(
            (count := _count(path)) is not None and count > before for path, before in self._before.items()
        )


def count_of(group: Path) -> int:
    """Processes of a control group that the kernel has killed for want of memory, since it was made."""
    return sum(count for name in _IN_GROUP if (count := _count(group / name)) is not None)


def _counts(root: Path, groups: list[Path]) -> Mapping[Path, int]:
    files = [root / _OF_MACHINE, *(group / name for group in groups for name in _IN_GROUP)]
    return {path: count for path in files if (count := _count(path)) is not None}


def _count(path: Path) -> int | None:
    for row in read_small(path).splitlines():
        name, _, value = row.partition(" ")
        if name == _NAME and value.isdecimal():
            return int(value)
    return None
