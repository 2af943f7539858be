"""Where a run's target keeps its data when the plan names no place; swept by a later run when its owner is
dead.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from loadcell.linux import procfs, sessions
from loadcell.model.json import JsonObject
from loadcell.systems.shared.disk_image import undo_below

HOME = Path("/var/tmp")  # noqa: S108 - on disk, survives a reboot, and what we make in it is checked to be ours
_OWNER = "owner.json"
#: Longest name of a work directory, in bytes: a Unix socket below it has a path of at most 107.
_NAME_BYTES = 40
#: Beginnings of the names of directories that are being made, with their maker, and that are being removed.
_NEW, _OLD = ".new-", ".old-"


def make(run_id: str, home: Path = HOME) -> Path:
    """A new directory for this process's run, readable by others (a server run by root has another user)."""
    base = _base(home)
    run_name = os.fsencode(run_id)[:_NAME_BYTES].decode("utf-8", "ignore") or "run"
    pid, started = os.getpid(), procfs.started(os.getpid())
    new = Path(tempfile.mkdtemp(prefix=f"{_NEW}{pid}-{started}-", dir=base))
    new.chmod(0o755)
    owner = {"pid": pid, "pid_start_time": started, "run": run_id}
    (new / _OWNER).write_text(json.dumps(owner))
    for attempt in range(1, 100):
        path = base / (run_name if attempt == 1 else f"{run_name}-{attempt}")
        with contextlib.suppress(OSError):  # a directory of that name that is not empty
            return new.rename(path)
    return new


def _base(home: Path) -> Path:
    """`loadcell-<uid>`, if it is a directory of ours; else one that nobody could have made before us."""
    base = _usual(home)
    with contextlib.suppress(FileExistsError):
        base.mkdir(mode=0o755)
    if _is_ours(base):
        return base
    made = Path(tempfile.mkdtemp(prefix=f"loadcell-{os.getuid()}-", dir=home))
    made.chmod(0o755)
    return made


def _usual(home: Path = HOME) -> Path:
    return home / f"loadcell-{os.getuid()}"


def _is_ours(path: Path) -> bool:
    return not path.is_symlink() and path.is_dir() and path.lstat().st_uid == os.getuid()


def remove(path: Path) -> bool:
    """Remove a work directory and all in it, images first.

    What cannot be unmounted leaves it to a later run: False.
    """
    if not undo_below(path):
        return False
    # The name is free at once, and whoever is killed during the removal leaves what is known as a remainder.
    old = path.with_name(f"{_OLD}{os.getpid()}-{time.monotonic_ns()}")
    with contextlib.suppress(OSError):  # somebody else sweeps it, or the file system cannot be written
        path.rename(old)
        path = old
    shutil.rmtree(path, ignore_errors=True)
    if path.parent.name != _usual().name:
        with contextlib.suppress(OSError):  # another run is in it
            path.parent.rmdir()
    return True


def sweep(home: Path = HOME, release: Callable[[Path], None] = lambda _: None) -> list[str]:
    """Remove what dead runs of this user left; returns their names.

    What some process still works in stays, except processes that a killed program of such a run has left.
    `release` frees what a run holds outside its directory.
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
        if used or not _abandoned(path):  # a run that began meanwhile has its name
            continue
        release(path)
        if remove(path):
            swept.append(path.name)
    return swept


def abandoned(home: Path = HOME) -> list[Path]:
    """Work directories of this user's dead runs."""
    return [path for path in _places(home) if _abandoned(path)]


def _places(home: Path) -> Iterator[Path]:
    """Work directories of this user's runs."""
    bases = [base for base in (_usual(home), *home.glob(f"{_usual().name}-*")) if _is_ours(base)]
    for base in bases:
        with contextlib.suppress(OSError):
            yield from (path for path in base.iterdir() if path.is_dir() and not path.is_symlink())


def _abandoned(path: Path) -> bool:
    if path.name.startswith(_OLD):
        return True
    try:
        if path.name.startswith(_NEW):
            pid, started = path.name.removeprefix(_NEW).split("-")[:2]
            return procfs.started(int(pid)) != int(started)
        owner: JsonObject = json.loads((path / _OWNER).read_text())
        return bool(procfs.started(int(owner["pid"])) != owner["pid_start_time"])
    except FileNotFoundError:
        return path.is_dir()  # its removal was killed before
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _working_directories() -> set[Path]:
    """Working directories of all processes, as far as readable: a dying server is still in its data.

    One that has been removed under its process holds nothing any more.
    """
    directories = (procfs.link(pid, "cwd") for pid in procfs.process_ids())
    return {item for item in directories if item is not None and not item.name.endswith(" (deleted)")}
