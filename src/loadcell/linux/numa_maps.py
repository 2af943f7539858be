"""Memory of processes by NUMA node, and the nodes of processors and threads (numa(7), proc(5))."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Final

from loadcell.linux import procfs

_NODES: Final = "sys/devices/system/node"
_PAGES: Final = re.compile(r"\bN(\d+)=(\d+)")
_PAGE_KIB: Final = re.compile(r"kernelpagesize_kB=(\d+)")
_MOST_CHARACTERS: Final = 4 << 20
#: Positions behind the name in /proc/PID/task/TID/stat.
_USER, _SYSTEM, _PROCESSOR = 11, 12, 36


def node_of_processors(root: Path = procfs.ROOT) -> dict[int, int]:
    """The node of each processor; empty where the kernel names no nodes."""
    return {
        cpu: int(path.name.removeprefix("node"))
        for path in (root / _NODES).glob("node[0-9]*")
        for cpu in procfs.numbers(procfs.line(path / "cpulist"))
    }


def node_count(root: Path = procfs.ROOT) -> int:
    """The number of nodes, also of those without processors; at least 1."""
    return max(1, sum(1 for _ in (root / _NODES).glob("node[0-9]*")))


def memory_by_node(root: Path, pid: int) -> Counter[int]:
    """Bytes of a process by node; empty where it is gone or may not be read.

    The kernel walks the page tables of the process for it, and holds the lock of its address space.
    """
    sizes: Counter[int] = Counter()
    try:
        with (root / f"proc/{pid}/numa_maps").open(errors="replace") as file:
            text = file.read(_MOST_CHARACTERS)
    except OSError:
        return sizes
    for row in text.splitlines():
        size = _PAGE_KIB.search(row)
        page_bytes = int(size[1]) * 1024 if size else 4096
        for node, pages in _PAGES.findall(row):
            sizes[int(node)] += int(pages) * page_bytes
    return sizes


def threads_by_node(root: Path, pid: int, node_of: dict[int, int], most: int) -> Counter[int]:
    """CPU time in ticks of the threads of a process, by the node of the processor on which each ran last; of
    the first `most` threads.
    """
    ticks: Counter[int] = Counter()
    try:
        tids = sorted(int(path.name) for path in (root / f"proc/{pid}/task").iterdir())[:most]
    except (OSError, ValueError):
        return ticks
    for tid in tids:
        fields = procfs.read_small(root / f"proc/{pid}/task/{tid}/stat").rpartition(")")[2].split()
        if len(fields) > _PROCESSOR and (node := node_of.get(int(fields[_PROCESSOR]))) is not None:
            ticks[node] += int(fields[_USER]) + int(fields[_SYSTEM])
    return ticks


def far_share(memory: Counter[int], threads: Counter[int]) -> float | None:
    """Share of the accesses to memory that go to another node, if each thread uses all memory alike: with
    threads and memory spread evenly over two nodes it is one half. None without memory or CPU time.
    """
    total, ticks = memory.total(), threads.total()
    if not total or not ticks:
        return None
    return 1 - sum(threads[node] / ticks * size / total for node, size in memory.items())
