"""Owner of a lock, a data set or a directory: the run that made or last used it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath

from loadcell.linux.process_identity import ProcessIdentity
from loadcell.model.message import MessageCode, Seconds
from loadcell.systems.base import TargetError

SERVER_LOCKED = MessageCode("server.locked", owner=str, where=str)
SERVER_LOCK_UNKNOWN = MessageCode("server.lock-unknown", command=str, limit_s=Seconds, owner=str, where=str)
DOING_LOCK_THE_SERVER = MessageCode("doing.lock-the-server")


@dataclass(frozen=True)
class Owner:
    """A run: its host, its process (as in `ProcessIdentity`), and its work directory as its name."""

    host: str
    pid: int
    started: int
    run: str
    boot: str = ""
    namespace: str = ""
    machine: str = ""

    @staticmethod
    def of(work: Path) -> Owner:
        return Owner(run=str(work), **asdict(ProcessIdentity.of_this_process()))

    @property
    def process(self) -> ProcessIdentity:
        return ProcessIdentity(self.pid, self.started, self.boot, self.namespace, self.machine, self.host)

    @property
    def tag(self) -> str:
        """Six hex digits that keep apart what several runs make at the same time."""
        return self.digest(f"{self.host}:{self.run}")

    @property
    def lock_tag(self) -> str:
        """Twelve hex digits that stand for this process of the run, however long its name is."""
        return self.digest(json.dumps(asdict(self), sort_keys=True), 12)

    @staticmethod
    def digest(text: str, digits: int = 6) -> str:
        """Hex digits that stand for a text."""
        return hashlib.sha256(text.encode()).hexdigest()[:digits]

    def same_run(self, other: Owner) -> bool:
        return (self.host, self.run) == (other.host, other.run)

    def surely_dead(self) -> bool:
        """True if its process has ended. Of other machines and other containers nothing is known."""
        return self.process.has_ended() is True


def describe(owner: Owner, length: int | None = None) -> str:
    """Run, process and host of an owner, for the message of a refusal; a long run's name is cut first."""
    run = PurePosixPath(owner.run).parent.name  # in the run's work directory, one for each kind of target
    process = f" (process {owner.pid} on {owner.host})"
    return (run if length is None else run[: max(length - len(process), 0)]) + process


def locked(where: str, owner: str) -> TargetError:
    """The refusal of a server that another run uses."""
    return TargetError(SERVER_LOCKED(where=where, owner=owner), during="prepare")
