"""Write-ahead journal of faults: how each is undone, on disk before it is applied.

One file per fault in `$XDG_STATE_HOME/loadcell/faults` (`~/.local/state`). It names the guardian that will
undo the fault, and the run; where both have ended, any later command undoes it (`replay`). A fault that
could not be undone keeps its file. Undoing runs code that the file names: a file that another user owns or
can write is never acted on, nor is that of another machine which shares the directory.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import json
import os
import secrets
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from loadcell.faults.base import Fault, FaultClass, FaultError
from loadcell.linux.process_identity import ProcessIdentity
from loadcell.model.json import JsonObject, MismatchError, document, read
from loadcell.model.message import ForeignText, Message, MessageCode
from loadcell.model.numbers import utc_text

JOURNAL_UNWRITABLE = MessageCode("fault.journal-unwritable", path=str, error=ForeignText)
UNKNOWN_ACTION = MessageCode("fault.unknown-action", action=str, module=str, path=str)
NOT_UNDONE = MessageCode("fault.not-undone")
UNDO_FAILED = MessageCode("fault.undo-failed", error=ForeignText)
#: An entry whose undo failed, with the reason.
ENTRY_REMAINS = MessageCode("fault.entry-remains", action=str, subject=str, id=str, why=Message)
ENTRY_DAMAGED = MessageCode("fault.entry-damaged", path=str)
ENTRY_UNTRUSTED = MessageCode("fault.entry-untrusted", path=str)
ENTRY_BUSY = MessageCode("fault.entry-busy", action=str, subject=str)
ENTRY_UNDETERMINED = MessageCode("fault.entry-undetermined", action=str, subject=str, id=str)

_SUFFIX = ".json"
#: How long another process may take to undo the same fault: each program of `command` has 30 s by default.
_CLAIM_LIMIT_S = 90.0
_CLAIM_LOOK_S = 0.02
#: In place of the directory of a user without a home: nothing can be made below it, which is an error of
#: runs with faults alone.
_NO_HOME = Path("/dev/null")


def home() -> Path:
    """The journal's directory."""
    base = os.environ.get("XDG_STATE_HOME", "")
    try:
        state = Path(base) if base.startswith("/") else Path("~/.local/state").expanduser()
    except RuntimeError:
        state = _NO_HOME
    return state / "loadcell" / "faults"


@dataclass(frozen=True)
class Entry:
    """A fault that is about to be applied, or was: `arguments` are those of its action's `undo`.

    `module` and `name` are where the action's class is. `process` is that of the run; None in entries of
    versions that did not record it.
    """

    id: str
    action: str
    module: str
    name: str
    subject: str
    arguments: JsonObject
    guardian: ProcessIdentity
    run: str = ""
    written_utc: str = field(default_factory=utc_text)
    process: ProcessIdentity | None = None


@dataclass(frozen=True)
class Unusable:
    """A file of the journal that no undo can rely on, and why."""

    path: Path
    message: Message


#: `guarded`: its guardian or its run lives; `abandoned`: any command may undo it; `undetermined`: these were
#: in another pid namespace, so that only the user knows whether they live; `elsewhere`: of another machine.
State = Literal["guarded", "abandoned", "undetermined", "elsewhere"]


@dataclass(frozen=True)
class Outcome:
    """Result of undoing an entry; `error` is None where nothing is left of the fault. `was_undone`: another
    process had undone it before.
    """

    entry: Entry
    error: FaultError | None = None
    was_undone: bool = False

    @property
    def problem(self) -> FaultError | None:
        """The error with the fault, its identifier and the remedy."""
        if self.error is None:
            return None
        entry, why = self.entry, self.error.message
        return FaultError(ENTRY_REMAINS(action=entry.action, subject=entry.subject, id=entry.id, why=why))


