"""Write-ahead journal of faults: how each is undone, on disk before it is applied.

One file per fault in `$XDG_STATE_HOME/loadcell/faults` (`~/.local/state`). It names the guardian that will
undo the fault; where that process has ended, any later command undoes it (`replay`). A fault that could not
be undone keeps its file.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from loadcell.faults.base import Fault, FaultClass, FaultError
from loadcell.linux.process_identity import ProcessIdentity
from loadcell.model.json import JsonObject, MismatchError, document, read
from loadcell.model.message import ForeignText, MessageCode
from loadcell.model.numbers import utc_text

JOURNAL_UNWRITABLE = MessageCode("fault.journal-unwritable", path=str, error=ForeignText)
UNKNOWN_ACTION = MessageCode("fault.unknown-action", action=str, module=str, path=str)
NOT_UNDONE = MessageCode("fault.not-undone", action=str, subject=str)
UNDO_FAILED = MessageCode("fault.undo-failed", action=str, subject=str, error=ForeignText)
ENTRY_DAMAGED = MessageCode("fault.entry-damaged", path=str)

_SUFFIX = ".json"
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

    `module` and `name` are where the action's class is.
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


@dataclass(frozen=True)
class Outcome:
    """Result of undoing an entry; `error` is None where nothing is left of the fault."""

    entry: Entry
    error: FaultError | None = None


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
            with new.open("w") as file:
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

    def entries(self) -> Iterator[Entry | Path]:
        """All entries, oldest first; the path of a file that is none."""
        try:
            paths = sorted(self.directory.glob(f"*{_SUFFIX}"))
        except OSError:
            return
        for path in paths:
            try:
                yield read(Entry, path.read_bytes())
            except FileNotFoundError:
                continue
            except (OSError, MismatchError):
                yield path

    def abandoned(self) -> Iterator[Entry]:
        """Entries whose guardian has ended, as far as that can be determined here."""
        for entry in self.entries():
            if isinstance(entry, Entry) and entry.guardian.has_ended(local=True):
                yield entry

    def _path(self, entry_id: str) -> Path:
        return self.directory / f"{entry_id}{_SUFFIX}"

    def _flush(self) -> None:
        with contextlib.suppress(OSError):
            descriptor = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


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


def undo(entry: Entry, journal: Journal) -> Outcome:
    """Undo an entry's fault, look whether it is undone, and remove the entry if so. Never raises."""
    try:
        fault = fault_class(entry)
        if fault is None:
            message = UNKNOWN_ACTION(action=entry.action, module=entry.module, path=journal.directory)
            return Outcome(entry, FaultError(message))
        fault.undo(entry.arguments)
        undone = fault.is_undone(entry.arguments)
        if undone:
            journal.remove(entry)
    except FaultError as error:
        return Outcome(entry, error)
    except Exception as error:  # whatever it was, the other faults are still to be undone
        why = f"{type(error).__name__}: {error}"
        message = UNDO_FAILED(action=entry.action, subject=entry.subject, error=why)
        return Outcome(entry, FaultError(message))
    if not undone:
        return Outcome(entry, FaultError(NOT_UNDONE(action=entry.action, subject=entry.subject)))
    return Outcome(entry)


def replay(journal: Journal) -> list[Outcome]:
    """Undo all faults whose guardian has ended, the last first."""
    return [undo(entry, journal) for entry in reversed(list(journal.abandoned()))]
