"""A network namespace for tests, with a loopback and a handful of ports: there they really run out."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

_CLONE_NEWNET = 0x40000000  # setns(2)
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1  # netdevice(7)

#: `net.ipv4.` of this network alone.
_SETTINGS = Path("/proc/sys/net/ipv4")


class FewPorts:
    """The network that this thread, and what it starts, is in."""

    def only(self, count: int) -> None:
        """Limit connections to `count` ports, each unusable for a minute after a connection: on a loopback
        Linux would else use it again after a second.
        """
        (_SETTINGS / "tcp_tw_reuse").write_text("0")
        (_SETTINGS / "ip_local_port_range").write_text(f"50000 {50000 + count - 1}")


@contextlib.contextmanager
def few_ports() -> Iterator[FewPorts]:
    """Enter a new network namespace (as root); threads and processes started in the block are in it, too."""
    libc = ctypes.CDLL(None, use_errno=True)

    def called(name: str, *arguments: int) -> None:
        if getattr(libc, name)(*arguments) != 0:
            raise OSError(
                ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())} (these tests need root)"
            )

    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        called("unshare", _CLONE_NEWNET)
        try:
            with socket.socket() as any_socket:
                fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", _IFF_UP))
            yield FewPorts()
        finally:
            called("setns", home, _CLONE_NEWNET)
    finally:
        os.close(home)
