"""A running server: started on a free port, watched, stopped, and never outliving loadcell."""

from __future__ import annotations

import contextlib
import fcntl
import os
import queue
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from signal import SIGINT, SIGKILL, SIGQUIT
from typing import Any

from loadcell.targets.base import TargetError
from loadcell.targets.postgres import complaints
from loadcell.targets.postgres.account import environment
from loadcell.targets.postgres.cluster import ADMIN, Cluster
from loadcell.targets.postgres.connection import Address

_PORT_TRIES = 5
#: A start may have to redo the log of a crash; the run's own limit for `up` is the sharper one.
_START_LIMIT_S = 600.0
#: How long processes of a killed server may hold its shared memory.
_HELD_LIMIT_S = 20.0
#: Fast shutdown writes a checkpoint; immediate writes nothing; at last the kernel decides.
_STOP = ((SIGINT, 30.0, "fast"), (SIGQUIT, 10.0, "immediate"), (SIGKILL, 10.0, "kill"))
_POLL_S = 0.03
_BIRTH_LIMIT_S = 5.0
#: The kernel's limit for a socket's path is 108 bytes, its end included.
_SOCKET_PATH_LIMIT = 107
_LOG_PIPE_BYTES = 1 << 20


class Server:
    """The server on one cluster. `log` takes its log line by line; `sockets` is where its Unix socket shall lie."""

    def __init__(
        self, cluster: Cluster, settings: Mapping[str, Any], sockets: Path, log: Callable[[str], None]
    ) -> None:
        self.cluster = cluster
        self.settings = settings
        self.log = log
        self.port = 0
        self._wanted_sockets = sockets
        self._sockets: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._keeper: threading.Thread | None = None
        self._words: deque[str] = deque(maxlen=200)

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        """Process id of the postmaster."""
        return self._process.pid if self._process is not None and self.running else None

    def address(self, role: str, password: str | None, database: str, connect: str) -> Address:
        """This server for `role`, by `tcp` or by `socket`."""
        at = f"{self._sockets}/.s.PGSQL.{self.port}" if connect == "socket" else None
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
            except complaints.PortTakenError:
                tries += 1
                if tries >= _PORT_TRIES:
                    raise
            except complaints.StillHeldError:
                if time.monotonic() > held_until:
                    raise
                time.sleep(0.2)

    def _start_once(self) -> None:
        self.port = free_port()
        self._words.clear()
        self._process = None
        self._make_sockets()
        assert self._sockets is not None
        self.cluster.configure(self.port, self._sockets, self.settings)
        cluster = self.cluster
        command = cluster.account.command(
            [cluster.binaries.postgres, "-D", cluster.pgdata, "-c", f"config_file={cluster.config}"],
            directory=cluster.pgdata,
            death=SIGINT,
        )
        born: queue.SimpleQueue[subprocess.Popen[bytes] | OSError] = queue.SimpleQueue()
        self._keeper = threading.Thread(
            target=self._keep, args=(command, born), name="postgres-log", daemon=True
        )
        try:
            self._keeper.start()
            process = born.get()
            if isinstance(process, OSError):
                raise TargetError(
                    f"cannot start the server: {process.strerror}", advice="look at the machine's limits"
                )
            self._await_answer(process)
        except BaseException:
            if self._process is None:  # interrupted while the keeper was at it
                with contextlib.suppress(queue.Empty):
                    born.get(timeout=_BIRTH_LIMIT_S)
            self.stop(quickly=True)
            raise

    def _keep(self, command: list[str], born: queue.SimpleQueue[subprocess.Popen[bytes] | OSError]) -> None:
        """Start the server and pass on what it says, until it ends.

        A thread of its own, as the kernel sends the death signal when the *thread* ends that started a process.
        """
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=environment(),
                cwd="/",
                start_new_session=True,  # Ctrl-C is for loadcell, which then stops the server in its turn
            )
        except OSError as error:
            born.put(error)
            return
        assert process.stdout is not None
        with contextlib.suppress(OSError, AttributeError):
            fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, _LOG_PIPE_BYTES)
        self._process = process
        born.put(process)
        with process.stdout as said:
            for raw in said:
                line = raw.decode("utf-8", "replace").rstrip("\n")
                self._words.append(line)
                self.log(f"postgres: {line}")
        process.wait()

    def _await_answer(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + _START_LIMIT_S
        while True:
            if process.poll() is not None:
                if self._keeper is not None:
                    self._keeper.join(timeout=2)
                raise self._why_not()
            try:
                self.admin().connect(limit_s=5).close()
                return
            except TargetError as error:
                if time.monotonic() > deadline:
                    raise TargetError(
                        f"the server did not answer within {_START_LIMIT_S:.0f} s: {error.finding}",
                        advice="the trial's output.log has what it said",
                    ) from error
            time.sleep(_POLL_S)

    def _why_not(self) -> TargetError:
        words = list(self._words)
        closed = next((line for line in words if line.startswith(("closed: ", "cannot "))), None)
        if closed is not None:
            return complaints.of_initdb(closed)
        return complaints.of_start(words, self.settings, self._known_settings)

    def _known_settings(self) -> list[str]:
        told = self.cluster.account.run([self.cluster.binaries.postgres, "--describe-config"], limit_s=30)
        return [line.split("\t", 1)[0] for line in told.stdout.splitlines()]

    def stop(self, *, quickly: bool = False) -> None:
        """Stop: fast, then immediate, then by force. Does nothing when it is gone. `quickly` leaves out the first."""
        process = self._process
        if process is not None and process.poll() is None:
            children = _children(process.pid)
            for number, limit_s, manner in _STOP[1:] if quickly else _STOP:
                with contextlib.suppress(ProcessLookupError):
                    process.send_signal(number)
                try:
                    process.wait(limit_s)
                    break
                except subprocess.TimeoutExpired:
                    self.log(f"the server did not end within {limit_s:.0f} s of a {manner} shutdown")
            if process.returncode == -SIGKILL:
                _kill(children)
        if self._keeper is not None and self._keeper is not threading.current_thread():
            self._keeper.join(timeout=5)
        self._process = self._keeper = None
        self._remove_sockets()

    def _make_sockets(self) -> None:
        if self._sockets is not None:
            return
        place = self._wanted_sockets
        if len(os.fsencode(place / f".s.PGSQL.{self.port}")) > _SOCKET_PATH_LIMIT:
            place = Path(tempfile.mkdtemp(prefix="loadcell-", dir="/tmp"))
        try:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.cluster.account.own(place)
        except OSError as error:
            raise TargetError(
                f"cannot make {place} for the server's socket: {error.strerror}",
                advice="make room there, or let loadcell write there",
            ) from error
        self._sockets = place

    def _remove_sockets(self) -> None:
        if self._sockets is not None:
            shutil.rmtree(self._sockets, ignore_errors=True)
            self._sockets = None


def free_port() -> int:
    """A TCP port of 127.0.0.1 that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


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
