"""Connections that a server has not accepted yet, as `ss -ltn` shows them (Recv-Q)."""

from __future__ import annotations

import socket
import struct
from collections.abc import Collection, Iterator
from typing import Final

from loadcell.linux.netlink import NetlinkSocket

#: The protocol of sock_diag(7).
SOCKET_DIAGNOSIS: Final = 4
_BY_FAMILY: Final = 20
#: TCP_LISTEN as a bit (include/net/tcp_states.h).
_LISTENING: Final = 1 << 10
_REQUEST: Final = struct.Struct("=BBBxI48x")
_PORT: Final = struct.Struct(">H")
#: Offsets in struct inet_diag_msg of the local port and of the accept queue's length, before its limit.
_PORT_AT, _QUEUE_AT = 4, 56


def queues(link: NetlinkSocket) -> Iterator[tuple[int, int, int]]:
    """Port, connections not accepted and their limit, of each listening socket. Raises OSError."""
    for family in (socket.AF_INET, socket.AF_INET6):
        request = _REQUEST.pack(family, socket.IPPROTO_TCP, 0, _LISTENING)
        for message in link.dump(_BY_FAMILY, request):
            [port] = _PORT.unpack_from(message, _PORT_AT)
            length, limit = struct.unpack_from("=II", message, _QUEUE_AT)
            yield port, length, limit


def waiting_connections(link: NetlinkSocket, ports: Collection[int]) -> int | None:
    """Connections established and not accepted, of the sockets that listen on `ports`; None if there is no
    such socket. About 20 microseconds.

    Only listening sockets are asked for: /proc/net/tcp takes milliseconds, as the kernel walks the table of
    all connections for it. `link` is of the protocol `SOCKET_DIAGNOSIS`.
    """
    try:
        waiting = [length for port, length, _ in queues(link) if port in ports]
    except (OSError, struct.error):
        return None
    return sum(waiting) if waiting else None
