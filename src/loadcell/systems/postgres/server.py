"""A running server: started on a free port, watched, stopped, and never outliving loadcell."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from signal import SIGINT, SIGKILL, SIGQUIT
from typing import Any

from loadcell.systems.base import TargetError
from loadcell.systems.postgres import startup_errors
from loadcell.systems.postgres.cluster import ADMIN, Cluster
from loadcell.systems.postgres.connection import Address
from loadcell.systems.shared.process import Kept, StopStep, free_port
from loadcell.systems.shared.sockets import Sockets

_PORT_TRIES = 5
#: How long processes of a killed server may hold its shared memory.
_HELD_LIMIT_S = 20.0
#: Fast shutdown writes a checkpoint; immediate writes nothing; at last the kernel decides.
_STOP: tuple[StopStep, ...] = ((SIGINT, 30.0, "fast"), (SIGQUIT, 10.0, "immediate"), (SIGKILL, 10.0, "kill"))


class Server:
    """The server on one cluster. `log` takes its log line by line; `sockets` is where its Unix socket shall lie."""

    def __init__(
        self, cluster: Cluster, settings: Mapping[str, Any], sockets: Path, log: Callable[[str], None]
    ) -> None:
        self.cluster = cluster
        self.settings = settings
        self.log = log
        self.port = 0
        self._sockets = Sockets(sockets, cluster.account)
        self._kept = Kept("postgres", log)

    @property
    def running(self) -> bool:
        return self._kept.running

    @property
    def pid(self) -> int | None:
        """Process id of the postmaster."""
        return self._kept.pid

    @property
    def _socket(self) -> str:
        """The name PostgreSQL gives its socket."""
        return f".s.PGSQL.{self.port}"

    def address(self, role: str, password: str | None, database: str, connect: str) -> Address:
        """This server for `role`, by `tcp` or by `socket`."""
        at = f"{self._sockets.place}/{self._socket}" if connect == "socket" else None
        return Address("127.0.0.1", self.port, role, database, at, password, sslmode="disable")

    def admin(self) -> Address:
        return self.address(ADMIN, None, "postgres", "socket")

    def start(self) -> None:
        """Start and wait until it answers. Raises TargetError."""
        held_until = time.monotonic() + _HELD_LIMIT_S
        tries = 0
        while True:
            try:
                self._start_once()
                return
            except startup_errors.PortTakenError:
                tries += 1
                if tries >= _PORT_TRIES:
                    raise
            except startup_errors.StillHeldError:
                if time.monotonic() > held_until:
                    raise
                time.sleep(0.2)

    def _start_once(self) -> None:
        self.port = free_port()
        self.cluster.configure(self.port, self._sockets.make(self._socket), self.settings)
        cluster = self.cluster
        command = cluster.account.command(
            [cluster.binaries.postgres, "-D", cluster.pgdata, "-c", f"config_file={cluster.config}"],
            directory=cluster.pgdata,
            death=SIGINT,
        )
        try:
            self._kept.start(command, self._await_answer)
        except BaseException:
            self.stop(quickly=True)
            raise

    def _await_answer(self) -> None:
        self._kept.await_answer(lambda: self.admin().connect(limit_s=5).close(), self._why_not)

    def _why_not(self) -> TargetError:
        words = self._kept.last_words()
        closed = next((line for line in words if line.startswith(("closed: ", "cannot "))), None)
        if closed is not None:
            return startup_errors.of_initdb(closed)
        return startup_errors.of_start(words, self.settings, self._known_settings)

    def _known_settings(self) -> list[str]:
        told = self.cluster.account.run([self.cluster.binaries.postgres, "--describe-config"], limit_s=30)
        return [line.split("\t", 1)[0] for line in told.stdout.splitlines()]

    def stop(self, *, quickly: bool = False) -> None:
        """Stop: fast, then immediate, then by force. Does nothing when it is gone. `quickly` leaves out the first."""
        pid = self._kept.pid
        children = [] if pid is None else _children(pid)
        if self._kept.stop(_STOP[1:] if quickly else _STOP):
            _kill(children)
        self._sockets.remove()


def _children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _kill(pids: list[int]) -> None:
    """End what a killed postmaster left behind, if it still is a PostgreSQL."""
    for pid in pids:
        with contextlib.suppress(OSError):
            if "postgres" in Path(f"/proc/{pid}/comm").read_text():
                os.kill(pid, SIGKILL)
