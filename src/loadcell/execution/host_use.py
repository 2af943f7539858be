"""Use of the machine between two instants: CPU, memory, disks, network, pressure."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from loadcell.linux.host_counters import (
    SECTOR_BYTES,
    CpuTicks,
    DiskCounters,
    HostCounters,
    difference,
    link_speed,
)
from loadcell.linux.procfs import ProcFiles
from loadcell.model.resources import CpuShares, DiskUse, HostUse, LinkUse, PressureStall

#: Disks and interfaces that a record names.
_MOST_DEVICES = 8
#: Means over more time than this are no maxima of samples.
LONGEST_SAMPLE_NS = 2_000_000_000
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class MemoryUse:
    """Bytes between processors and memory within the window, and the bandwidth that there is; None: not
    known.
    """

    traffic_bytes: int | None = None
    peak_bytes_per_s: float | None = None


@dataclass
class HostSamples:
    """Samples of the machine within the window, at least a second apart: the largest CPU use (0 to 1) and the
    least available memory; None without samples.
    """

    cpu_max: float | None = None
    available_bytes: int | None = None
    _before: CpuTicks | None = None

    def begin(self, before: HostCounters) -> None:
        """The window begins with these counters."""
        self._before = before.cpu

    def add(self, busy: float) -> None:
        """Take a sample of the CPU use."""
        self.cpu_max = max(self.cpu_max or 0.0, busy)

    def take(self, now: CpuTicks | None, available_bytes: int | None, length_ns: int) -> None:
        """Take a sample of this length. Too long ones are no maxima."""
        before, self._before = self._before, now
        is_short = length_ns <= LONGEST_SAMPLE_NS
        if now is not None and before is not None and is_short and (ticks := now.since(before)).total:
            self.add(ticks.busy / ticks.total)
        if available_bytes is not None:
            self.available_bytes = min(self.available_bytes or available_bytes, available_bytes)


def host_use(
    before: HostCounters,
    now: HostCounters,
    seconds: float,
    samples: HostSamples,
    memory: MemoryUse,
) -> HostUse:
    """Use of the machine within `seconds`, with `samples` between both instants, and that of its memory."""

    def per_s(old: int | None, new: int | None) -> float | None:
        return None if old is None or new is None else difference(old, new) / seconds

    def of_vmstat(key: str) -> float | None:
        return per_s(before.vmstat.get(key), now.vmstat.get(key))

    def stalled(key: str) -> float | None:
        micros = per_s(before.pressure.get(key), now.pressure.get(key))
        return None if micros is None else min(1.0, micros / 1e6)

    readings = (before.meminfo.get("MemAvailable"), now.meminfo.get("MemAvailable"), samples.available_bytes)
    available = [size for size in readings if size is not None]
    pages_in, pages_out = of_vmstat("pswpin"), of_vmstat("pswpout")
    cores = [now.cores[core].since(before.cores[core]) for core in now.cores if core in before.cores]
    cpu, cpu_max = _cpu(before, now), samples.cpu_max
    if cpu is not None and cpu_max is not None:
        cpu_max = max(cpu.busy, cpu_max)
    pressure = PressureStall(
        stalled("cpu some"),
        stalled("io some"),
        stalled("io full"),
        stalled("memory some"),
        stalled("memory full"),
    )
    return HostUse(
        cores=len(now.cores),
        cpu=cpu,
        cpu_max=cpu_max,
        busiest_core=max((ticks.busy / ticks.total for ticks in cores if ticks.total), default=None),
        context_switches_per_s=per_s(before.context_switches, now.context_switches),
        memory_total_bytes=now.meminfo.get("MemTotal"),
        memory_available_bytes=now.meminfo.get("MemAvailable"),
        memory_available_min_bytes=min(available, default=None),
        swap_in_bytes_per_s=None if pages_in is None else pages_in * _PAGE_BYTES,
        swap_out_bytes_per_s=None if pages_out is None else pages_out * _PAGE_BYTES,
        direct_reclaim_per_s=of_vmstat("allocstall"),
        direct_scan_pages_per_s=of_vmstat("pgscan_direct"),
        direct_steal_pages_per_s=of_vmstat("pgsteal_direct"),
        major_faults_per_s=of_vmstat("pgmajfault"),
        tcp_retransmits_per_s=per_s(before.tcp_retransmits, now.tcp_retransmits),
        pressure=pressure if now.pressure else None,
        memory_traffic_bytes_per_s=None if memory.traffic_bytes is None else memory.traffic_bytes / seconds,
        memory_peak_bytes_per_s=memory.peak_bytes_per_s,
    )


def _cpu(before: HostCounters, now: HostCounters) -> CpuShares | None:
    if before.cpu is None or now.cpu is None or not (ticks := now.cpu.since(before.cpu)).total:
        return None
    system = ticks.system + ticks.irq + ticks.softirq
    parts = (ticks.busy, ticks.user + ticks.nice, system, ticks.iowait, ticks.steal)
    return CpuShares(*(part / ticks.total for part in parts))


def disk_use(
    before: Mapping[str, DiskCounters], now: Mapping[str, DiskCounters], seconds: float
) -> tuple[DiskUse, ...]:
    """The busiest disks by utilisation, then by bytes."""
    disks = [_disk(name, disk.since(before[name]), seconds) for name, disk in now.items() if name in before]
    return tuple(sorted(disks, key=lambda disk: (-disk.utilisation, -disk.bytes_per_s))[:_MOST_DEVICES])


def _disk(name: str, used: DiskCounters, seconds: float) -> DiskUse:
    return DiskUse(
        name,
        min(1.0, used.busy_ms / 1e3 / seconds),
        used.weighted_ms / 1e3 / seconds,
        used.reads / seconds,
        used.writes / seconds,
        used.read_sectors * SECTOR_BYTES / seconds,
        used.write_sectors * SECTOR_BYTES / seconds,
        used.read_ms / used.reads if used.reads else None,
        used.write_ms / used.writes if used.writes else None,
        used.flush_ms / used.flushes if used.flushes else None,
    )


def link_use(before: HostCounters, now: HostCounters, seconds: float, root: Path) -> tuple[LinkUse, ...]:
    """The busiest network interfaces."""
    files = ProcFiles(root)
    links = [
        LinkUse(
            name,
            used.received_bytes / seconds,
            used.sent_bytes / seconds,
            used.dropped / seconds,
            used.received_packets / seconds,
            used.sent_packets / seconds,
            link_speed(files, name),
        )
        for name, link in now.links.items()
        if name in before.links and (used := link.since(before.links[name]))
    ]
    return tuple(sorted(links, key=lambda link: -link.bytes_per_s)[:_MOST_DEVICES])
