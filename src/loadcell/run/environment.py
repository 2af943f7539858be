"""environment.json: what this machine is, as far as it bears on performance. Each question has a time limit of its own."""

from __future__ import annotations

import os
import platform
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from loadcell.monitors.procfs import read_small
from loadcell.run.record import utc_text
from loadcell.store.layout import SCHEMA

#: Reading /proc and /sys takes microseconds; a dead network mount can take forever.
PROBE_LIMIT_S = 2.0

#: CPU flag and DMI words that give a hypervisor away, and its name (as `systemd-detect-virt` has them).
_VENDORS = {
    "kvm": "kvm", "qemu": "kvm", "vmware": "vmware", "virtualbox": "virtualbox", "xen": "xen",
    "microsoft corporation": "hyperv", "amazon ec2": "amazon", "google": "google", "firecracker": "firecracker",
}  # fmt: skip


def collect(role: str, root: Path = Path("/"), limit_s: float = PROBE_LIMIT_S) -> dict[str, Any]:
    """The document for this host; `role` is `client+target`, or `client` when the target runs elsewhere.

    A question that is not answered in time is left out and named under `unanswered`.
    """
    probes: dict[str, Callable[[], Any]] = {
        "hostname": socket.gethostname,
        "kernel": platform.release,
        "os": lambda: _os_name(root),
        "machine": platform.machine,
        "cpu": lambda: _cpu(root),
        "memory_bytes": lambda: _meminfo(root, "MemTotal"),
        "swap_bytes": lambda: _meminfo(root, "SwapTotal"),
        "numa_nodes": lambda: len(list((root / "sys/devices/system/node").glob("node[0-9]*"))) or 1,
        "virtualisation": lambda: _virtualisation(root),
        "clocksource": lambda: _line(root, "sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "governor": lambda: _line(root, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "turbo": lambda: _turbo(root),
        "smt": lambda: _line(root, "sys/devices/system/cpu/smt/control"),
        "thp": lambda: _chosen(_line(root, "sys/kernel/mm/transparent_hugepage/enabled")),
        "mitigations": lambda: _mitigations(root),
        "settings": lambda: _settings(root),
        "load_at_start": lambda: [float(word) for word in read_small(root / "proc/loadavg").split()[:3]],
        "limits": _limits,
        "disks": lambda: _disks(root),
    }
    answers = _ask(probes, limit_s)
    host: dict[str, Any] = {
        "role": role,
        **{name: value for name, value in answers.items() if value is not None},
    }
    unanswered = [name for name in probes if name not in answers]
    if unanswered:
        host["unanswered"] = unanswered
    return {"schema": SCHEMA, "collected_utc": utc_text(), "hosts": [host]}


def _ask(probes: dict[str, Callable[[], Any]], limit_s: float) -> dict[str, Any]:
    """Every answer that came within its limit; a probe that hangs is left behind in its thread."""
    answers: dict[str, Any] = {}

    def ask(name: str, probe: Callable[[], Any]) -> None:
        try:
            answers[name] = probe()
        except Exception:  # a file of another shape than expected is no answer, and no reason to stop
            answers[name] = None

    for name, probe in probes.items():
        thread = threading.Thread(target=ask, args=(name, probe), daemon=True)
        thread.start()
        thread.join(limit_s)
    return dict(answers)


def _line(root: Path, path: str) -> str | None:
    return read_small(root / path).strip() or None


def _chosen(text: str | None) -> str | None:
    """`always [madvise] never` -> `madvise`."""
    return text[text.find("[") + 1 : text.find("]")] if text and "[" in text else text


def _os_name(root: Path) -> str | None:
    for line in read_small(root / "etc/os-release").splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip('"')
    return None


def _cpu(root: Path) -> dict[str, Any]:
    """Model, threads and distinct cores of all sockets, the nominal or present clock, and what this process may use."""
    model, mhz, threads, cores = None, None, 0, set()
    socket_id = core_id = "0"
    for line in [*read_small(root / "proc/cpuinfo").splitlines(), ""]:
        key, _, value = (part.strip() for part in line.partition(":"))
        match key:
            case "processor":
                threads += 1
            case "model name":
                model = model or value
            case "cpu MHz":
                mhz = mhz or float(value)
            case "physical id":
                socket_id = value
            case "core id":
                core_id = value
            case "":
                cores.add((socket_id, core_id))
    top = _line(root, "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq")
    return {
        "model": model or platform.processor() or None,
        "cores": min(len(cores), threads) or None,
        "threads": threads or os.cpu_count(),
        "mhz": mhz,
        **({"max_mhz": int(top) / 1000} if top else {}),
        "usable_threads": len(os.sched_getaffinity(0)),
    }


def _meminfo(root: Path, key: str) -> int | None:
    for line in read_small(root / "proc/meminfo").splitlines():
        name, _, value = line.partition(":")
        if name == key:
            return int(value.split()[0]) * 1024
    return None


def _virtualisation(root: Path) -> str:
    """The hypervisor by what the firmware says; `unknown hypervisor` when only the CPU tells of one; else `none`."""
    told = " ".join(
        _line(root, f"sys/class/dmi/id/{name}") or "" for name in ("sys_vendor", "product_name")
    ).lower()
    for word, name in _VENDORS.items():
        if word in told:
            return name
    flags = next(
        (
            line
            for line in read_small(root / "proc/cpuinfo").splitlines()
            if line.startswith(("flags", "Features"))
        ),
        "",
    )
    return "unknown hypervisor" if "hypervisor" in flags.split() else "none"


def _turbo(root: Path) -> bool | None:
    off = _line(root, "sys/devices/system/cpu/intel_pstate/no_turbo")
    if off is not None:
        return off == "0"
    boost = _line(root, "sys/devices/system/cpu/cpufreq/boost")
    return None if boost is None else boost == "1"


def _mitigations(root: Path) -> dict[str, str] | None:
    found = {}
    for file in sorted((root / "sys/devices/system/cpu/vulnerabilities").glob("*")):
        text = read_small(file).strip()
        if text and text != "Not affected":
            found[file.name] = text
    return found or None


#: Kernel settings that have explained a figure before.
_SYSCTLS = (
    "vm.swappiness", "vm.dirty_ratio", "vm.dirty_background_ratio", "vm.overcommit_memory", "vm.nr_hugepages",
    "vm.zone_reclaim_mode", "kernel.numa_balancing", "kernel.sched_autogroup_enabled", "net.core.somaxconn",
    "net.ipv4.tcp_max_syn_backlog", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_congestion_control",
)  # fmt: skip


def _settings(root: Path) -> dict[str, str]:
    values = {name: _line(root, f"proc/sys/{name.replace('.', '/')}") for name in _SYSCTLS}
    return {name: " ".join(value.split()) for name, value in values.items() if value is not None}


def _limits() -> dict[str, int]:
    import resource

    return {"open_files": resource.getrlimit(resource.RLIMIT_NOFILE)[0]}


def _disks(root: Path) -> list[dict[str, Any]]:
    found = []
    for device in sorted((root / "sys/block").glob("*")):
        if device.name.startswith(("loop", "ram", "zram", "sr", "fd")):
            continue
        base = f"sys/block/{device.name}"
        rotational = _line(root, f"{base}/queue/rotational")
        found.append(
            {
                "name": device.name,
                "model": _line(root, f"{base}/device/model"),
                "size_bytes": int(_line(root, f"{base}/size") or 0) * 512,
                "rotational": None if rotational is None else rotational == "1",
                "scheduler": _chosen(_line(root, f"{base}/queue/scheduler")),
                "write_cache": _line(root, f"{base}/queue/write_cache"),
            }
        )
    return found
