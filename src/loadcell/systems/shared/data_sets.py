"""Data sets of loadcell on a system: marked as loadcell's, reused while unchanged, restored, loaded, dropped.

A mark is a text beside the data by which loadcell knows, later and from elsewhere, what it made.

A run locks an external server: a second run would replace its data and disturb its measurement.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar

from loadcell import __version__
from loadcell.linux import procfs
from loadcell.model.message import Message, MessageCode
from loadcell.systems.base import DataSet, DataSpec, Endpoint, Loader, TargetError
from loadcell.systems.shared.owned_directory import OwnedDirectory

SERVER_LOCKED = MessageCode("server.locked", owner=str, where=str)
DOING_LOCK_THE_SERVER = MessageCode("doing.lock-the-server")


class RunLock(ABC):
    """Held from a run's first data set to its end; the server releases it when the run dies.

    Targets of one run share it: the lock of an equal owner is no obstacle.
    """

    @abstractmethod
    def hold(self) -> None:
        """Take the lock, unless this run has it. Raises TargetError with the owner if another run has it."""

    def intruder(self) -> str | None:
        """The run that has or may have had the lock since the last call, although this one had taken it."""
        return None

    @abstractmethod
    def release(self) -> None:
        """Release the lock, if this object took it. Never raises."""


class Session(Protocol):
    """Connection to a server."""

    def close(self) -> object: ...


LockedT = TypeVar("LockedT", bound=Session)


class SessionLock(RunLock, Generic[LockedT]):
    """Lock that belongs to a session of its server, which releases it at the session's end.

    When the session has ended between two calls of `hold`, anybody may have had the lock in the meantime.
    """

    def __init__(self) -> None:
        self._session: LockedT | None = None
        self._lost = False

    def hold(self) -> None:
        if self._session is not None:
            if self._lives(self._session):
                return
            self.release()  # the server has restarted, or ended the session
            self._lost = True
        session = self._connect()
        try:
            if self._take(session):
                self._session = session
        finally:
            if self._session is None:
                session.close()

    def intruder(self) -> str | None:
        lost, self._lost = self._lost, False
        return "? (the session with the lock had ended)" if lost else None

    def release(self) -> None:
        if self._session is not None:
            with suppress(Exception):  # the server has ended the session
                self._session.close()
            self._session = None

    @abstractmethod
    def _connect(self) -> LockedT:
        """A new session. Raises TargetError."""

    @abstractmethod
    def _lives(self, session: LockedT) -> bool:
        """True if the server still answers in the session."""

    @abstractmethod
    def _take(self, session: LockedT) -> bool:
        """True if the session has the lock now, False if this run has it by another session.

        Raises TargetError.
        """


def describe(owner: Owner, length: int | None = None) -> str:
    """Run, process and host of an owner, for the message of a refusal; a long run's name is cut first."""
    run = PurePosixPath(owner.run).parent.name  # in the run's work directory, one for each kind of target
    process = f" (process {owner.pid} on {owner.host})"
    return (run if length is None else run[: max(length - len(process), 0)]) + process


def locked(where: str, owner: str) -> TargetError:
    """The refusal of a server that another run uses."""
    return TargetError(SERVER_LOCKED(where=where, owner=owner), during="prepare")


DATA_NOT_DROPPED = MessageCode("data.not-dropped", "caution", name=str, why=Message)
DOING_LOOK_FOR_THE_DATA_SET = MessageCode("doing.look-for-the-data-set")
DOING_PREPARE_THE_DATA_SET = MessageCode("doing.prepare-the-data-set")
DOING_MARK_THE_DATA_SET = MessageCode("doing.mark-the-data-set")
DOING_DROP_DATA_SETS = MessageCode("doing.drop-data-sets")

_HEAD = "loadcell "

#: `loading`: being made, or interrupted while it was; `ready`: as loaded; `changed`: a load has run on it.
State = Literal["loading", "ready", "changed"]
SessionT = TypeVar("SessionT")


@dataclass(frozen=True)
class Owner:
    """The run that made or last used something: its host, its process, and its work directory as its name."""

    host: str
    pid: int
    started: int
    run: str

    @staticmethod
    def of(work: Path) -> Owner:
        return Owner(socket.gethostname(), os.getpid(), procfs.started(os.getpid()) or 0, str(work))

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
        """True if it ran on this host and its process is gone. Of other hosts nothing is known."""
        return self.host == socket.gethostname() and procfs.started(self.pid) != self.started


