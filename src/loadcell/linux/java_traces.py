"""Files that a JVM leaves behind: GC log, crash report, heap dumps.

Their directories are opened while it runs: afterwards nothing states where a process worked, and those of a
container are gone.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Final

from loadcell.linux import gc_log_files, process_files, procfs
from loadcell.linux.java_processes import is_launcher, namespace_pid, runs_library
from loadcell.linux.procfs import ProcessStat

_ERROR_FILE: Final = re.compile(r"-XX:ErrorFile=(?P<path>.+)")
_DUMP_PATH: Final = re.compile(r"-XX:HeapDumpPath=(?P<path>.+)")
#: First lines of a crash report (vmError.cpp of OpenJDK).
_CRASH_REPORT: Final = re.compile(
    rb"#[ \t]*\r?\n# (?:A fatal error has been detected|There is insufficient memory)"
)
_MOST_CRASH_BYTES: Final = 1 << 20
#: Heap dumps of a JVM that are looked for.
_MOST_DUMPS: Final = 10
#: Time stamps of files are those of the last clock tick.
_TICK_S: Final = 2.0
#: A JVM needs longer than this from its start to an error; the start of a process is a time in ticks.
_LEAST_LIFE_S: Final = 0.05


@dataclass(frozen=True)
class _Location:
    """A file in an open directory; `shown` is the directory for people.

    A program chooses the names in its directories: files of other owners, links and pipes are none of it.
    """

    descriptor: int
    shown: str
    name: str

    def statuses(self, owner: int) -> Iterator[tuple[str, os.stat_result]]:
        """Heap dumps of this name: compressed ones, and those after the first one."""
        for name in (self.name, f"{self.name}.gz"):
            for number in range(_MOST_DUMPS):
                numbered = f"{name}.{number}" if number else name
                with contextlib.suppress(OSError):
                    yield numbered, process_files.status(self.descriptor, numbered, owner)

    def path(self, name: str) -> str:
        """The path of a file for people."""
        return str(Path(self.shown, name))


@dataclass
class JavaTraces:
    """A JVM with the locations of its files. `command` is its command line."""

    pid: int
    start: int
    command: tuple[str, ...]
    begin_s: float
    #: the user of its files
    owner: int
    end_s: float = inf
    log_name: str = ""
    #: path of heap dumps without the process in their names; empty where it is in them
    dump_name: str = ""
    #: mount namespace and root directory, in which its paths are valid
    mounts: tuple[Path, Path] | None = None
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
        if now is not None and not now.has_ended and now.start == self.start:
            return False
        self.end_s = min(self.end_s, time.time())
        return True

    def locate_log(self, root: Path = procfs.ROOT) -> None:
        """Find the GC log that it writes now: a rotated one changes its name."""
        log = gc_log_files.located(self.pid, root)
        if log is None or log[0] == self.log_name:
            return
        location = _opened(self.pid, log[0], root)
        if location is not None:
            if self._log is not None:
                os.close(self._log.descriptor)
            self.log_name, self._log = log[0], location

    @property
    def descriptors(self) -> list[int]:
        """Those of the directories."""
        return [location.descriptor for location in self._locations]

    def with_descriptors(self, descriptors: Sequence[int]) -> JavaTraces:
        """The same in another process, to which the descriptors were sent in their order."""
        numbers = iter(descriptors)

        def here(location: _Location) -> _Location:
            return replace(location, descriptor=next(numbers))

        crashes, dumps = list(map(here, self._crashes)), list(map(here, self._dumps))
        log = None if self._log is None else here(self._log)
        return replace(self, _log=log, _crashes=crashes, _dumps=dumps)

    @property
    def _locations(self) -> list[_Location]:
        return [*self._crashes, *self._dumps, *([] if self._log is None else [self._log])]

    def log(self) -> int | None:
        """The GC log, open; None without one. Raises OSError."""
        return None if self._log is None else self._open(self._log)

    def crashes(self) -> Iterator[tuple[str, bytes]]:
        """Crash reports: names and texts, of which the first one MiB."""
        for location in self._crashes:
            with contextlib.suppress(OSError), os.fdopen(self._open(location), "rb") as file:
                if self._is_of_life(os.fstat(file.fileno())):
                    text = file.read(_MOST_CRASH_BYTES)
                    if _CRASH_REPORT.match(text):
                        yield location.path(location.name), text

    def dumps(self) -> list[tuple[str, os.stat_result]]:
        """Heap dumps: names with sizes and times."""
        return [
            (location.path(name), status)
            for location in self._dumps
            for name, status in location.statuses(self.owner)
            if self._is_of_life(status)
        ]

    def _open(self, location: _Location) -> int:
        return process_files.opened(location.descriptor, location.name, self.owner)

    def _is_of_life(self, status: os.stat_result) -> bool:
        """True for a file that was last written while the JVM ran."""
        return self.begin_s - _TICK_S <= status.st_mtime <= self.end_s + _TICK_S

    def ran_at(self, instant_s: float) -> bool:
        """True if the JVM ran at an instant, long enough for an error."""
        return self.begin_s + _LEAST_LIFE_S <= instant_s <= self.end_s + _TICK_S

    def shares_dumps(self, other: JavaTraces) -> bool:
        """True for another JVM whose heap dumps have the same path and the same owner."""
        source = self.mounts, self.dump_name, self.owner
        return self.pid != other.pid and source == (other.mounts, other.dump_name, other.owner)

    def close(self) -> None:
        """Close the directories."""
        for descriptor in self.descriptors:
            os.close(descriptor)


def traces_of(pid: int, root: Path = procfs.ROOT) -> JavaTraces | None:
    """The traces of a JVM that runs; None if it is gone."""
    process = procfs.process_stat(root, pid)
    if process is None or process.has_ended:
        return None
    traces = _of_process(process, root)
    traces.locate_log(root)
    number = str(namespace_pid(pid, root))
    options = gc_log_files.options(pid, root)

    def named(option: re.Pattern[str]) -> str:
        matches = [match["path"] for word in options if (match := option.fullmatch(word))]
        return matches[-1].replace("%p", number) if matches else ""

    def located(paths: list[str]) -> list[_Location]:
        locations = (_opened(pid, path, root) for path in paths)
        return [location for location in locations if location is not None]

    crash, dump = named(_ERROR_FILE), named(_DUMP_PATH)
    usual, usual_dump = f"hs_err_pid{number}.log", f"java_pid{number}.hprof"
    traces._crashes = located([crash] if crash else [usual, f"/tmp/{usual}"])  # noqa: S108
    inside = located([f"{dump}/{usual_dump}"]) if dump else []
    traces._dumps = [*located([dump or usual_dump]), *inside]
    if inside:  # the path is that of a directory
        traces.dump_name = ""
    return traces


def sharing_dumps(jvm: JavaTraces, root: Path = procfs.ROOT) -> list[JavaTraces]:
    """Running JVMs whose heap dumps have the same path as those of a JVM.

    Texts alone are compared. A path of another mount namespace would lead elsewhere, or to a dead mount.
    """
    if not jvm.dump_name or jvm.mounts is None:
        return []
    return [
        other
        for stat in procfs.all_stats(root)
        # reading the command line of a process that hangs on a dead mount would hang, too
        if stat.state != "D" and not stat.has_ended and _mounts(stat.pid, root) == jvm.mounts
        and jvm.shares_dumps(other := _of_process(stat, root)) and _is_jvm(stat.pid, root)
    ]  # fmt: skip


def _of_process(process: ProcessStat, root: Path) -> JavaTraces:
    """The traces of a process without its files."""
    running_s = time.clock_gettime(time.CLOCK_BOOTTIME) - process.start / os.sysconf("SC_CLK_TCK")
    command = tuple(procfs.command_line(process.pid, root))
    owner = process_files.owner_of(process.pid, root)
    return JavaTraces(
        process.pid, process.start, command, time.time() - running_s, owner,
        dump_name=_dump_name(process.pid, root), mounts=_mounts(process.pid, root),
    )  # fmt: skip


def _is_jvm(pid: int, root: Path) -> bool:
    """True of a JVM; a shell or `timeout` can have the options of one on its command line."""
    return is_launcher(pid, root) or runs_library(pid, root)


def _mounts(pid: int, root: Path) -> tuple[Path, Path] | None:
    namespace, directory = procfs.link(pid, "ns/mnt", root), procfs.link(pid, "root", root)
    return None if namespace is None or directory is None else (namespace, directory)


def _dump_name(pid: int, root: Path) -> str:
    """The path of the heap dumps by the options of a process; empty where it has the process in it."""
    options = gc_log_files.options(pid, root)
    paths = [match["path"] for word in options if (match := _DUMP_PATH.fullmatch(word))]
    if not paths or "%p" in paths[-1]:
        return ""
    return str((procfs.link(pid, "cwd", root) or Path()) / paths[-1])


def _opened(pid: int, path: str, root: Path) -> _Location | None:
    try:
        descriptor = process_files.directory(pid, Path(path).parent, root)
    except OSError:
        return None
    shown = Path(path).parent
    if not shown.is_absolute():
        shown = (procfs.link(pid, "cwd", root) or Path()) / shown
    return _Location(descriptor, str(shown), Path(path).name)
