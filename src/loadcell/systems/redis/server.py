"""A running server: started on a free port, watched, stopped, and never outliving loadcell."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from signal import SIGKILL, SIGTERM
from typing import Any

from loadcell.systems.base import TargetError
from loadcell.systems.redis import startup_errors
from loadcell.systems.redis.connection import Address
from loadcell.systems.redis.directory import DataDirectory
from loadcell.systems.shared.process import Kept, StopStep, free_port
from loadcell.systems.shared.sockets import Sockets

_PORT_TRIES = 5
#: An orderly shutdown writes the data out, where the settings want that.
_STOP: tuple[StopStep, ...] = ((SIGTERM, 120.0, "orderly"), (SIGKILL, 10.0, "kill"))
_KILL = _STOP[1:]
_SOCKET = "redis.sock"


class Server:
    """The server on one directory. `log` takes its log line by line; `sockets` is where its Unix socket shall lie."""

    def __init__(
        self, directory: DataDirectory, settings: Mapping[str, Any], sockets: Path, log: Callable[[str], None]
    ) -> None:
        self.directory = directory
        self.settings = settings
        self.port = 0
        self._password = ""
        self._sockets = Sockets(sockets, directory.account)
        self._kept = Kept(directory.binary.server.name, log)

    @property
    def running(self) -> bool:
        return self._kept.running

    @property
    def pid(self) -> int | None:
        return self._kept.pid

    def address(self, connect: str, resp: int | None = None) -> Address:
        """Where it is, by `tcp` or by `socket`."""
        place = self._sockets.place
        path = str(place / _SOCKET) if connect == "socket" and place else None
        return Address("127.0.0.1", self.port, path, password=self._password, resp=resp)

    def start(self) -> None:
        """Start and wait until it answers, with the data that it had written. Raises TargetError."""
        for tries_left in reversed(range(_PORT_TRIES)):
            try:
                self._start_once()
                return
            except startup_errors.PortTakenError:
                if not tries_left:
                    raise

    def _start_once(self) -> None:
        self.port, self._password = free_port(), secrets.token_urlsafe(24)
        path = self._sockets.make(_SOCKET) / _SOCKET
        directory = self.directory
        directory.configure(self.port, path, self._password, self.settings)
        # The server's user owns its configuration and may enter the directory that holds it.
        command = directory.account.command(
            [directory.binary.server, directory.config], directory=directory.data, death=SIGTERM
        )
        try:
            self._kept.start(command, self._await_answer)
        except BaseException:
            self.stop(quickly=True)
            raise

    def _await_answer(self) -> None:
        self._kept.await_answer(lambda: self.address("socket").connect(limit_s=5).close(), self._why_not)

    def _why_not(self) -> TargetError:
        return startup_errors.of_start(self._kept.last_words(), self.settings)

    def stop(self, *, quickly: bool = False) -> None:
        """Stop: in order, or at last by force. Does nothing when it is gone. `quickly` is by force at once."""
        self._kept.stop(_KILL if quickly else _STOP)
        self._sockets.remove()
