"""The kernel and its settings, memory, the hypervisor, the container, the clock and the limits."""

from __future__ import annotations

import ctypes
import platform
import resource
import struct
from collections.abc import Iterator
from pathlib import Path

from loadcell.linux import cgroups
from loadcell.linux.procfs import line, process_ids, read_small, text
from loadcell.linux.time_limits import (
    NO_FILE,
    NO_HYPERVISOR,
    NO_MODULE,
    NO_TABLE,
    ONLY_ROOT,
    UnavailableError,
)
from loadcell.model.json import JsonObject

#: DMI words that give a hypervisor away, and its name (as `systemd-detect-virt` has them).
_VENDORS = {
    "kvm": "kvm",
    "qemu": "kvm",
    "vmware": "vmware",
    "virtualbox": "virtualbox",
    "xen": "xen",
    "microsoft corporation": "hyperv",
    "amazon ec2": "amazon",
    "google": "google",
    "firecracker": "firecracker",
}

#: A hypervisor that does not say which.
UNKNOWN = "unknown hypervisor"

#: Kernel settings that are known to explain results.
_SYSCTLS = (
    "vm.swappiness",
    "vm.dirty_ratio",
    "vm.dirty_background_ratio",
    "vm.overcommit_memory",
    "vm.nr_hugepages",
    "vm.zone_reclaim_mode",
    "kernel.numa_balancing",
    "kernel.sched_autogroup_enabled",
    "kernel.perf_event_paranoid",
    "net.core.somaxconn",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_congestion_control",
    "fs.file-max",
)

#: Who keeps clocks right, by the names of their processes.
_TIME_DAEMONS = ("chronyd", "ntpd", "systemd-timesyn", "ptp4l", "phc2sys", "openntpd", "timemaster")
#: adjtimex(2): the kernel's clock is not kept by anybody.
_UNSYNCHRONISED = 0x0040

_TABLE = "sys/firmware/dmi/tables/DMI"
_MEMORY_DEVICE, _END = 17, 127
#: Kinds of memory by their number in a memory device's structure.
_KINDS = {
    0x18: "DDR3",
    0x1A: "DDR4",
    0x1B: "LPDDR",
    0x1D: "LPDDR3",
    0x1E: "LPDDR4",
    0x20: "HBM",
    0x21: "HBM2",
    0x22: "DDR5",
    0x23: "LPDDR5",
}
_UNKNOWN_SIZE, _EXTENDED_SIZE, _IN_KIB = 0xFFFF, 0x7FFF, 0x8000


def os_name(root: Path) -> str | None:
    """The distribution and its version."""
    for row in text(root / "etc/os-release").splitlines():
        if row.startswith("PRETTY_NAME="):
            return row.partition("=")[2].strip('"')
    return None


def kernel() -> str:
    """Its release."""
    return platform.release()


def command_line(root: Path) -> str | None:
    """Command line of the kernel."""
    return line(root / "proc/cmdline")


def settings(root: Path) -> dict[str, str]:
    """Those sysctls that there are."""
    values = {name: line(root / "proc/sys" / name.replace(".", "/")) for name in _SYSCTLS}
    return {name: " ".join(value.split()) for name, value in values.items() if value is not None}


def clocksource(root: Path) -> str | None:
    """Clock source of the kernel."""
    return line(root / "sys/devices/system/clocksource/clocksource0/current_clocksource")


def virtualisation(root: Path) -> str:
    """The hypervisor by what the firmware says; `unknown hypervisor` when only the CPU tells of one; `none`
    where one of both would.

    Raises UnavailableError where neither says anything: only processors of x86 tell of a hypervisor.
    """
    identity = " ".join(
        line(root / f"sys/class/dmi/id/{name}") or "" for name in ("sys_vendor", "product_name")
    )
    for word, name in _VENDORS.items():
        if word in identity.lower():
            return name
    rows = text(root / "proc/cpuinfo").splitlines()
    flags = next((row for row in rows if row.startswith(("flags", "Features"))), "")
    if "hypervisor" in flags.split():
        return UNKNOWN
    if not identity.strip() and not flags.startswith("flags"):
        raise UnavailableError(NO_HYPERVISOR())
    return "none"


def load(root: Path) -> list[float]:
    """The load averages of 1, 5 and 15 minutes."""
    return [float(word) for word in text(root / "proc/loadavg").split()[:3]]


