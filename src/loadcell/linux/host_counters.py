"""Running counters of the machine at one instant, from /proc and /sys: CPU, memory, disks, network, pressure.

`root` of the files is `/`, or a recorded tree in tests. What a kernel does not tell is missing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from loadcell.linux.procfs import ProcFiles, read_number

#: Devices that are only a view of others, or memory: counting them too would count the same bytes twice.
NOT_DISKS = ("loop", "ram", "zram", "dm-", "md", "sr", "fd")
#: How names of virtual interfaces begin.
_VIRTUAL_LINKS = (
    "docker", "br-", "veth", "virbr", "tun", "tap", "vnet", "macvtap", "macvlan", "ipvlan", "dummy",
    "ifb", "wg", "vxlan", "flannel", "cni", "cali", "lxc", "lxdbr", "azv", "azure", "cilium", "eni", "gke",
    "kube", "weave", "podman", "genev", "gre", "sit", "ip6tnl", "tailscale", "zt", "nlmon",
)  # fmt: skip
SECTOR_BYTES: Final = 512  # the unit of /proc/diskstats on every device


def difference(before: int, now: int, bits: int = 64) -> int:
    """Increase of a counter of `bits` bits, never negative.

    A fall of more than half the range is a wrap. Any other fall is a reset, or one of the small steps back
    that the kernel documents for iowait and steal (proc(5)), and counts as nothing.
    """
    if now >= before:
        return now - before
    fall, size = before - now, 1 << bits
    return size - fall if fall > size // 2 else 0


def _difference_ms(before: int, now: int) -> int:
    """Increase of milliseconds in /proc/diskstats, which are 32 bits wide."""
    return difference(before, now, 32)


@dataclass(frozen=True, slots=True)
class CpuTicks:
    """CPU time by state, in clock ticks (proc(5)). Guest time is part of user time already, and left out."""

    user: int
    nice: int
    system: int
    idle: int
    iowait: int
    irq: int
    softirq: int
    steal: int

    @staticmethod
    def parse(text: str) -> CpuTicks:
        """From the fields behind `cpu`; kernels before 2.6.11 have fewer."""
        ticks = [int(value) for value in text.split()[:8]]
        return CpuTicks(*ticks, *[0] * (8 - len(ticks)))

    def since(self, before: CpuTicks) -> CpuTicks:
        """Ticks between two instants."""
        return CpuTicks(
            difference(before.user, self.user), difference(before.nice, self.nice),
            difference(before.system, self.system), difference(before.idle, self.idle),
            difference(before.iowait, self.iowait), difference(before.irq, self.irq),
            difference(before.softirq, self.softirq), difference(before.steal, self.steal),
        )  # fmt: skip

    @property
    def busy(self) -> int:
        """User, system and interrupts."""
        return self.user + self.nice + self.system + self.irq + self.softirq

    @property
    def total(self) -> int:
        """All states."""
        return self.busy + self.idle + self.iowait + self.steal


@dataclass(frozen=True, slots=True)
class DiskCounters:
    """A block device (Documentation/admin-guide/iostats.rst): requests, sectors of 512 bytes, milliseconds.

    `busy_ms` is the time with requests in progress, `weighted_ms` the time of all requests together.
    """

    reads: int
    read_sectors: int
    read_ms: int
    writes: int
    write_sectors: int
    write_ms: int
    in_progress: int
    busy_ms: int
    weighted_ms: int
    flushes: int = 0
    flush_ms: int = 0

    @staticmethod
    def parse(fields: list[int]) -> DiskCounters:
        """From the fields behind the name; flushes are there since Linux 5.5."""
        flushes = fields[15:17] if len(fields) >= 17 else [0, 0]
        return DiskCounters(
            fields[0], fields[2], fields[3], fields[4], fields[6], fields[7], fields[8], fields[9],
            fields[10], *flushes,
        )  # fmt: skip

    def since(self, before: DiskCounters) -> DiskCounters:
        """Increases between two instants; `in_progress` is that of the later one."""
        return DiskCounters(
            difference(before.reads, self.reads), difference(before.read_sectors, self.read_sectors),
            _difference_ms(before.read_ms, self.read_ms), difference(before.writes, self.writes),
            difference(before.write_sectors, self.write_sectors),
            _difference_ms(before.write_ms, self.write_ms), self.in_progress,
            _difference_ms(before.busy_ms, self.busy_ms),
            _difference_ms(before.weighted_ms, self.weighted_ms),
            difference(before.flushes, self.flushes), _difference_ms(before.flush_ms, self.flush_ms),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class LinkCounters:
    """A network interface: bytes and packets, and packets dropped or damaged in both directions."""

    received_bytes: int
    sent_bytes: int
    dropped: int
    received_packets: int = 0
    sent_packets: int = 0
    errors: int = 0

    def since(self, before: LinkCounters) -> LinkCounters:
        """Increases between two instants."""
        return LinkCounters(
            difference(before.received_bytes, self.received_bytes),
            difference(before.sent_bytes, self.sent_bytes),
            difference(before.dropped, self.dropped),
            difference(before.received_packets, self.received_packets),
            difference(before.sent_packets, self.sent_packets),
            difference(before.errors, self.errors),
        )


@dataclass(frozen=True, slots=True)
class HostCounters:
    """Everything of one instant. `vmstat` are counters of /proc/vmstat, `meminfo` bytes of /proc/meminfo,
    `pressure` microseconds stalled by resource and `some` or `full` (`io some`).
    """

    cpu: CpuTicks | None = None
    cores: Mapping[str, CpuTicks] = field(default_factory=dict)
    context_switches: int | None = None
    runnable: int | None = None
    blocked: int | None = None
    load1: float | None = None
    meminfo: Mapping[str, int] = field(default_factory=dict)
    vmstat: Mapping[str, int] = field(default_factory=dict)
    disks: Mapping[str, DiskCounters] = field(default_factory=dict)
    links: Mapping[str, LinkCounters] = field(default_factory=dict)
    tcp_retransmits: int | None = None
    pressure: Mapping[str, int] = field(default_factory=dict)


def read_host(files: ProcFiles) -> HostCounters:
    """The counters of this moment: some ten files, about 0.15 ms."""
    cpu, cores, of_stat = _stat(files)
    load = files.text("proc/loadavg").split()
    return HostCounters(
        cpu, cores,
        of_stat.get("ctxt"), of_stat.get("procs_running"), of_stat.get("procs_blocked"),
        load1=float(load[0]) if load else None,
        meminfo=_meminfo(files), vmstat=read_vmstat(files), disks=_disks(files), links=_links(files),
        tcp_retransmits=_retransmits(files), pressure=_pressure(files),
    )  # fmt: skip


def read_cpu(files: ProcFiles) -> CpuTicks | None:
    """CPU time of all cores together, of this moment."""
    key, _, fields = files.text("proc/stat").partition("\n")[0].partition(" ")
    return CpuTicks.parse(fields) if key == "cpu" else None


def read_available_memory(files: ProcFiles) -> int | None:
    """Memory in bytes that is available without swapping, of this moment."""
    return _meminfo(files).get("MemAvailable")


def _stat(files: ProcFiles) -> tuple[CpuTicks | None, dict[str, CpuTicks], dict[str, int]]:
    cpu, cores, numbers = None, {}, {}
    for line in files.text("proc/stat").splitlines():
        key, _, fields = line.partition(" ")
        if key == "cpu":
            cpu = CpuTicks.parse(fields)
        elif key.startswith("cpu"):
            cores[key] = CpuTicks.parse(fields)
        elif key in ("ctxt", "procs_running", "procs_blocked"):
            numbers[key] = int(fields)
    return cpu, cores, numbers


def _meminfo(files: ProcFiles) -> dict[str, int]:
    lines = (line.partition(":") for line in files.text("proc/meminfo").splitlines())
    return {key: int(fields.split()[0]) * 1024 for key, _, fields in lines}


#: The used counters of /proc/vmstat; `allocstall` is counted by zone, and so were the two of direct reclaim.
_VMSTAT = (
    "pswpin", "pswpout", "pgmajfault", "allocstall", "oom_kill", "pgscan_direct", "pgsteal_direct",
    "numa_local", "numa_other", "numa_miss",
)  # fmt: skip
_BY_ZONE = ("allocstall", "pgscan_direct", "pgsteal_direct")
#: Not of a zone: how often direct reclaim was throttled.
_NOT_USED = "pgscan_direct_throttle"


def read_vmstat(files: ProcFiles) -> dict[str, int]:
    """The used counters of /proc/vmstat, of this moment."""
    counts: dict[str, int] = {}
    for line in files.text("proc/vmstat").splitlines():
        if line.startswith(_VMSTAT) and not line.startswith(_NOT_USED):
            key, _, value = line.partition(" ")
            key = next((name for name in _BY_ZONE if key.startswith(name)), key)
            counts[key] = counts.get(key, 0) + int(value)
    return counts


def _disks(files: ProcFiles) -> dict[str, DiskCounters]:
    blocks = files.root / "sys" / "block"
    disks = {}
    for line in files.text("proc/diskstats").splitlines():
        fields = line.split()
        name = fields[2]
        # not a view of others, and not a partition
        if not name.startswith(NOT_DISKS) and (blocks / name.replace("/", "!")).exists():
            disks[name] = DiskCounters.parse([int(value) for value in fields[3:]])
    return disks


def _links(files: ProcFiles) -> dict[str, LinkCounters]:
    links = {}
    for line in files.text("proc/net/dev").splitlines()[2:]:
        name, _, fields = line.partition(":")
        # a name may begin like that of a virtual one: hardware has a device
        if not names_virtual_link(name.strip()) or _has_device(files, name.strip()):
            values = [int(value) for value in fields.split()]
            links[name.strip()] = LinkCounters(
                values[0], values[8], values[3] + values[11], values[1], values[9], values[2] + values[10]
            )
    return links


def names_virtual_link(name: str) -> bool:
    """True for the names that the loopback, tunnels and containers' interfaces have."""
    return name == "lo" or name.startswith(_VIRTUAL_LINKS)


