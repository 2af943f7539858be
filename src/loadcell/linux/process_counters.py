"""Running counters of a tree of processes at one instant, from /proc: CPU, memory, I/O, context switches."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from loadcell.linux.procfs import ProcessStat, numbers, process_stat, read_small, tree

#: A process by its id and start time, so that an id used again is another process.
Key: TypeAlias = tuple[int, int]

TICK_HZ: Final = os.sysconf("SC_CLK_TCK")
#: Characters of a title that names a process.
MOST_CHARACTERS: Final = 80
#: Threads of a tree whose context switches are read at one instant: each costs some 10 microseconds.
MOST_SWITCHES: Final = 500


@dataclass(frozen=True, slots=True)
class ProcessCounters:
    """Resources that one process has used since its start; None where the kernel denies access.

    Resident memory in bytes: `anonymous`, `file_backed`, and `shared` (shared memory, tmpfs). Context
    switches are those of all threads; None beyond `MOST_SWITCHES` threads of the tree.
    """

    stat: ProcessStat
    read_bytes: int | None
    write_bytes: int | None
    voluntary: int | None
    involuntary: int | None
    anonymous: int
    file_backed: int
    shared: int


@dataclass(frozen=True, slots=True)
class ThreadTimes:
    """Nanoseconds that each thread of a process ran, and that it was ready to run without a core (schedstat),
    by thread id; `are_all` is False where the process has more threads than were read.
    """

    times: Mapping[int, tuple[int, int]]
    are_all: bool = True


def read_processes(root: Path, roots: list[int]) -> dict[Key, ProcessCounters]:
    """Counters of `roots` and their descendants that are alive."""
    counters = {}
    remaining = MOST_SWITCHES
    for pid in tree(root, roots):
        stat = process_stat(root, pid)
        if stat is None or stat.has_ended:
            continue
        if stat.threads > 1:
            remaining -= stat.threads
        process = _process(root, stat, has_switches=stat.threads == 1 or remaining >= 0)
        # one that has ended meanwhile hides nothing
        if process.read_bytes is not None or _is_alive(root, stat):
            counters[pid, stat.start] = process
    return counters


def _is_alive(root: Path, stat: ProcessStat) -> bool:
    now = process_stat(root, stat.pid)
    return now is not None and now.start == stat.start and not now.has_ended


def _process(root: Path, stat: ProcessStat, *, has_switches: bool) -> ProcessCounters:
    home = f"{root}/proc/{stat.pid}"
    io, status = _pairs(read_small(f"{home}/io")), read_small(f"{home}/status")
    switches: tuple[int, int] | None = None
    if has_switches and stat.threads > 1:
        statuses = (read_small(f"{home}/task/{tid}/status") for tid in thread_ids(root, stat.pid))
        pairs = [_switches(text) for text in statuses]
        switches = sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)
    elif has_switches:
        switches = _switches(status)
    sizes = _pairs(status)
    return ProcessCounters(
        stat,
        io.get("read_bytes"),
        io.get("write_bytes"),
        *(switches or (None, None)),
        *(1024 * sizes.get(name, 0) for name in ("RssAnon", "RssFile", "RssShmem")),
    )


def _switches(status: str) -> tuple[int, int]:
    """Voluntary and involuntary context switches of a thread: the last two lines of its status."""
    words = status[max(0, status.find("\nvoluntary_ctxt_switches:")) :].split()
    return (int(words[1]), int(words[3])) if len(words) == 4 else (0, 0)


def allowed_cpus(root: Path, pid: int) -> int | None:
    """Number of processors that a process may use; None if it is gone or hidden."""
    for line in read_small(f"{root}/proc/{pid}/status").splitlines():
        name, _, cpus = line.partition(":")
        if name == "Cpus_allowed_list":
            return len(numbers(cpus.strip())) or None
    return None


def thread_ids(root: Path, pid: int) -> list[int]:
    """Ids of the threads of a process; empty when it is gone or hidden."""
    try:
        return list(map(int, os.listdir(f"{root}/proc/{pid}/task")))  # noqa: PTH208 - names are all that is needed
    except OSError:
        return []


def thread_times(root: Path, pid: int, most: int) -> ThreadTimes:
    """Times of `most` threads of a process, the oldest ones; one file a thread.

    None of it when the process is gone or hidden, and on kernels without schedstat.
    """
    ids = thread_ids(root, pid)
    times = {}
    for tid in ids[:most]:
        fields = read_small(f"{root}/proc/{pid}/task/{tid}/schedstat").split()
        if len(fields) >= 2:
            times[tid] = int(fields[0]), int(fields[1])
    return ThreadTimes(times, len(ids) <= most)


def thread_name(root: Path, pid: int, tid: int, process_kind: Callable[[str], str] = str) -> str:
    """Name of a thread; empty when it is gone.

    The first thread of a process that has set a title (`NAME: title`) has that one, reduced by
    `process_kind`: all processes of such a server have the same name.
    """
    name = read_small(f"{root}/proc/{pid}/task/{tid}/comm").rstrip("\n")
    if tid == pid and name:
        title = read_small(f"{root}/proc/{pid}/cmdline").replace("\0", " ").strip()
        if title.startswith(f"{name}: "):
            return process_kind(title)[:MOST_CHARACTERS]
    return name


def used_ticks(counters: Mapping[Key, ProcessCounters]) -> int:
    """CPU time of all processes and of their children that ended.

    A parent inherits the CPU time of the children it waited for, so the tree's own and inherited time
    together continues over a child's death.
    """
    return sum(item.stat.user + item.stat.system + item.stat.children for item in counters.values())


def memory_bytes(counters: Mapping[Key, ProcessCounters]) -> int | None:
    """Resident memory of a tree: anonymous pages of all, and the largest shared and file-backed part of one.

    Processes of a server map the same shared memory and programs, which a sum of resident sizes counts once
    for each. None where the kernel does not tell.
    """
    processes = counters.values()
    size = sum(item.anonymous for item in processes)
    size += max((item.shared for item in processes), default=0)
    size += max((item.file_backed for item in processes), default=0)
    return size or None


def inherited_io(
    before: Mapping[Key, ProcessCounters], now: Mapping[Key, ProcessCounters]
) -> dict[int, tuple[int, int]]:
    """By process id of the parent: the bytes read and written by those of its children that have ended, up to
    the first instant.

    Linux adds the I/O of a child that was waited for to its parent's own. Those bytes have been counted
    before, as the child's.
    """
    inherited: dict[int, tuple[int, int]] = {}
    for key, counters in before.items():
        if key not in now:
            read, written = inherited.get(counters.stat.parent, (0, 0))
            inherited[counters.stat.parent] = (
                read + (counters.read_bytes or 0),
                written + (counters.write_bytes or 0),
            )
    return inherited


def _pairs(text: str) -> dict[str, int]:
    """`key: number` lines, with or without `kB`."""
    pairs = {}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        value = value.strip().removesuffix(" kB")
        if value.isdecimal():
            pairs[key] = int(value)
    return pairs
