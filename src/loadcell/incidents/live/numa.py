"""Memory of large processes by NUMA node, against the node on which they run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from loadcell.incidents.evidence.numa import NodeMemory, NumaMemory
from loadcell.incidents.live.base import SOURCE, Gatherer, Host
from loadcell.linux import procfs
from loadcell.linux.procfs import ProcessStat

_NODES: Final = "sys/devices/system/node"
_PAGES: Final = re.compile(r"\bN(\d+)=(\d+)")
_PAGE_KIB: Final = re.compile(r"kernelpagesize_kB=(\d+)")
#: Smaller processes do not matter, and reading more of them takes too long.
_LEAST_PAGES: Final = 65_536
_MOST: Final = 10
_MOST_CHARACTERS: Final = 4 << 20


class NumaGatherer(Gatherer):
    name = "numa"
    gathers = (NumaMemory,)

    def gather(self, host: Host) -> Iterable[NumaMemory]:
        home = host.root / _NODES
        nodes = {
            int(path.name.removeprefix("node")): procfs.numbers(procfs.line(path / "cpulist"))
            for path in home.glob("node[0-9]*")
        }
        node_of = {cpu: node for node, cpus in nodes.items() for cpu in cpus}
        processes = tuple(_processes(host, node_of)) if len(nodes) > 1 else ()
        yield NumaMemory(SOURCE, max(1, len(nodes)), processes)


def _processes(host: Host, node_of: dict[int, int]) -> Iterator[NodeMemory]:
    large = [stat for stat in procfs.all_stats(host.root) if stat.rss_pages >= _LEAST_PAGES]
    for stat in sorted(large, key=lambda stat: -stat.rss_pages)[:_MOST]:
        sizes = _sizes(host, stat)
        nodes = _nodes(host, stat, node_of)
        if sizes and len(nodes) == 1:
            (node,) = nodes
            total = sum(sizes.values())
            yield NodeMemory(stat.pid, stat.name, node, total, total - sizes[node])


def _sizes(host: Host, stat: ProcessStat) -> Counter[int]:
    """Bytes of a process by node (numa(7), numa_maps)."""
    sizes: Counter[int] = Counter()
    try:
        with (host.root / f"proc/{stat.pid}/numa_maps").open(errors="replace") as file:
            text = file.read(_MOST_CHARACTERS)
    except OSError:
        return sizes
    for row in text.splitlines():
        size = _PAGE_KIB.search(row)
        page_bytes = int(size[1]) * 1024 if size else 4096
        for node, pages in _PAGES.findall(row):
            sizes[int(node)] += int(pages) * page_bytes
    return sizes


def _nodes(host: Host, stat: ProcessStat, node_of: dict[int, int]) -> set[int]:
    """Nodes of the processors on which a process may run."""
    for row in procfs.read_small(host.root / f"proc/{stat.pid}/status").splitlines():
        if row.startswith("Cpus_allowed_list:"):
            cpus = procfs.numbers(row.partition(":")[2])
            return {node_of[cpu] for cpu in cpus if cpu in node_of}
    return set()


PART = NumaGatherer
