"""Connections that a server has not accepted yet, from /proc/PID/net."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import Final

#: State of a listening socket (include/net/tcp_states.h).
_LISTEN: Final = "0A"
_PAGE: Final = 4096


def waiting_connections(root: Path, pid: int, ports: Collection[int]) -> int | None:
    """Connections established and not accepted, of the sockets that listen on `ports` in the network
    namespace of a process; None if no such socket is seen.

    The kernel lists listening sockets first and gives the length of their accept queues as `rx_queue`
    (net/ipv4/tcp_ipv4.c), so that the files are read up to the first other one.
    """
    waiting = [
        count
        for name in ("tcp", "tcp6")
        for port, count in _listening(f"{root}/proc/{pid}/net/{name}")
        if port in ports
    ]
    return sum(waiting) if waiting else None


def _listening(path: str) -> list[tuple[int, int]]:
    """Port and queue of each listening socket."""
    queues: list[tuple[int, int]] = []
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return queues
    try:
        remaining = b""
        while part := os.read(descriptor, _PAGE):
            *rows, remaining = (remaining + part).split(b"\n")
            for row in rows:
                fields = row.decode("ascii", "replace").split()
                if len(fields) < 5 or fields[0] == "sl":
                    continue
                if fields[3] != _LISTEN:
                    return queues
                queues.append((int(fields[1].rpartition(":")[2], 16), int(fields[4].rpartition(":")[2], 16)))
    except (OSError, ValueError):
        return queues
    finally:
        os.close(descriptor)
    return queues
