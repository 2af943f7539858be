"""The kernel and what it was told, the hypervisor, the container, the clock, the limits."""

from __future__ import annotations

import ctypes
import os
import platform
import resource
from pathlib import Path
from typing import Any

from loadcell.linux.files import line, text
from loadcell.linux.messages import NO_HYPERVISOR
from loadcell.linux.procfs import process_ids
from loadcell.linux.time_limits import UnavailableError

#: DMI words that give a hypervisor away, and its name (as `systemd-detect-virt` has them).
_VENDORS = {
    "kvm": "kvm", "qemu": "kvm", "vmware": "vmware", "virtualbox": "virtualbox", "xen": "xen",
    "microsoft corporation": "hyperv", "amazon ec2": "amazon", "google": "google", "firecracker": "firecracker",
}  # fmt: skip

#: A hypervisor that does not say which.
UNKNOWN = "unknown hypervisor"

#: Kernel settings that are known to explain results.
_SYSCTLS = (
    "vm.swappiness", "vm.dirty_ratio", "vm.dirty_background_ratio", "vm.overcommit_memory", "vm.nr_hugepages",
    "vm.zone_reclaim_mode", "kernel.numa_balancing", "kernel.sched_autogroup_enabled", "kernel.perf_event_paranoid",
    "net.core.somaxconn", "net.ipv4.tcp_max_syn_backlog", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_congestion_control",
    "fs.file-max",
)  # fmt: skip

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


def container(root: Path) -> dict[str, Any] | None:
    """Limits of the control groups: processors by quota, and memory; None without a limit.

    The smallest of all groups that this process is in, cgroup v2 and v1.
    """
    quotas: list[float] = []
    memories: list[int] = []
    for controllers, path in _groups(root):
        for folder in [path, *path.parents]:
            quota = _quota(folder)
            if quota is not None:
                quotas.append(quota)
            for name in ("memory.max", "memory.limit_in_bytes"):
                size = line(folder / name)
                if size and size.isdecimal() and int(size) < 2**60:  # v1 writes "no limit" as a huge number
                    memories.append(int(size))
            if folder == root / "sys/fs/cgroup" or folder == root / "sys/fs/cgroup" / controllers:
                break
    facts: dict[str, Any] = {}
    if quotas:
        facts["cpus"] = min(quotas)
    if memories:
        facts["memory_bytes"] = min(memories)
    return facts or None


def _groups(root: Path) -> list[tuple[str, Path]]:
    groups = []
    for row in text(root / "proc/self/cgroup").splitlines():
        _, _, groups_text = row.partition(":")
        controllers, _, path = groups_text.partition(":")
        if ".." not in path:
            groups.append((controllers, root / "sys/fs/cgroup" / controllers / path.lstrip("/")))
    return groups


def _quota(folder: Path) -> float | None:
    """Processors' worth of time, of one group."""
    words = (line(folder / "cpu.max") or "").split()
    if len(words) != 2:
        words = [line(folder / f"cpu.cfs_{name}_us") or "" for name in ("quota", "period")]
    if all(word.isdecimal() for word in words) and int(words[1]):
        return int(words[0]) / int(words[1])
    return None


class _Timex(ctypes.Structure):
    """struct timex; only its first fields are looked at."""

    _fields_ = (("modes", ctypes.c_uint), ("offset", ctypes.c_long), ("freq", ctypes.c_long), ("maxerror", ctypes.c_long),
                ("esterror", ctypes.c_long), ("status", ctypes.c_int), ("rest", ctypes.c_char * 256))  # fmt: skip


def time_sync(root: Path) -> dict[str, Any]:
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


def usable_threads() -> int:
    """Number of this process may run on."""
    return len(os.sched_getaffinity(0))
