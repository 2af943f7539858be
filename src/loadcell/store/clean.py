"""Removal of old runs: which may go, which are retained and why, and removal that leaves no half run.

A run directory is renamed to a hidden name first. A removal that is killed leaves that name alone, which no
command takes for a run, and the next removal takes it away. Only what loadcell has made is removed: a results
directory may hold other things.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from loadcell.model.message import ForeignText, Message, MessageCode
from loadcell.plan.labels import holds
from loadcell.store.layout import PLAN, RUN, TRIALS, StoreError, is_run
from loadcell.store.selection import UNREADABLE, Selection, StoredRecord, selected, size_bytes
from loadcell.store.write import sync_directory, take_lock

CLEAN_FAILED = MessageCode("clean.failed", path=str, said=ForeignText)

#: The label of runs that are never removed.
KEEP: Final = "keep"
#: Why a run that would go is retained.
BASELINE, LABEL, RUNNING, DAMAGED, LINK = "baseline", "label", "running", "damaged", "link"
REASONS = (BASELINE, LABEL, RUNNING, DAMAGED, LINK)
_REMOVED = re.compile(r"^\..+\.removed$")


@dataclass(frozen=True)
class Removal:
    """A run that may go, with its size; `retained` says why it stays all the same, `failure` why it could not
    be removed.
    """

    run: StoredRecord
    size_bytes: int
    retained: str | None = None
    failure: Message | None = None


def removals(
    runs: Sequence[StoredRecord],
    selection: Selection,
    keep: int | None,
    baselines: Collection[Path],
    now_s: float | None = None,
) -> list[Removal]:
    """The runs that meet the conditions, and are older than the `keep` latest of their plan.

    The latest are counted among finished runs, or those of the selection's states, with its labels: runs that
    failed or were killed push no result out.

    `runs` are all of the results, the oldest first; `baselines` are directories, whole.
    """
    later: Counter[str] = Counter()
    latest: set[Path] = set()
    for run in reversed(runs):
        if keep is not None and later[run.plan] < keep:
            latest.add(run.path)
        if run.state in (selection.states or ("finished",)) and holds(run.labels, selection.labels):
            later[run.plan] += 1
    chosen = [run for run in selected(list(runs), selection, now_s) if run.path not in latest]
    return [Removal(run, size_bytes(run.path), _retained_for(run, baselines)) for run in chosen]


def _retained_for(run: StoredRecord, baselines: Collection[Path]) -> str | None:
    if run.path.resolve() in baselines:
        return BASELINE
    if KEEP in run.labels:
        return LABEL
    if run.path.is_symlink():
        return LINK
    if run.state == UNREADABLE:  # its labels are not known
        return DAMAGED
    return RUNNING if run.state == "running" else None


def remove(path: Path) -> bool:
    """Remove a run; False if it is under way. Raises StoreError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            take_lock(descriptor)
            hidden = path.with_name(f".{path.name}.removed")
            if _is_remains(hidden):
                _delete(hidden)
            path.rename(hidden)
        finally:
            os.close(descriptor)
        sync_directory(path.parent)
        _delete(hidden)
    except BlockingIOError:
        return False
    except OSError as error:
        occupied = error.filename2  # the hidden name, which something else has
        raise StoreError(CLEAN_FAILED(path=occupied or path, said=error.strerror or error)) from None
    return True


def _delete(hidden: Path) -> None:
    """Delete a run under its hidden name; its record last, by which the remains of a killed removal are known
    to be a run's. Raises OSError.
    """
    for child in hidden.iterdir():
        if child.is_dir() and not child.is_symlink():
            shutil.rmtree(child)
        elif child.name != RUN:
            child.unlink()
    (hidden / RUN).unlink(missing_ok=True)
    hidden.rmdir()


def remains(results: Path) -> list[Path]:
    """Hidden directories that killed removals have left."""
    parents = [results, *(child for child in _directories(results) if not child.name.startswith("."))]
    return [child for parent in parents for child in _directories(parent) if _is_remains(child)]


def _is_remains(path: Path) -> bool:
    """True for a run under its hidden name. Removals of older versions may have deleted its record first."""
    of_run = is_run(path) or ((path / PLAN).is_file() and (path / TRIALS).is_dir())
    return of_run and _REMOVED.match(path.name) is not None


def _directories(path: Path) -> list[Path]:
    try:
        return [child for child in path.iterdir() if child.is_dir() and not child.is_symlink()]
    except OSError:
        return []


def remove_empty(results: Path, removed: Iterable[Path]) -> None:
    """Remove the directories of plans, below `results`, that have no run after these were removed."""
    for directory in {path.parent for path in removed}:
        if directory.parent == results:
            with contextlib.suppress(OSError):  # there is something in it
                directory.rmdir()


def remove_remains(path: Path) -> None:
    """Remove what a removal that was killed has left. Raises StoreError."""
    try:
        _delete(path)
    except OSError as error:
        raise StoreError(CLEAN_FAILED(path=path, said=error.strerror or error)) from None
