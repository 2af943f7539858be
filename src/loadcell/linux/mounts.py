"""Mounts of this process's namespace, looked up without touching the file systems: one may not answer."""

from __future__ import annotations

import ctypes
import os
import re
from pathlib import Path

_DETACH = 2  # sys/mount.h: MNT_DETACH
_OCTAL = re.compile(r"\\([0-7]{3})")


def mount_points() -> list[Path]:
    """Mount points, in the order in which they were mounted."""
    try:
        lines = Path("/proc/self/mounts").read_text(errors="surrogateescape").splitlines()
    except OSError:
        return []
    return [Path(_OCTAL.sub(lambda match: chr(int(match[1], 8)), line.split()[1])) for line in lines]


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
