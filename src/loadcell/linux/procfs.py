"""Reads /proc: system-wide files over descriptors that stay open, and one process's files by its id.

`root` is `/`, or a recorded tree in tests. A file that is not there reads as empty: kernels differ.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/")
#: More than any file read here has; of system-wide ones /proc hands out at most this much in one read, and
#: less where it likes.
_CHUNK = 1 << 18
#: What one process's file is mostly shorter than.
_PAGE = 4096
#: Of /proc/PID/stat behind the name, up to the last that is used here (proc(5): fields 3 to 24).
_STAT_FIELDS = 22


class ProcFiles:
    """System-wide files, each opened once: a sample costs one read per file (4 to 10 microseconds each)."""

    def __init__(self, root: Path = ROOT) -> None:
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


class SmallFiles:
    """Small files of processes that are read again and again, over descriptors that stay open: half the time
    of `read_small`. A process that ends leaves its descriptors to `close`.
    """

    def __init__(self, most: int) -> None:
        """Beyond `most` files, one is opened for each reading."""
        self._open: dict[str, int] = {}
        self._most = most

    def read(self, path: str) -> str:
        """The present content, at most a page; empty when it is gone or not readable."""
        descriptor = self._open.get(path)
        try:
            if descriptor is None:
                if len(self._open) >= self._most:
                    return read_small(path)
                descriptor = self._open[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            return os.pread(descriptor, _PAGE, 0).decode("utf-8", "replace")
        except OSError:
            return ""

    def close(self) -> None:
        """Close everything."""
        for descriptor in self._open.values():
            os.close(descriptor)
        self._open.clear()


@dataclass(frozen=True)
class ProcessStat:
    """/proc/PID/stat (proc(5)): CPU times in clock ticks, rss in pages, start in ticks since boot."""

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

    @property
    def has_ended(self) -> bool:
        """True of a zombie, and of one that is being removed."""
        return self.state in "ZX"


def process_stat(root: Path, pid: int) -> ProcessStat | None:
    """One process; None when it is gone."""
    return _parse_stat(pid, read_small(f"{root}/proc/{pid}/stat"))


def thread_stat(root: Path, pid: int, tid: int) -> ProcessStat | None:
    """One thread, with its own name, state and CPU times; None when it is gone."""
    return _parse_stat(tid, read_small(f"{root}/proc/{pid}/task/{tid}/stat"))


def _parse_stat(pid: int, text: str) -> ProcessStat | None:
    opening, closing = text.find("("), text.rfind(")")  # a name may hold spaces and brackets
    fields = text[closing + 2 :].split(maxsplit=_STAT_FIELDS)
    if opening < 0 or len(fields) < _STAT_FIELDS:
        return None
    return ProcessStat(
        pid=pid,
        name=text[opening + 1 : closing],
        state=fields[0],
        parent=int(fields[1]),
        major_faults=int(fields[9]),
        user=int(fields[11]),
        system=int(fields[12]),
        children=int(fields[13]) + int(fields[14]),
        threads=int(fields[17]),
        start=int(fields[19]),
        rss_pages=int(fields[21]),
    )


def read_small(path: Path | str) -> str:
    """A file's content; empty when it is gone or not ours to read.

    Looks at every process read hundreds of files beside the load: paths are texts there, no file object is
    made, and no more memory than such a file is long.
    """
    content = b""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            while len(content) < _CHUNK and (part := os.read(descriptor, _PAGE)):
                content += part
        finally:
            os.close(descriptor)
    except (OSError, ValueError):
        return ""
    return content.decode("utf-8", "replace")


def started(pid: int, root: Path = ROOT) -> int | None:
    """Start time of a process in ticks since boot, which with its id identifies it; None when it is gone."""
    stat = process_stat(root, pid)
    return None if stat is None else stat.start


def command_line(pid: int, root: Path = ROOT) -> list[str]:
    """Program and arguments of a process, or the words of its title; empty when it is gone."""
    return [word for word in read_small(f"{root}/proc/{pid}/cmdline").split("\0") if word]


def arguments(pid: int, root: Path = ROOT) -> list[str]:
    """Program and arguments of a process, also empty ones; empty when it is gone."""
    return read_small(f"{root}/proc/{pid}/cmdline").split("\0")[:-1]


def link(pid: int, name: str, root: Path = ROOT) -> Path | None:
    """The target of a link of a process: its working directory (`cwd`) or program (`exe`); None if not
    readable.
    """
    try:
        return Path(f"{root}/proc/{pid}/{name}").readlink()
    except OSError:
        return None


def process_ids(root: Path = ROOT) -> list[int]:
    """Ids of all processes."""
    try:
        return [int(name) for name in os.listdir(root / "proc") if name.isdecimal()]  # noqa: PTH208 - no stat each
    except OSError:
        return []


def children_by_parent(stats: Iterable[ProcessStat]) -> dict[int, list[int]]:
    """Ids of the children of each process."""
    children: dict[int, list[int]] = {}
    for stat in stats:
        children.setdefault(stat.parent, []).append(stat.pid)
    return children


def descendants(roots: Iterable[int], children_of: Callable[[int], Iterable[int]]) -> list[int]:
    """`roots` and all their descendants, parents first."""
    ids: dict[int, None] = dict.fromkeys(roots)
    waiting = deque(ids)
    while waiting:
        for child in children_of(waiting.popleft()):
            if child not in ids:
                ids[child] = None
                waiting.append(child)
    return list(ids)


def children(root: Path, pid: int) -> list[int]:
    """Ids of the children of a process."""
    if _lists_children(root, pid):
        return _children_listed(root, pid)
    return children_by_parent(all_stats(root)).get(pid, [])


def tree(root: Path, roots: list[int]) -> list[int]:
    """`roots` and all their descendants, parents first.

    Reads /proc/PID/task/TID/children, one file for each thread of the tree; on kernels without it
    (CONFIG_PROC_CHILDREN) the parent of every process.
    """
    if not roots:
        return []
    if any(_lists_children(root, pid) for pid in roots):
        return descendants(roots, lambda pid: _children_listed(root, pid))
    children = children_by_parent(all_stats(root))
    alive = [pid for pid in roots if process_stat(root, pid) is not None]
    return descendants(alive, lambda pid: children.get(pid, []))


def all_stats(root: Path) -> Iterator[ProcessStat]:
    """Every process of this moment."""
    stats = (process_stat(root, pid) for pid in process_ids(root))
    return (stat for stat in stats if stat is not None)


def trusted_stats(prefix: str, states: str) -> Iterator[ProcessStat]:
    """Processes of this user or root in one of these states, whose names have a prefix.

    Names are free to choose, so those of other users prove nothing. The owner of /proc/PID does neither: a
    process that may not be traced has root there.
    """
    trusted = {"0", str(os.geteuid())}
    for stat in all_stats(ROOT):
        if stat.state in states and stat.name.startswith(prefix):
            status = read_small(f"{ROOT}/proc/{stat.pid}/status").splitlines()
            users = next((row.split()[1:] for row in status if row.startswith("Uid:")), [])
            if users and trusted.issuperset(users):
                yield stat


def _lists_children(root: Path, pid: int) -> bool:
    return Path(f"{root}/proc/{pid}/task/{pid}/children").exists()


def _children_listed(root: Path, pid: int) -> list[int]:
    tasks = f"{root}/proc/{pid}/task"
    try:
        threads = os.listdir(tasks)  # noqa: PTH208 - names are all that is needed
    except OSError:
        return []
    return [int(child) for thread in threads for child in read_small(f"{tasks}/{thread}/children").split()]


def line(path: Path) -> str | None:
    """A file's only line; None when there is none."""
    return read_small(path).strip() or None


def text(path: Path) -> str:
    """A file that may be long; empty when it is gone or not ours to read."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def read_number(path: Path) -> int | None:
    """A file's number; None when there is none."""
    content = line(path)
    return int(content) if content is not None and content.lstrip("-").isdecimal() else None


def chosen(words: str | None) -> str | None:
    """`always [madvise] never` -> `madvise`."""
    return words[words.find("[") + 1 : words.find("]")] if words and "[" in words else words


def numbers(listed: str | None) -> list[int]:
    """`0-2,8` -> [0, 1, 2, 8] (the kernel's list format)."""
    numbers_read: list[int] = []
    for part in (listed or "").split(","):
        first, _, last = part.strip().partition("-")
        if first.isdecimal():
            numbers_read.extend(range(int(first), int(last if last.isdecimal() else first) + 1))
    return numbers_read
