"""The GC log that a JVM writes, by its command line and environment, and the end of it."""

from __future__ import annotations

import glob
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from loadcell.linux import procfs
from loadcell.linux.java_processes import namespace_pid

#: -Xlog:what:file="/a:b.log":decorators:options; the word `file=` and the quotes are optional.
_UNIFIED: Final = re.compile(r'^-Xlog:(?P<what>[^:]*):(?:file=)?(?:"(?P<quoted>[^"]+)"|(?P<plain>[^:]+))')
_LEGACY: Final = re.compile(r"^-Xloggc:(?P<path>.+)$")
_STREAMS: Final = frozenset({"stdout", "stderr", ""})
#: Options of the launcher whose next argument is the application.
_APPLICATION: Final = frozenset({"-jar", "-m", "--module"})
#: Options of the launcher whose next argument is their value.
_WITH_VALUE: Final = frozenset({
    "-cp", "-classpath", "--class-path", "-p", "--module-path", "--upgrade-module-path", "--add-modules",
    "--limit-modules", "--add-exports", "--add-opens", "--add-reads", "--patch-module", "--source",
    "--enable-native-access", "-d", "--describe-module",
})  # fmt: skip
MOST_BYTES: Final = 5 << 20
_HEAD_BYTES: Final = 1 << 16
_COLLECTOR: Final = re.compile(r"\] Using (?:The )?(?P<name>[\w ]+?)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class LogEnd:
    """Whole lines of the end of a log, and the collector that its begin names."""

    text: bytes
    collector: str = ""


def named(arguments: Sequence[str], pid: int, environment: Mapping[str, str] | None = None) -> str:
    """Path of the GC log by the command line and the environment of a JVM; empty without one.

    `pid` is its id in its namespace. The last option counts.
    """
    path = ""
    for word in _options(arguments, environment or {}):
        if match := _LEGACY.match(word):
            path = match["path"]
        elif (match := _UNIFIED.match(word)) and re.search(r"\b(?:gc|all)\b|^$", match["what"]):
            target = match["quoted"] or match["plain"]
            path = target if target not in _STREAMS else path
    return path.replace("%p", str(pid)).strip('"')


def _options(arguments: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """Options of a JVM in the order in which it applies them."""
    is_launcher = bool(arguments) and Path(arguments[0]).name == "java"
    before = [*_words(environment.get("JAVA_TOOL_OPTIONS", ""))]
    if is_launcher:
        before += _words(environment.get("JDK_JAVA_OPTIONS", ""))
    dedicated = _before_application(arguments[1:]) if is_launcher else arguments[1:]
    return [*before, *dedicated, *_words(environment.get("_JAVA_OPTIONS", ""))]


def _before_application(arguments: Sequence[str]) -> Iterator[str]:
    """Arguments of the launcher: those behind the main class or the JAR are of the application."""
    words = iter(arguments)
    for word in words:
        if word in _APPLICATION or word.startswith("--module=") or not word.startswith(("-", "@")):
            return
        yield word
        if word in _WITH_VALUE:
            next(words, None)


def _words(text: str) -> list[str]:
    """Words of a variable with options; quotes of both kinds join, and a backslash has no meaning."""
    splitter = shlex.shlex(text, posix=True, punctuation_chars=False)
    splitter.whitespace_split, splitter.escape, splitter.commenters = True, "", ""
    try:
        return list(splitter)
    except ValueError:  # an open quote
        return text.split()


def options(pid: int, root: Path = procfs.ROOT) -> list[str]:
    """Options of a JVM in the order in which it applies them, by its command line and environment."""
    return _options(procfs.arguments(pid, root), _environment(pid, root))


def _environment(pid: int, root: Path) -> dict[str, str]:
    rows = procfs.read_small(f"{root}/proc/{pid}/environ").split("\0")
    return dict(row.partition("=")[::2] for row in rows if "=" in row)


def located(pid: int, root: Path = procfs.ROOT) -> tuple[str, Path] | None:
    """Name of the GC log of a process, and its path from here; None without one."""
    name = named(procfs.arguments(pid, root), namespace_pid(pid, root), _environment(pid, root))
    if not name:
        return None
    folder = root / f"proc/{pid}" / ("root" if name.startswith("/") else "cwd")
    relative = name.lstrip("/")
    # %t is the start of the JVM, in its time zone; with rotation JDK 8 writes NAME.NUMBER.current
    pattern = glob.escape(relative).replace("%t", "*")
    paths = [*folder.glob(pattern), *folder.glob(f"{pattern}.*.current")]
    if not paths:
        return None if "%t" in name else (name, folder / relative)
    newest = max(paths, key=_modified)
    return ("/" if name.startswith("/") else "") + str(newest.relative_to(folder)), newest


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def end_of(descriptor: int) -> LogEnd:
    """The end of an open log, which is closed. Raises OSError."""
    with os.fdopen(descriptor, "rb") as file:
        head = file.read(_HEAD_BYTES)
        match = _COLLECTOR.search(head.decode("utf-8", "replace"))
        collector = match["name"].removesuffix(" Garbage Collector") if match else ""
        begin = max(0, os.fstat(descriptor).st_size - MOST_BYTES)
        file.seek(begin)
        text = file.read(MOST_BYTES)
        return LogEnd(text.partition(b"\n")[2] if begin else text, collector)
