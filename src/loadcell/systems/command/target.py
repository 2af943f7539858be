"""Any server that a command starts: brought up, awaited, watched and stopped by the plan."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import shlex
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL, Signals
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field, PrivateAttr, ValidationInfo, field_validator, model_validator

from loadcell.linux.process import SupervisedProcess
from loadcell.model.capability import HTTP
from loadcell.model.message import NO_OUTPUT, Message
from loadcell.model.trial_record import MemoryRecord
from loadcell.plan.parts import Misfit, Options
from loadcell.plan.units import Duration
from loadcell.profilers import valgrind
from loadcell.systems.base import (
    DataSet,
    DataSpec,
    Loader,
    Role,
    ServerEndpoint,
    Target,
    TargetContext,
    TargetError,
    TargetFacts,
)
from loadcell.systems.command.messages import (
    COMMAND_ENDED,
    COMMAND_NO_DATA,
    COMMAND_NO_DIRECTORY,
    COMMAND_NO_PROGRAM,
    COMMAND_NOT_READY,
    COMMAND_PLACE_TAKEN,
    ENDED_BY,
    READY_NO_ANSWER,
    READY_NO_LINE,
    READY_STATUS,
    VALGRIND_MISSING,
    VALGRIND_UNREADABLE,
)
from loadcell.systems.http.service import Address, TlsOptions
from loadcell.systems.messages import ENDED_STATUS
from loadcell.systems.server import start_process
from loadcell.systems.shared import account, path_checks
from loadcell.systems.shared.sockets import free_port

if TYPE_CHECKING:
    from loadcell.model.trial_record import MemoryRecord

_POLL_S = 0.03
_ALIVE_LIMIT_S = 3.0
#: What may stand in texts of this target: a port that is free, and a directory of the run's own.
_PORT, _WORK = "{port}", "{work}"
_Positive = Annotated[Duration, Field(gt=0)]


class Ready(Options):
    """Condition for the server to be ready. One of `port`, `url` and `log`."""

    port: int | None = Field(
        default=None, ge=1, le=65535, description="It takes connections on this port of 127.0.0.1."
    )
    url: str | None = Field(
        default=None, min_length=1, description="It answers a GET of this url with 2xx or 3xx."
    )
    log: str | None = Field(
        default=None, min_length=1, description="A line of its output contains this regular expression."
    )
    within: _Positive = Field(default=Duration(30), description="How long it may take.")

    @model_validator(mode="after")
    def _one_way(self) -> Ready:
        if sum(way is not None for way in (self.port, self.url, self.log)) > 1:
            raise ValueError("one of `port`, `url` and `log` says when it is ready")
        if self.log is not None:
            try:
                re.compile(self.log)
            except re.error as error:
                raise ValueError(f"`log` is no regular expression: {error}") from None
        return self


class Stop(Options):
    """Way of stopping the server."""

    signal: str = Field(
        default="TERM", description="The signal that asks it to end: `TERM`, `INT`, `QUIT` ..."
    )
    within: _Positive = Field(default=Duration(10), description="After this time it is killed.")

    @field_validator("signal")
    @classmethod
    def _is_a_signal(cls, name: str) -> str:
        plain = name.upper().removeprefix("SIG")
        if f"SIG{plain}" not in Signals.__members__:
            raise ValueError(f"there is no signal {name!r}: TERM, INT, QUIT, HUP ...")
        return plain


class CommandOptions(Options):
    """Command, directory, and the address where it then listens."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="command")

    command: str | tuple[str, ...] = Field(
        description="The program and its arguments: a list, or one line that is taken apart as a shell would, without running "
        "one. It must stay in the foreground. `{port}` is a free port, `{work}` a directory of the run's own.",
        examples=["python3 -m http.server {port}", ["nginx", "-p", "{work}", "-c", "nginx.conf"]],
    )
    url: str = Field(
        min_length=1,
        description="Where the load goes: `http://127.0.0.1:8080`, or `http://127.0.0.1:{port}`.",
    )
    tls: TlsOptions = Field(default_factory=TlsOptions, description="`https` only: whom to trust.")
    directory: str | None = Field(
        default=None,
        min_length=1,
        description="Where it is run, relative to the plan. Default: the directory of the run's own.",
    )
    env: dict[str, str] = Field(
        default_factory=dict,
        description="Environment variables beside PATH, HOME and a few that are harmless; secrets as `${env:NAME}`.",
    )
    files: dict[str, str] = Field(
        default_factory=dict,
        description="Files made in the directory of the run's own before it is started: name and text, with `{port}` and `{work}`.",
    )
    ready: Ready = Field(
        default_factory=Ready, description="When it can be loaded. Default: it takes connections at `url`."
    )
    stop: Stop = Field(default_factory=Stop, description="How it is stopped.")
    fresh: bool = Field(default=False, description="Start it anew for each trial.")
    under: Literal["valgrind"] | None = Field(
        default=None,
        description="Run it under valgrind's memcheck, and account for the memory that it has lost at its end.",
    )

    _directory: Path = PrivateAttr(default_factory=Path)

    @field_validator("command")
    @classmethod
    def _is_a_command(cls, command: str | tuple[str, ...]) -> str | tuple[str, ...]:
        try:
            words = words_of(command)
        except ValueError as error:
            raise ValueError(f"the command cannot be taken apart: {error}") from None
        if not words or not words[0]:
            raise ValueError("the command is empty")
        return command

    @field_validator("url")
    @classmethod
    def _url_is_complete(cls, url: str) -> str:
        Address.of(url.replace(_PORT, "1"))
        return url

    @field_validator("files")
    @classmethod
    def _files_stay_in_their_directory(cls, files: dict[str, str]) -> dict[str, str]:
        for name in files:
            if name.startswith("/") or ".." in Path(name).parts or not Path(name).name:
                raise ValueError(f"{name!r} is no name of a file in the directory of the run's own")
        return files

    @field_validator("env")
    @classmethod
    def _names_are_names(cls, env: dict[str, str]) -> dict[str, str]:
        for name in env:
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
                raise ValueError(f"{name!r} is no name of an environment variable")
        return env

    @model_validator(mode="after")
    def _is_consistent(self, info: ValidationInfo) -> CommandOptions:
        self.tls.check(self.url)
        self._directory = Path((info.context or {}).get("directory") or Path())
        return self

    @property
    def place(self) -> Path | None:
        """The directory it is run in, whole; None for that of the run's own."""
        return None if self.directory is None else (self._directory / self.directory).expanduser().absolute()


