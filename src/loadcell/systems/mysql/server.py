"""A running server: started on a free port, watched, stopped, and never outliving loadcell."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from signal import SIGKILL, SIGTERM
from typing import Any

from loadcell.systems.base import TargetError
from loadcell.systems.mysql import startup_errors
from loadcell.systems.mysql.connection import Address, rows
from loadcell.systems.mysql.directory import ADMIN, USER, DataDirectory
from loadcell.systems.mysql.messages import DOING_ASK_FOR_THE_BUFFER_POOL
from loadcell.systems.shared.process import Kept, StopStep, free_port
from loadcell.systems.shared.sockets import Sockets

_PORT_TRIES = 5
#: An orderly shutdown writes out all that was changed.
_STOP: tuple[StopStep, ...] = ((SIGTERM, 120.0, "orderly"), (SIGKILL, 10.0, "kill"))
_KILL = _STOP[1:]
_POLL_S = 0.03
_SOCKET = "mariadb.sock"
#: How long the pages that were in memory before the shutdown may take to come back.
_WARM_LIMIT_S = 300.0


class Server:
    """The server on one data directory. `log` takes its log line by line; `sockets` is where its Unix socket shall lie."""

    def __init__(
        self, directory: DataDirectory, settings: Mapping[str, Any], sockets: Path, log: Callable[[str], None]
    ) -> None:
        self.directory = directory
        self.settings = settings
        self.log = log
        self.port = 0
        self._passwords: dict[str, str] = {}
        self._sockets = Sockets(sockets, directory.account)
        self._kept = Kept("mariadbd", log)

    @property
    def running(self) -> bool:
        return self._kept.running

    @property
    def pid(self) -> int | None:
        return self._kept.pid

    def admin(self) -> Address:
        return self._address(ADMIN, "socket")

    def load(self, connect: str) -> Address:
        """For the load's user, by `tcp` or by `socket`."""
        return self._address(USER, connect)

    def _address(self, user: str, connect: str) -> Address:
        place = self._sockets.place
        at = str(place / _SOCKET) if connect == "socket" and place else None
        return Address("127.0.0.1", self.port, user, at, self._passwords.get(user), sslmode="disable")

    def start(self) -> None:
        """Start and wait until it answers, with the pages in memory that it had at its last shutdown. Raises TargetError."""
        for tries_left in reversed(range(_PORT_TRIES)):
            try:
                self._start_once()
                return
            except startup_errors.PortTakenError:
                if not tries_left:
                    raise

    def _start_once(self) -> None:
        self.port = free_port()
        self._passwords = {user: secrets.token_urlsafe(24) for user in (ADMIN, USER)}
        sockets = self._sockets.make(_SOCKET)
        directory = self.directory
        directory.configure(self.port, sockets / _SOCKET, self.settings, self._passwords)
        command = directory.account.command(
            [directory.binaries.server, f"--defaults-file={directory.config}"],
            directory=directory.data,
            death=SIGTERM,
        )
        try:
            self._kept.start(command, self._await_answer)
            self._await_pages()
        except BaseException:
            self.stop(quickly=True)
            raise

    def _await_answer(self) -> None:
        self._kept.await_answer(lambda: self.admin().connect(limit_s=5).close(), self._why_not)

    def _await_pages(self) -> None:
        """InnoDB reads back the pages it had in memory at its last shutdown, unless its settings say otherwise: not during
        a trial."""
        deadline = time.monotonic() + _WARM_LIMIT_S
        with self.admin().session(DOING_ASK_FOR_THE_BUFFER_POOL(), during="up") as connection:
            while time.monotonic() < deadline:
                found = rows(connection, "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_load_status'")
                said = str(found[0][1]) if found else ""
                if not said or any(
                    word in said for word in ("completed", "not started", "Cannot", "Error", "aborted")
                ):
                    return
                time.sleep(_POLL_S)

    def _why_not(self) -> TargetError:
        return startup_errors.of_start(self._kept.last_words(), self.settings, self._known_settings())

    def _known_settings(self) -> list[str]:
        command: list[str | Path] = [self.directory.binaries.server, "--no-defaults", "--verbose", "--help"]
        told = self.directory.account.run(command, limit_s=30).stdout
        _, _, table = told.partition("Variables (--variable-name=value)")
        return [line.split()[0].replace("-", "_") for line in table.splitlines() if line[:1].isalpha()]

    def stop(self, *, quickly: bool = False) -> None:
        """Stop: in order, or at last by force. Does nothing when it is gone. `quickly` is by force at once."""
        self._kept.stop(_KILL if quickly else _STOP)
        self._sockets.remove()
