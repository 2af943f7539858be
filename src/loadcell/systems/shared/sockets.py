"""Local sockets: free ports, the lack of them, and directories for Unix sockets."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import tempfile
from pathlib import Path

from loadcell.model.message import ForeignText, Message, MessageCode
from loadcell.systems.base import TargetError
from loadcell.systems.shared.account import Account

CONNECTION_NO_PORT = MessageCode("connection.no-port", said=ForeignText, where=str)
SOCKETS_NOT_MADE = MessageCode("sockets.not-made", path=str, said=ForeignText)

#: Code of the reason that this machine has no port left for a connection, which says nothing about the
#: server.
NO_PORT = CONNECTION_NO_PORT
#: The kernel's message for it, for drivers that pass on the message alone (libpq, PyMySQL).
NO_PORT_MESSAGE = os.strerror(errno.EADDRNOTAVAIL)
#: The kernel's limit for the path of a socket is 108 bytes, its terminator included.
_PATH_LIMIT = 107


def no_port_left(error: BaseException) -> bool:
    """True if a connection failed for want of a local port (connect(2): EADDRNOTAVAIL)."""
    return isinstance(error, OSError) and error.errno == errno.EADDRNOTAVAIL


def no_port(where: object, message: str) -> Message:
    """The reason why there is no connection to `where`."""
    return CONNECTION_NO_PORT(where=where, said=message)


def free_port() -> int:
    """A TCP port of 127.0.0.1 that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class SocketDirectory:
    """The directory of a server's Unix socket: `preferred`, or one in /tmp where the path would become too
    long.

    `path` is None while it does not exist.
    """

    def __init__(self, preferred: Path, account: Account) -> None:
        self.path: Path | None = None
        self._preferred = preferred
        self._account = account

    def make(self, name: str) -> Path:
        """Make the directory, unless it exists, for a socket called `name`. Raises TargetError."""
        if self.path is not None:
            return self.path
        path = self._preferred
        if len(os.fsencode(path / name)) > _PATH_LIMIT:
            path = Path(tempfile.mkdtemp(prefix="loadcell-", dir="/tmp"))
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._account.give(path)
        except OSError as error:
            raise TargetError(SOCKETS_NOT_MADE(path=path, said=error.strerror)) from error
        self.path = path
        return path

    def remove(self) -> None:
        """Remove the directory with its contents."""
        if self.path is not None:
            shutil.rmtree(self.path, ignore_errors=True)
            self.path = None
