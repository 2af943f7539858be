"""Base of targets that are services: a process that loadcell starts, awaits, watches and stops."""

from __future__ import annotations

import http.client
import os
import re
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL, Signals
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar
from urllib.parse import urlsplit

from loadcell.linux import process as supervision
from loadcell.linux.memory_kills import MemoryKills
from loadcell.linux.process import ENDED_STATUS
from loadcell.linux.procfs import ROOT
from loadcell.model.extensions import HTTP, STREAM, Capability
from loadcell.model.message import NO_OUTPUT, Bytes, ForeignText, Message, MessageCode, Seconds
from loadcell.plan.parts import PORT, WORK, Misfit
from loadcell.profilers.launcher import END_WITHIN_S, SLOWER
from loadcell.systems.base import (
    Role,
    ServerEndpoint,
    Target,
    TargetContext,
    TargetError,
    TargetFacts,
    missing_directory,
)
from loadcell.systems.http.target import Address
from loadcell.systems.managed_server import start_process
from loadcell.systems.shared import account
from loadcell.systems.shared.account import free_port
from loadcell.systems.shared.launch import Launch
from loadcell.systems.shared.preload import Preload
from loadcell.systems.shared.service_options import ServiceOptions
from loadcell.systems.shared.started_files import FileFacts, files_of
from loadcell.systems.subjects import Network, Subject, SubjectAbilities

if TYPE_CHECKING:
    from loadcell.profilers.launcher import ProfilerAccount

SERVICE_PLACE_TAKEN = MessageCode("service.place-taken", address=str, port=str)
SERVICE_NO_DIRECTORY = MessageCode("service.no-directory", path=str, target=str)
SERVICE_NOT_READY = MessageCode(
    "service.not-ready", limit_s=Seconds, program=str, why=Message, output=ForeignText, target=str
)
SERVICE_NOT_READY_SILENT = MessageCode(
    "service.not-ready-silent", limit_s=Seconds, program=str, why=Message, target=str
)
SERVICE_COMPLETED_EARLY = MessageCode("service.completed-early", how=Message, program=str, output=ForeignText)
SERVICE_ENDED_EARLY = MessageCode("service.ended-early", how=Message, program=str, output=ForeignText)
SERVICE_ENDED = MessageCode("service.ended", how=Message, program=str, output=ForeignText)
READY_NO_LINE = MessageCode("ready.no-line")
READY_NO_ANSWER = MessageCode("ready.no-answer", message=ForeignText, url=str)
READY_STATUS = MessageCode("ready.status", status=str, url=str)
ENDED_BY = MessageCode("ended.by", signal=str)
ENDED_BY_KERNEL = MessageCode("ended.by-kernel")
ENDED_BY_LIMIT = MessageCode("ended.by-limit", limit_bytes=Bytes)

_POLL_S = 0.03
ALIVE_LIMIT_S = 3.0
#: How long a process that no longer accepts connections may take to end: the kernel frees its memory first.
_DYING_LIMIT_S = 2.0
#: Lines of the output of a service that is not ready, which its message quotes.
_LAST_LINES = 5
ServiceOptionsT = TypeVar("ServiceOptionsT", bound=ServiceOptions)


@dataclass(frozen=True, kw_only=True)
class ServiceFacts(TargetFacts):
    """Facts of a service that loadcell started; `files` are those that it started (`files_of`)."""

    command: str
    url: str
    directory: str
    files: Mapping[str, FileFacts]


