"""Running counters of a tree of processes at one instant, from /proc: CPU, memory, I/O, context switches."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from loadcell.linux.procfs import ProcessStat, numbers, process_stat, read_small, tree

#: A process by its id and start time, so that an id used again is another process.
Key: TypeAlias = tuple[int, int]

TICK_HZ: Final = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class ProcessCounters:
    """Resources that one process has used since its start; None where the kernel denies access.

    Resident memory in bytes: `anonymous`, `file_backed`, and `shared` (shared memory, tmpfs).
    """

    stat: ProcessStat
    read_bytes: int | None
    write_bytes: int | None
    voluntary: int
    involuntary: int
    anonymous: int
    file_backed: int
    shared: int


@dataclass(frozen=True, slots=True)
class ThreadCounters:
    """Nanoseconds that a thread ran, and that it was ready to run without a core (schedstat)."""

    name: str
    pid: int
    run_ns: int
    wait_ns: int


def read_processes(root: Path, roots: list[int]) -> dict[Key, ProcessCounters]:
    """Counters of `roots` and their descendants that are alive."""
    counters = {}
    for pid in tree(root, roots):
        stat = process_stat(root, pid)
        if stat is None or stat.state in "ZX":
            continue
        process = _process(root, stat)
        # one that has ended meanwhile hides nothing
        if process.read_bytes is not None or _is_alive(root, stat):
            counters[pid, stat.start] = process
    return counters


def _is_alive(root: Path, stat: ProcessStat) -> bool:
    now = process_stat(root, stat.pid)
    return now is not None and now.start == stat.start and now.state not in "ZX"


def _process(root: Path, stat: ProcessStat) -> ProcessCounters:
    home = root / "proc" / str(stat.pid)
    io, status = _pairs(read_small(home / "io")), _pairs(read_small(home / "status"))
    statuses = [status]
    if stat.threads > 1:
        statuses = [_pairs(read_small(task / "status")) for task in (home / "task").glob("*")]
    return ProcessCounters(
        stat,
        io.get("read_bytes"),
        io.get("write_bytes"),
        sum(pairs.get("voluntary_ctxt_switches", 0) for pairs in statuses),
        sum(pairs.get("nonvoluntary_ctxt_switches", 0) for pairs in statuses),
        *(1024 * status.get(name, 0) for name in ("RssAnon", "RssFile", "RssShmem")),
    )


def read_threads(root: Path, pids: Iterable[int]) -> dict[int, ThreadCounters]:
    """Counters of the threads of processes, by thread id; none of kernels without schedstat."""
    threads = {}
    for pid in pids:
        for tid, times in run_times(root, pid).items():
            title = read_small(f"{root}/proc/{pid}/task/{tid}/comm").rstrip("\n")
            threads[tid] = ThreadCounters(title, pid, *times)
    return threads


def allowed_cpus(root: Path, pid: int) -> int | None:
    """Number of processors that a process may use; None if it is gone or hidden."""
    for line in read_small(f"{root}/proc/{pid}/status").splitlines():
        name, _, cpus = line.partition(":")
        if name == "Cpus_allowed_list":
            return len(numbers(cpus.strip())) or None
    return None


def run_times(root: Path, pid: int) -> dict[int, tuple[int, int]]:
    """Nanoseconds that each thread of a process ran, and that it was ready to run without a core, by thread
    id; one file a thread. Empty when the process is gone or hidden, and on kernels without schedstat.
    """
    tasks = f"{root}/proc/{pid}/task"
    try:
        names = os.listdir(tasks)  # noqa: PTH208 - names are all that is needed
    except OSError:
        return {}
    times = {}
    for name in names:
        fields = read_small(f"{tasks}/{name}/schedstat").split()
        if len(fields) >= 2:
            times[int(name)] = int(fields[0]), int(fields[1])
    return times


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
