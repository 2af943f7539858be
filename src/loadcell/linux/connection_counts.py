"""Connections of a network namespace by destination, and the ports that they use, from /proc/net/tcp."""

from __future__ import annotations

import ipaddress
import struct
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from loadcell.linux import procfs

_TIME_WAIT, _LISTEN = "06", "0A"
#: Rows that are read: beyond them the host has other problems.
_MOST_ROWS: Final = 1_000_000


@dataclass
class ConnectionCounts:
    """Connections with an ephemeral local port by destination, and those of them in TIME_WAIT."""

    used: Counter[str] = field(default_factory=Counter)
    waiting: Counter[str] = field(default_factory=Counter)
    all_waiting: int = 0


def count(root: Path, ports: range) -> ConnectionCounts:
    """Connections whose local port is one of `ports`."""
    counts = ConnectionCounts()
    used: Counter[str] = Counter()
    waiting: Counter[str] = Counter()
    for name in ("tcp", "tcp6"):
        try:
            with (root / "proc/net" / name).open() as file:
                next(file, None)
                for row, _ in zip(file, range(_MOST_ROWS), strict=False):
                    _count(row, ports, used, waiting, counts)
        except OSError:
            continue
    for destination, number in used.most_common(_MOST_SHOWN):
        counts.used[_written(destination)] = number
        counts.waiting[_written(destination)] = waiting[destination]
    return counts


_MOST_SHOWN: Final = 20


def _count(
    row: str, ports: range, used: Counter[str], waiting: Counter[str], counts: ConnectionCounts
) -> None:
    fields = row.split(maxsplit=4)
    if len(fields) < 5 or fields[3] == _LISTEN:
        return
    is_waiting = fields[3] == _TIME_WAIT
    counts.all_waiting += is_waiting
    if int(fields[1].rpartition(":")[2], 16) in ports:
        used[fields[2]] += 1
        waiting[fields[2]] += is_waiting


def _written(destination: str) -> str:
    """`0100007F:1F90` -> `127.0.0.1:8080`; each word is in the order of bytes of the host."""
    digits, _, port = destination.partition(":")
    words = [int(digits[at : at + 8], 16) for at in range(0, len(digits), 8)]
    address = ipaddress.ip_address(struct.pack(f"={len(words)}I", *words))
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else address
    text = str(mapped) if mapped is not None else f"[{address}]"
    return f"{text}:{int(port, 16)}"


def ephemeral_ports(root: Path = procfs.ROOT) -> range:
    """Local ports of connections that do not choose one."""
    words = procfs.read_small(root / "proc/sys/net/ipv4/ip_local_port_range").split()
    first, last = (int(words[0]), int(words[1])) if len(words) == 2 else (32768, 60999)
    return range(first, last + 1)


def listen_drops(root: Path = procfs.ROOT) -> int:
    """Connections dropped at listen queues since the start (ListenDrops; overflows are among them)."""
    rows = [
        row.split()
        for row in procfs.text(root / "proc/net/netstat").splitlines()
        if row.startswith("TcpExt:")
    ]
    if len(rows) != 2:
        return 0
    values = dict(zip(rows[0], rows[1], strict=False))
    return int(values.get("ListenOverflows", 0))
