"""Memory of large processes by NUMA node, against the node on which they run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from loadcell.incidents.evidence.numa import NodeMemory, NumaMemory
from loadcell.incidents.live.base import SOURCE, Gatherer, Host
from loadcell.linux import numa_maps, procfs
from loadcell.linux.procfs import ProcessStat

#: Smaller processes do not matter, and reading more of them takes too long.
_LEAST_PAGES: Final = 65_536
_MOST: Final = 10


class NumaGatherer(Gatherer):
    name = "numa"
    gathers = (NumaMemory,)

    def gather(self, host: Host) -> Iterable[NumaMemory]:
        nodes = numa_maps.node_count(host.root)
        processes = tuple(_processes(host, numa_maps.node_of_processors(host.root))) if nodes > 1 else ()
        yield NumaMemory(SOURCE, nodes, processes)


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
