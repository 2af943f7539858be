"""Mounts of this process's namespace, looked up without touching the file systems: one may not answer."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from loadcell.linux import mount_table, procfs

_DETACH = 2  # sys/mount.h: MNT_DETACH


def mount_points() -> list[Path]:
    """Mount points, in the order in which they were mounted."""
    fields = (row.split(" ") for row in mount_table.rows(procfs.ROOT / "proc/self/mounts"))
    return [Path(mount_table.plain(words[1])) for words in fields if len(words) > 1]


def is_mounted(path: Path) -> bool:
    """True if something is mounted on the path, which is resolved."""
    return path in mount_points()


def detach(path: Path) -> bool:
    """Take what is mounted on a path out of sight; it ends with the last program that uses it.

    True if nothing is left.
    """
    return _detach([mounted for mounted in mount_points() if mounted == path])


def detach_below(directory: Path) -> bool:
    """Take all mounts below a directory out of sight. True if nothing is left."""
    return _detach([path for path in reversed(mount_points()) if directory in path.parents])


def _detach(mounted: list[Path]) -> bool:
    umount2 = ctypes.CDLL(None, use_errno=True).umount2
    failed = [path for path in mounted if umount2(os.fsencode(path), _DETACH) < 0]
    return not failed
