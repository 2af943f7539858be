"""A directory of loadcell's own for a system that lives in the load's process: marked, with the system's files in it, and copies
to which these can be put back.

`home` holds loadcell's marker, `data` (the system's files, and nothing else), `data.json`, which says what is in there and
whether it is whole, and `pristine`: copies of `data`, taken while nobody had it open.
"""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from loadcell.linux import file_system
from loadcell.model.message import NO_OUTPUT
from loadcell.systems.base import DataSet, TargetError
from loadcell.systems.messages import HOME_LOST_CONTENTS, HOME_NOT_COPIED
from loadcell.systems.shared.account import Account, environment
from loadcell.systems.shared.owned_directory import Home, no_room

#: `loading`: being filled, or given up half-way; `ready`: as it was loaded; `changed`: a load was let loose on it.
State = Literal["loading", "ready", "changed"]


def _myself() -> Account:
    """Whoever loadcell runs as: such a system lives in a process of its own."""
    uid, gid = os.geteuid(), os.getegid()
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:
        name = str(uid)
    return Account(name, uid, gid, (), other=False)


class Files(Home):
    """The files of one system, in the directory `name` below `parent`; `version` is what wrote them."""

    def __init__(self, parent: Path, name: str, version: str, log: Callable[[str], None]) -> None:
        super().__init__(parent, name, version, _myself())
        self.log = log
        self.data = self.home / "data"
        self._state = self.home / "data.json"
        self._pristine = self.home / "pristine"

    def _install(self, made_parent: bool) -> None:
        self._begin("making", made_parent)
        for left in (self.data, self._pristine):
            shutil.rmtree(left, ignore_errors=True)
        self._state.unlink(missing_ok=True)
        self.data.mkdir(mode=0o700)
        self._write_mark("ready", made_parent)

    def _check_fit(self) -> None:
        if not self.data.is_dir():
            raise TargetError(HOME_LOST_CONTENTS(path=self.data, home=self.home))
        self._check_owner(self.data)
        mark = self._mark() or {}
        if mark.get("version") != self._version:
            # Files of another version may not be readable, or be rewritten: a measurement begins with its own.
            self.log(f"{self.home} is of version {mark.get('version')}: made anew for {self._version}")
            self._install(mark.get("made_parent", False))

    # -- data ------------------------------------------------------------------------------------------------------

    def prepare(self, wanted: str, load: Callable[[], dict[str, Any]], *, will_change: bool) -> DataSet:
        """Make the data set with the fingerprint `wanted` be there, untouched: as it is, from a copy, or by loading it.

        `will_change`: a copy is kept for the trials after the coming one.
        """
        began = time.monotonic()
        found, state = self.holds()
        detail: dict[str, Any] = {"kind": "directory", "directory": str(self.data)}
        if found == wanted and state == "ready":
            how = "reused"
        elif self.has_copy(wanted):
            self.put_back(wanted)
            detail.update(method="copy", copy_s=time.monotonic() - began)
            how = "restored"
        else:
            how = "restored" if found == wanted and state == "changed" else "loaded"
            self.empty(wanted)
            account = load()
            self.note(wanted, "ready")
            detail.update(method="load", load_s=time.monotonic() - began, rows=account["rows"])
        if will_change and not self.has_copy(wanted):
            copying = time.monotonic()
            self.keep_copy(wanted)
            detail.update(kept_copy_s=time.monotonic() - copying)
        if how != "reused":
            self.flush()
        size = file_system.used_bytes(self.data)
        self.note(wanted, "changed" if will_change else "ready")
        return DataSet(wanted, how, time.monotonic() - began, size, detail)

    # -- what is in there -------------------------------------------------------------------------------------------

    def holds(self) -> tuple[str | None, State]:
        """The fingerprint of the data set, and what state it is in; None and `loading` where there is none."""
        try:
            found: dict[str, Any] = json.loads(self._state.read_text())
            return str(found["fingerprint"]), found["state"]
        except (OSError, ValueError, KeyError, TypeError):
            return None, "loading"

    def note(self, fingerprint: str, state: State) -> None:
        """Write down what is in there: from here on it is so, whenever we are killed."""
        try:
            part = self._state.with_suffix(".part")
            part.write_text(json.dumps({"fingerprint": fingerprint, "state": state}) + "\n")
            part.replace(self._state)
        except OSError as error:
            raise self._trouble(error) from error

    def empty(self, fingerprint: str) -> None:
        """Make room for a data set that is about to be loaded."""
        self._clear()
        self.data.mkdir(mode=0o700)
        self.note(fingerprint, "loading")

    def _clear(self) -> None:
        """Nothing is in there any more: to be said first, and without room for a word on a device that is full."""
        self._state.unlink(missing_ok=True)
        shutil.rmtree(self.data, ignore_errors=True)

    # -- copies -----------------------------------------------------------------------------------------------------

    def has_copy(self, fingerprint: str) -> bool:
        """Whether there is a whole copy of this data set."""
        return (self._pristine / fingerprint).is_dir()

    def keep_copy(self, fingerprint: str) -> None:
        """Keep a copy of the data set as it is now, instead of those of others."""
        try:
            for other in self._pristine.glob("*"):
                shutil.rmtree(other, ignore_errors=True)
            self._pristine.mkdir(mode=0o700, exist_ok=True)
            part = self._pristine / f".{fingerprint}"
            shutil.rmtree(part, ignore_errors=True)
            self._copy(self.data, part)
            part.rename(self._pristine / fingerprint)
        except OSError as error:
            raise self._trouble(error) from error

    def put_back(self, fingerprint: str) -> None:
        """Make the files what they were when the copy was kept."""
        self._clear()
        self._copy(self._pristine / fingerprint, self.data)
        self.note(fingerprint, "ready")

    def flush(self) -> None:
        """Have all files on disk, so that no load pays for what was written before it."""
        for at, _, files in os.walk(self.data):
            for name in files:
                handle = os.open(Path(at) / name, os.O_RDONLY)
                try:
                    os.fsync(handle)
                finally:
                    os.close(handle)

    def _copy(self, source: Path, to: Path) -> None:
        # Clones where the file system can, which costs nothing.
        done = subprocess.run(
            ["/bin/cp", "-a", "--reflink=auto", source, to],
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
        shutil.rmtree(to, ignore_errors=True)
        if "No space left" in done.stdout or "quota" in done.stdout:
            raise no_room(self.kind, str(self.home), "prepare")
        words = done.stdout.strip().splitlines()
        said = words[-1] if words else NO_OUTPUT
        raise TargetError(HOME_NOT_COPIED(said=said), during="prepare")
