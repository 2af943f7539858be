"""The files of a machine with two NUMA nodes, in the formats of the kernel."""

from __future__ import annotations

from pathlib import Path

#: /proc/PID/numa_maps of a server with a file, a heap, huge pages on the other node, and a stack.
NUMA_MAPS = """\
5581d2a00000 default file=/usr/lib/jvm/java-17/bin/java mapped=1 N0=1 kernelpagesize_kB=4
5581d2a03000 default heap anon=768 dirty=768 active=512 N0=512 N1=256 kernelpagesize_kB=4
7f2c40000000 default anon=2 dirty=2 N1=2 kernelpagesize_kB=2048
7f2c8c000000 default
7ffd0a5e1000 bind:0 stack anon=3 dirty=3 N0=3 kernelpagesize_kB=4
"""
NODE_0 = (1 + 512 + 3) * 4096
NODE_1 = 256 * 4096 + 2 * 2048 * 1024


def machine(root: Path, nodes: int = 2) -> Path:
    """Two processors on each node."""
    for node in range(nodes):
        directory = root / f"sys/devices/system/node/node{node}"
        directory.mkdir(parents=True)
        (directory / "cpulist").write_text(f"{2 * node}-{2 * node + 1}\n")
    return root


def process(root: Path, pid: int, threads: dict[int, tuple[int, int]], maps: str = NUMA_MAPS) -> None:
    """A process with the last processor and the CPU ticks of each thread."""
    directory = root / f"proc/{pid}"
    directory.mkdir(parents=True)
    (directory / "numa_maps").write_text(maps)
    for tid, (processor, ticks) in threads.items():
        task = directory / f"task/{tid}"
        task.mkdir(parents=True)
        zeros = " ".join("0" for _ in range(23))
        head = f"{tid} (a (b) c) S 1 1 1 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 1 0 100"
        (task / "stat").write_text(f"{head} {zeros[: 2 * 16 - 1]} {processor} 0 0\n")
