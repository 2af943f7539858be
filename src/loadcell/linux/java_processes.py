"""Processes of JVMs: which of a tree are one, and where each has its performance counters (hsperfdata).

The JVM creates `/tmp/hsperfdata_<user>/<pid>` in its mount and pid namespace, and maps it. A file that
its process does not map was left by an earlier process with the same id.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from loadcell.linux import procfs
from loadcell.linux.hsperfdata import opened

_MAPPED: Final = re.compile(
    r"^([0-9a-f]+-[0-9a-f]+) \S+ \S+ \S+ \d+ +(/\S*/hsperfdata_[^/]+/\d+)( \(deleted\))?$", re.MULTILINE
)
_LIBRARY: Final = "/libjvm.so"
#: Programs that become a JVM within their first moments.
_LAUNCHERS: Final = frozenset({"java", "jsvc"})
#: Characters of the maps of a process that are read: one of 10,000 mappings has 1 MB.
_MOST_CHARACTERS: Final = 16 << 20


class Lack(StrEnum):
    """Reason why a JVM has no readable counters."""

    #: -XX:-UsePerfData or -XX:+PerfDisableSharedMem
    OFF = "off"
    #: of another user
    FOREIGN = "foreign"
    #: there is a file, which an earlier process with the same id left
    STALE = "stale"
    #: the file was removed while the JVM runs
    REMOVED = "removed"


@dataclass(frozen=True)
class JavaProcess:
    """A JVM: the path of its counters with their possible owners, or the reason why there is none."""

    pid: int
    path: str = ""
    lack: Lack | None = None
    owners: frozenset[int] = frozenset()


def find(pids: Iterable[int], root: Path = procfs.ROOT) -> list[JavaProcess]:
    """The JVMs among these processes."""
    return [process for process in (inspect(pid, root) for pid in pids) if process is not None]


def inspect(pid: int, root: Path = procfs.ROOT) -> JavaProcess | None:
    """This process as a JVM; None if it is none, or gone."""
    home = f"{root}/proc/{pid}".replace("//", "/")
    try:
        with open(f"{home}/maps", encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - of /proc
            maps = file.read(_MOST_CHARACTERS)
    except PermissionError:
        return JavaProcess(pid, lack=Lack.FOREIGN) if _looks_like_one(pid, root) else None
    except OSError:
        return None
    if (mapped := _MAPPED.search(maps)) is not None:
        addresses, path, deleted = mapped.groups()
        # in a chroot the path in `maps` is complete, in a container it is that of the container
        paths = [f"{home}/map_files/{addresses}"] if deleted else [f"{home}/root{path}", path]
        return _readable(pid, paths, Lack.REMOVED, owners(pid, root))
    if _LIBRARY not in maps:
        return None
    return JavaProcess(pid, lack=Lack.STALE if leftover(pid, root) else Lack.OFF)


def is_launcher(pid: int, root: Path = procfs.ROOT) -> bool:
    """True of a process whose program starts a JVM in it."""
    program = procfs.link(pid, "exe", root)
    return program is not None and program.name in _LAUNCHERS


def runs_library(pid: int, root: Path = procfs.ROOT) -> bool:
    """True of a process that maps the library of a JVM, without a look at its files."""
    try:
        with open(f"{root}/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            return _LIBRARY in file.read(_MOST_CHARACTERS)
    except OSError:
        return False


def namespace_pid(pid: int, root: Path = procfs.ROOT) -> int:
    """Id of a process in its own pid namespace."""
    for line in procfs.read_small(f"{root}/proc/{pid}/status").splitlines():
        if line.startswith("NSpid:"):
            return int(line.split()[-1])
    return pid


def owners(pid: int, root: Path = procfs.ROOT) -> frozenset[int]:
    """Users whose files a process may be trusted to have made: its effective one, and root."""
    for line in procfs.read_small(f"{root}/proc/{pid}/status").splitlines():
        if line.startswith("Uid:"):
            return frozenset({0, int(line.split()[2])})
    return frozenset({0})


def leftover(pid: int, root: Path = procfs.ROOT) -> str:
    """A file of counters with the id of this process, whoever made it; empty if there is none."""
    number = namespace_pid(pid, root)
    for temporary in (root / f"proc/{pid}/root/tmp", root / "tmp"):
        try:
            names = [name for name in os.listdir(temporary) if name.startswith("hsperfdata_")]  # noqa: PTH208
        except OSError:
            continue
        for name in names:
            if (temporary / name / str(number)).exists():
                return str(temporary / name / str(number))
    return ""


def _looks_like_one(pid: int, root: Path) -> bool:
    """True if a process of another user has the name or a file of a JVM."""
    return procfs.line(root / f"proc/{pid}/comm") == "java" or bool(leftover(pid, root))


def _readable(pid: int, paths: Iterable[str], otherwise: Lack, trusted: frozenset[int]) -> JavaProcess:
    lack = otherwise
    for path in paths:
        try:
            os.close(opened(path, trusted))
        except PermissionError:
            lack = Lack.FOREIGN if otherwise is not Lack.REMOVED or "map_files" not in path else lack
        except OSError:
            continue
        else:
            return JavaProcess(pid, path, owners=trusted)
    return JavaProcess(pid, lack=lack)