@dataclass(frozen=True)
class Mark:
    """Contents of a mark.

    `pristine` tells a loaded data set from a working copy of one. `tables` lists what loadcell made.
    """

    state: State
    fingerprint: str
    owner: Owner
    pristine: bool = True
    keep: bool = False
    tables: tuple[str, ...] = ()
    loadcell: str = ""

    def text(self) -> str:
        return _HEAD + json.dumps(asdict(self), sort_keys=True)

    def now(self, state: State, **other: Any) -> Mark:
        return replace(self, state=state, **other)


def parse(comment: str | None) -> Mark | None:
    """The mark in a comment; None when it is no mark of loadcell's."""
    if comment is None or not comment.startswith(_HEAD):
        return None
    try:
        words = json.loads(comment[len(_HEAD) :])
        words["owner"] = Owner(**words["owner"])
        words["tables"] = tuple(words["tables"])
        return Mark(**words)
    except (ValueError, TypeError, KeyError):
        return None


@dataclass(frozen=True)
class Prepared:
    """A data set, the database that holds it, and the options that sessions of the load begin with."""

    data_set: DataSet
    database: str | None = None
    options: str | None = None


@dataclass(frozen=True)
class DataSets(ABC, Generic[SessionT]):
    """Rules for the data sets on one system, each at a location with a name (a database, a schema ...).

    A data set that is unchanged is reused; one that a load changed is restored from a copy, or loaded again.
    Nothing that loadcell did not make is ever changed. `managed`: the whole system is loadcell's; elsewhere
    only what bears its mark. `keep`: finished data sets stay at the run's end.
    """

    managed: bool
    owner: Owner
    keep: bool
    log: Callable[[str], None] = field(repr=False)

    #: what holds a data set, as its record and the log name it
    kind: ClassVar[str]
    #: how a copy is restored
    copy_method: ClassVar[str] = "copy"

    def prepare(self, spec: DataSpec, load: Loader, *, will_change: bool) -> Prepared:
        """Provide the data set, untouched: reused, restored, or loaded (again). Raises TargetError.

        `will_change`: the coming trial changes it, so a copy is made, where possible, for those after it.
        """
        began = time.monotonic()
        digest, name = spec.fingerprint, self._name(spec)
        data_set = DataSet(digest, "reused", 0.0, kind=self.kind)
        with self._session(DOING_LOOK_FOR_THE_DATA_SET()) as session:
            mark = self._mark(session, name)
            intact = mark is not None and mark.state != "loading" and self._is_intact(session, name, mark)
        state = mark.state if mark is not None and mark.fingerprint == digest else None
        if not (state == "ready" and intact):
            if self._has_copy(digest):
                self._restore_copy(digest)
                took_s = time.monotonic() - began
                data_set = replace(data_set, how="restored", method=self.copy_method, copy_s=took_s)
            else:
                rows = self._load(name, mark, spec, load)
                how, took_s = "restored" if state == "changed" else "loaded", time.monotonic() - began
                data_set = replace(data_set, how=how, method="load", load_s=took_s, rows=rows)
        if will_change and self._copies is not None and not self._has_copy(digest):
            copying = time.monotonic()
            self._save_copy(digest)
            data_set = replace(data_set, kept_copy_s=time.monotonic() - copying)
        prepared = self._finish(name, spec, data_set, will_change=will_change)
        return replace(prepared, data_set=replace(prepared.data_set, duration_s=time.monotonic() - began))

    def _load(self, name: str, mark: Mark | None, spec: DataSpec, load: Loader) -> int | None:
        with self._session(DOING_PREPARE_THE_DATA_SET()) as session:
            self._make_room(session, name, mark, spec)
            mark = self._new_mark(session, name, spec)
            self._set_mark(session, name, mark)
        rows = load(self._endpoint(name))
        with self._session(DOING_MARK_THE_DATA_SET()) as session:
            self._set_mark(session, name, mark.now("ready", tables=self._contents(session, name, spec)))
        return rows

    def _new_mark(self, session: SessionT, name: str, spec: DataSpec) -> Mark:
        tables = self._contents(session, name, spec)
        return Mark("loading", spec.fingerprint, self.owner, True, self.keep, tables, __version__)

    def _mark_use(self, session: SessionT, name: str, spec: DataSpec, *, will_change: bool) -> None:
        """Record that this run uses the data set."""
        mark = self._mark(session, name) or self._new_mark(session, name, spec)
        state: State = "changed" if will_change else "ready"
        self._set_mark(session, name, mark.now(state, owner=self.owner, keep=self.keep))

    def sweep(self) -> list[Message]:
        """Drop what this run made and what dead runs left behind, except what is to be kept.

        Logs and returns what it does not drop: data sets in which others have put something. Raises
        TargetError.
        """
        remaining: list[Message] = []
        with self._session(DOING_DROP_DATA_SETS(), "cleanup") as session:
            for name in self._names(session):
                try:
                    mark = self._mark(session, name)
                    if mark is not None and mark.fingerprint and self._is_disposable(mark):
                        self._drop(session, name, mark)
                except TargetError as error:
                    self.log(f"left the {self.kind} {name} behind: {error.finding}")
                    remaining.append(DATA_NOT_DROPPED(name=name, why=error.message))
        return remaining

    def _is_disposable(self, mark: Mark) -> bool:
        finished = mark.state == "ready" and mark.pristine
        if mark.owner == self.owner:
            return not (self.keep and finished)
        # An earlier run may have had this run's name, and kept the data set.
        replaceable = self.managed or mark.owner.same_run(self.owner) or mark.owner.surely_dead()
        return not (mark.keep and finished) and replaceable

    def owners(self) -> list[Owner]:
        """The runs that made or last used the data sets, as their marks say."""
        owners = []
        with self._session(DOING_LOOK_FOR_THE_DATA_SET()) as session:
            for name in self._names(session):
                with suppress(TargetError):  # made by somebody else
                    if (mark := self._mark(session, name)) is not None:
                        owners.append(mark.owner)
        return owners

    # -- what a system defines

    def lock(self) -> RunLock | None:
        """The lock that keeps other runs away from the data sets; None where no other run can be."""
        return None

    @abstractmethod
    def _session(self, doing: Message, during: str = "prepare") -> AbstractContextManager[SessionT]:
        """A session for administration, whose errors become TargetErrors. `doing` completes "cannot ..."."""

    @abstractmethod
    def _name(self, spec: DataSpec) -> str:
        """Where the data set lies."""

    @abstractmethod
    def _endpoint(self, name: str) -> Endpoint:
        """The endpoint for a load of the data there."""

    @abstractmethod
    def _mark(self, session: SessionT, name: str) -> Mark | None:
        """The mark there; None where nothing is. Raises TargetError for what loadcell did not make."""

    @abstractmethod
    def _set_mark(self, session: SessionT, name: str, mark: Mark) -> None:
        """Write the mark."""

    @abstractmethod
    def _make_room(self, session: SessionT, name: str, mark: Mark | None, spec: DataSpec) -> None:
        """Remove what an earlier load made there, and create what holds the data. Raises TargetError."""

    @abstractmethod
    def _finish(self, name: str, spec: DataSpec, data_set: DataSet, *, will_change: bool) -> Prepared:
        """Mark the data set as used, write out what is unwritten, and measure it. Raises TargetError."""

    def _contents(self, session: SessionT, name: str, spec: DataSpec) -> tuple[str, ...]:  # noqa: ARG002
        """Names of the present contents, for the mark."""
        return ()

    def _is_intact(self, session: SessionT, name: str, mark: Mark) -> bool:  # noqa: ARG002
        """True if the contents are those of the mark. Raises TargetError for what loadcell did not make."""
        return True

    @property
    def _copies(self) -> OwnedDirectory | None:
        """The directory with copies to restore data sets from; None where none are made."""
        return None

    def _has_copy(self, digest: str) -> bool:
        return self._copies is not None and digest in self._copies.copies()

    def _save_copy(self, digest: str) -> None:
        """Copy the data set as it is now. Raises TargetError."""
        assert self._copies is not None
        self._copies.save_copy(digest)

    def _restore_copy(self, digest: str) -> None:
        """Replace the data by the copy. Raises TargetError."""
        assert self._copies is not None
        self._copies.restore_copy(digest)

    def _names(self, session: SessionT) -> Iterable[str]:  # noqa: ARG002
        """Where data sets lie."""
        return ()

    def _drop(self, session: SessionT, name: str, mark: Mark) -> None:
        """Remove a data set. Raises TargetError."""
