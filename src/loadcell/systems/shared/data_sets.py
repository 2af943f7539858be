"""Data sets of loadcell on a system: marked as loadcell's, reused while unchanged, restored, loaded, dropped.

A mark is a text beside the data by which loadcell knows, later and from elsewhere, what it made.
"""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, Generic, Literal, TypeVar

from loadcell import __version__
from loadcell.model.json import MismatchError, read
from loadcell.model.message import Message, MessageCode
from loadcell.systems.base import DataSet, DataSpec, Endpoint, Loader, TargetError
from loadcell.systems.shared.owned_directory import OwnedDirectory
from loadcell.systems.shared.owner import Owner
from loadcell.systems.shared.run_locks import RunLock

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
        return read(Mark, comment[len(_HEAD) :])
    except MismatchError:
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
