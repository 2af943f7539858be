"""The kernel and its settings, memory, the hypervisor, the container, the clock and the limits."""

from __future__ import annotations

import ctypes
import platform
import resource
from pathlib import Path

from loadcell.linux import cgroups
from loadcell.linux.procfs import line, process_ids, read_small, text
from loadcell.linux.time_limits import (
    NO_HYPERVISOR,
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
