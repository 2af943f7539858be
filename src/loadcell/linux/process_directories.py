"""Directories of a process below /var/tmp or TMPDIR, each with a note of its owner: what a killed owner
leaves can be recognised, and removed later.

/var/tmp counts as a disk of this machine; TMPDIR may be on storage that other machines share.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from loadcell.linux import procfs
from loadcell.linux.process_identity import ProcessIdentity
from loadcell.model.json import JsonObject

HOME = Path("/var/tmp")  # noqa: S108 - on disk, survives a reboot, and what we make in it is checked to be ours
_OWNER = "owner.json"
#: Longest name of a work directory, in bytes: a Unix socket below it has a path of at most 107.
_NAME_BYTES = 40
#: In a base that has been made because the usual one was not ours: nothing else tells it from somebody's
#: directory whose name begins alike.
_BASE = ".loadcell"
#: Names of directories that are being made, with their maker, and that are being removed.
_NEW, _OLD = re.compile(r"\.new-(\d+)-(\d+)-\w+"), re.compile(r"\.old-\d+-\d+")
#: Age from which a directory without a note counts as abandoned. The note is written at once; clocks of
#: machines that share storage differ by less.
_UNFINISHED_S = 3600.0
#: How long a process waits for the names of a base.
_LOCK_LIMIT_S, _LOCK_POLL_S = 20.0, 0.02


def make_directory(run_id: str, home: Path = HOME) -> Path:
    """A new directory for this process's run, readable by others (a server run by root has another user).

    It has no `%` in its name: JVMs and valgrind replace `%p` in paths of logs by their process id.
    """
    base = _base(home)
    run_name = os.fsencode(run_id.replace("%", "_"))[:_NAME_BYTES].decode("utf-8", "ignore") or "run"
    me = ProcessIdentity.of_this_process()
    new = Path(tempfile.mkdtemp(prefix=f".new-{me.pid}-{me.started}-", dir=base))
    new.chmod(0o755)
    where = {"boot": me.boot, "namespace": me.namespace, "machine": me.machine, "host": me.host}
    owner = {"pid": me.pid, "pid_start_time": me.started, **where, "run": run_id}
    unfinished = new / f".{_OWNER}"
    unfinished.write_text(json.dumps(owner))
    unfinished.rename(new / _OWNER)
    with _exclusive(base):
        for attempt in range(1, 100):
            path = base / (run_name if attempt == 1 else f"{run_name}-{attempt}")
            with contextlib.suppress(OSError):  # a directory of that name that is not empty
                return new.rename(path)
    return new


@contextlib.contextmanager
def _exclusive(base: Path) -> Iterator[None]:
    """The names in a base: none is given to a new directory, or removed by another process, in this block.

    Of two processes that find the same directory abandoned, one removes it. Without the lock the other could
    remove a new one that has its name.
    """
    try:
        handle = os.open(base, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        yield  # there is nothing to share
        return
    try:
        _lock(handle)
        yield
    finally:
        os.close(handle)


def _lock(handle: int) -> None:
    """Take the lock, unless another process holds it for too long: what a dead run left may hang."""
    deadline = time.monotonic() + _LOCK_LIMIT_S
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError:
            if time.monotonic() > deadline:
                return
            time.sleep(_LOCK_POLL_S)


def _base(home: Path) -> Path:
    """`loadcell-<uid>`, if it is a directory of ours; else one that nobody could have made before us."""
    base = usual(home)
    with contextlib.suppress(FileExistsError):
        base.mkdir(mode=0o755)
    if _is_ours(base):
        return base
    made = Path(tempfile.mkdtemp(prefix=f"loadcell-{os.getuid()}-", dir=home))
    made.chmod(0o755)
    (made / _BASE).touch()
    return made


def remove_abandoned(path: Path, free: Callable[[Path], bool] = lambda _: True) -> bool:
    """Remove a directory if it is still abandoned, and `free` gives True; True if so."""
    with _exclusive(path.parent):
        if not is_abandoned(path) or not free(path):
            return False
        old = _set_aside(path)
    _remove(old)
    return True


def remove_directory(path: Path) -> None:
    """Remove a directory of this process, and all in it."""
    _remove(_set_aside(path))


def _set_aside(path: Path) -> Path:
    """Free the name at once; whoever is killed during the removal leaves what is known as a remainder."""
    old = path.with_name(f".old-{os.getpid()}-{time.monotonic_ns()}")
    with contextlib.suppress(OSError):  # the file system cannot be written
        return path.rename(old)
    return path


def _remove(path: Path) -> None:
    """Remove a directory, its owner last: whatever remains can still be recognised."""
    with contextlib.suppress(OSError):
        for item in path.iterdir():
            if item.is_dir() and not item.is_symlink():
                shutil.rmtree(item, ignore_errors=True)
            elif item.name != _OWNER:
                item.unlink(missing_ok=True)
        if not [item for item in path.iterdir() if item.name != _OWNER]:
            shutil.rmtree(path, ignore_errors=True)
    base = path.parent
    with contextlib.suppress(OSError):
        if [item.name for item in base.iterdir()] == [_BASE]:
            shutil.rmtree(base)


def usual(home: Path = HOME) -> Path:
    """The place of this user's directories."""
    return home / f"loadcell-{os.getuid()}"


def _is_ours(path: Path) -> bool:
    return not path.is_symlink() and path.is_dir() and path.lstat().st_uid == os.getuid()


def abandoned(home: Path = HOME) -> list[Path]:
    """Directories of this user's dead processes."""
    return [path for path in _places(home) if is_abandoned(path)]


def _places(home: Path) -> Iterator[Path]:
    """Directories in the places where those of this user's processes lie."""
    made = (base for base in home.glob(f"{usual(home).name}-*") if (base / _BASE).is_file())
    for base in filter(_is_ours, (usual(home), *made)):
        with contextlib.suppress(OSError):
            yield from (path for path in base.iterdir() if path.is_dir() and not path.is_symlink())


def is_abandoned(path: Path) -> bool:
    """True if a directory has an owner, who is dead. What bears no mark of this module is somebody else's."""
    if _OLD.fullmatch(path.name):
        return True
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        owner: JsonObject = json.loads((path / _OWNER).read_text())
        where = (str(owner.get(key, "")) for key in ("boot", "namespace", "machine", "host"))
        process = ProcessIdentity(int(owner["pid"]), owner["pid_start_time"], *where)
        return "run" in owner and process.has_ended(local=path.parent.parent == HOME) is True
    making = _NEW.fullmatch(path.name)
    if making is None or procfs.started(int(making[1])) == int(making[2]):
        return False
    with contextlib.suppress(OSError):
        return time.time() - path.stat().st_mtime > _UNFINISHED_S
    return False
