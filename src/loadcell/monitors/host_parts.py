"""Rows of single cores, disks and interfaces, from the counters that the monitor `host` reads.

Of a machine with many of them the busiest of each sample have rows, and all others together one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

from loadcell.linux.host_counters import (
    SECTOR_BYTES,
    CpuTicks,
    DiskCounters,
    HostCounters,
    LinkCounters,
)
from loadcell.model.panels import SampleTable
from loadcell.monitors.base import Row

#: Rows of one sample and table, without that of the others.
MOST_ROWS: Final = 16
#: Samples with rows in a load of any length: 17 rows each are some 3 MB.
MOST_SAMPLES: Final = 1_800
#: CPU time of making rows, as a share of a core.
COST_SHARE: Final = 0.001
#: The name of the row of all others.
OTHERS: Final = "others"

CORES, DISKS, LINKS = "cores", "disks", "links"
TABLES: Final[Mapping[str, SampleTable]] = {
    CORES: SampleTable("cores", (
        "core", "cpu_user_percent", "cpu_system_percent", "cpu_iowait_percent", "cpu_steal_percent",
        "cpu_busy_percent", "merged", "elapsed_s",
    ), text=frozenset({"core"})),
    DISKS: SampleTable("disks", (
        "disk", "reads_per_s", "writes_per_s", "read_bytes_per_s", "write_bytes_per_s", "read_await_ms",
        "write_await_ms", "queue", "util_percent", "in_progress", "flushes_per_s", "merged", "elapsed_s",
    ), text=frozenset({"disk"})),
    LINKS: SampleTable("links", (
        "link", "rx_bytes_per_s", "tx_bytes_per_s", "rx_packets_per_s", "tx_packets_per_s", "drops_per_s",
        "errors_per_s", "merged", "elapsed_s",
    ), text=frozenset({"link"})),
}  # fmt: skip


class Parts:
    """Takes the counters of each sample, and has rows of it; in long loads of every few samples together.

    `cpu_s` gives the CPU time of this thread, of which rows take at most `COST_SHARE`: on machines of a
    thousand cores they cover some seconds.
    """

    def __init__(self, length_s: float, cpu_s: Callable[[], float] = time.thread_time) -> None:
        self._cpu_s = cpu_s
        self._least_s = length_s / MOST_SAMPLES
        self._cost_s = 0.0
        self._before: HostCounters | None = None
        self._elapsed_s = 0.0
        self._rows: dict[str, list[Row]] = {}

    def take(self, now: HostCounters, elapsed_s: float) -> None:
        """Counters of one instant, `elapsed_s` after those before; 0 at the first one."""
        self._rows = {}
        before = self._before
        if before is None or elapsed_s <= 0:
            self._before, self._elapsed_s = now, 0.0
            return
        self._elapsed_s += elapsed_s
        if self._elapsed_s < max(self._least_s, self._cost_s / COST_SHARE):
            return
        began_s, seconds = self._cpu_s(), self._elapsed_s
        self._rows = {
            CORES: core_rows(before.cores, now.cores, seconds),
            DISKS: disk_rows(before.disks, now.disks, seconds),
            LINKS: link_rows(before.links, now.links, seconds),
        }
        self._cost_s = self._cpu_s() - began_s
        self._before, self._elapsed_s = now, 0.0

    def rows(self) -> Mapping[str, list[Row]]:
        """Rows of the last sample, by table; given once."""
        rows, self._rows = self._rows, {}
        return rows


def core_rows(before: Mapping[str, CpuTicks], now: Mapping[str, CpuTicks], elapsed_s: float) -> list[Row]:
    """Shares of the time of each core, 0 to 100; the others' are means. One that was offline has none."""
    ticks = {core: new.since(before[core]) for core, new in now.items() if core in before}
    chosen, others = _busiest(ticks, lambda item: item.busy)

    def row(name: str, used: Sequence[CpuTicks]) -> Row:
        total = sum(item.total for item in used)
        percent = 100 / total if total else 0.0
        return {
            "core": name,
            "cpu_user_percent": sum(item.user + item.nice for item in used) * percent,
            "cpu_system_percent": sum(item.system + item.irq + item.softirq for item in used) * percent,
            "cpu_iowait_percent": sum(item.iowait for item in used) * percent,
            "cpu_steal_percent": sum(item.steal for item in used) * percent,
            "cpu_busy_percent": sum(item.busy for item in used) * percent,
            "merged": len(used),
            "elapsed_s": elapsed_s,
        }

    return [row(name, [ticks[name]]) for name in chosen] + ([row(OTHERS, others)] if others else [])


