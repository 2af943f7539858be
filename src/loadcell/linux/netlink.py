"""Netlink: dumps of the kernel's network tables over a socket that stays open (netlink(7))."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_REQUEST_DUMP: Final = 0x1 | 0x300
_DONE, _ERROR = 3, 2
_HEADER: Final = struct.Struct("=IHHII")
_NEW_NETWORK: Final = 0x40000000  # CLONE_NEWNET
_WAIT_US: Final = 200_000
_BUFFER: Final = 1 << 16


class NetlinkSocket:
    """A socket of one protocol in the network namespace in which it was opened."""

    _descriptor = -1

    def __init__(self, protocol: int) -> None:
        link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, protocol)
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, _WAIT_US))
        self._descriptor = link.detach()
        self._number = 0
        #: names of interfaces by number
        self.interfaces: dict[int, str] = dict(socket.if_nameindex())

    def dump(self, kind: int, request: bytes) -> Iterator[bytes]:
        """Payloads of the answers to a dump. Raises OSError, also where the kernel refuses it."""
        self._number += 1
        head = _HEADER.pack(_HEADER.size + len(request), kind, _REQUEST_DUMP, self._number, 0)
        os.write(self._descriptor, head + request)
        while True:
            data = os.read(self._descriptor, _BUFFER)
            while len(data) >= _HEADER.size:
                length, answer, _, number, _ = _HEADER.unpack_from(data)
                if length < _HEADER.size:
                    return
                if number == self._number:  # not what remains of an abandoned dump
                    if answer == _DONE:
                        return
                    if answer == _ERROR:
                        raise OSError(errno.EPROTO, "netlink")
                    yield data[_HEADER.size : length]
                data = data[_aligned(length) :]

    def close(self) -> None:
        """Close the socket; done already if nobody holds it any more."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __del__(self) -> None:
        self.close()


def open_socket(protocol: int) -> NetlinkSocket | None:
    """A socket in the namespace of this process; None without netlink."""
    with contextlib.suppress(OSError):
        return NetlinkSocket(protocol)
    return None


def open_socket_of(root: Path, pid: int, protocol: int) -> NetlinkSocket | None:
    """A socket in the namespace of another process; None without the right to enter it.

    A separate thread enters the namespace, so that no other code is moved.
    """
    sockets: list[NetlinkSocket] = []

    def enter() -> None:
        with contextlib.suppress(OSError), open(f"{root}/proc/{pid}/ns/net", "rb") as file:  # noqa: PTH123
            if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), _NEW_NETWORK) == 0:
                sockets.append(NetlinkSocket(protocol))

    thread = threading.Thread(target=enter, daemon=True)
    thread.start()
    thread.join()
    return sockets[0] if sockets else None


def network_namespace(root: Path, pid: int | str = "self") -> str | None:
    """Identity of the network namespace of a process; None if it is hidden."""
    with contextlib.suppress(OSError):
        return os.readlink(f"{root}/proc/{pid}/ns/net")  # noqa: PTH115 - the text of the link is the identity
    return None


def attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Attributes of a message: type and value."""
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        if length < 4:
            return
        yield kind & 0x3FFF, data[4:length]
        data = data[_aligned(length) :]


def _aligned(length: int) -> int:
    return (length + 3) & ~3
