"""Base of targets that live in the process that makes the load: their files are all that loadcell makes.

The directory `home` holds loadcell's marker, `data` (the system's files and nothing else), `data.json`
(fingerprint and state of the data set), and `pristine` (copies of `data`, made while no process had it open).
"""

from __future__ import annotations

import json
import os
import pwd
import shutil
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Generic, TypeVar

from pydantic import Field, model_validator

from loadcell.linux import disks
from loadcell.model.message import Message, MessageCode
from loadcell.plan.parts import Advice, Misfit, Options
from loadcell.profilers.launcher import SystemCode, Under
from loadcell.systems.base import (
    TARGET_NOT_UP,
    DataSet,
    DataSpec,
    Endpoint,
    Loader,
    Target,
    TargetContext,
    TargetError,
)
from loadcell.systems.shared.account import Account
from loadcell.systems.shared.data_directory import data_misfits
from loadcell.systems.shared.data_location import DataLocation, check_location
from loadcell.systems.shared.data_sets import DataSets, Mark, Prepared, State
from loadcell.systems.shared.disk_image import Image
from loadcell.systems.shared.launch import Launch
from loadcell.systems.shared.owned_directory import HOME_LOST_CONTENTS, OwnedDirectory
from loadcell.systems.shared.owner import Owner
from loadcell.systems.shared.storage import Storage, StorageFacts
from loadcell.systems.shared.storage_options import StorageOptions, storage_abilities, storage_misfits
from loadcell.systems.subjects import Subject, SubjectAbilities

if TYPE_CHECKING:
    from loadcell.plan.model import Load
    from loadcell.profilers.launcher import ProfilerAccount


def _current_account() -> Account:
    """The user that loadcell runs as: such a system lives in a process of loadcell's."""
    uid, gid = os.geteuid(), os.getegid()
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:
        name = str(uid)
    return Account(name, uid, gid, (), other=False)


class DataFiles(OwnedDirectory):
    """The files of one system, in the directory `name` in `parent`; `version` is that of the system that
    wrote them.
    """

    def __init__(self, parent: Path, name: str, version: str, log: Callable[[str], None]) -> None:
        super().__init__(parent, name, version, _current_account(), log)
        self._state = self.home / "data.json"

    def _install(self, made_parent: bool) -> None:
        self._begin("making", made_parent)
        for directory in (self.data, self._pristine):
            shutil.rmtree(directory, ignore_errors=True)
        self._state.unlink(missing_ok=True)
        self.data.mkdir(mode=0o700)
        self._write_marker("ready", made_parent)

    def _check_fit(self) -> None:
        if not self.data.is_dir():
            raise TargetError(HOME_LOST_CONTENTS(path=self.data, home=self.home))
        self._check_owner()
        marker = self._read_marker() or {}
        if marker.get("version") != self._version:
            # Files of another version may be unreadable, or be rewritten when opened.
            self.log(f"{self.home} is of version {marker.get('version')}: made again for {self._version}")
            self._install(bool(marker.get("made_parent")))

    # -- data

    def contents(self) -> tuple[str | None, State]:
        """Fingerprint and state of the data set; None and `loading` if there is none."""
        try:
            state = json.loads(self._state.read_text())
            return str(state["fingerprint"]), state["state"]
        except (OSError, ValueError, KeyError, TypeError):
            return None, "loading"

    def note(self, fingerprint: str, state: State) -> None:
        """Record fingerprint and state, atomically. Raises TargetError."""
        try:
            part = self._state.with_suffix(".part")
            part.write_text(json.dumps({"fingerprint": fingerprint, "state": state}) + "\n")
            part.replace(self._state)
        except OSError as error:
            raise self._error_of(error) from error

    def empty(self, fingerprint: str) -> None:
        """Remove all data before the data set is loaded."""
        self._clear()
        self.data.mkdir(mode=0o700)
        self.note(fingerprint, "loading")

    def _clear(self) -> None:
        """Remove the state before the data, which needs no space on a full device."""
        self._state.unlink(missing_ok=True)
        shutil.rmtree(self.data, ignore_errors=True)

    def save_copy(self, name: str) -> None:
        """Copy the data set as it is now, in place of the copies of others."""
        for other in self._pristine.glob("*"):
            shutil.rmtree(other, ignore_errors=True)
        super().save_copy(name)

    def restore_copy(self, name: str) -> None:
        self._clear()
        super().restore_copy(name)
        self.note(name, "ready")

    def flush(self) -> None:
        """Write all files to disk, so that no trial pays for earlier writes."""
        for directory, _, names in os.walk(self.data):
            for name in names:
                handle = os.open(Path(directory) / name, os.O_RDONLY)
                try:
                    os.fsync(handle)
                finally:
                    os.close(handle)


