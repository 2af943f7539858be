"""CPU time of processes that have no part in a trial, during its measurement."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from loadcell.linux.procfs import ProcessStat, children_by_parent, descendants, process_ids, process_stat

#: Kernel threads are children of this process: they work for whoever made the work, which may be the target.
_KERNEL = 2

#: The first process gets every orphan.
_FIRST = 1

#: A process by its id and when it started, as ids are used again.
Key = tuple[int, int]


@dataclass(frozen=True)
class Used:
    """A process and what CPU time it used, its children that ended included, in seconds."""

    pid: int
    name: str
    cpu_s: float


def on_this_machine(endpoint: Mapping[str, Any]) -> bool:
    """True if the target that the engine is pointed at may run here; another name is taken for another
    machine's.
    """
    if endpoint.get("socket"):
        return True
    host = str(endpoint.get("host") or "")
    if host in ("", "localhost", socket.gethostname()):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    local_addresses = {
        entry.address.partition("%")[0] for interface in psutil.net_if_addrs().values() for entry in interface
    }
    return address.is_loopback or str(address) in local_addresses


def look(root: Path) -> dict[Key, ProcessStat]:
    """Every process of this moment."""
    stats = (process_stat(root, pid) for pid in process_ids(root))
    return {(stat.pid, stat.start): stat for stat in stats if stat is not None}


def between(
    before: dict[Key, ProcessStat],
    after: dict[Key, ProcessStat],
    ours: Iterable[int],
    tick_hz: int | None = None,
) -> list[Used]:
    """CPU time of each process between two looks, most first, without `ours` and their descendants.

    A process that ends hands what it used to the one that waits for it, its whole life at once: what it had
    used before the first look is taken off again. Whoever waits for orphans gets lives that nobody knows the
    beginning of, so of process 1 only its own time counts.
    """
    hz = tick_hz or os.sysconf("SC_CLK_TCK")
    ours = set(ours)
    spared = _with_descendants(ours, before) | _with_descendants(ours, after)
    ticks = {key: _total(stat) - (_total(before[key]) if key in before else 0) for key, stat in after.items()}
    old = {pid: stat for (pid, _), stat in before.items()}
    living = {pid: (pid, start) for pid, start in after}
    for key in before.keys() - after.keys():
        heir = before[key].parent
        while heir not in living and heir in old:
            heir = old[heir].parent
        if heir in living and heir != _FIRST:
            ticks[living[heir]] -= _total(before[key])
    used = [
        Used(stat.pid, stat.name, ticks[key] / hz)
        for key, stat in after.items()
        if ticks[key] > 0 and stat.pid not in spared and _KERNEL not in (stat.pid, stat.parent)
    ]
    return sorted(used, key=lambda process: -process.cpu_s)


def _total(stat: ProcessStat) -> int:
    return stat.user + stat.system + (0 if stat.pid == _FIRST else stat.children)


def _with_descendants(roots: Iterable[int], stats: Mapping[Key, ProcessStat]) -> set[int]:
    children = children_by_parent(stats.values())
    return set(descendants(roots, lambda pid: children.get(pid, [])))
