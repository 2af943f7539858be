"""What a machine is, as far as it bears on performance: environment.json of every run, and `loadcell host`."""

from __future__ import annotations

import platform
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from loadcell.host import cpu, disks, memory, network, system
from loadcell.host.ask import LIMIT_S, ask

#: What tells who somebody is, and nothing about speed: left out for sharing.
PRIVATE = ("hostname",)


def questions(root: Path = Path("/")) -> dict[str, Callable[[], Any]]:
    """What is asked, in the order it is shown."""
    return {
        "hostname": socket.gethostname,
        "kernel": system.kernel,
        "os": lambda: system.os_name(root),
        "machine": platform.machine,
        "cpu": lambda: cpu.cpu(root),
        "caches": lambda: cpu.caches(root),
        "simd": lambda: cpu.simd(root),
        "memory_bytes": lambda: memory.total_bytes(root),
        "dimms": lambda: memory.dimms(root),
        "swap_bytes": lambda: memory.swap_bytes(root),
        "swap_used_bytes": lambda: memory.swap_used_bytes(root),
        "numa_nodes": lambda: cpu.numa_nodes(root),
        "numa": lambda: cpu.numa(root),
        "virtualisation": lambda: system.virtualisation(root),
        "container": lambda: system.container(root),
        "clocksource": lambda: system.clocksource(root),
        "time_sync": lambda: system.time_sync(root),
        "governor": lambda: cpu.governor(root),
        "turbo": lambda: cpu.turbo(root),
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
        "pci_names": lambda: network.pci_names(root),
    }


def collect(root: Path = Path("/"), limit_s: float = LIMIT_S, *, anonymous: bool = False) -> dict[str, Any]:
    """Every answer by its question's name; `unavailable` says of the others why there is none.

    `anonymous` leaves names and addresses out: of the machine, its network, its mounts' servers, its kernel's command line.
    """
    answers = ask(questions(root), limit_s)
    host = dict(answers.found)
    if anonymous:
        host = nameless(host)
    if answers.unavailable:
        host["unavailable"] = dict(answers.unavailable)
    return host


def nameless(host: dict[str, Any]) -> dict[str, Any]:
    """A host without what tells whose it is."""
    rest = {key: value for key, value in host.items() if key not in (*PRIVATE, "kernel_command_line")}
    if "network" in rest:
        rest["network"] = [{**one, "addresses": []} for one in rest["network"]]
    if "filesystems" in rest:
        # Paths and servers are names, too; what remains is what bears on speed.
        shown = ("type", "options", "size_bytes", "free_bytes", "answers")
        rest["filesystems"] = [{key: one[key] for key in shown if key in one} for one in rest["filesystems"]]
    return rest
