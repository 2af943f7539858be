"""Server process that loadcell starts on an owned directory, watches and stops."""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from loadcell.linux import process as supervision
from loadcell.model.message import ForeignText, Message, MessageCode, Seconds
from loadcell.systems.base import TargetError
from loadcell.systems.server_address import ServerAddress
from loadcell.systems.server_options import Setting
from loadcell.systems.shared.account import SocketDirectory, environment, free_port
from loadcell.systems.shared.owned_directory import OwnedDirectory, no_room
from loadcell.systems.shared.preload import Preload
from loadcell.systems.shared.server_errors import PortTakenError, StillHeldError

PROCESS_NOT_STARTED = MessageCode("process.not-started", said=ForeignText)
PROCESS_NO_ANSWER = MessageCode("process.no-answer", limit_s=Seconds, why=Message)
_PORT_TRIES = 5
#: How long processes of a killed server may hold its shared memory.
_HELD_LIMIT_S = 20.0
#: A start may have to recover from a crash; the trial's own limit is the sharper one.
_START_LIMIT_S = 600.0
_POLL_S = 0.03
#: How long a server may take to recover from a fault by itself: PostgreSQL 18 was seen to wait forever for a
#: startup process that had failed.
_RECOVERY_LIMIT_S = 20.0
#: How long a line of the log may take to arrive after the error of a statement.
_LOG_DELAY_S = 0.2
AddressT = TypeVar("AddressT", bound=ServerAddress)
DirectoryT = TypeVar("DirectoryT", bound=OwnedDirectory)


def start_process(process: supervision.SupervisedProcess, command: list[str]) -> None:
    """Start a supervised process. Raises TargetError."""
    try:
        process.start(command)
    except OSError as error:
        raise TargetError(PROCESS_NOT_STARTED(said=error.strerror)) from error


class ManagedServer(ABC, Generic[AddressT, DirectoryT]):
    """A server process on an owned directory: started on a free port, watched, stopped; it never outlives
    loadcell.

    `name` precedes its lines in the log; `sockets` is the preferred directory of its Unix socket.
    """

    #: what the server's log has of a full device
    device_full: ClassVar[re.Pattern[str]]
    #: from an orderly shutdown to SIGKILL; the first signal is also sent if loadcell dies
    stop_steps: ClassVar[tuple[supervision.StopStep, ...]]

    def __init__(
        self,
        name: str,
        directory: DirectoryT,
        settings: Mapping[str, Setting],
        sockets: Path,
        log: Callable[[str], None],
    ) -> None:
        self.directory = directory
        self.settings = settings
        self.log = log
        self.port = 0
        self.sockets = SocketDirectory(sockets, directory.account)
        self._environment = environment()
        self._process = supervision.SupervisedProcess(name, log, self._environment)
        #: the library for faults that its processes are started with
        self.preloaded: Preload | None = None

    def preload(self, work: Path) -> None:
        """Start the processes from now on with the library for faults, written below `work`.

        Raises TargetError.
        """
        self.preloaded = Preload.install(work, self.directory.account)
        self._environment.update(self.preloaded.variables(self._environment))

    @property
    def running(self) -> bool:
        return self._process.running

    @property
    def pid(self) -> int | None:
        """Process id of the server's first process."""
        return self._process.pid

    @property
    @abstractmethod
    def socket_name(self) -> str:
        """File name of the Unix socket on the present port."""

    @abstractmethod
    def admin(self) -> AddressT:
        """The address for administration, by the Unix socket."""

    @abstractmethod
    def _configure(self, socket: Path) -> list[str | Path]:
        """Write the configuration for the present port; returns the command. Raises TargetError."""

    @abstractmethod
    def _startup_error(self, output: list[str]) -> TargetError:
        """The reason why the process ended before it answered, from its last lines."""

    def _warm_up(self) -> None:
        """Wait for work that a server does after it answers first. Raises TargetError."""

    @contextmanager
    def noticing_a_full_device(self, during: str) -> Iterator[None]:
        """Give errors of the block their cause, where the server's log has that its device is full."""
        before = self._process.lines
        try:
            yield
        except TargetError as error:
            time.sleep(_LOG_DELAY_S)
            if any(map(self.device_full.search, self._process.output_since(before))):
                raise no_room(self.directory.kind, str(self.directory.data), during) from error
            raise

    def socket_path(self) -> str | None:
        """Path of the Unix socket while the server runs."""
        directory = self.sockets.path
        return str(directory / self.socket_name) if directory else None

    def start(self) -> None:
        """Start and wait until the server answers. Raises TargetError."""
        self._start(free_port)

    def start_again(self) -> None:
        """Start a server that has ended on the port that it had, and wait until it answers.

        Does nothing while it runs. Raises TargetError.
        """
        if not self.running:
            self._process.stop(self.stop_steps[-1:])  # the remaining processes of its session
            self._start(lambda: self.port)

    def bring_back(self) -> None:
        """Wait until the server answers after a fault; start it again where it has ended, or does not recover
        by itself. Raises TargetError.
        """
        deadline = time.monotonic() + _RECOVERY_LIMIT_S
        while self.running and time.monotonic() < deadline:
            try:
                self.admin().check(limit_s=5)
                return
            except TargetError:
                time.sleep(_POLL_S)
        self._process.stop(self.stop_steps[1:])
        self._start(lambda: self.port)

    def shut_down(self) -> None:
        """Stop the server in an orderly way; its port and its Unix socket's directory stay its own."""
        self._process.stop(self.stop_steps)

    def _start(self, port: Callable[[], int]) -> None:
        held_until = time.monotonic() + _HELD_LIMIT_S
        tries = 0
        while True:
            try:
                self._start_once(port())
                return
            except PortTakenError:
                tries += 1
                if tries >= _PORT_TRIES:
                    raise
            except StillHeldError:
                if time.monotonic() > held_until:
                    raise
                time.sleep(0.2)

    def _start_once(self, port: int) -> None:
        self.port = port
        program = self._configure(self.sockets.make(self.socket_name) / self.socket_name)
        directory = self.directory
        command = directory.account.command(program, directory=directory.data, death=self.stop_steps[0][0])
        try:
            start_process(self._process, command)
            self._await_answer()
            self._warm_up()
        except BaseException:
            self.stop(quickly=True)
            raise

    def _await_answer(self) -> None:
        deadline = time.monotonic() + _START_LIMIT_S
        while True:
            if not self.running:
                raise self._startup_error(self._process.last_output())
            try:
                self.admin().check(limit_s=5)
                return
            except TargetError as error:
                if time.monotonic() > deadline:
                    raise TargetError(PROCESS_NO_ANSWER(limit_s=_START_LIMIT_S, why=error.message)) from error
            time.sleep(_POLL_S)

    def stop(self, *, quickly: bool = False) -> bool:
        """Stop the server, if it runs; `quickly` leaves out the orderly shutdown.

        Returns True if it had to be killed.
        """
        killed = self._process.stop(self.stop_steps[1:] if quickly else self.stop_steps)
        self.sockets.remove()
        return killed
