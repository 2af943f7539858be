"""Where a run's target keeps its data when the plan names no place; swept by a later run when its owner is
dead.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import SubprocessError

from loadcell.linux import owned_directories, procfs, sessions
from loadcell.linux.owned_directories import HOME as HOME
from loadcell.linux.owned_directories import abandoned, is_abandoned
from loadcell.linux.owned_directories import make as make
from loadcell.systems.shared.disk_image import undo_below

#: Frees what a run holds outside its directory.
Release = Callable[[Path], None]
#: Takes one line.
Log = Callable[[str], None]


def _nothing(_: object) -> None: ...


def remove(path: Path, release: Release = _nothing, log: Log = _nothing) -> bool:
    """Remove a work directory and all in it, images first, after `release`.

    What cannot be freed or unmounted leaves it to a later run: False.
    """
    try:
        release(path)
        if undo_below(path):
            owned_directories.remove(path)
            return True
    except (OSError, SubprocessError) as error:
        log(f"left {path} to a later run: {error}")
    return False


def sweep(home: Path = HOME, release: Release = _nothing, log: Log = _nothing) -> list[str]:
    """Remove what dead runs of this user left; returns their names.

    What some process still works in stays, except processes that a killed program of such a run has left.
    One directory that cannot be removed keeps no other from it.
    """
    swept: list[str] = []
    paths = abandoned(home)
    if not paths:
        return swept
    for path in paths:
        for target in path.glob("*/"):
            sessions.end_recorded(target)
    busy = _working_directories()
    for path in paths:
        used = any(directory == path or path in directory.parents for directory in busy)
        if used or not is_abandoned(path):  # a run that began meanwhile has its name
            continue
        if remove(path, release, log):
            swept.append(path.name)
    return swept


def _working_directories() -> set[Path]:
    """Working directories of all processes, as far as readable: a dying server is still in its data.

    One that has been removed under its process holds nothing any more.
    """
    directories = (procfs.link(pid, "cwd") for pid in procfs.process_ids())
    return {item for item in directories if item is not None and not item.name.endswith(" (deleted)")}