def _has_device(files: ProcFiles, name: str) -> bool:
    return (files.root / "sys" / "class" / "net" / name / "device").exists()


def link_speed(files: ProcFiles, name: str) -> float | None:
    """Nominal speed of an interface in bytes per second; None if it has none, or hides it."""
    megabits = read_number(files.root / "sys" / "class" / "net" / name / "speed")
    return megabits * 1e6 / 8 if megabits is not None and megabits > 0 else None


def _retransmits(files: ProcFiles) -> int | None:
    tcp = [line.split() for line in files.text("proc/net/snmp").splitlines() if line.startswith("Tcp:")]
    if len(tcp) == 2 and "RetransSegs" in tcp[0]:
        return int(tcp[1][tcp[0].index("RetransSegs")])
    return None


def _pressure(files: ProcFiles) -> dict[str, int]:
    stalled = {}
    for resource in ("cpu", "io", "memory"):
        for line in files.text(f"proc/pressure/{resource}").splitlines():
            kind = line.partition(" ")[0]
            if kind in ("some", "full") and "total=" in line:
                stalled[f"{resource} {kind}"] = int(line.rpartition("total=")[2])
    return stalled


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
    candidates = [name for name in names if not names_virtual_link(name) and not _is_vlan(name, names)]
    return [name for name in candidates if _COMBINED_LINK.match(name) is None] or candidates


def _is_partition(name: str, names: Collection[str]) -> bool:
    match = _PARTITION.match(name)
    return match is not None and match["disk"] in names


def _is_vlan(name: str, names: Collection[str]) -> bool:
    match = _VLAN.match(name)
    return match is not None and match["parent"] in names
