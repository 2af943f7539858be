"""A directory that loadcell owns and a system keeps its data in.

A marker file identifies it, so that no foreign directory is ever changed or removed.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import pwd
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

from loadcell.model.message import NO_OUTPUT, ForeignText, Message, MessageCode
from loadcell.systems.base import HOME_NO_DIRECTORY, HOME_NOT_USABLE, TargetError
from loadcell.systems.shared.account import Account, environment

HOME_LOST_CONTENTS = MessageCode("home.lost-contents", home=str, path=str)
HOME_NOT_COPIED = MessageCode("home.not-copied", said=ForeignText)
HOME_NO_ROOM = MessageCode("home.no-room", kind=str, path=str)
HOME_STRANGER = MessageCode("home.stranger", option=str, path=str, stranger=Message)
HOME_NOT_OURS = MessageCode("home.not-ours", option=str, path=str)
HOME_OTHER_OWNER = MessageCode("home.other-owner", kind=str, owner=str, path=str, user=str)

_MARKER = "loadcell.json"


def no_room(kind: str, where: str | Message, during: str = "up") -> TargetError:
    """The error for a full device; `kind` is the target as the plan names it."""
    return TargetError(HOME_NO_ROOM(path=where, kind=kind), during=during)


class OwnedDirectory(ABC):
    """`home`, a directory in `parent`: loadcell's marker, the configuration, `data` for the system's files,
    and `pristine`.

    Only `data` belongs to the server's user; the rest is writable by loadcell alone. `pristine` holds copies
    of `data`, made while no process had it open. `version` is that of the system. `log` takes one line at a
    time.
    """

    #: the target as the plan names it: the option `target.<kind>.data` names the parent
    kind: ClassVar[str]
    #: a file that every data directory of this system has, and whose data that is if loadcell did not make it
    sign: ClassVar[str]
    stranger: ClassVar[Message]

    def __init__(
        self,
        parent: Path,
        name: str,
        version: str,
        account: Account,
        log: Callable[[str], None],
        *,
        data: str = "data",
    ) -> None:
        self.parent = parent
        self.home = parent / name
        self.data = self.home / data
        self.account = account
        self.log = log
        self._version = version
        self._marker = self.home / _MARKER
        self._pristine = self.home / "pristine"

    @abstractmethod
    def _install(self, made_parent: bool) -> None:
        """Make the data directory. `made_parent`: loadcell made the parent, and removes it too."""

    @abstractmethod
    def _check_fit(self) -> None:
        """Raise TargetError if an existing directory does not fit this version, settings or user."""

    @property
    def made(self) -> bool:
        """True if the directory exists, is complete and belongs to loadcell."""
        marker = self._read_marker()
        return marker is not None and marker.get("state") == "ready"

    def make(self) -> None:
        """Make the directory unless it exists. Raises TargetError for one that loadcell did not make."""
        try:
            self._check_parent()
            marker = self._read_marker()
            if marker is None or marker.get("state") != "ready":
                self._install(bool(marker.get("made_parent")) if marker else not self.parent.exists())
            self._check_fit()
        except OSError as error:
            raise self._error_of(error) from error

    def remove(self) -> None:
        """Remove what loadcell made."""
        marker = self._read_marker()
        if marker is None:
            return
        shutil.rmtree(self.home, ignore_errors=True)
        if marker.get("made_parent"):
            with contextlib.suppress(OSError):  # not empty: somebody else uses it
                self.parent.rmdir()

    # -- copies of the data, only while no process has it open

    def copies(self) -> set[str]:
        """Names of the complete copies."""
        if not self._pristine.is_dir():
            return set()
        return {path.name for path in self._pristine.iterdir() if not path.name.startswith(".")}

    def save_copy(self, name: str) -> None:
        """Copy the data as it is now. Raises TargetError."""
        try:
            self._pristine.mkdir(mode=0o700, exist_ok=True)
            self.account.give(self._pristine)
            part = self._pristine / f".{name}"
            shutil.rmtree(part, ignore_errors=True)
            self._copy(self.data, part)
            part.rename(self._pristine / name)
        except OSError as error:
            raise self._error_of(error) from error

    def restore_copy(self, name: str) -> None:
        """Replace the data by a copy. Raises TargetError."""
        shutil.rmtree(self.data, ignore_errors=True)
        self._copy(self._pristine / name, self.data)

    def _copy(self, source: Path, destination: Path) -> None:
        # Reflinks where the file system has them; all owners are kept, as loadcell is root or the files'
        # owner.
        done = subprocess.run(
            ["/bin/cp", "-a", "--reflink=auto", source, destination],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment(),
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode == 0:
            return
        shutil.rmtree(destination, ignore_errors=True)
        if "No space left" in done.stdout or "quota" in done.stdout:
            raise no_room(self.kind, str(self.home), "prepare")
        lines = done.stdout.strip().splitlines()
        raise TargetError(HOME_NOT_COPIED(said=lines[-1] if lines else NO_OUTPUT), during="prepare")

    # -- for subclasses

    def _check_parent(self) -> None:
        option = f"`target.{self.kind}.data`"
        if self.parent.exists() and not self.parent.is_dir():
            raise TargetError(HOME_NO_DIRECTORY(path=self.parent, option=option))
        if (self.parent / self.sign).exists():
            raise TargetError(HOME_STRANGER(path=self.parent, stranger=self.stranger, option=option))
        if self.home.exists() and self._read_marker() is None and any(self.home.iterdir()):
            raise TargetError(HOME_NOT_OURS(path=self.home, option=option))

    def _check_owner(self) -> None:
        owner = self.data.stat().st_uid
        if owner != self.account.uid:
            names = {"owner": _user_name(owner), "user": self.account.name, "kind": self.kind}
            raise TargetError(HOME_OTHER_OWNER(path=self.data, **names))

    def _begin(self, state: str, made_parent: bool) -> None:
        """Make `home` with an incomplete marker: after a kill the next start installs again."""
        self.home.mkdir(parents=True, exist_ok=True)
        for directory in [self.home, self.parent] if made_parent else [self.home]:
            directory.chmod(0o755)  # the server's user must be able to enter it, whatever our umask
        self._write_marker(state, made_parent)

    def _empty(self, directory: Path) -> None:
        """Replace a directory by an empty one of the server's user."""
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(mode=0o700)
        self.account.give(directory)

    def _read_marker(self) -> dict[str, object] | None:
        try:
            marker = json.loads(self._marker.read_text())
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return None
        return marker if isinstance(marker, dict) and marker.get("made_by") == "loadcell" else None

    def _write_marker(self, state: str, made_parent: bool) -> None:
        marker = {
            "made_by": "loadcell",
            "state": state,
            "version": self._version,
            "made_utc": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "made_parent": made_parent,
        }
        part = self._marker.with_suffix(".part")
        part.write_text(json.dumps(marker) + "\n")
        part.replace(self._marker)

    def _write_configuration(self, files: dict[Path, str]) -> None:
        """Write files that only the server's user may read. Raises TargetError."""
        try:
            for path, text in files.items():
                part = path.with_suffix(".part")
                part.unlink(missing_ok=True)
                with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                    file.write(text)
                self.account.give(part)
                part.replace(path)
        except OSError as error:
            raise self._error_of(error) from error

    def _error_of(self, error: OSError) -> TargetError:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return no_room(self.kind, str(self.home))
        return TargetError(
            HOME_NOT_USABLE(path=error.filename or self.home, said=error.strerror, kind=self.kind)
        )


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
