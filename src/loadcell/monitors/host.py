"""The machine as a whole, once a second, from /proc: CPU, memory, disks, network, pressure, and its clock."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

from loadcell.linux.procfs import ProcFiles
from loadcell.model.panels import SampleTable
from loadcell.monitors.base import Monitor, MonitorContext, Row, difference, rate
from loadcell.plan.parts import Options

#: Devices that are only a view of others, or memory: counting them too would count the same bytes twice.
NOT_DISKS = ("loop", "ram", "zram", "dm-", "md", "sr", "fd")
NOT_LINKS = (
    "lo", "docker", "br-", "veth", "virbr", "tun", "tap", "vnet", "macvtap", "macvlan", "ipvlan", "dummy",
    "ifb", "wg", "vxlan", "flannel", "cni", "cali", "lxc", "lxdbr", "azv", "azure", "cilium", "eni", "gke",
    "kube", "weave", "podman", "genev", "gre", "sit", "ip6tnl", "tailscale", "zt", "nlmon",
)  # fmt: skip
_SECTOR_BYTES = 512  # the unit of /proc/diskstats on every device


class HostOptions(Options):
    """The host monitor has nothing to set."""


@dataclass
class Reading:
    """The running totals of one instant; what a kernel does not tell is missing."""

    cpu: list[int] = field(default_factory=list)
    cores: dict[str, list[int]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    disks: dict[str, list[int]] = field(default_factory=dict)
    clock_ns: int = 0


def realtime_offset_ns() -> int:
    """CLOCK_REALTIME minus CLOCK_MONOTONIC_RAW: it moves only when the wall clock is set, or slewed (at most
    0.5 ms/s).
    """
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    now = time.clock_gettime_ns(time.CLOCK_REALTIME)
    after = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    return now - (before + after) // 2


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
            "clock_offset_step_s",
        ),
    )  # fmt: skip

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
        self._before: Reading | None = None

    def sample(self, elapsed_s: float) -> list[Row]:
        """One row; none at the first call."""
        now = Reading(clock_ns=self._clock_offset_ns())
        row: Row = {}
        self._read_stat(now, row)
        self._read_memory(row)
        self._read_disks(now)
        self._read_network(now)
        self._read_pressure(now)
        before, self._before = self._before, now
        if before is None or elapsed_s <= 0:
            return []
        _cpu(row, before, now)
        _disks(row, before, now, elapsed_s)
        for column in self.table.columns:
            if column in now.counts:
                row[column] = rate(before.counts.get(column), now.counts[column], elapsed_s)
        for resource in ("cpu", "io", "memory"):  # microseconds stalled a second -> percent of the time
            column = f"pressure_{resource}_some_percent"
            if row.get(column) is not None:
                row[column] = min(100.0, row[column] / 1e4)
        row["clock_offset_step_s"] = (now.clock_ns - before.clock_ns) / 1e9
        return [row]

    def close(self) -> None:
        self._files.close()

    def _read_stat(self, now: Reading, row: Row) -> None:
        for line in self._files.text("proc/stat").splitlines():
            key, _, fields = line.partition(" ")
            if key == "cpu":
                now.cpu = [int(ticks) for ticks in fields.split()]
            elif key.startswith("cpu"):
                now.cores[key] = [int(ticks) for ticks in fields.split()]
            elif key == "ctxt":
                now.counts["context_switches_per_s"] = int(fields)
            elif key == "procs_running":
                row["runnable"] = int(fields)
            elif key == "procs_blocked":
                row["blocked"] = int(fields)
        load = self._files.text("proc/loadavg").split()
        if load:
            row["load1"] = float(load[0])

    def _read_memory(self, row: Row) -> None:
        kilobytes: dict[str, int] = {}
        for line in self._files.text("proc/meminfo").splitlines():
            key, _, fields = line.partition(":")
            kilobytes[key] = int(fields.split()[0])
        if "MemAvailable" in kilobytes and "MemTotal" in kilobytes:
            row["memory_available_bytes"] = kilobytes["MemAvailable"] * 1024
            row["memory_used_bytes"] = (kilobytes["MemTotal"] - kilobytes["MemAvailable"]) * 1024
        if "Dirty" in kilobytes:
            row["memory_dirty_bytes"] = kilobytes["Dirty"] * 1024
        if "SwapTotal" in kilobytes and "SwapFree" in kilobytes:
            row["swap_used_bytes"] = (kilobytes["SwapTotal"] - kilobytes["SwapFree"]) * 1024

    def _read_disks(self, now: Reading) -> None:
        wanted = {"pswpin": "swap_in_per_s", "pswpout": "swap_out_per_s", "pgmajfault": "major_faults_per_s"}
        for line in self._files.text("proc/vmstat").splitlines():
            key, _, value = line.partition(" ")
            if key in wanted:
                now.counts[wanted[key]] = int(value)
        blocks = self._files.root / "sys" / "block"
        for line in self._files.text("proc/diskstats").splitlines():
            fields = line.split()
            name = fields[2]
            if (
                not name.startswith(NOT_DISKS) and (blocks / name.replace("/", "!")).exists()
            ):  # not a partition
                now.disks[name] = [int(value) for value in fields[3:14]]

    def _read_network(self, now: Reading) -> None:
        received = sent = 0
        lines = self._files.text("proc/net/dev").splitlines()[2:]
        for line in lines:
            name, _, fields = line.partition(":")
            if not name.strip().startswith(NOT_LINKS):
                values = fields.split()
                received += int(values[0])
                sent += int(values[8])
        if lines:
            now.counts["net_rx_bytes_per_s"] = received
            now.counts["net_tx_bytes_per_s"] = sent
        tcp = [
            line.split() for line in self._files.text("proc/net/snmp").splitlines() if line.startswith("Tcp:")
        ]
        if len(tcp) == 2 and "RetransSegs" in tcp[0]:
            now.counts["tcp_retransmits_per_s"] = int(tcp[1][tcp[0].index("RetransSegs")])

    def _read_pressure(self, now: Reading) -> None:
        for resource in ("cpu", "io", "memory"):
            some = self._files.text(f"proc/pressure/{resource}").partition("\n")[0]
            if some.startswith("some") and "total=" in some:
                now.counts[f"pressure_{resource}_some_percent"] = int(some.rpartition("total=")[2])


def _cpu(row: Row, before: Reading, now: Reading) -> None:
    """Shares of CPU time. Guest time is inside user time already (proc(5)) and is not added."""
    ticks = _ticks(before.cpu, now.cpu)
    total = sum(ticks)
    if not total:
        return
    user, nice, system, idle, iowait, irq, softirq, steal = (100 * value / total for value in ticks)
    row["cpu_user_percent"] = user + nice
    row["cpu_system_percent"] = system + irq + softirq
    row["cpu_iowait_percent"] = iowait
    row["cpu_steal_percent"] = steal
    row["cpu_idle_percent"] = idle
    row["cpu_busy_percent"] = user + nice + system + irq + softirq
    busy = [_busy(before.cores[core], ticks) for core, ticks in now.cores.items() if core in before.cores]
    row["cpu_max_core_percent"] = max(busy, default=None)


def _ticks(before: list[int], now: list[int]) -> list[int]:
    """user nice system idle iowait irq softirq steal, since `before`."""
    return [
        difference(old, new) for old, new in zip((before + [0] * 8)[:8], (now + [0] * 8)[:8], strict=True)
    ]


def _busy(before: list[int], now: list[int]) -> float:
    ticks = _ticks(before, now)
    total = sum(ticks)
    return 100 * (total - ticks[3] - ticks[4] - ticks[7]) / total if total else 0.0


def _disks(row: Row, before: Reading, now: Reading, elapsed_s: float) -> None:
    """All disks together; waiting time is the mean over requests, utilisation that of the busiest disk."""
    sums = [0] * 11
    utilisation = []
    for name, values in now.disks.items():
        if name in before.disks:
            deltas = [difference(old, new) for old, new in zip(before.disks[name], values, strict=False)]
            sums = [total + delta for total, delta in zip(sums, deltas, strict=False)]
            utilisation.append(min(100.0, deltas[9] / (elapsed_s * 10)))
    if not utilisation:
        return
    reads, _, read_sectors, read_ms, writes, _, write_sectors, write_ms = sums[:8]
    row["disk_reads_per_s"] = reads / elapsed_s
    row["disk_writes_per_s"] = writes / elapsed_s
    row["disk_read_bytes_per_s"] = read_sectors * _SECTOR_BYTES / elapsed_s
    row["disk_write_bytes_per_s"] = write_sectors * _SECTOR_BYTES / elapsed_s
    row["disk_read_await_ms"] = read_ms / reads if reads else None
    row["disk_write_await_ms"] = write_ms / writes if writes else None
    row["disk_util_max_percent"] = max(utilisation)


PART = Host


#: A partition's name begins with its disk's.
_PARTITION = re.compile(r"(?P<disk>[a-z]+|nvme\d+n\d+|mmcblk\d+)p?\d+$")
#: Interfaces that carry the traffic of others, which are listed next to them.
_COMBINED_LINK = re.compile(r"(bond|team|br|ovs)[-\w]*$")
#: `eth0.100` carries a part of `eth0`'s traffic.
_VLAN = re.compile(r"(?P<parent>.+?)[.@:]\w+$")


def disks_to_count(names: Collection[str]) -> list[str]:
    """Whole disks among the block devices of one instant: no partition of another, no view of others."""
    return [name for name in names if not name.startswith(NOT_DISKS) and not _is_partition(name, names)]


def links_to_count(names: Collection[str]) -> list[str]:
    """Physical interfaces among those of one instant; a bond or bridge counts where nothing else does."""
    candidates = [name for name in names if not name.startswith(NOT_LINKS) and not _is_vlan(name, names)]
    return [name for name in candidates if _COMBINED_LINK.match(name) is None] or candidates


def _is_partition(name: str, names: Collection[str]) -> bool:
    match = _PARTITION.match(name)
    return match is not None and match["disk"] in names


def _is_vlan(name: str, names: Collection[str]) -> bool:
    match = _VLAN.match(name)
    return match is not None and match["parent"] in names
