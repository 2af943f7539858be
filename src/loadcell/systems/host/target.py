"""The machine itself: nothing is started, and only a directory is made."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pydantic import ConfigDict, Field, PrivateAttr, ValidationInfo, field_validator, model_validator

from loadcell.linux import disks
from loadcell.linux.time_limits import ask
from loadcell.model.extensions import HOST
from loadcell.model.json import read
from loadcell.model.message import ForeignText, Message, MessageCode
from loadcell.plan.parts import Advice, Misfit, Options
from loadcell.plan.problems import SettingError
from loadcell.systems.base import (
    TARGET_NOT_UP,
    Endpoint,
    Target,
    TargetContext,
    TargetError,
    TargetFacts,
    missing_directory,
)
from loadcell.systems.shared.owner import Owner

if TYPE_CHECKING:
    from loadcell.plan.model import Load


HOST_PEER = MessageCode("host.peer", peer=str)
HOST_NO_DIRECTORY = MessageCode("host.no-directory", path=str)
HOST_NOT_WRITABLE = MessageCode("host.not-writable", path=str, said=ForeignText)
HOST_NO_DATA = MessageCode("host.no-data")
HOST_DEDICATED_THREADS = MessageCode("host.own-threads", "caution")

#: What the directory is called that loadcell makes, and the file in it that says whose it is.
_PREFIX, _MARKER = "loadcell-host-", "loadcell.json"
_PEER = re.compile(r"^(?:\[[0-9A-Fa-f:.%\w]+\]|[^\s\[\]:/]+):(?P<port>[0-9]{1,5})$")


class HostOptions(Options):
    """This machine, as it is."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="host")

    directory: str | None = Field(
        default=None,
        min_length=1,
        description="Directory on the storage to be measured, relative to the plan; loadcell makes a "
        "directory in it, and removes it. Default: the run's work directory.",
    )
    peer: str | None = Field(
        default=None,
        description="`HOST:PORT` of `loadcell host --serve` elsewhere, for probes of the network. Default: "
        "loadcell answers itself, on this machine's loopback.",
    )

    _plan: Path = PrivateAttr(default_factory=Path)

    @field_validator("peer")
    @classmethod
    def _is_an_address(cls, peer: str | None) -> str | None:
        if peer is None:
            return None
        match = _PEER.match(peer)
        if match is None or not 1 <= int(match["port"]) <= 65535:
            raise SettingError(HOST_PEER(peer=repr(peer)))
        return peer

    @model_validator(mode="after")
    def _relative_to_its_plan(self, info: ValidationInfo) -> HostOptions:
        self._plan = Path((info.context or {}).get("directory") or Path())
        return self

    @property
    def path(self) -> Path | None:
        """The directory to be measured, whole; None for the run's own."""
        return None if self.directory is None else (self._plan / Path(self.directory).expanduser()).absolute()

    @property
    def memory(self) -> str | None:
        """Memory file system of that directory; None for a disk, or without an answer in time."""
        path = self.path
        if path is None:
            return None
        answer = ask({"memory": lambda: disks.file_system(path).get("memory")}).values
        return answer.get("memory")


@dataclass(frozen=True)
class HostEndpoint(Endpoint):
    """A directory for files of probes, and the peer of network probes (None: loadcell itself)."""

    directory: str
    peer: str | None


@dataclass(frozen=True, kw_only=True)
class HostFacts(TargetFacts):
    """Facts of the machine as a target."""

    peer: str | None


class Host(Target[HostOptions]):
    """The machine that loadcell runs on."""

    name: ClassVar[str] = "host"
    summary: ClassVar[str] = "this machine itself"
    Options: ClassVar[type[Options]] = HostOptions
    offers = frozenset({HOST})
    no_data = HOST_NO_DATA
    in_worker: ClassVar[bool] = True

    def __init__(self, options: HostOptions, context: TargetContext) -> None:
        super().__init__(options, context)
        self._directory: Path | None = None

    @classmethod
    def misfits(cls, options: HostOptions) -> Iterator[Misfit]:
        if options.path is not None:
            yield from missing_directory("directory", options.path, _missing(options.path))

    def up(self) -> None:
        if self._directory is not None and self._directory.is_dir():
            return
        parent = self.options.path or self.context.work
        if not parent.is_dir():
            raise TargetError(_missing(parent))
        _sweep(parent)
        try:
            directory = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
            (directory / _MARKER).write_text(json.dumps(asdict(Owner.of(self.context.work))) + "\n")
        except OSError as error:
            raise TargetError(HOST_NOT_WRITABLE(path=parent, said=error.strerror)) from error
        self._directory = directory

    def endpoint(self) -> HostEndpoint:
        return HostEndpoint(HOST.name, str(self._made()), self.options.peer)

    def describe(self) -> HostFacts:
        data = disks.file_system(self._made())
        return HostFacts(server=HOST.name, peer=self.options.peer, data=data)

    def alive(self) -> bool:
        return True

    def destroy(self) -> None:
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None

    def _made(self) -> Path:
        if self._directory is None:
            raise TargetError(TARGET_NOT_UP())
        return self._directory

    @classmethod
    def advice(cls, options: HostOptions, load: Load) -> list[Advice]:  # noqa: ARG003
        if not isinstance(load.threads, int):
            return []
        return [Advice("load.threads", HOST_DEDICATED_THREADS())]


def _missing(directory: Path) -> Message:
    return HOST_NO_DIRECTORY(path=directory)


def _sweep(parent: Path) -> None:
    """Remove what runs left here that were killed."""
    for leftover in parent.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError, ValueError, TypeError):
            mark = leftover / _MARKER
            owner = read(Owner, mark.read_text())
            if mark.stat().st_uid == os.geteuid() and owner.surely_dead():
                shutil.rmtree(leftover, ignore_errors=True)


PART = Host
