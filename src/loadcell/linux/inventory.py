"""Inventory of a machine, as far as it affects performance: environment.json of every run, and `loadcell
host`. Network interfaces are described here, other parts by the modules beside.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import ipaddress
import os
import platform
import re
import socket
import struct
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil

from loadcell.linux import cpu, disks, memory_modules, system
from loadcell.linux.procfs import line, read_number, text
from loadcell.linux.time_limits import LIMIT_S, NO_FILE, NO_NAMES, NO_SPEED, ONLY_ROOT, UnavailableError, ask
from loadcell.model.json import JsonObject
from loadcell.model.message import (
    Bytes,
    Labels,
    MegabitsPerSecond,
    Megahertz,
    MegatransfersPerSecond,
    Unit,
)

_SIOCETHTOOL = 0x8946
#: Offloads by the ethtool command that asks for them (linux/ethtool.h).
_OFFLOADS = {"rx-checksum": 0x14, "tx-checksum": 0x16, "tso": 0x1E, "gso": 0x23, "gro": 0x2B}
#: Where distributions keep the names of PCI devices.
_PCI_IDS = ("usr/share/misc/pci.ids", "usr/share/hwdata/pci.ids")
_NEXT_MAKER = re.compile(r"\n[^\t#\n]")
_NAME_BYTES = 16


def interfaces(root: Path) -> list[JsonObject]:
    """Each but the loopback: state, speed (Mbit/s), MTU, driver, device, NUMA node, queues, offloads,
    addresses with the lengths of their prefixes.
    """
    addresses = psutil.net_if_addrs()
    names = pci_list(root)
    entries = []
    for folder in sorted((root / "sys/class/net").glob("*")):
        if folder.name == "lo" or not folder.is_dir():
            continue
        speed = _speed(folder)
        entries.append(
            {
                "name": folder.name,
                "state": line(folder / "operstate"),
                **({"speed_mbits": speed} if speed else {}),
                "mtu": read_number(folder / "mtu"),
                "driver": _linked(folder / "device/driver"),
                "device": _device(names, folder / "device"),
                **disks.numa_node_of(folder / "device", root),
                "queues": {kind: len(list((folder / "queues").glob(f"{kind}-*"))) for kind in ("rx", "tx")},
                "offloads": _offloads(folder.name),
                "addresses": [
                    with_prefix(address.address.partition("%")[0], address.netmask)
                    for address in addresses.get(folder.name, ())
                    if address.family in (socket.AF_INET, socket.AF_INET6)
                ],
            }
        )
    return entries


def with_prefix(address: str, netmask: str | None) -> str:
    """`192.0.2.7/24`; the address alone where the mask is unknown or no prefix."""
    try:
        mask = int(ipaddress.ip_address(netmask or ""))
        width = ipaddress.ip_address(address).max_prefixlen
    except ValueError:
        return address
    length = mask.bit_count()
    is_prefix = mask == ((1 << length) - 1) << (width - length) if length <= width else False
    return f"{address}/{length}" if is_prefix else address


def _speed(folder: Path) -> int | None:
    """None where there is no link, or no such thing; a virtual interface says -1."""
    speed = read_number(folder / "speed")
    return speed if speed is not None and speed > 0 else None


def _linked(path: Path) -> str | None:
    return path.resolve().name if path.is_symlink() or path.exists() else None


def speeds(root: Path) -> None:
    """Nothing is asked here but whether links state a speed.

    Raises UnavailableError where some that are up do not.
    """
    silent = [
        folder.name
        for folder in sorted((root / "sys/class/net").glob("*"))
        if folder.name != "lo" and line(folder / "operstate") == "up" and _speed(folder) is None
    ]
    if silent:
        raise UnavailableError(NO_SPEED(names=silent))


def _memory_modules(root: Path) -> list[JsonObject]:
    return [
        {name: value for name, value in asdict(module).items() if name != "width_bits"}
        for module in memory_modules.modules(root)
    ]


def pci_list(root: Path) -> str:
    """The distribution's list of PCI names; empty without one."""
    return next((content for path in _PCI_IDS if (content := text(root / path))), "")


