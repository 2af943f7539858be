"""Inventory of a machine, as far as it affects performance: environment.json of every run, and `loadcell
host`.
"""

from __future__ import annotations

import os
import platform
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from loadcell.linux import cpu, disks, network, system
from loadcell.linux.time_limits import LIMIT_S, NO_FILE, ONLY_ROOT, UnavailableError, ask
from loadcell.model.json import JsonObject
from loadcell.model.message import Labels

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
        "dimms": lambda: system.dimms(root),
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
        "network": lambda: network.interfaces(root),
        "network_speed": lambda: network.speeds(root),
        "pci_names": lambda: network.pci_names(root),
    }


_LABEL = Labels("env", (*questions(), "unavailable"))
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
