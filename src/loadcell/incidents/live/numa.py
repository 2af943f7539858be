"""Memory by NUMA node: of large processes, and what the kernel allocates between two readings."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from loadcell.incidents.evidence.numa import NodeMemory, NumaAllocations, NumaMemory
from loadcell.incidents.live.base import SOURCE, Gatherer, Host
from loadcell.linux import numa_maps, procfs
from loadcell.linux.host_counters import difference, read_vmstat
from loadcell.linux.procfs import ProcessStat, ProcFiles

#: Smaller processes do not matter, and reading more of them takes too long.
_LEAST_PAGES: Final = 65_536
_MOST: Final = 10
_LOCAL, _OTHER, _MISSED = _COUNTERS = ("numa_local", "numa_other", "numa_miss")


class NumaGatherer(Gatherer):
    name = "numa"
    gathers = (NumaMemory,)

    def gather(self, host: Host) -> Iterable[NumaMemory]:
        nodes = numa_maps.node_count(host.root)
        if nodes < 2:
            yield NumaMemory(SOURCE, nodes)
            return
        files = ProcFiles(host.root)
        before, begin = read_vmstat(files), time.monotonic()
        processes = tuple(_processes(host, numa_maps.node_of_processors(host.root)))
        time.sleep(max(0.0, host.interval_s - (time.monotonic() - begin)))
        now, window_s = read_vmstat(files), time.monotonic() - begin
        files.close()
        yield NumaMemory(SOURCE, nodes, processes, _allocations(before, now, window_s))


def _allocations(
    before: Mapping[str, int], now: Mapping[str, int], window_s: float
) -> NumaAllocations | None:
    """Memory that was allocated between two readings; None where the kernel counts none (`vm.numa_stat`)."""
    if not before.keys() & now.keys() >= set(_COUNTERS) or not now[_LOCAL]:
        return None
    page_bytes = os.sysconf("SC_PAGE_SIZE")
    local, other, missed = (difference(before[name], now[name]) * page_bytes for name in _COUNTERS)
    return NumaAllocations(window_s, local, other, missed, now[_OTHER] / (now[_LOCAL] + now[_OTHER]))


def _processes(host: Host, node_of: dict[int, int]) -> Iterator[NodeMemory]:
    large = [stat for stat in procfs.all_stats(host.root) if stat.rss_pages >= _LEAST_PAGES]
    for stat in sorted(large, key=lambda stat: -stat.rss_pages)[:_MOST]:
        sizes = numa_maps.memory_by_node(host.root, stat.pid)
        nodes = _nodes(host, stat, node_of)
        if sizes and len(nodes) == 1:
            (node,) = nodes
            total = sum(sizes.values())
            yield NodeMemory(stat.pid, stat.name, node, total, total - sizes[node])


def _nodes(host: Host, stat: ProcessStat, node_of: dict[int, int]) -> set[int]:
    """Nodes of the processors on which a process may run."""
    for row in procfs.read_small(host.root / f"proc/{stat.pid}/status").splitlines():
        if row.startswith("Cpus_allowed_list:"):
            cpus = procfs.numbers(row.partition(":")[2])
            return {node_of[cpu] for cpu in cpus if cpu in node_of}
    return set()


PART = NumaGatherer