def pci_names(root: Path) -> None:
    """Nothing is asked here but whether devices have names.

    Raises UnavailableError where only numbers are known.
    """
    numbered = [
        folder.name
        for folder in (root / "sys/class/net").glob("*")
        if (line(folder / "device/vendor") or "").startswith("0x")
    ]
    if numbered and not pci_list(root):
        raise UnavailableError(NO_NAMES())


def _device(names: str, device: Path) -> str | None:
    """The PCI device's name, or its numbers where nobody knows a name."""
    maker, kind = line(device / "vendor"), line(device / "device")
    if not maker or not kind or not maker.startswith("0x"):
        return None
    return _pci_name(names, maker[2:], kind[2:]) or f"{maker[2:]}:{kind[2:]}"


def _pci_name(names: str, maker: str, kind: str) -> str | None:
    """Makers begin a line, their devices follow on lines of their own."""
    begin = 0 if names.startswith(f"{maker}  ") else names.find(f"\n{maker}  ") + 1
    suffix = names[begin:]
    if not suffix.startswith(f"{maker}  "):
        return None
    end = _NEXT_MAKER.search(suffix)
    vendor, *devices = suffix[: end.start() if end is not None else None].splitlines()
    device = next((row for row in devices if row.startswith(f"\t{kind}  ")), "")
    return f"{vendor[6:].strip()} {device[7:].strip()}".strip()


def _offloads(name: str) -> list[str]:
    """Those that are on (ethtool's ioctl, which needs no privilege to ask)."""
    on = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
        for offload, command in _OFFLOADS.items():
            value = (ctypes.c_uint32 * 2)(command, 0)  # struct ethtool_value
            # struct ifreq: the name, and a pointer to what is asked.
            request = struct.pack(
                f"{_NAME_BYTES}sP16x", name.encode()[: _NAME_BYTES - 1], ctypes.addressof(value)
            )
            with contextlib.suppress(OSError):
                fcntl.ioctl(asker.fileno(), _SIOCETHTOOL, request)
                if value[1]:
                    on.append(offload)
    return on


#: What tells who somebody is, and nothing about speed: left out for sharing.
PRIVATE = ("hostname",)


def questions(root: Path = Path("/")) -> dict[str, Callable[[], Any]]:
    """Questions of the inventory, in the order of display."""
    return {
        "hostname": socket.gethostname,
        "kernel": system.kernel,
        "os": lambda: system.os_name(root),
        "machine": platform.machine,
        "cpu": lambda: cpu.cpu(root),
        "caches": lambda: cpu.caches(root),
        "simd": lambda: cpu.simd(root),
        "memory_bytes": lambda: system.total_bytes(root),
        "dimms": lambda: _memory_modules(root),
        "swap_bytes": lambda: system.swap_bytes(root),
        "swap_used_bytes": lambda: system.swap_used_bytes(root),
        "numa_nodes": lambda: cpu.numa_nodes(root),
        "numa": lambda: cpu.numa(root),
        "virtualisation": lambda: system.virtualisation(root),
        "container": lambda: system.container(root),
        "clocksource": lambda: system.clocksource(root),
        "time_sync": lambda: system.time_sync(root),
        "governor": lambda: cpu.governor(root),
        "turbo": lambda: cpu.turbo(root),
        "max_mhz": lambda: cpu.highest_clock(root),
        "smt": lambda: cpu.smt(root),
        "thp": lambda: cpu.thp(root),
        "mitigations": lambda: cpu.mitigations(root),
        "settings": lambda: system.settings(root),
        "kernel_command_line": lambda: system.command_line(root),
        "load_at_start": lambda: system.load(root),
        "limits": system.limits,
        "disks": lambda: disks.disks(root),
        "filesystems": lambda: disks.filesystems(root),
        "network": lambda: interfaces(root),
        "network_speed": lambda: speeds(root),
        "pci_names": lambda: pci_names(root),
    }


