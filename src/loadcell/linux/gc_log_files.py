"""The GC log that a JVM writes, by its command line, and the end of it."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from loadcell.linux import procfs
from loadcell.linux.java_processes import namespace_pid

#: -Xlog:what:file="/a:b.log":decorators:options; the word `file=` and the quotes are optional.
_UNIFIED: Final = re.compile(r'^-Xlog:(?P<what>[^:]*):(?:file=)?(?:"(?P<quoted>[^"]+)"|(?P<plain>[^:]+))')
_LEGACY: Final = re.compile(r"^-Xloggc:(?P<path>.+)$")
_STREAMS: Final = frozenset({"stdout", "stderr", ""})
MOST_BYTES: Final = 5 << 20
_HEAD_BYTES: Final = 1 << 16
_COLLECTOR: Final = re.compile(r"\] Using (?:The )?(?P<name>[\w ]+?)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class LogEnd:
    """Whole lines of the end of a log, and the collector that its begin names."""

    text: bytes
    collector: str = ""


def named(arguments: Sequence[str], pid: int) -> str:
    """Path of the GC log by the arguments of a JVM, whose id in its namespace is `pid`; empty without one."""
    path = ""
    for word in arguments:
        if match := _LEGACY.match(word):
            path = match["path"]
        elif (match := _UNIFIED.match(word)) and re.search(r"\b(?:gc|all)\b|^$", match["what"]):
            target = match["quoted"] or match["plain"]
            path = target if target not in _STREAMS else path
    return path.replace("%p", str(pid)).strip('"')


def located(pid: int, root: Path = procfs.ROOT) -> tuple[str, Path] | None:
    """Name of the GC log of a process, and its path from here; None without one."""
    name = named(procfs.arguments(pid, root), namespace_pid(pid, root))
    if not name:
        return None
    home = root / f"proc/{pid}"
    if "%t" in name:  # the start of the JVM, in its time zone
        folder = home / ("root" if name.startswith("/") else "cwd")
        pattern = name.lstrip("/").replace("%t", "*")
        paths = sorted(folder.glob(pattern), key=lambda path: path.stat().st_mtime)
        return (paths[-1].name, paths[-1]) if paths else None
    return name, home / "root" / name.lstrip("/") if name.startswith("/") else home / "cwd" / name


def end_of(path: Path) -> LogEnd:
    """The end of a log. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), str(path))
        head = file.read(_HEAD_BYTES)
        match = _COLLECTOR.search(head.decode("utf-8", "replace"))
        collector = match["name"].removesuffix(" Garbage Collector") if match else ""
        begin = max(0, status.st_size - MOST_BYTES)
        file.seek(begin)
        text = file.read(MOST_BYTES)
        return LogEnd(text.partition(b"\n")[2] if begin else text, collector)
