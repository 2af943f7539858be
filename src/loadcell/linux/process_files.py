"""Files that a process has written, opened by another user: by root, of a process that nobody trusts.

A process chooses the names in its directories. No link in place of a file is followed, the file has to be the
process's, and a pipe blocks nobody. Links on the path of a container lead nowhere outside of it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from pathlib import Path
from typing import Final

from loadcell.linux import procfs
from loadcell.linux.java_processes import owners

#: openat2(2), Linux 5.6, on all architectures.
_OPENAT2: Final = 437
_RESOLVE_NO_MAGICLINKS: Final = 0x02
_RESOLVE_IN_ROOT: Final = 0x10
_DIRECTORY: Final = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def owner_of(pid: int, root: Path = procfs.ROOT) -> int:
    """The user of the files that a process writes."""
    return max(owners(pid, root))


def directory(pid: int, path: Path, root: Path = procfs.ROOT) -> int:
    """Descriptor of a directory (O_PATH) as a process sees it; a relative path is one of its working
    directory. Raises OSError.
    """
    home = root / f"proc/{pid}"
    if _shares_files(home):
        folder = home / "root" / str(path).lstrip("/") if path.is_absolute() else home / "cwd" / path
        return os.open(folder, _DIRECTORY)
    if not path.is_absolute():
        path = Path(os.readlink(home / "cwd"), path)  # noqa: PTH115 - of /proc
    base = os.open(home / "root", _DIRECTORY)
    try:
        return _below(base, str(path).encode())
    finally:
        os.close(base)


def _shares_files(home: Path) -> bool:
    """True for a process whose paths are those of this one."""
    try:
        mounts = [os.readlink(path) for path in (home / "ns/mnt", "/proc/self/ns/mnt")]  # noqa: PTH115
        return mounts[0] == mounts[1] and os.path.samefile(home / "root", "/")  # noqa: PTH121
    except OSError:
        # a copy of /proc
        return not home.joinpath("ns").exists()


def _below(base: int, path: bytes) -> int:
    """A directory below another one, which is the root of all links on the way. Raises OSError."""
    how = _OpenHow(_DIRECTORY, 0, _RESOLVE_IN_ROOT | _RESOLVE_NO_MAGICLINKS)
    library = ctypes.CDLL(None, use_errno=True)
    descriptor = library.syscall(_OPENAT2, base, path, ctypes.byref(how), ctypes.sizeof(how))
    if descriptor < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), os.fsdecode(path))
    return int(descriptor)


def status(folder: int, name: str, owner: int) -> os.stat_result:
    """The status of a regular file of this owner. Raises OSError for anything else."""
    file = os.stat(name, dir_fd=folder, follow_symlinks=False)
    _check(file, name, owner)
    return file


def opened(folder: int, name: str, owner: int) -> int:
    """Descriptor of a regular file of this owner, for reading. Raises OSError for anything else."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    descriptor = os.open(name, flags, dir_fd=folder)
    try:
        _check(os.fstat(descriptor), name, owner)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _check(file: os.stat_result, name: str, owner: int) -> None:
    if not stat.S_ISREG(file.st_mode) or file.st_uid != owner:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), name)