_LABEL = Labels("env", (*questions(), "unavailable"))
#: Units of the numbers in answers, by their paths; others are counts and ratios.
UNITS: Mapping[str, Unit] = {
    **dict.fromkeys(
        (
            "memory_bytes", "swap_bytes", "swap_used_bytes", "caches.size_bytes", "container.memory_bytes",
            "dimms.size_bytes", "disks.size_bytes", "disks.logical_sector_bytes",
            "disks.physical_sector_bytes", "disks.minimum_io_bytes", "disks.optimal_io_bytes",
            "disks.partitions.size_bytes", "filesystems.free_bytes", "filesystems.size_bytes",
            "numa.memory_bytes",
        ),
        Bytes,
    ),
    **dict.fromkeys(("max_mhz", "cpu.mhz", "cpu.max_mhz", "cpu.min_mhz"), Megahertz),
    **dict.fromkeys(("dimms.configured_mts", "dimms.speed_mts"), MegatransfersPerSecond),
    "network.speed_mbits": MegabitsPerSecond,
}  # fmt: skip
#: Where answers are read from that every Linux has: where one is not there, it was kept from us (a container,
#: another root).
READ_FROM = {
    "caches": "sys/devices/system/cpu/cpu0/cache",
    "simd": "proc/cpuinfo",
    "memory_bytes": "proc/meminfo",
    "clocksource": "sys/devices/system/clocksource/clocksource0/current_clocksource",
    "thp": "sys/kernel/mm/transparent_hugepage/enabled",
    "mitigations": "sys/devices/system/cpu/vulnerabilities",
    "settings": "proc/sys",
    "kernel_command_line": "proc/cmdline",
    "load_at_start": "proc/loadavg",
    "disks": "sys/block",
    "filesystems": "proc/self/mountinfo",
    "network": "sys/class/net",
}


def _reasoned(name: str, question: Callable[[], Any], root: Path) -> Callable[[], Any]:
    """A question that says why it has no answer, where the file that it is read from tells why."""

    def answer() -> Any:
        answer = question()
        source = READ_FROM[name]
        if answer not in (None, [], {}):
            return answer
        if not (root / source).exists():
            raise UnavailableError(NO_FILE(file=f"/{source}"))
        if not os.access(root / source, os.R_OK):
            raise UnavailableError(ONLY_ROOT(file=f"/{source}"))
        return answer or None

    return answer


def collect(root: Path = Path("/"), limit_s: float = LIMIT_S, *, anonymous: bool = False) -> JsonObject:
    """Every answer by its question's name; `unavailable` has the reasons for the others, `unavailable_codes`
    the same as messages.

    `anonymous` leaves names and addresses out: of the machine, its network, its mounts' servers, its kernel's
    command line.
    """
    asked = {
        name: _reasoned(name, question, root) if name in READ_FROM else question
        for name, question in questions(root).items()
    }
    answers = ask(asked, limit_s)
    host = dict(answers.values)
    if anonymous:
        host = nameless(host)
    if answers.unavailable:
        host["unavailable"] = {name: reason.text for name, reason in answers.unavailable.items()}
        host["unavailable_codes"] = {
            name: {"code": reason.code, "args": reason.plain_arguments}
            for name, reason in answers.unavailable.items()
        }
    return host


def nameless(host: JsonObject) -> JsonObject:
    """A host without what tells whose it is."""
    others = {key: value for key, value in host.items() if key not in (*PRIVATE, "kernel_command_line")}
    if "network" in others:
        others["network"] = [{**interface, "addresses": []} for interface in others["network"]]
    if "filesystems" in others:
        # Paths and servers are names, too; what remains is what bears on speed.
        shown = ("type", "options", "size_bytes", "free_bytes", "answers")
        others["filesystems"] = [
            {key: interface[key] for key in shown if key in interface} for interface in others["filesystems"]
        ]
    return others
