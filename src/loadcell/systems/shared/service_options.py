"""Plan options of services that loadcell starts as a process and reaches by HTTP or a stream: address,
environment, readiness, end.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from signal import Signals
from typing import Annotated, Self

from pydantic import Field, PrivateAttr, ValidationInfo, field_validator, model_validator

from loadcell.model.extensions import Capability
from loadcell.model.message import ForeignText, MessageCode
from loadcell.plan.parts import PORT, Options
from loadcell.plan.problems import SettingError
from loadcell.plan.tls import TlsOptions
from loadcell.plan.units import Duration
from loadcell.systems.http.target import Address

READY_ONE_WAY = MessageCode("ready.one-way")
READY_LOG = MessageCode("ready.log", message=ForeignText)
STOP_NO_SIGNAL = MessageCode("stop.no-signal", signal=str)
COMMAND_LINE_UNREADABLE = MessageCode("command.unreadable", message=ForeignText)
SERVICE_FILE_NAME = MessageCode("command.file-name", name=str)
SERVICE_VARIABLE_NAME = MessageCode("command.variable-name", name=str)

_Positive = Annotated[Duration, Field(gt=0)]


class Ready(Options):
    """Condition for the server to be ready. At most one of `port`, `url` and `log`."""

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
            raise SettingError(READY_ONE_WAY())
        if self.log is not None:
            try:
                re.compile(self.log)
            except re.error as error:
                raise SettingError(READY_LOG(message=error)) from None
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
            raise SettingError(STOP_NO_SIGNAL(signal=repr(name)))
        return plain


class ServiceOptions(Options):
    """Address, directory, environment, readiness and end of a service that loadcell starts."""

    url: str = Field(
        min_length=1,
        description="Where the load goes: `http://127.0.0.1:8080`, or `http://127.0.0.1:{port}`; "
        "`tcp://127.0.0.1:{port}` for a stream of records.",
    )
    socket: str | None = Field(
        default=None,
        min_length=1,
        description="Path of a Unix socket that it listens on, such as `{work}/server.sock`; the url's host "
        "is then only named in requests.",
    )
    tls: TlsOptions = Field(default_factory=TlsOptions, description="`https` only: whom to trust.")
    directory: str | None = Field(
        default=None,
        min_length=1,
        description="Where it is run, relative to the plan. Default: the directory of the run's own.",
    )
    env: dict[str, str] = Field(
        default_factory=dict,
        description="Environment variables beside PATH, HOME and a few that are harmless; secrets as "
        "`${env:NAME}`.",
    )
    files: dict[str, str] = Field(
        default_factory=dict,
        description="Files made in the directory of the run's own before it is started: name and text, "
        "with `{port}` and `{work}`.",
    )
    ready: Ready = Field(
        default_factory=Ready, description="When it can be loaded. Default: it takes connections at `url`."
    )
    stop: Stop = Field(default_factory=Stop, description="How it is stopped.")
    fresh: bool = Field(default=False, description="Start it again for each trial.")
    _directory: Path = PrivateAttr(default_factory=Path)

    @field_validator("url")
    @classmethod
    def _url_is_complete(cls, url: str) -> str:
        Address.of(url.replace(PORT, "1"))
        return url

    @field_validator("files")
    @classmethod
    def _files_stay_in_their_directory(cls, files: dict[str, str]) -> dict[str, str]:
        for name in files:
            if name.startswith("/") or ".." in Path(name).parts or not Path(name).name:
                raise SettingError(SERVICE_FILE_NAME(name=repr(name)))
        return files

    @field_validator("env")
    @classmethod
    def _names_are_names(cls, env: dict[str, str]) -> dict[str, str]:
        for name in env:
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
                raise SettingError(SERVICE_VARIABLE_NAME(name=repr(name)))
        return env

    @model_validator(mode="after")
    def _address_is_consistent(self, info: ValidationInfo) -> Self:
        Address.of(self.url.replace(PORT, "1"), self.socket)
        self.tls.check(self.url)
        self._directory = Path((info.context or {}).get("directory") or Path())
        return self

    @property
    def load_url(self) -> str:
        """Where the load goes; it may contain `{port}`."""
        return self.url

    @property
    def protocol(self) -> Capability:
        """HTTP or STREAM."""
        return Address.of(self.load_url.replace(PORT, "1")).protocol

    @property
    def readiness(self) -> Ready:
        """When it can be loaded."""
        return self.ready

    @property
    def path(self) -> Path | None:
        """The directory it is run in, absolute and without `..`; None for that of the run's own."""
        return None if self.directory is None else (self._directory / self.directory).expanduser().resolve()


def words_of(command: str | tuple[str, ...]) -> list[str]:
    """Program and arguments. Raises ValueError."""
    return shlex.split(command) if isinstance(command, str) else list(command)
