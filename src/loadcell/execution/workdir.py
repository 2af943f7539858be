"""Work directory of a run: where its target keeps its data when the plan names no place.

A later run sweeps the directory when its owner is dead. Before that a guardian does: a process that outlives
a killed run, and removes its remains, namely servers, their memory, and the work directory. It waits at the
end of a pipe whose other end only the run has. A byte dismisses it. The end of the pipe without a byte is the
end of the run by a kill. Until then it is a bare interpreter, which costs nothing.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import SubprocessError

from loadcell.linux import mounts, process_directories, procfs
from loadcell.linux.process import end_recorded, plain_environment
from loadcell.linux.process_directories import HOME as HOME
from loadcell.linux.process_directories import abandoned
from loadcell.linux.process_directories import make_directory as make_directory
from loadcell.systems.shared.disk_image import undo_below

#: Frees what a run holds outside its directory.
Release = Callable[[Path], None]
#: Takes one line.
Log = Callable[[str], None]


def _nothing(_: object) -> None: ...


def remove(path: Path, release: Release = _nothing, log: Log = _nothing) -> bool:
    """Remove the work directory of this process's run and all in it, images first, after `release`.

    What cannot be freed or unmounted leaves it to a later run: False.
    """
    if not _free(path, release, log):
        return False
    process_directories.remove_directory(path)
    return True


def _free(path: Path, release: Release, log: Log) -> bool:
    """Free what a run holds outside its directory, and unmount its images; False if that is impossible."""
    try:
        release(path)
        return undo_below(path) and mounts.detach_below(path.resolve())
    except (OSError, SubprocessError) as error:
        log(f"left {path} to a later run: {error}")
    return False


def sweep(home: Path = HOME, release: Release = _nothing, log: Log = _nothing) -> list[str]:
    """Remove what dead runs of this user left; returns their names.

    What some process still works in stays, except processes that a killed program of such a run has left.
    One directory that cannot be removed keeps no other from it.
    """

    def free(path: Path) -> bool:
        for target in path.glob("*/"):
            end_recorded(target)
        used = any(directory == path or path in directory.parents for directory in _working_directories())
        return not used and _free(path, release, log)

    return [path.name for path in abandoned(home) if process_directories.remove_abandoned(path, free)]


def _working_directories() -> set[Path]:
    """Working directories of all processes, as far as readable: a dying server is still in its data.

    One that has been removed under its process holds nothing any more.
    """
    directories = (procfs.link(pid, "cwd") for pid in procfs.process_ids())
    return {item for item in directories if item is not None and not item.name.endswith(" (deleted)")}


_WAIT = "import os, sys; os.read(0, 1) or os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
#: Knows all targets, which the packages below do not.
_SWEEPER = "loadcell.cli.sweep"
#: How long servers whose run was killed may take for their own end. A later run removes the remainder.
_LIMIT_S = 60.0
_POLL_S = 0.2


@contextlib.contextmanager
def guarded(home: Path) -> Iterator[None]:
    """Have the remains in `home` swept if this process is killed during the block."""
    command = [sys.executable, "-I", "-S", "-c", _WAIT, "-m", _SWEEPER, str(home)]
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=plain_environment(),
            cwd="/",
            start_new_session=True,  # no signal of a terminal is for it
        )
    except OSError:
        yield  # a later run sweeps
        return
    assert process.stdin is not None
    try:
        yield
    finally:
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(b".")
            process.stdin.flush()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        process.wait()


def sweep_after_kill(home: Path, release: Callable[[Path], None]) -> None:
    """Sweep what dead runs left, as soon as their servers have ended."""
    deadline = time.monotonic() + _LIMIT_S
    while process_directories.abandoned(home) and time.monotonic() < deadline:
        sweep(home, release)
        time.sleep(_POLL_S)