class StartedService(Target[ServiceOptionsT], Generic[ServiceOptionsT]):
    """One service, for as long as the run needs it. Its processes are the subject of faults under the name
    of the target.
    """

    offers = frozenset({HTTP, STREAM})
    #: the role of its processes
    role: ClassVar[str] = "server"

    def __init__(self, options: ServiceOptionsT, context: TargetContext) -> None:
        super().__init__(options, context)
        self._port = 0
        self._served = False
        self._seen = threading.Event()
        self._files: Mapping[str, FileFacts] = {}
        self._process: supervision.SupervisedProcess | None = None
        self._kills = MemoryKills(ROOT)
        self._launch: Launch | None = None
        self._preload: Preload | None = None

    # -- what a kind of service defines

    @property
    @abstractmethod
    def program(self) -> str:
        """The program as messages name it."""

    @abstractmethod
    def command(self, directory: Path, path: str) -> list[str]:
        """Program, as an absolute path, and arguments of the next start in `directory`; `path` is PATH.

        Raises TargetError.
        """

    def began(self) -> None:
        """Called when the service is ready after a start. Raises TargetError."""

    def explain_end(self, lines: Sequence[str], status: int | None, *, early: bool) -> Message | None:  # noqa: ARG002
        """A better reason for its end than its status and its last line; `lines` are its last lines.
        `early`: it ended before it was ready.
        """
        return None

    def last_words(self, lines: Sequence[str], *, early: bool) -> str | None:  # noqa: ARG002
        """The line that tells most about its end, among its last `lines`; None if it printed none."""
        return lines[-1] if lines else None

    # -- life

    @classmethod
    def no_directory(cls, directory: Path) -> Message:
        return SERVICE_NO_DIRECTORY(path=directory, target=cls.name)

    @classmethod
    def misfits(cls, options: ServiceOptionsT) -> Iterator[Misfit]:
        if options.path is not None:
            yield from missing_directory("directory", options.path, cls.no_directory(options.path))

    @classmethod
    def offered(cls, options: ServiceOptionsT) -> frozenset[Capability]:
        return cls.offers - {HTTP, STREAM} | {options.protocol}

    @classmethod
    def placeholders(cls, options: ServiceOptionsT) -> frozenset[str]:
        return frozenset() if options.external else frozenset({PORT, WORK})

    @classmethod
    def network(cls, options: ServiceOptionsT) -> Network | None:
        return Address.of(options.load_url.replace(PORT, "1"), options.socket).network

    def up(self) -> None:
        process = self._process
        if process is not None and process.running:
            if not (self.options.fresh and self._served) and self.alive():
                self._served = True
                return
            self.down()
        if process is None and PORT not in self.options.load_url:
            self._refuse_strangers()
        self._port = free_port()
        self._start()
        self._served = True

    def _refuse_strangers(self) -> None:
        """Somebody else's server at the same place would take the load instead."""
        try:
            self.address.knock(ALIVE_LIMIT_S)
        except TargetError:
            return
        raise TargetError(SERVICE_PLACE_TAKEN(address=self.address, port="{port}"))

    def _start(self) -> None:
        """Start it on the present port, and wait until it is ready. Raises TargetError."""
        self._seen.clear()
        work = self.context.work
        for name, text in self.options.files.items():
            path = work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.filled(text))
            path.chmod(0o600)
        directory = self.options.path or work
        if not directory.is_dir():
            raise TargetError(self.no_directory(directory))
        environment = {
            **account.environment(),
            **({"HOME": os.environ["HOME"]} if "HOME" in os.environ else {}),
            **{name: self.filled(value) for name, value in self.options.env.items()},
        }
        who = account.Account(
            account.current(), os.geteuid(), os.getegid(), (), other=False, pin=self.context.pin
        )
        if self.context.preloads:
            environment = self._preloading(who).variables(environment)
        words = self.command(directory, environment["PATH"])
        self._files = files_of(words, directory)
        self._launch = Launch.of(self.options.slowed_by, self.context.work)
        if self._launch is not None:
            words = self._launch.command(words)
        command = who.command(words, directory=directory, death=Signals[f"SIG{self.options.stop.signal}"])
        self._kills = MemoryKills(ROOT)
        self._process = supervision.SupervisedProcess(
            Path(self.program).name, self.on_line, environment, work
        )
        try:
            start_process(self._process, command)
            self._await()
            self.began()
        except BaseException:
            self.down()
            raise

    def _preloading(self, who: account.Account) -> Preload:
        if self._preload is None:
            self._preload = Preload.install(self.context.work, who)
        return self._preload

    def examine(self) -> ProfilerAccount | None:
        if self._launch is None:
            return None
        self.down()
        return self._launch.account()

    def filled(self, text: str) -> str:
        """A text of the plan with its secrets, the port and the directory of the run."""
        return self.context.secret(text).replace(PORT, str(self._port)).replace(WORK, str(self.context.work))

    def on_line(self, line: str) -> None:
        """Take a line of its output, with its name before it."""
        self.context.log(line)
        pattern = self.options.readiness.log
        if pattern is not None and re.search(pattern, line.partition(": ")[2]):
            self._seen.set()

    def _await(self) -> None:
        assert self._process is not None
        ready = self.options.readiness
        within = ready.within * (SLOWER if self.options.slowed_by else 1)
        deadline = time.monotonic() + within
        while True:
            self._watch_memory()
            why = self._why_not_ready()
            if why is None:
                self._watch_memory()
                return
            if not self._process.running:
                raise TargetError(self._reason_of_end(SERVICE_ENDED_EARLY))
            if time.monotonic() > deadline:
                lines = [line for line in list(self._process.output)[-_LAST_LINES:] if line.strip()]
                code = SERVICE_NOT_READY if lines else SERVICE_NOT_READY_SILENT
                raise TargetError(
                    code.pick(
                        program=self.program, limit_s=within, why=why, target=self.name,
                        output=" / ".join(line.strip() for line in lines),
                    )
                )  # fmt: skip
            time.sleep(_POLL_S)

    def _watch_memory(self) -> None:
        """Note the control groups of the process, which it may have changed since its start."""
        if self._process is not None and (pid := self._process.pid) is not None:
            self._kills.watch(pid)

    def _why_not_ready(self) -> Message | None:
        ready = self.options.readiness
        try:
            if ready.log is not None:
                return None if self._seen.is_set() else READY_NO_LINE()
            if ready.url is not None:
                return _answer(self.filled(ready.url))
            if ready.port is not None:
                Address("127.0.0.1", ready.port, tls=False).knock(ALIVE_LIMIT_S)
            else:
                self.address.knock(ALIVE_LIMIT_S)
        except TargetError as error:
            return error.message
        return None

    def _reason_of_end(self, code: MessageCode) -> Message:
        """Why the process has ended: `code` with its status and its last line, or what explains them."""
        assert self._process is not None
        lines = [line for line in self._process.last_output() if line.strip()]
        status = self._process.exit_status
        early = code is SERVICE_ENDED_EARLY
        if status != -SIGKILL and (reason := self.explain_end(lines, status, early=early)) is not None:
            return reason
        how = ENDED_STATUS(status=str(status))
        if status is not None and status < 0:
            how = ENDED_BY(signal=Signals(-status).name)
            if status == -SIGKILL and self._kills.occurred():
                limit = self._kills.limit_bytes
                how = ENDED_BY_KERNEL() if limit is None else ENDED_BY_LIMIT(limit_bytes=limit)
        if early and status == 0:
            code = SERVICE_COMPLETED_EARLY
        return code(program=self.program, how=how, output=self.last_words(lines, early=early) or NO_OUTPUT)

    def exit_cause(self) -> Message | None:
        process = self._process
        if process is None or (process.running and self.alive()):
            return None
        deadline = time.monotonic() + _DYING_LIMIT_S
        while process.running:
            if time.monotonic() > deadline:
                return None
            time.sleep(_POLL_S)
        return self._reason_of_end(SERVICE_ENDED)

    def down(self) -> None:
        self._stop()
        self._process = None

    def _stop(self) -> None:
        """Stop the server in an orderly way, then by SIGKILL."""
        if self._process is None:
            return
        stop = self.options.stop
        first = Signals[f"SIG{stop.signal}"]
        within = max(stop.within, END_WITHIN_S) if self.options.slowed_by else stop.within
        self._process.stop(((first, within, f"SIG{stop.signal}"), (SIGKILL, 10.0, "SIGKILL")))

    def _start_again(self) -> None:
        """Start a server that has ended on the port that it had; does nothing while it runs."""
        process = self._process
        if process is None or not process.running:
            if process is not None:
                process.stop(((SIGKILL, 10.0, "SIGKILL"),))  # the remaining processes of its session
            self._start()

    @classmethod
    def subject_abilities(cls, options: ServiceOptionsT) -> Mapping[str, SubjectAbilities]:
        return {
            cls.name: SubjectAbilities(startable=True, preloadable=True),
            **super().subject_abilities(options),
        }

    def subject(self, name: str) -> Subject:
        if name != self.name:
            raise KeyError(name)
        return Subject(
            name,
            lambda: tuple(self.processes()),
            stop=self._stop,
            start=self._start_again,
            fault_control=None if self._preload is None else self._preload.control,
        )

    # -- asked by the runner

    @property
    def address(self) -> Address:
        """Where it listens."""
        socket = self.options.socket
        return Address.of(
            self.options.load_url.replace(PORT, str(self._port or 1)),
            None if socket is None else self.filled(socket),
        )

    def endpoint(self) -> ServerEndpoint:
        return self.address.endpoint(self.options.tls)

    def roles(self) -> tuple[Role, ...]:
        pid = self._process.pid if self._process is not None else None
        return () if pid is None else (Role(self.role, (pid,)),)

    def alive(self) -> bool:
        if self._process is None or not self._process.running:
            return False
        return self.address.answers(ALIVE_LIMIT_S)


def _answer(url: str) -> Message | None:
    """Why a url does not answer well, or None."""
    parts = urlsplit(url)
    make: Callable[..., http.client.HTTPConnection] = (
        http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    )
    connection = make(parts.hostname or "", parts.port, timeout=ALIVE_LIMIT_S)
    try:
        connection.request("GET", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""))
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        return READY_NO_ANSWER(url=url, message=error)
    finally:
        connection.close()
    return None if 200 <= status < 400 else READY_STATUS(url=url, status=status)
