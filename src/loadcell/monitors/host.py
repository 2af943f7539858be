"""The machine as a whole, once a second, from /proc: CPU, memory, disks, network, pressure, and its clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from loadcell.linux import numa_maps
from loadcell.linux.host_counters import SECTOR_BYTES, CpuTicks, HostCounters, read_host
from loadcell.linux.procfs import ProcFiles
from loadcell.linux.wall_clock import realtime_offset_ns
from loadcell.model.panels import SampleTable
from loadcell.monitors import host_parts
from loadcell.monitors.base import Monitor, MonitorContext, Row, rate
from loadcell.plan.parts import Options


class HostOptions(Options):
    """The host monitor has nothing to set."""


class Host(Monitor[HostOptions]):
    """Samples the machine. Percentages of CPU are of all cores together, 0 to 100."""

    name = "host"
    summary = "the machine: CPU, memory, disks, network, pressure, clock"
    Options = HostOptions
    table = SampleTable(
        "host",
        (
            "cpu_user_percent", "cpu_system_percent", "cpu_iowait_percent", "cpu_steal_percent",
            "cpu_idle_percent", "cpu_busy_percent", "cpu_max_core_percent", "load1", "runnable", "blocked",
            "context_switches_per_s",
            "memory_used_bytes", "memory_available_bytes", "memory_dirty_bytes", "swap_used_bytes",
            "swap_in_per_s", "swap_out_per_s", "major_faults_per_s", "disk_read_bytes_per_s",
            "disk_write_bytes_per_s",
            "disk_reads_per_s", "disk_writes_per_s", "disk_read_await_ms", "disk_write_await_ms",
            "disk_util_max_percent", "net_rx_bytes_per_s", "net_tx_bytes_per_s", "tcp_retransmits_per_s",
            "pressure_cpu_some_percent", "pressure_io_some_percent", "pressure_memory_some_percent",
            "clock_offset_step_s", "numa_local_per_s", "numa_other_per_s", "numa_missed_per_s",
        ),
    )  # fmt: skip
    tables = host_parts.TABLES

    def __init__(
        self,
        options: HostOptions,
        context: MonitorContext,
        *,
        root: Path = Path("/"),
        clock_offset_ns: Callable[[], int] = realtime_offset_ns,
    ) -> None:
        super().__init__(options, context)
        self._files = ProcFiles(root)
        self._clock_offset_ns = clock_offset_ns
        self._before: tuple[HostCounters, int] | None = None
        self._parts = host_parts.Parts(context.length_s)
        self._has_nodes = numa_maps.node_count(root) > 1

    def sample(self, elapsed_s: float) -> list[Row]:
        """One row; none at the first call."""
        clock_ns, now = self._clock_offset_ns(), read_host(self._files)
        self._parts.take(now, elapsed_s)
        last, self._before = self._before, (now, clock_ns)
        if last is None or elapsed_s <= 0:
            return []
        before, clock_before_ns = last
        row: Row = {"load1": now.load1, "runnable": now.runnable, "blocked": now.blocked}
        row["context_switches_per_s"] = rate(before.context_switches, now.context_switches, elapsed_s)
        _cpu(row, before, now)
        _memory(row, before, now, elapsed_s)
        _disks(row, before, now, elapsed_s)
        _network(row, before, now, elapsed_s)
        for resource in ("cpu", "io", "memory"):  # microseconds stalled a second -> percent of the time
            stalled = rate(
                before.pressure.get(f"{resource} some"), now.pressure.get(f"{resource} some"), elapsed_s
            )
            row[f"pressure_{resource}_some_percent"] = None if stalled is None else min(100.0, stalled / 1e4)
        if self._has_nodes:
            for column, key in _OF_NODES.items():
                row[column] = rate(before.vmstat.get(key), now.vmstat.get(key), elapsed_s)
        row["clock_offset_step_s"] = (clock_ns - clock_before_ns) / 1e9
        return [row]

    def further_rows(self) -> Mapping[str, list[Row]]:
        return self._parts.rows()

    def close(self) -> None:
        self._files.close()


def _cpu(row: Row, before: HostCounters, now: HostCounters) -> None:
    """Shares of CPU time."""
    if before.cpu is None or now.cpu is None or not (ticks := now.cpu.since(before.cpu)).total:
        return
    percent = 100 / ticks.total
    row["cpu_user_percent"] = (ticks.user + ticks.nice) * percent
    row["cpu_system_percent"] = (ticks.system + ticks.irq + ticks.softirq) * percent
    row["cpu_iowait_percent"] = ticks.iowait * percent
    row["cpu_steal_percent"] = ticks.steal * percent
    row["cpu_idle_percent"] = ticks.idle * percent
    row["cpu_busy_percent"] = ticks.busy * percent
    row["cpu_max_core_percent"] = busiest_core_percent(before, now)


def busiest_core_percent(before: HostCounters, now: HostCounters) -> float | None:
    """Share of the busiest core, 0 to 100; None without cores."""
    both = (ticks.since(before.cores[core]) for core, ticks in now.cores.items() if core in before.cores)
    return max((_busy_percent(ticks) for ticks in both), default=None)


def _busy_percent(ticks: CpuTicks) -> float:
    return 100 * ticks.busy / ticks.total if ticks.total else 0.0


def _memory(row: Row, before: HostCounters, now: HostCounters, elapsed_s: float) -> None:
    total, available = now.meminfo.get("MemTotal"), now.meminfo.get("MemAvailable")
    row["memory_available_bytes"] = available
    row["memory_used_bytes"] = None if total is None or available is None else total - available
    row["memory_dirty_bytes"] = now.meminfo.get("Dirty")
    if "SwapTotal" in now.meminfo and "SwapFree" in now.meminfo:
        row["swap_used_bytes"] = now.meminfo["SwapTotal"] - now.meminfo["SwapFree"]
    for column, key in _OF_VMSTAT.items():
        row[column] = rate(before.vmstat.get(key), now.vmstat.get(key), elapsed_s)


_OF_VMSTAT = {"swap_in_per_s": "pswpin", "swap_out_per_s": "pswpout", "major_faults_per_s": "pgmajfault"}

#: Pages that were allocated on the node of their processor, on others, and where the right one was full.
_OF_NODES = {
    "numa_local_per_s": "numa_local", "numa_other_per_s": "numa_other", "numa_missed_per_s": "numa_miss",
}  # fmt: skip


def _network(row: Row, before: HostCounters, now: HostCounters, elapsed_s: float) -> None:
    if now.links:
        sums = [
            sum(getattr(link, name) for link in counters.links.values())
            for name in ("received_bytes", "sent_bytes")
            for counters in (before, now)
        ]
        row["net_rx_bytes_per_s"] = rate(sums[0], sums[1], elapsed_s)
        row["net_tx_bytes_per_s"] = rate(sums[2], sums[3], elapsed_s)
    row["tcp_retransmits_per_s"] = rate(before.tcp_retransmits, now.tcp_retransmits, elapsed_s)


def _disks(row: Row, before: HostCounters, now: HostCounters, elapsed_s: float) -> None:
    """All disks together; waiting time is the mean over requests, utilisation that of the busiest disk."""
    used = [disk.since(before.disks[name]) for name, disk in now.disks.items() if name in before.disks]
    if not used:
        return
    reads, writes = sum(disk.reads for disk in used), sum(disk.writes for disk in used)
    row["disk_reads_per_s"] = reads / elapsed_s
    row["disk_writes_per_s"] = writes / elapsed_s
    row["disk_read_bytes_per_s"] = sum(disk.read_sectors for disk in used) * SECTOR_BYTES / elapsed_s
    row["disk_write_bytes_per_s"] = sum(disk.write_sectors for disk in used) * SECTOR_BYTES / elapsed_s
    row["disk_read_await_ms"] = sum(disk.read_ms for disk in used) / reads if reads else None
    row["disk_write_await_ms"] = sum(disk.write_ms for disk in used) / writes if writes else None
    row["disk_util_max_percent"] = min(100.0, max(disk.busy_ms for disk in used) / (elapsed_s * 10))


PART = Host
