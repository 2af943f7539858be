"""A directory of loadcell's own for a server's data: marked, so that no other is ever touched, and removed as a whole."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import pwd
import shutil
from abc import ABC, abstractmethod
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from loadcell.model.message import Message
from loadcell.systems.base import TargetError
from loadcell.systems.shared.account import Account
from loadcell.systems.shared.messages import (
    HOME_NO_DIRECTORY,
    HOME_NO_ROOM,
    HOME_NOT_OURS,
    HOME_NOT_USABLE,
    HOME_OTHER_OWNER,
    HOME_STRANGER,
)

_MARKER = "loadcell.json"


def no_room(kind: str, where: str | Message, during: str = "up") -> TargetError:
    """The device is full; `kind` is the target as the plan names it."""
    return TargetError(HOME_NO_ROOM(path=where, kind=kind), during=during)


class Home(ABC):
    """`home`, a directory in `parent`, holds loadcell's marker, the configuration, and the server's data directory.

    `version` is the server's. Only the data directory belongs to the server's user; the rest is loadcell's to write.
    """

    #: The target as the plan names it: `target.<kind>.data` is where the parent is named.
    kind: ClassVar[str]
    #: A file that every data directory of this server has, and whose such a directory is when loadcell did not make it.
    sign: ClassVar[str]
    stranger: ClassVar[Message]

    def __init__(self, parent: Path, name: str, version: str, account: Account) -> None:
        self.parent = parent
        self.home = parent / name
        self.account = account
        self._version = version
        self._marker = self.home / _MARKER

    @abstractmethod
    def _install(self, made_parent: bool) -> None:
        """Make the data directory. `made_parent`: the parent is loadcell's, too, and goes away with it."""

    @abstractmethod
    def _check_fit(self) -> None:
        """Raise TargetError where a directory that was made earlier is not one for this server and user."""

    @property
    def made(self) -> bool:
        """Whether it is there, complete and ours."""
        mark = self._mark()
        return mark is not None and mark.get("state") == "ready"

    def make(self) -> None:
        """Make the directory unless it is there already. Refuses one that loadcell did not make."""
        try:
            self._check_place()
            mark = self._mark()
            if mark is None or mark.get("state") != "ready":
                self._install(mark.get("made_parent", False) if mark else not self.parent.exists())
            self._check_fit()
        except OSError as error:
            raise self._trouble(error) from error

    def remove(self) -> None:
        """Remove what loadcell made."""
        mark = self._mark()
        if mark is None:
            return
        shutil.rmtree(self.home, ignore_errors=True)
        if mark.get("made_parent"):
            with contextlib.suppress(OSError):  # not empty: somebody else uses it
                self.parent.rmdir()

    def _check_place(self) -> None:
        option = f"`target.{self.kind}.data`"
        if self.parent.exists() and not self.parent.is_dir():
            raise TargetError(HOME_NO_DIRECTORY(path=self.parent, option=option))
        if (self.parent / self.sign).exists():
            raise TargetError(HOME_STRANGER(path=self.parent, stranger=self.stranger, option=option))
        if self.home.exists() and self._mark() is None and any(self.home.iterdir()):
            raise TargetError(HOME_NOT_OURS(path=self.home, option=option))

    def _check_owner(self, data: Path) -> None:
        owner = data.stat().st_uid
        if owner != self.account.uid:
            raise TargetError(
                HOME_OTHER_OWNER(path=data, owner=_name(owner), user=self.account.name, kind=self.kind)
            )

    def _begin(self, state: str, made_parent: bool) -> None:
        """Make room for the data. Killed from here on, the next start begins anew."""
        self.home.mkdir(parents=True, exist_ok=True)
        for made in [self.home, self.parent] if made_parent else [self.home]:
            made.chmod(0o755)  # the server's user must come through, whatever our umask says
        self._write_mark(state, made_parent)

    def _empty(self, directory: Path) -> None:
        """A new directory of the server's user, in place of what was there."""
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(mode=0o700)
        self.account.own(directory)

    def _mark(self) -> dict[str, Any] | None:
        try:
            mark = json.loads(self._marker.read_text())
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return None
        return mark if isinstance(mark, dict) and mark.get("made_by") == "loadcell" else None

    def _write_mark(self, state: str, made_parent: bool) -> None:
        mark = {
            "made_by": "loadcell",
            "state": state,
            "version": self._version,
            "made_utc": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "made_parent": made_parent,
        }
        part = self._marker.with_suffix(".part")
        part.write_text(json.dumps(mark) + "\n")
        part.replace(self._marker)

    def _write(self, path: Path, text: str) -> None:
        """A file for the server's user only."""
        part = path.with_suffix(".part")
        part.unlink(missing_ok=True)
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
        self.account.own(part)
        part.replace(path)

    def _trouble(self, error: OSError) -> TargetError:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return no_room(self.kind, str(self.home))
        return TargetError(
            HOME_NOT_USABLE(path=error.filename or self.home, said=error.strerror, kind=self.kind)
        )


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