def _missing(directory: Path) -> Message:
    return COMMAND_NO_DIRECTORY(path=directory)


def words_of(command: str | tuple[str, ...]) -> list[str]:
    """Program and arguments. Raises ValueError."""
    return shlex.split(command) if isinstance(command, str) else list(command)


@dataclass(frozen=True, kw_only=True)
class CommandFacts(TargetFacts):
    """Facts of a server that a command started."""

    command: str
    url: str
    directory: str


class Command(Target[CommandOptions]):
    """One server, for as long as the run needs it."""

    name: ClassVar[str] = "command"
    summary: ClassVar[str] = "any server of HTTP that a command starts"
    Options: ClassVar[type[Options]] = CommandOptions
    offers = frozenset({HTTP})

    def __init__(self, options: CommandOptions, context: TargetContext) -> None:
        super().__init__(options, context)
        self._port = 0
        self._served = False
        self._program = words_of(options.command)[0]
        self._seen = threading.Event()
        self._process: SupervisedProcess | None = None

    # -- life
    # -------------------------------------------------------------------------------------------------------

    @classmethod
    def misfits(cls, options: CommandOptions) -> Iterator[Misfit]:
        if options.place is not None:
            yield from path_checks.there("directory", options.place, _missing(options.place))

    def up(self) -> None:
        process = self._process
        if process is not None and process.running:
            if not (self.options.fresh and self._served) and self.alive():
                self._served = True
                return
            self.down()
        if process is None and _PORT not in self.options.url:
            self._refuse_strangers()
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
        self._port = free_port()
        self._seen.clear()
        work = self.context.work
        for name, text in self.options.files.items():
            path = work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self._filled(text))
            path.chmod(0o600)
        directory = self.options.place or work
        if not directory.is_dir():
            raise TargetError(_missing(directory))
        words = [self._filled(word) for word in words_of(self.options.command)]
        environment = {
            **account.environment(),
            **({"HOME": os.environ["HOME"]} if "HOME" in os.environ else {}),
            **{name: self._filled(value) for name, value in self.options.env.items()},
        }
        words[0] = self._program_path(words[0], directory, environment["PATH"])
        who = account.Account(
            account.current(), os.geteuid(), os.getegid(), (), other=False, pin=self.context.pin
        )
        if self.options.under == "valgrind":
            words = valgrind.command(self._valgrind(), words, self._account)
        command = who.command(words, directory=directory, death=Signals[f"SIG{self.options.stop.signal}"])
        self._process = SupervisedProcess(Path(self._program).name, self._on_line, environment)
        try:
            start_process(self._process, command)
            self._await()
        except BaseException:
            self.down()
            raise

    def _program_path(self, program: str, directory: Path, path: str) -> str:
        if "/" in program:
            path = str((directory / program).absolute())
            path_found = path if os.access(path, os.X_OK) else None
        else:
            path_found = shutil.which(program, path=f"{path}:/usr/sbin:/sbin")
        if path_found is None:
            raise TargetError(COMMAND_NO_PROGRAM(program=repr(program)))
        return path_found

    @property
    def _account(self) -> Path:
        return self.context.work / "valgrind.xml"

    def _valgrind(self) -> str:
        program = valgrind.found()
        if program is None:
            raise TargetError(VALGRIND_MISSING())
        self._account.unlink(missing_ok=True)
        return program

    def examine(self) -> MemoryRecord | None:
        if self.options.under is None:
            return None
        self.down()
        try:
            return valgrind.read(self._account)
        except valgrind.UnreadableError as error:
            raise TargetError(VALGRIND_UNREADABLE(said=error), during="verify") from None

    def _filled(self, text: str) -> str:
        return (
            self.context.secret(text).replace(_PORT, str(self._port)).replace(_WORK, str(self.context.work))
        )

    def _on_line(self, line: str) -> None:
        self.context.log(line)
        pattern = self.options.ready.log
        if pattern is not None and re.search(pattern, line.partition(": ")[2]):
            self._seen.set()

    def _await(self) -> None:
        assert self._process is not None
        ready = self.options.ready
        within = ready.within * (valgrind.SLOWER if self.options.under else 1)
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
        process, self._process = self._process, None
        if process is None:
            return
        leader = process.pid
        stop = self.options.stop
        first = Signals[f"SIG{stop.signal}"]
        within = max(stop.within, valgrind.END_WITHIN_S) if self.options.under else stop.within
        process.stop(((first, within, f"SIG{stop.signal}"), (SIGKILL, 10.0, "SIGKILL")))
        if leader is not None:  # what it started and left behind
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(leader, SIGKILL)

    def destroy(self) -> None:
        self.down()

    # -- asked by the runner
    # ----------------------------------------------------------------------------------------

    @property
    def address(self) -> Address:
        """Where it listens."""
        return Address.of(self.options.url.replace(_PORT, str(self._port or 1)))

    def prepare(self, spec: DataSpec, load: Loader, *, will_change: bool) -> DataSet:  # noqa: ARG002
        raise TargetError(COMMAND_NO_DATA(), during="prepare")

    def endpoint(self) -> ServerEndpoint:
        return self.address.endpoint(self.options.tls)

    def describe(self) -> CommandFacts:
        command = self.options.command
        return CommandFacts(
            server="command",
            command=command if isinstance(command, str) else shlex.join(command),
            url=self.options.url,
            directory=str(self.options.place or self.context.work),
        )

    def roles(self) -> tuple[Role, ...]:
        pid = self._process.pid if self._process is not None else None
        return () if pid is None else (Role("server", (pid,)),)

    def alive(self) -> bool:
        if self._process is None or not self._process.running:
            return False
        return self.address.answers(_ALIVE_LIMIT_S)

    def counters(self) -> dict[str, int]:
        return {}


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
