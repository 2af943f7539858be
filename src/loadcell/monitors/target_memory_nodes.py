"""Memory of the target's processes by NUMA node, a few times in a trial, on hosts with several nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from loadcell.linux import numa_maps
from loadcell.linux.process_counters import Key, ProcessCounters
from loadcell.linux.procfs import ProcessStat
from loadcell.model.panels import SampleTable
from loadcell.monitors.base import Row

MEMORY_NODES: Final = "memory-nodes"
TABLE: Final = SampleTable(
    "memory-nodes", ("pid", "name", "memory_nodes", "memory_bytes", "far_bytes"), text=frozenset({"name"})
)
#: Parts of the load after which the memory is read: reading stops the allocations of a process for a while.
INSTANTS: Final = (0.25, 0.5, 0.75)
#: Processes of a sample, the largest ones, and threads of each.
MOST_PROCESSES: Final = 10
MOST_THREADS: Final = 500


class MemoryNodes:
    """Takes the processes of each sample, and has rows of their memory at the instants."""

    def __init__(self, root: Path, length_s: float) -> None:
        self._root = root
        self._node_of = numa_maps.node_of_processors(root) if numa_maps.node_count(root) > 1 else {}
        self._due_s = [length_s * share for share in INSTANTS] if self._node_of else []
        self._elapsed_s = 0.0
        self._rows: list[Row] = []

    def take(self, processes: Mapping[Key, ProcessCounters], elapsed_s: float) -> None:
        """Processes of one instant, `elapsed_s` after those before."""
        self._rows = []
        self._elapsed_s += elapsed_s
        if elapsed_s <= 0 or not self._due_s or self._elapsed_s < self._due_s[0]:
            return
        self._due_s = [due_s for due_s in self._due_s if due_s > self._elapsed_s]
        self._rows = self._read(counters.stat for counters in processes.values())

    def rows(self) -> list[Row]:
        """Rows of the last instant, if it was one of reading: of each process, and of all (`pid` 0)."""
        return self._rows

    def _read(self, stats: Iterable[ProcessStat]) -> list[Row]:
        rows: list[Row] = []
        for stat in sorted(stats, key=lambda stat: -stat.rss_pages)[:MOST_PROCESSES]:
            memory = numa_maps.memory_by_node(self._root, stat.pid)
            threads = numa_maps.threads_by_node(self._root, stat.pid, self._node_of, MOST_THREADS)
            share = numa_maps.far_share(memory, threads)
            if share is not None:
                size = memory.total()
                rows.append(
                    {
                        "pid": stat.pid,
                        "name": stat.name,
                        "memory_nodes": sum(1 for pages in memory.values() if pages),
                        "memory_bytes": size,
                        "far_bytes": round(size * share),
                    }
                )
        if not rows:
            return []
        total: Row = {"pid": 0, "name": "total", "memory_nodes": max(row["memory_nodes"] for row in rows)}
        for column in ("memory_bytes", "far_bytes"):
            total[column] = sum(row[column] for row in rows)
        return [*rows, total]
