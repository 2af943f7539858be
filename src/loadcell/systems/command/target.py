"""Any server that a command starts: brought up, awaited, watched and stopped by the plan."""

from __future__ import annotations

import http.client
import os
import re
import shlex
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL, Signals
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import urlsplit

from loadcell.linux import process as supervision
from loadcell.linux.process import ENDED_STATUS
from loadcell.model.extensions import HTTP
from loadcell.model.message import NO_OUTPUT, Message
from loadcell.plan.parts import Advice, Misfit, Options
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
from loadcell.systems.command.options import (
    COMMAND_ADJACENT_FILE,
    COMMAND_ENDED,
    COMMAND_NO_DATA,
    COMMAND_NO_DIRECTORY,
    COMMAND_NO_PROGRAM,
    COMMAND_NOT_READY,
    COMMAND_PLACE_TAKEN,
    COMMAND_RELATIVE,
    ENDED_BY,
    PORT,
    READY_NO_ANSWER,
    READY_NO_LINE,
    READY_STATUS,
    WORK,
    CommandOptions,
    words_of,
)
from loadcell.systems.command.started import FileFacts, files_of
from loadcell.systems.http.target import Address
from loadcell.systems.managed_server import start_process
from loadcell.systems.shared import account
from loadcell.systems.shared.account import free_port
from loadcell.systems.shared.launch import Launch, missing_profiler
from loadcell.systems.shared.preload import Preload
from loadcell.systems.subjects import Network, Subject, SubjectAbilities

if TYPE_CHECKING:
    from loadcell.plan.model import Load
    from loadcell.profilers.launcher import ProfilerAccount

_POLL_S = 0.03
_ALIVE_LIMIT_S = 3.0


def _missing(directory: Path) -> Message:
    return COMMAND_NO_DIRECTORY(path=directory)


@dataclass(frozen=True, kw_only=True)
class CommandFacts(TargetFacts):
    """Facts of a server that a command started; `files` are those that it started (`files_of`)."""

    command: str
    url: str
    directory: str
    files: Mapping[str, FileFacts]


