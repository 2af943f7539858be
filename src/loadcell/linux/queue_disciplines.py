"""Queues of network interfaces (qdiscs) at one instant, as `tc -s qdisc` shows them, by rtnetlink."""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

# linux/rtnetlink.h, linux/pkt_sched.h, linux/gen_stats.h
_GET, _NEW, _DONE, _ERROR = 38, 36, 3, 2
_REQUEST_DUMP: Final = 0x1 | 0x300
_KIND, _STATS2, _STATS_BASIC, _STATS_QUEUE = 1, 7, 1, 3
_HEADER: Final = struct.Struct("=IHHII")
_TC: Final = struct.Struct("=BxxxiIII")
_QUEUE: Final = struct.Struct("=IIIII")
_NEW_NETWORK: Final = 0x40000000
_WAIT_S: Final = 0.2
_BUFFER: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class QueueCounters:
    """The outermost queue of an interface: `packets` in it now, and running counters of dropped packets and
    of packets delayed by a limit of the rate (`overlimits`).
    """

    interface: str
    kind: str
    packets: int
    bytes: int
    dropped: int
    overlimits: int


class QueueReader:
    """Reads the queues of a network namespace over a socket that stays open: about 50 microseconds each."""

    def __init__(self, link: socket.socket, names: dict[int, str]) -> None:
        self._link, self._names = link, names

    @classmethod
    def of_process(cls, root: Path, pid: int | str = "self") -> QueueReader | None:
        """Reader of a process' namespace; None without the right to enter it, or if it is this process' own.

        A separate thread enters the namespace, so that no other code is moved.
        """
        present, other = (_namespace(f"{root}/proc/{name}/ns/net") for name in ("self", pid))
        if pid != "self" and (other is None or present == other):
            return None
        made: list[QueueReader] = []
        thread = threading.Thread(target=cls._open, args=(f"{root}/proc/{pid}/ns/net", made), daemon=True)
        if pid == "self":
            cls._open(None, made)
        else:
            thread.start()
            thread.join()
        return made[0] if made else None

    @classmethod
    def _open(cls, namespace: str | None, made: list[QueueReader]) -> None:
        try:
            if namespace is not None:
                with open(namespace, "rb") as file:  # noqa: PTH123 - a descriptor of a namespace
                    library = ctypes.CDLL(None, use_errno=True)
                    if library.setns(file.fileno(), _NEW_NETWORK):
                        return
            link = socket.socket(
                socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE
            )
            link.settimeout(_WAIT_S)
            made.append(cls(link, dict(socket.if_nameindex())))
        except OSError:
            return

    def read(self) -> tuple[QueueCounters, ...]:
        """The outermost queue of each interface that has one; empty if the kernel does not answer."""
        try:
            request = _HEADER.pack(_HEADER.size + _TC.size, _GET, _REQUEST_DUMP, 1, 0) + _TC.pack(
                0, 0, 0, 0, 0
            )
            self._link.send(request)
            return tuple(self._answers())
        except (OSError, struct.error):
            return ()

    def close(self) -> None:
        """Close the socket."""
        self._link.close()

    def _answers(self) -> Iterator[QueueCounters]:
        while True:
            data = self._link.recv(_BUFFER)
            while len(data) >= _HEADER.size:
                length, kind, *_ = _HEADER.unpack_from(data)
                if kind in (_DONE, _ERROR) or length < _HEADER.size:
                    return
                if kind == _NEW and (queue := self._queue(data[_HEADER.size : length])) is not None:
                    yield queue
                data = data[_aligned(length) :]

    def _queue(self, message: bytes) -> QueueCounters | None:
        _, index, _, parent, _ = _TC.unpack_from(message)
        if parent != 0xFFFFFFFF:  # within another one
            return None
        attributes = dict(_attributes(message[_TC.size :]))
        statistics = dict(_attributes(attributes.get(_STATS2, b"")))
        if _STATS_QUEUE not in statistics:
            return None
        packets, _, dropped, _, overlimits = _QUEUE.unpack_from(statistics[_STATS_QUEUE])
        basic = statistics.get(_STATS_BASIC, b"")
        size = struct.unpack_from("=Q", basic)[0] if len(basic) >= 8 else 0
        kind = attributes.get(_KIND, b"").rstrip(b"\0").decode("ascii", "replace")
        name = self._names.get(index, str(index))
        return QueueCounters(name, kind, packets, size, dropped, overlimits)


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        if length < 4:
            return
        yield kind & 0x3FFF, data[4:length]
        data = data[_aligned(length) :]


def _aligned(length: int) -> int:
    return (length + 3) & ~3


def _namespace(path: str) -> str | None:
    with contextlib.suppress(OSError):
        return os.readlink(path)  # noqa: PTH115 - the text of the link is the identity
    return None
