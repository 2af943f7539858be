"""Layout of this machine's processors, and which of them are available: the base of placements in plans."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from loadcell.linux.files import line, numbers, text
from loadcell.plan.topology import Topology

_CPUS = Path("sys/devices/system/cpu")
_NODES = Path("sys/devices/system/node")


@cache
def topology(root: Path = Path("/")) -> Topology:
    """The layout, read once: `root` is `/`, or a recorded tree in tests."""
    online = numbers(line(root / _CPUS / "online"))
    allowed = _allowed(root)
    usable = allowed.get("Cpus_allowed_list") or online
    online = online or usable
    nodes = {
        int(node.name.removeprefix("node")): tuple(numbers(line(node / "cpulist")))
        for node in (root / _NODES).glob("node[0-9]*")
    }
    memory = allowed.get("Mems_allowed_list") or numbers(line(root / _NODES / "has_memory")) or sorted(nodes)
    return Topology(
        online=tuple(online),
        usable=tuple(number for number in usable if number in set(online)),
        cores=_cores(root, online),
        nodes=nodes or {0: tuple(online)},  # a kernel without NUMA
        memory_nodes=tuple(memory) or (0,),
        offline=tuple(numbers(line(root / _CPUS / "offline"))),
    )


def _allowed(root: Path) -> dict[str, list[int]]:
    """Where this process may run and have memory: what its control group and whoever started it leave it."""
    rows = (row.partition(":") for row in text(root / "proc/self/status").splitlines())
    return {key: numbers(value.strip()) for key, _, value in rows if key.endswith("_allowed_list")}


def _cores(root: Path, online: list[int]) -> tuple[tuple[int, ...], ...]:
    """The threads of each core; a processor that says nothing of its siblings is a core by itself."""
    cores: dict[tuple[int, ...], None] = {}
    for number in online:
        siblings = line(root / _CPUS / f"cpu{number}/topology/thread_siblings_list")
        cores[tuple(numbers(siblings)) or (number,)] = None
    return tuple(cores)
