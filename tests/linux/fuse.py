"""FUSE file systems of our own, each served by a process of its own, mounted while a block runs (as root)."""

from __future__ import annotations

import contextlib
import ctypes
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

_MNT_DETACH = 2  # umount2(2)


def unmount(place: Path, flags: int = 0) -> bool:
    """Whether nothing is mounted there any more; without flags nobody may be using it."""
    return bool(ctypes.CDLL(None).umount2(bytes(place), flags) == 0)


@contextlib.contextmanager
def mounted(server: str, place: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A file system on a new directory, by a module of this folder: the process that serves it."""
    place.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", f"linux.{server}", str(place), *words],
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "mounted\n"
        yield process
    finally:
        process.kill()  # whoever waits for an answer of it is let go
        process.communicate()
        unmount(place, _MNT_DETACH)