@dataclass(frozen=True)
class FileDataSets(DataSets[None]):
    """The data set in the files of a system that runs in the load's process."""

    files: DataFiles
    endpoint: Callable[[], Endpoint]

    kind = "directory"

    def _session(self, doing: Message, during: str = "prepare") -> AbstractContextManager[None]:  # noqa: ARG002
        return nullcontext()

    def _name(self, spec: DataSpec) -> str:  # noqa: ARG002
        return str(self.files.data)

    def _endpoint(self, name: str) -> Endpoint:  # noqa: ARG002
        return self.endpoint()

    def _mark(self, session: None, name: str) -> Mark | None:  # noqa: ARG002
        fingerprint, state = self.files.contents()
        return None if fingerprint is None else Mark(state, fingerprint, self.owner)

    def _set_mark(self, session: None, name: str, mark: Mark) -> None:  # noqa: ARG002
        self.files.note(mark.fingerprint, mark.state)

    def _make_room(self, session: None, name: str, mark: Mark | None, spec: DataSpec) -> None:  # noqa: ARG002
        self.files.empty(spec.fingerprint)

    def _finish(self, name: str, spec: DataSpec, data_set: DataSet, *, will_change: bool) -> Prepared:
        if data_set.how != "reused":
            self.files.flush()
        size = disks.used_bytes(self.files.data)
        self._mark_use(None, name, spec, will_change=will_change)
        return Prepared(replace(data_set, size_bytes=size, directory=name))

    @property
    def _copies(self) -> OwnedDirectory:
        return self.files


class InProcessOptions(Options):
    """Options of such a target: where the data lie, and whether they stay at the run's end."""

    data: Annotated[str, Field(min_length=1)] | Image | None = None
    storage: StorageOptions | None = Field(
        default=None,
        description="Storage that loadcell makes for the run under the data directory (root only): "
        "`{gluster: {hosts: 3, replica: 3}}`.",
    )
    keep_data: bool = Field(
        default=False, description="Keep the data set at the run's end, for the next run (needs `data`)."
    )

    under: Under | None = Field(
        default=None,
        description="Run the load's process under a profiler of memory, for the part of this system alone: "
        "`valgrind` accounts for memory lost at its end, `massif` for the heap over time.",
    )

    @property
    def slowed_by(self) -> str | None:
        return self.under

    @model_validator(mode="after")
    def _kept_data_have_a_directory(self) -> InProcessOptions:
        check_location(self.data, self.storage, keep_data=self.keep_data)
        return self


OptionsT = TypeVar("OptionsT", bound=InProcessOptions)


class InProcessTarget(Target[OptionsT], Generic[OptionsT]):
    """A library with files: nothing runs between loads, monitors watch the process that makes the load."""

    in_worker: ClassVar[bool] = True
    #: why the number of load threads is without effect
    threads_advice: ClassVar[MessageCode]

    def __init__(self, options: OptionsT, context: TargetContext) -> None:
        super().__init__(options, context)
        self._files: DataFiles | None = None
        self._launch: Launch | None = None

    @abstractmethod
    def _code(self) -> SystemCode:
        """Marks of the stacks of this system."""

    def worker_prefix(self) -> tuple[str, ...]:
        self._launch = Launch.of(self.options.under, self.context.work, self._code())
        return () if self._launch is None else tuple(self._launch.command(()))

    def examine(self) -> ProfilerAccount | None:
        return None if self._launch is None else self._launch.account()

    @abstractmethod
    def _make_files(self, parent: Path) -> DataFiles:
        """The directory of the system's files in `parent`, not made yet. Raises TargetError."""

    @property
    def _location(self) -> DataLocation:
        return DataLocation(self.options.data, self.options.storage, self.context, self.name)

    def storage_facts(self) -> StorageFacts | None:
        """Facts of the storage that loadcell made under the data."""
        storage = self._location.storage
        return None if storage is None else storage.facts()

    @property
    def files(self) -> DataFiles:
        """The files of a target that is up. Raises TargetError."""
        if self._files is None:
            raise TargetError(TARGET_NOT_UP())
        return self._files

    def up(self) -> None:
        if self._files is None:
            self._files = self._make_files(self._location.parent)
        self._location.make()
        self._files.make()

    def alive(self) -> bool:
        return self._files is not None and self._files.made

    def destroy(self) -> None:
        if self._files is not None and not self.options.keep_data:
            if self._location.storage is None:  # else the data go with it, at once
                self._files.remove()
            self._location.remove()

    def prepare(self, spec: DataSpec, load: Loader, *, will_change: bool) -> DataSet:
        owner, keep = Owner.of(self.context.work), self.options.keep_data
        data_sets = FileDataSets(True, owner, keep, self.context.log, self.files, self.endpoint)
        return data_sets.prepare(spec, load, will_change=will_change).data_set

    @classmethod
    def misfits(cls, options: OptionsT) -> Iterator[Misfit]:
        yield from data_misfits(options.data, cls.name)
        yield from storage_misfits(options.storage)

    @classmethod
    def subject_abilities(cls, options: OptionsT) -> Mapping[str, SubjectAbilities]:
        return storage_abilities(options.storage)

    def made_storage(self) -> Storage | None:
        return self._location.storage

    def subject(self, name: str) -> Subject:
        if (storage := self._location.storage) is None:
            raise KeyError(name)
        return storage.subject(name)

    @classmethod
    def advice(cls, options: OptionsT, load: Load) -> list[Advice]:  # noqa: ARG003
        return [Advice("load.threads", cls.threads_advice())] if isinstance(load.threads, int) else []