def disk_rows(
    before: Mapping[str, DiskCounters], now: Mapping[str, DiskCounters], elapsed_s: float
) -> list[Row]:
    """Requests of each disk; of the others sums, and the mean utilisation.

    `queue` is the mean number of requests in progress: the time of all requests by the time gone by (Little's
    law; `aqu-sz` of iostat). A wait of no request is None.
    """
    used = {name: new.since(before[name]) for name, new in now.items() if name in before}
    chosen, others = _busiest(used, lambda item: item.busy_ms)

    def row(name: str, disks: Sequence[DiskCounters]) -> Row:
        reads, writes = sum(disk.reads for disk in disks), sum(disk.writes for disk in disks)
        read_ms, write_ms = sum(disk.read_ms for disk in disks), sum(disk.write_ms for disk in disks)
        busy_ms = sum(disk.busy_ms for disk in disks) / len(disks)
        return {
            "disk": name,
            "reads_per_s": reads / elapsed_s,
            "writes_per_s": writes / elapsed_s,
            "read_bytes_per_s": sum(disk.read_sectors for disk in disks) * SECTOR_BYTES / elapsed_s,
            "write_bytes_per_s": sum(disk.write_sectors for disk in disks) * SECTOR_BYTES / elapsed_s,
            "read_await_ms": read_ms / reads if reads else None,
            "write_await_ms": write_ms / writes if writes else None,
            "queue": sum(disk.weighted_ms for disk in disks) / 1e3 / elapsed_s,
            "util_percent": min(100.0, busy_ms / (elapsed_s * 10)),
            "in_progress": sum(disk.in_progress for disk in disks),
            "flushes_per_s": sum(disk.flushes for disk in disks) / elapsed_s,
            "merged": len(disks),
            "elapsed_s": elapsed_s,
        }

    return [row(name, [used[name]]) for name in chosen] + ([row(OTHERS, others)] if others else [])


def link_rows(
    before: Mapping[str, LinkCounters], now: Mapping[str, LinkCounters], elapsed_s: float
) -> list[Row]:
    """Traffic of each interface; of the others sums."""
    used = {name: new.since(before[name]) for name, new in now.items() if name in before}
    chosen, others = _busiest(used, lambda item: item.received_bytes + item.sent_bytes)

    def row(name: str, links: Sequence[LinkCounters]) -> Row:
        return {
            "link": name,
            "rx_bytes_per_s": sum(link.received_bytes for link in links) / elapsed_s,
            "tx_bytes_per_s": sum(link.sent_bytes for link in links) / elapsed_s,
            "rx_packets_per_s": sum(link.received_packets for link in links) / elapsed_s,
            "tx_packets_per_s": sum(link.sent_packets for link in links) / elapsed_s,
            "drops_per_s": sum(link.dropped for link in links) / elapsed_s,
            "errors_per_s": sum(link.errors for link in links) / elapsed_s,
            "merged": len(links),
            "elapsed_s": elapsed_s,
        }

    return [row(name, [used[name]]) for name in chosen] + ([row(OTHERS, others)] if others else [])


T = TypeVar("T")


def _busiest(parts: Mapping[str, T], use: Callable[[T], float]) -> tuple[Iterable[str], list[T]]:
    """Names of the busiest parts in the kernel's order, and all others."""
    if len(parts) <= MOST_ROWS + 1:  # one other is no fewer rows
        return list(parts), []
    ordered = sorted(parts, key=lambda name: -use(parts[name]))
    chosen = set(ordered[:MOST_ROWS])
    return [name for name in parts if name in chosen], [parts[name] for name in ordered[MOST_ROWS:]]