def limits() -> dict[str, int]:
    """Limits of this process: open files, soft and hard."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return {"open_files": soft, "open_files_hard": hard}


def container(root: Path) -> JsonObject | None:
    """Limits of the control groups: processors by quota, and memory; None without a limit.

    The smallest of all groups that this process is in, cgroup v2 and v1.
    """
    paths = cgroups.folders(root)
    quota, size = cgroups.cpu_quota(paths), cgroups.memory_limit(paths)
    facts: JsonObject = {}
    if quota is not None:
        facts["cpus"] = quota
    if size is not None:
        facts["memory_bytes"] = size
    return facts or None


class _Timex(ctypes.Structure):
    """struct timex; only its first fields are looked at."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("reserved", ctypes.c_char * 256),
    )


def time_sync(root: Path) -> JsonObject:
    """Who keeps the clock right, and whether the kernel believes that it is (adjtimex, which asks only)."""
    names = set()
    for pid in process_ids(root):
        name = line(root / "proc" / str(pid) / "comm")
        if name in _TIME_DAEMONS:
            names.add("systemd-timesyncd" if name == "systemd-timesyn" else name)
    about = _Timex()
    asked = ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.byref(about))
    synchronised = None if asked < 0 else not about.status & _UNSYNCHRONISED
    return {"daemons": sorted(names), "synchronised": synchronised}


def total_bytes(root: Path) -> int | None:
    """Memory that the kernel manages."""
    return _meminfo(root, "MemTotal")


def usable_bytes(root: Path = Path("/")) -> int | None:
    """Memory that processes of this control group can have: all of the machine's, or the group's limit."""
    limits = (total_bytes(root), cgroups.memory_limit(cgroups.folders(root)))
    return min((limit for limit in limits if limit is not None), default=None)


def swap_bytes(root: Path) -> int | None:
    """Swap of all kinds together."""
    return _meminfo(root, "SwapTotal")


def swap_used_bytes(root: Path) -> int | None:
    """Memory in use."""
    total, free = _meminfo(root, "SwapTotal"), _meminfo(root, "SwapFree")
    return None if total is None or free is None else total - free


def _meminfo(root: Path, key: str) -> int | None:
    for row in read_small(root / "proc/meminfo").splitlines():
        name, _, value = row.partition(":")
        if name == key:
            return int(value.split()[0]) * 1024
    return None


def dimms(root: Path) -> list[JsonObject]:
    """Each module: where it is, its size, its rated and its configured speed (MT/s).

    Raises UnavailableError.
    """
    table = root / _TABLE
    if not (root / "sys/firmware").exists():
        raise UnavailableError(NO_FILE(file="/sys/firmware"))
    if not table.exists():
        raise UnavailableError(NO_TABLE())
    try:
        data = table.read_bytes()
    except PermissionError as error:
        raise UnavailableError(ONLY_ROOT(file=f"/{_TABLE}")) from error
    modules = [
        module
        for kind, body, names in _structures(data)
        if kind == _MEMORY_DEVICE and (module := _module(body, names))
    ]
    if not modules:
        raise UnavailableError(NO_MODULE())
    return modules


def _structures(data: bytes) -> Iterator[tuple[int, bytes, list[str]]]:
    """Type, formatted part and strings of each structure; ends where the table is no longer one."""
    at = 0
    while at + 4 <= len(data):
        kind, length = data[at], data[at + 1]
        end = data.find(b"\0\0", at + length)
        if length < 4 or kind == _END or end < 0:
            return
        names = [name.decode("latin-1").strip() for name in data[at + length : end].split(b"\0")]
        yield kind, data[at : at + length], names
        at = end + 2


def _module(body: bytes, names: list[str]) -> JsonObject | None:
    """None for an empty slot."""
    if len(body) < 0x17:
        return None
    (size,) = struct.unpack_from("<H", body, 0x0C)
    (speed,) = struct.unpack_from("<H", body, 0x15)
    size_bytes = (size & ~_IN_KIB) * 2**10 if size & _IN_KIB else size * 2**20
    if size == _EXTENDED_SIZE and len(body) >= 0x20:
        size_bytes = (struct.unpack_from("<I", body, 0x1C)[0] & 0x7FFF_FFFF) * 2**20
    if size in (0, _UNKNOWN_SIZE):
        return None
    configured = struct.unpack_from("<H", body, 0x20)[0] if len(body) >= 0x22 else 0

    def named(offset: int) -> str | None:
        number = body[offset] if offset < len(body) else 0
        return names[number - 1] or None if 0 < number <= len(names) else None

    return {
        "locator": named(0x10),
        "bank": named(0x11),
        "size_bytes": size_bytes,
        "kind": _KINDS.get(body[0x12]),
        "manufacturer": named(0x17),
        "part": named(0x1A),
        "speed_mts": speed or None,
        "configured_mts": configured or None,
    }
