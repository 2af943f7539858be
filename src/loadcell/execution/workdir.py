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
from pathlib import Path

from loadcell.linux import procfs
from loadcell.model.json import JsonObject
from loadcell.systems.shared.disk_image import undo_below

HOME = Path("/var/tmp")  # noqa: S108 - on disk, survives a reboot, and what we make in it is checked to be ours
_OWNER = "owner.json"
#: A directory without an owner is one that was being made; after this long, by somebody who died.
_HALF_MADE_S = 3600.0


def make(run_id: str, home: Path = HOME) -> Path:
    """A new directory for this process's run, readable by others (a server run by root has another user)."""
    base = _base(home)
    new = Path(tempfile.mkdtemp(prefix=".new-", dir=base))
    new.chmod(0o755)
    owner = {"pid": os.getpid(), "pid_start_time": procfs.started(os.getpid()), "run": run_id}
    (new / _OWNER).write_text(json.dumps(owner))
    for attempt in range(1, 100):
        path = base / (run_id if attempt == 1 else f"{run_id}-{attempt}")
        with contextlib.suppress(OSError):  # a directory of that name that is not empty
            return new.rename(path)
    return new


def _base(home: Path) -> Path:
    """`loadcell-<uid>`, if it is a directory of ours; else one that nobody could have made before us."""
    base = home / f"loadcell-{os.getuid()}"
    with contextlib.suppress(FileExistsError):
        base.mkdir(mode=0o755)
    stat = base.lstat()
    if not base.is_symlink() and base.is_dir() and stat.st_uid == os.getuid():
        return base
    made = Path(tempfile.mkdtemp(prefix=f"loadcell-{os.getuid()}-", dir=home))
    made.chmod(0o755)
    return made


def remove(path: Path) -> bool:
    """Remove a work directory and all in it, images first.

    What cannot be unmounted leaves it to a later run: False.
    """
    if not undo_below(path):
        return False
    shutil.rmtree(path, ignore_errors=True)
    return True


def sweep(home: Path = HOME) -> list[str]:
    """Remove what dead runs of this user left; returns their names.

    What some process still works in stays.
    """
    base = home / f"loadcell-{os.getuid()}"
    swept: list[str] = []
    try:
        places = [path for path in base.iterdir() if path.is_dir() and not path.is_symlink()]
    except OSError:
        return swept
    abandoned = [path for path in places if _abandoned(path)]
    if not abandoned:
        return swept
    busy = _working_directories()
    for path in abandoned:
        used = any(directory == path or path in directory.parents for directory in busy)
        if not used and remove(path):
            swept.append(path.name)
    return swept


def _abandoned(path: Path) -> bool:
    try:
        owner: JsonObject = json.loads((path / _OWNER).read_text())
        return bool(procfs.started(int(owner["pid"])) != owner["pid_start_time"])
    except (OSError, ValueError, KeyError, TypeError):
        with contextlib.suppress(OSError):
            return time.time() - path.stat().st_mtime > _HALF_MADE_S
        return False


def _working_directories() -> set[Path]:
    """Working directories of all processes, as far as readable: a dying server is still in its data."""
    directories = (procfs.link(pid, "cwd") for pid in procfs.process_ids())
    return {directory for directory in directories if directory is not None}
