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
    """Connections with an ephemeral local port by local address and destination, and those of them in
    TIME_WAIT: each of these pairs has all ports.
    """

    used: Counter[tuple[str, str]] = field(default_factory=Counter)
    waiting: Counter[tuple[str, str]] = field(default_factory=Counter)
    all_waiting: int = 0


def count(root: Path, ports: range) -> ConnectionCounts:
    """Connections whose local port is one of `ports`."""
    counts = ConnectionCounts()
    used: Counter[tuple[str, str]] = Counter()
    waiting: Counter[tuple[str, str]] = Counter()
    for name in ("tcp", "tcp6"):
        try:
            with (root / "proc/net" / name).open() as file:
                next(file, None)
                for row, _ in zip(file, range(_MOST_ROWS), strict=False):
                    _count(row, ports, used, waiting, counts)
        except OSError:
            continue
    for pair, number in used.most_common(_MOST_SHOWN):
        written = _address(pair[0]), _written(pair[1])
        counts.used[written] = number
        counts.waiting[written] = waiting[pair]
    return counts


_MOST_SHOWN: Final = 20
#: Begin of an IPv4 address in IPv6 notation. Its ports are those of IPv4.
_MAPPED: Final = "".join(f"{word:08X}" for word in struct.unpack("=3I", bytes(10) + b"\xff\xff"))


def _count(
    row: str,
    ports: range,
    used: Counter[tuple[str, str]],
    waiting: Counter[tuple[str, str]],
    counts: ConnectionCounts,
) -> None:
    fields = row.split(maxsplit=4)
    if len(fields) < 5 or fields[3] == _LISTEN:
        return
    is_waiting = fields[3] == _TIME_WAIT
    counts.all_waiting += is_waiting
    address, _, port = fields[1].removeprefix(_MAPPED).partition(":")
    if int(port, 16) in ports:
        pair = address, fields[2].removeprefix(_MAPPED)
        used[pair] += 1
        waiting[pair] += is_waiting


def _written(destination: str) -> str:
    """`0100007F:1F90` -> `127.0.0.1:8080`; each word is in the order of bytes of the host."""
    digits, _, port = destination.partition(":")
    address = _address(digits)
    return f"[{address}]:{int(port, 16)}" if ":" in address else f"{address}:{int(port, 16)}"


def _address(digits: str) -> str:
    words = [int(digits[at : at + 8], 16) for at in range(0, len(digits), 8)]
    return str(ipaddress.ip_address(struct.pack(f"={len(words)}I", *words)))


def ephemeral_ports(root: Path = procfs.ROOT) -> range:
    """Local ports of connections that do not choose one."""
    words = procfs.read_small(root / "proc/sys/net/ipv4/ip_local_port_range").split()
    first, last = (int(words[0]), int(words[1])) if len(words) == 2 else (32768, 60999)
    return range(first, last + 1)


def listen_overflows(root: Path = procfs.ROOT) -> int | None:
    """Connections dropped at full listen queues since the start (ListenOverflows); None where not counted."""
    rows = [
        row.split()
        for row in procfs.text(root / "proc/net/netstat").splitlines()
        if row.startswith("TcpExt:")
    ]
    values = dict(zip(*rows, strict=False)) if len(rows) == 2 else {}
    return int(values["ListenOverflows"]) if "ListenOverflows" in values else None