class Command(Target[CommandOptions]):
    """One server, for as long as the run needs it."""

    name: ClassVar[str] = "command"
    summary: ClassVar[str] = "any server of HTTP that a command starts"
    Options: ClassVar[type[Options]] = CommandOptions
    offers = frozenset({HTTP})
    no_data = COMMAND_NO_DATA

    def __init__(self, options: CommandOptions, context: TargetContext) -> None:
        super().__init__(options, context)
        self._port = 0
        self._served = False
        self._program = words_of(options.command)[0]
        self._seen = threading.Event()
        self._files: Mapping[str, FileFacts] = {}
        self._process: supervision.SupervisedProcess | None = None
        self._launch: Launch | None = None
        self._preload: Preload | None = None

    # -- life

    @classmethod
    def misfits(cls, options: CommandOptions) -> Iterator[Misfit]:
        if options.path is not None:
            yield from missing_directory("directory", options.path, _missing(options.path))
            return
        program = words_of(options.command)[0]
        relative = "/" in program and not program.startswith(("/", WORK))
        if relative and str(Path(program)) not in options.files:
            yield Misfit("command", COMMAND_RELATIVE(program=repr(program)))

    @classmethod
    def advice(cls, options: CommandOptions, load: Load) -> list[Advice]:
        remarks = [
            Advice("target.command.command", COMMAND_ADJACENT_FILE(file=word), subject=word)
            for word in options.adjacent_files
        ]
        remarks += missing_profiler("target.command.under", options.under)
        return [*super().advice(options, load), *remarks]

    @classmethod
    def network(cls, options: CommandOptions) -> Network | None:
        return Network(http=not Address.of(options.url.replace(PORT, "1"), options.socket).tls)

    def up(self) -> None:
        process = self._process
        if process is not None and process.running:
            if not (self.options.fresh and self._served) and self.alive():
                self._served = True
                return
            self.down()
        if process is None and PORT not in self.options.url:
            self._refuse_strangers()
        self._port = free_port()
        self._start()
        self._served = True

    def _refuse_strangers(self) -> None:
        """Somebody else's server at the same place would take the load instead."""
        try:
            self.address.knock(_ALIVE_LIMIT_S)
        except TargetError:
            return
        raise TargetError(COMMAND_PLACE_TAKEN(address=self.address, port="{port}"))

    def _start(self) -> None:
        """Start it on the present port, and wait until it is ready. Raises TargetError."""
        self._seen.clear()
        work = self.context.work
        for name, text in self.options.files.items():
            path = work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self._filled(text))
            path.chmod(0o600)
        directory = self.options.path or work
        if not directory.is_dir():
            raise TargetError(_missing(directory))
        words = [self._filled(word) for word in words_of(self.options.command)]
        environment = {
            **account.environment(),
            **({"HOME": os.environ["HOME"]} if "HOME" in os.environ else {}),
            **{name: self._filled(value) for name, value in self.options.env.items()},
        }
        who = account.Account(
            account.current(), os.geteuid(), os.getegid(), (), other=False, pin=self.context.pin
        )
        if self.context.preloads:
            environment = self._preloading(who).variables(environment)
        words[0] = self._program_path(words[0], directory, environment["PATH"])
        self._files = files_of(words, directory)
        self._launch = Launch.of(self.options.under, self.context.work)
        if self._launch is not None:
            words = self._launch.command(words)
        command = who.command(words, directory=directory, death=Signals[f"SIG{self.options.stop.signal}"])
        self._process = supervision.SupervisedProcess(
            Path(self._program).name, self._on_line, environment, work
        )
        try:
            start_process(self._process, command)
            self._await()
        except BaseException:
            self.down()
            raise

    def _preloading(self, who: account.Account) -> Preload:
        if self._preload is None:
            self._preload = Preload.install(self.context.work, who)
        return self._preload

    def _program_path(self, program: str, directory: Path, path: str) -> str:
        if "/" in program:
            path = str((directory / program).absolute())
            executable = path if os.access(path, os.X_OK) else None
        else:
            executable = shutil.which(program, path=f"{path}:/usr/sbin:/sbin")
        if executable is None:
            raise TargetError(COMMAND_NO_PROGRAM(program=repr(program)))
        return executable

    def examine(self) -> ProfilerAccount | None:
        if self._launch is None:
            return None
        self.down()
        return self._launch.account()

    def _filled(self, text: str) -> str:
        return self.context.secret(text).replace(PORT, str(self._port)).replace(WORK, str(self.context.work))

    def _on_line(self, line: str) -> None:
        self.context.log(line)
        pattern = self.options.ready.log
        if pattern is not None and re.search(pattern, line.partition(": ")[2]):
            self._seen.set()

    def _await(self) -> None:
        assert self._process is not None
        ready = self.options.ready
        within = ready.within * (SLOWER if self.options.under else 1)
        deadline = time.monotonic() + within
        while True:
            why = self._why_not_ready()
            if why is None:
                return
            if not self._process.running:
                raise self._ended()
            if time.monotonic() > deadline:
                raise TargetError(COMMAND_NOT_READY(program=self._program, limit_s=within, why=why))
            time.sleep(_POLL_S)

    def _why_not_ready(self) -> Message | None:
        ready = self.options.ready
        try:
            if ready.log is not None:
                return None if self._seen.is_set() else READY_NO_LINE()
            if ready.url is not None:
                return _answer(self._filled(ready.url))
            if ready.port is not None:
                Address("127.0.0.1", ready.port, tls=False).knock(_ALIVE_LIMIT_S)
            else:
                self.address.knock(_ALIVE_LIMIT_S)
        except TargetError as error:
            return error.message
        return None

    def _ended(self) -> TargetError:
        assert self._process is not None
        words = [line for line in self._process.last_output() if line.strip()]
        status = self._process.exit_status
        how = (
            ENDED_BY(signal=Signals(-status).name)
            if status and status < 0
            else ENDED_STATUS(status=str(status))
        )
        reason = words[-1] if words else NO_OUTPUT
        return TargetError(COMMAND_ENDED(program=self._program, how=how, said=reason))

    def down(self) -> None:
        self._stop()
        self._process = None

    def _stop(self) -> None:
        """Stop the server in an orderly way, then by SIGKILL."""
        if self._process is None:
            return
        stop = self.options.stop
        first = Signals[f"SIG{stop.signal}"]
        within = max(stop.within, END_WITHIN_S) if self.options.under else stop.within
        self._process.stop(((first, within, f"SIG{stop.signal}"), (SIGKILL, 10.0, "SIGKILL")))

    def _start_again(self) -> None:
        """Start a server that has ended on the port that it had; does nothing while it runs."""
        process = self._process
        if process is None or not process.running:
            if process is not None:
                process.stop(((SIGKILL, 10.0, "SIGKILL"),))  # the remaining processes of its session
            self._start()

    @classmethod
    def subject_abilities(cls, options: CommandOptions) -> Mapping[str, SubjectAbilities]:
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
            self.options.url.replace(PORT, str(self._port or 1)),
            None if socket is None else self._filled(socket),
        )

    def endpoint(self) -> ServerEndpoint:
        return self.address.endpoint(self.options.tls)

    def describe(self) -> CommandFacts:
        command = self.options.command
        return CommandFacts(
            server="command",
            command=command if isinstance(command, str) else shlex.join(command),
            url=self.options.url,
            directory=str(self.options.path or self.context.work),
            files=self._files,
        )

    def roles(self) -> tuple[Role, ...]:
        pid = self._process.pid if self._process is not None else None
        return () if pid is None else (Role("server", (pid,)),)

    def alive(self) -> bool:
        if self._process is None or not self._process.running:
            return False
        return self.address.answers(_ALIVE_LIMIT_S)


def _answer(url: str) -> Message | None:
    """Why a url does not answer well, or None."""
    parts = urlsplit(url)
    make: Callable[..., http.client.HTTPConnection] = (
        http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    )
    connection = make(parts.hostname or "", parts.port, timeout=_ALIVE_LIMIT_S)
    try:
        connection.request("GET", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""))
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        return READY_NO_ANSWER(url=url, said=error)
    finally:
        connection.close()
    return None if 200 <= status < 400 else READY_STATUS(url=url, status=status)


PART = Command
