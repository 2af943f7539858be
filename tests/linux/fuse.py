"""FUSE file systems of the tests, each served by a separate process, mounted while a block runs (as root)."""

from __future__ import annotations

import contextlib
import ctypes
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

_MNT_DETACH = 2  # umount2(2)


def unmount(mount_point: Path, flags: int = 0) -> bool:
    """True if nothing is mounted there any more; without flags nobody may be using it."""
    return bool(ctypes.CDLL(None).umount2(bytes(mount_point), flags) == 0)


@contextlib.contextmanager
def mounted(server: str, mount_point: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A file system on a new directory, by a module of this folder: the process that serves it."""
    mount_point.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", f"linux.{server}", str(mount_point), *words],
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
        unmount(mount_point, _MNT_DETACH)
