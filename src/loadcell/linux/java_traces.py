"""Files that a JVM leaves behind: GC log, crash report, heap dumps.

Their directories are opened while it runs: afterwards nothing states where a process worked, and those of a
container are gone.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from loadcell.linux import gc_log_files, procfs
from loadcell.linux.java_processes import namespace_pid

_ERROR_FILE: Final = re.compile(r"-XX:ErrorFile=(?P<path>.+)")
_DUMP_PATH: Final = re.compile(r"-XX:HeapDumpPath=(?P<path>.+)")
#: Time stamps of files are those of the last clock tick.
_TICK_S: Final = 2.0


@dataclass(frozen=True)
class _Location:
    """Files of a pattern in an open directory; `shown` is the directory for people."""

    descriptor: int
    shown: str
    pattern: str

    def files(self, since_s: float) -> Iterator[tuple[str, Path, os.stat_result]]:
        """Regular files written since an instant: name, path while the directory is open, status."""
        for path in sorted(Path(f"/proc/self/fd/{self.descriptor}").glob(self.pattern)):
            with contextlib.suppress(OSError):
                status = path.stat()
                if stat.S_ISREG(status.st_mode) and status.st_mtime >= since_s - _TICK_S:
                    yield str(Path(self.shown, path.name)), path, status


@dataclass
class JavaTraces:
    """A JVM with the locations of its files. `command` is its command line."""

    pid: int
    start: int
    command: tuple[str, ...]
    begin_s: float
    log_name: str = ""
    _log: _Location | None = None
    _crashes: list[_Location] = field(default_factory=list)
    _dumps: list[_Location] = field(default_factory=list)

    @property
    def flags(self) -> tuple[str, ...]:
        """Options of the JVM."""
        return tuple(word for word in self.command if word.startswith("-X"))

    def has_ended(self, root: Path = procfs.ROOT) -> bool:
        """True where its process is gone; another one may have its id."""
        now = procfs.process_stat(root, self.pid)
        return now is None or now.has_ended or now.start != self.start

    def locate_log(self, root: Path = procfs.ROOT) -> None:
        """Find the GC log that it writes now: a rotated one changes its name."""
        log = gc_log_files.located(self.pid, root)
        if log is None or (self._log is not None and log[1].name == self._log.pattern):
            return
        name, path = log
        location = _opened(path.parent, str(Path(name).parent), path.name)
        if location is not None:
            if self._log is not None:
                os.close(self._log.descriptor)
            self.log_name, self._log = name, location

    def log(self) -> Path | None:
        """The GC log, while its directory is open."""
        return None if self._log is None else Path(f"/proc/self/fd/{self._log.descriptor}", self._log.pattern)

    def crashes(self) -> list[tuple[str, Path]]:
        """Crash reports: names and paths."""
        return [(name, path) for location in self._crashes for name, path, _ in location.files(self.begin_s)]

    def dumps(self) -> list[tuple[str, os.stat_result]]:
        """Heap dumps: names with sizes and times."""
        return [
            (name, status) for location in self._dumps for name, _, status in location.files(self.begin_s)
        ]

    def close(self) -> None:
        """Close the directories."""
        for location in (*self._crashes, *self._dumps, *([] if self._log is None else [self._log])):
            os.close(location.descriptor)


def traces_of(pid: int, root: Path = procfs.ROOT) -> JavaTraces | None:
    """The traces of a JVM that runs; None if it is gone."""
    process = procfs.process_stat(root, pid)
    if process is None or process.has_ended:
        return None
    running_s = time.clock_gettime(time.CLOCK_BOOTTIME) - process.start / os.sysconf("SC_CLK_TCK")
    command = tuple(procfs.command_line(pid, root))
    traces = JavaTraces(pid, process.start, command, time.time() - running_s)
    traces.locate_log(root)
    number = str(namespace_pid(pid, root))
    options = gc_log_files.options(pid, root)

    def named(option: re.Pattern[str]) -> str:
        matches = [match["path"] for word in options if (match := option.fullmatch(word))]
        return matches[-1].replace("%p", number) if matches else ""

    def add(locations: list[_Location], path: str) -> None:
        directory = root / f"proc/{pid}" / ("root" if path.startswith("/") else "cwd")
        shown = Path(path).parent
        if not path.startswith("/"):
            shown = (procfs.link(pid, "cwd", root) or Path()) / shown
        location = _opened(directory / Path(path.lstrip("/")).parent, str(shown), f"{Path(path).name}*")
        locations += [] if location is None else [location]

    crash = named(_ERROR_FILE)
    for path in [crash] if crash else [f"hs_err_pid{number}.log", f"/tmp/hs_err_pid{number}.log"]:  # noqa: S108
        add(traces._crashes, path)
    dump = named(_DUMP_PATH)
    default = f"java_pid{number}.hprof"
    for path in [dump, f"{dump}/{default}"] if dump else [default]:
        add(traces._dumps, path)
    return traces


def _opened(directory: Path, shown: str, pattern: str) -> _Location | None:
    try:
        descriptor = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    return _Location(descriptor, shown, pattern)
