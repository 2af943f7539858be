"""Directories of a process below /var/tmp, each with a note of its owner: what a killed owner leaves can be
recognised, and removed later.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from loadcell.linux import procfs
from loadcell.model.json import JsonObject

HOME = Path("/var/tmp")  # noqa: S108 - on disk, survives a reboot, and what we make in it is checked to be ours
_OWNER = "owner.json"
#: Longest name of a work directory, in bytes: a Unix socket below it has a path of at most 107.
_NAME_BYTES = 40
#: Beginnings of the names of directories that are being made, with their maker, and that are being removed.
_NEW, OLD = ".new-", ".old-"


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
    base = usual(home)
    with contextlib.suppress(FileExistsError):
        base.mkdir(mode=0o755)
    if _is_ours(base):
        return base
    made = Path(tempfile.mkdtemp(prefix=f"loadcell-{os.getuid()}-", dir=home))
    made.chmod(0o755)
    return made


def usual(home: Path = HOME) -> Path:
    """The place of this user's directories."""
    return home / f"loadcell-{os.getuid()}"


def _is_ours(path: Path) -> bool:
    return not path.is_symlink() and path.is_dir() and path.lstat().st_uid == os.getuid()


def abandoned(home: Path = HOME) -> list[Path]:
    """Directories of this user's dead processes."""
    return [path for path in _places(home) if is_abandoned(path)]


def _places(home: Path) -> Iterator[Path]:
    """Directories of this user's processes."""
    bases = [base for base in (usual(home), *home.glob(f"{usual().name}-*")) if _is_ours(base)]
    for base in bases:
        with contextlib.suppress(OSError):
            yield from (path for path in base.iterdir() if path.is_dir() and not path.is_symlink())


def is_abandoned(path: Path) -> bool:
    """True if the owner of a directory is dead."""
    if path.name.startswith(OLD):
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
