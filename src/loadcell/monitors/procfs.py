"""Reads /proc: system-wide files over descriptors that stay open, and one process's files by its id.

`root` is `/`, or a recorded tree in tests. A file that is not there reads as empty: kernels differ.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

#: More than any file read here has; /proc hands out at most this much in one read, and less where it likes.
_CHUNK = 1 << 18


class ProcFiles:
    """System-wide files, each opened once: a sample costs one read a file (facts: 4 to 10 microseconds each)."""

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root
        self._open: dict[str, int] = {}

    def text(self, path: str) -> str:
        """The file's present content; empty when there is no such file or the kernel refuses to read it."""
        try:
            descriptor = self._open.get(path)
            if descriptor is None:
                descriptor = self._open[path] = os.open(self.root / path, os.O_RDONLY | os.O_CLOEXEC)
            parts, at = [], 0
            while chunk := os.pread(descriptor, _CHUNK, at):
                parts.append(chunk)
                at += len(chunk)
        except OSError:  # no such file, or pressure files of a kernel started without psi=1
            return ""
        return b"".join(parts).decode("utf-8", "replace")

    def close(self) -> None:
        """Close everything."""
        for descriptor in self._open.values():
            os.close(descriptor)
        self._open.clear()


@dataclass(frozen=True)
class ProcessStat:
    """What /proc/PID/stat says (proc(5)); CPU times in clock ticks, rss in pages, start in ticks since boot."""

    pid: int
    name: str
    state: str
    parent: int
    major_faults: int
    user: int
    system: int
    children: int
    threads: int
    start: int
    rss_pages: int


def process_stat(root: Path, pid: int) -> ProcessStat | None:
    """One process; None when it is gone."""
    text = read_small(root / "proc" / str(pid) / "stat")
    opening, closing = text.find("("), text.rfind(")")  # a name may hold spaces and brackets
    fields = text[closing + 2 :].split()
    if opening < 0 or len(fields) < 22:
        return None
    number = [int(field) for field in fields[1:22]]
    return ProcessStat(
        pid=pid, name=text[opening + 1 : closing], state=fields[0], parent=number[0], major_faults=number[8],
        user=number[10], system=number[11], children=number[12] + number[13], threads=number[16],
        start=number[18], rss_pages=number[20],
    )  # fmt: skip


def read_small(path: Path) -> str:
    """A file's content; empty when it is gone or not ours to read."""
    try:
        with path.open("rb", buffering=0) as file:
            return file.read(_CHUNK).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""


def process_ids(root: Path) -> list[int]:
    """Every process there is."""
    try:
        return [int(name) for name in os.listdir(root / "proc") if name.isdecimal()]  # noqa: PTH208 - no stat each
    except OSError:
        return []


def tree(root: Path, roots: list[int]) -> list[int]:
    """`roots` and all their descendants, parents first.

    Follows /proc/PID/task/TID/children, which costs a read a thread of the tree alone; kernels without it
    (CONFIG_PROC_CHILDREN) are read whole.
    """
    if not any((root / "proc" / str(pid) / "task" / str(pid) / "children").exists() for pid in roots):
        return _tree_by_parents(root, roots)
    found: dict[int, None] = dict.fromkeys(roots)
    waiting = list(roots)
    while waiting:
        pid = waiting.pop(0)
        tasks = root / "proc" / str(pid) / "task"
        try:
            threads = os.listdir(tasks)  # noqa: PTH208 - names are all that is needed
        except OSError:
            continue
        for thread in threads:
            for child in map(int, read_small(tasks / thread / "children").split()):
                if child not in found:
                    found[child] = None
                    waiting.append(child)
    return list(found)


def _tree_by_parents(root: Path, roots: list[int]) -> list[int]:
    children: dict[int, list[int]] = {}
    for pid in process_ids(root):
        stat = process_stat(root, pid)
        if stat is not None:
            children.setdefault(stat.parent, []).append(pid)
    found: dict[int, None] = {pid: None for pid in roots if process_stat(root, pid) is not None}
    waiting = list(found)
    while waiting:
        for child in children.get(waiting.pop(0), []):
            if child not in found:
                found[child] = None
                waiting.append(child)
    return list(found)