class Journal:
    """The entries in one directory."""

    def __init__(self, directory: Path | None = None) -> None:
        self.directory = home() if directory is None else directory

    def write(self, entry: Entry) -> None:
        """Write an entry and wait until it is on disk. Raises FaultError."""
        path = self._path(entry.id)
        new = path.with_suffix(".new")
        try:
            self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
            with os.fdopen(descriptor, "w") as file:
                os.fchmod(descriptor, 0o600)
                json.dump(document(entry), file)
                file.flush()
                os.fsync(file.fileno())
            new.rename(path)
            self._flush()
        except OSError as error:
            with contextlib.suppress(OSError):
                new.unlink()
            raise FaultError(
                JOURNAL_UNWRITABLE(path=self.directory, error=error.strerror or str(error))
            ) from error

    def remove(self, entry: Entry) -> None:
        """Remove the entry of a fault of which nothing is left."""
        with contextlib.suppress(FileNotFoundError):
            self._path(entry.id).unlink()
        self._flush()

    def has(self, entry: Entry) -> bool:
        """Report whether an entry is still in the journal: nobody has undone its fault."""
        return self._path(entry.id).exists()

    def entries(self) -> Iterator[Entry | Unusable]:
        """All entries, oldest first, and the files that are none."""
        try:
            paths = sorted(self.directory.glob(f"*{_SUFFIX}"))
        except OSError:
            return
        for path in paths:
            if (entry := _read(path)) is not None:
                yield entry

    def abandoned(self) -> Iterator[Entry]:
        """Entries whose guardian and run have ended."""
        return self._in_state("abandoned")

    def undetermined(self) -> Iterator[Entry]:
        """Entries of which cannot be determined here whether their guardian or run lives."""
        return self._in_state("undetermined")

    def unusable(self) -> Iterator[Unusable]:
        """Files that no undo can rely on."""
        return (entry for entry in self.entries() if isinstance(entry, Unusable))

    @contextlib.contextmanager
    def claimed(self, entry: Entry) -> Iterator[bool]:
        """Hold the lock of an entry; False if another process has removed it.

        Raises FaultError if that process takes too long.
        """
        try:
            descriptor = os.open(self._path(entry.id), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            yield False
            return
        try:
            deadline = time.monotonic() + _CLAIM_LIMIT_S
            while not _locked(descriptor):
                if time.monotonic() > deadline:
                    raise FaultError(ENTRY_BUSY(action=entry.action, subject=entry.subject))
                time.sleep(_CLAIM_LOOK_S)
            yield os.fstat(descriptor).st_nlink > 0
        finally:
            os.close(descriptor)

    def _in_state(self, wanted: State) -> Iterator[Entry]:
        return (entry for entry in self.entries() if isinstance(entry, Entry) and state(entry) == wanted)

    def _path(self, entry_id: str) -> Path:
        return self.directory / f"{entry_id}{_SUFFIX}"

    def _flush(self) -> None:
        with contextlib.suppress(OSError):
            descriptor = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def _read(path: Path) -> Entry | Unusable | None:
    """The entry in a file; None if the file is gone."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError:
        return Unusable(path, ENTRY_DAMAGED(path=path))
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        others_write = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or others_write:
            return Unusable(path, ENTRY_UNTRUSTED(path=path))
        try:
            entry = read(Entry, file.read())
        except (OSError, MismatchError):
            entry = None
    return entry if entry is not None and entry.id == path.stem else Unusable(path, ENTRY_DAMAGED(path=path))


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def state(entry: Entry) -> State:
    """Who may undo an entry."""
    if entry.guardian.is_elsewhere():
        return "elsewhere"
    holders = [entry.guardian]
    if entry.process is not None and entry.process != ProcessIdentity.of_this_process():
        holders.append(entry.process)  # one of this process is of an earlier run in it
    ended = [holder.has_ended(local=True) for holder in holders]
    if False in ended:
        return "guarded"
    return "undetermined" if None in ended else "abandoned"


def undetermined(entry: Entry) -> Message:
    """The message of an entry that is `undetermined`."""
    return ENTRY_UNDETERMINED(action=entry.action, subject=entry.subject, id=entry.id)


def new_id() -> str:
    """Identifier of an entry; later ones sort behind earlier ones."""
    return f"{utc_text().replace(':', '')}-{secrets.token_hex(3)}"


def fault_class(entry: Entry) -> FaultClass | None:
    """The class of an entry's action; None if it is not installed."""
    try:
        part = getattr(importlib.import_module(entry.module), entry.name, None)
    except ImportError:
        return None
    return part if isinstance(part, type) and issubclass(part, Fault) else None


def undo(entry: Entry, journal: Journal, *, is_holder: bool = False) -> Outcome:
    """Undo an entry's fault, look whether it is undone, and remove the entry if so. Never raises.

    `is_holder`: by its run or its guardian, which also undo a fault whose file is gone; for others, somebody
    else has undone it.
    """
    try:
        with journal.claimed(entry) as is_claimed:
            outcome = _undo_claimed(entry, journal) if is_claimed or is_holder else Outcome(entry)
            return replace(outcome, was_undone=not is_claimed)
    except FaultError as error:
        return Outcome(entry, error)
    except Exception as error:  # whatever it was, the other faults are still to be undone
        why = f"{type(error).__name__}: {error}"
        message = UNDO_FAILED(error=why)
        return Outcome(entry, FaultError(message))


def _undo_claimed(entry: Entry, journal: Journal) -> Outcome:
    fault = fault_class(entry)
    if fault is None:
        message = UNKNOWN_ACTION(action=entry.action, module=entry.module, path=journal.directory)
        return Outcome(entry, FaultError(message))
    if entry.guardian.is_of_other_boot() and not fault.outlives_boot:
        journal.remove(entry)  # the process ids in it may be those of others now
        return Outcome(entry)
    fault.undo(entry.arguments)
    if not fault.is_undone(entry.arguments):
        return Outcome(entry, FaultError(NOT_UNDONE()))
    journal.remove(entry)
    return Outcome(entry)


def replay(journal: Journal) -> list[Outcome]:
    """Undo all faults whose guardian and run have ended, the last first."""
    return [undo(entry, journal) for entry in reversed(list(journal.abandoned()))]
