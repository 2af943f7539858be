"""async-profiler in a running JVM: the library, the commands that JVMs take over their attach socket, and
the base of samplers, each of one event.

The library is attached and started once before the load, which finds what the kernel allows. Samples are of
the measurement: the profiler is started when that begins, and stopped when it ends.
"""

from __future__ import annotations

import contextlib
import math
import os
import platform
import re
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final, Generic, TypeVar

from loadcell import _engine
from loadcell.linux import process_directories, procfs
from loadcell.linux.java_attach import AttachError, load_agent
from loadcell.model.json import JsonObject
from loadcell.model.message import NO_OUTPUT, ForeignText, Message, MessageCode
from loadcell.model.profile_record import ProfileRecord
from loadcell.plan.profile import AsyncProfile
from loadcell.profilers.java_stacks import Stacks, folded, read
from loadcell.profilers.jvms import jvms_of, sees
from loadcell.profilers.perf import ProfilerError
from loadcell.profilers.sampler import LONGEST_S, Download
from loadcell.store.layout import FLAMES, FOLDED
from loadcell.store.write import TrialWriter

ASYNC_PROFILER_NO_LIBRARY = MessageCode("async-profiler.no-library", path=str, option=str)
ASYNC_PROFILER_NOT_IN_JAR = MessageCode("async-profiler.not-in-jar", path=str, option=str, member=str)
ASYNC_PROFILER_ABSENT = MessageCode("async-profiler.absent", package=str, option=str)
ASYNC_PROFILER_NO_PROCESSOR = MessageCode("async-profiler.no-processor", processor=str, option=str)
ASYNC_PROFILER_OTHER_FILES = MessageCode("async-profiler.other-files", pid=str, path=str)
ASYNC_PROFILER_NOT_LOADED = MessageCode("async-profiler.not-loaded", pid=str, reason=Message)
ASYNC_PROFILER_BUSY = MessageCode("async-profiler.busy", pid=str)
ASYNC_PROFILER_REFUSED = MessageCode("async-profiler.refused", pid=str, output=ForeignText)

#: The release that plans use without `library`.
RELEASE: Final = Download(
    "tools.profiler",
    "async-profiler",
    "4.3",
    "d24119d121e397d9a4dc1441689fbbc5cd197d9612ab1212606dfbe8cdffdbfb",
)
_FILE: Final = "libasyncProfiler.so"
#: Directory of this process for files that agents write. The agent takes their paths in a list separated by
#: commas, with `%` for patterns; the name of a run, which is that of its work directory, may have both.
_DIRECTORY: Final = "profile"
#: Directories of the jar by processor, as uname(1) names it.
_DIRECTORIES: Final = {"x86_64": "linux-x64", "aarch64": "linux-arm64"}
#: The first start resolves the symbols of all libraries: about a second, longer on a busy machine.
_ANSWER_LIMIT_S: Final = 60.0
_BUSY: Final = "already started"
_LOG_MARK: Final = re.compile(r"^\[(?:ERROR|WARN|INFO)\] ")

ProfileT = TypeVar("ProfileT", bound=AsyncProfile)


@dataclass(frozen=True)
class Event:
    """An event as the agent's arguments select it, and its name in records."""

    name: str
    arguments: str


@dataclass
class Agent:
    """The profiler in one JVM, whose files are in `home`: a path without `,` and `%`."""

    pid: int
    library: Path
    home: Path
    is_running: bool = False

    def start(self, event: Event, limit_s: float) -> None:
        """Begin a profile; an earlier one is dropped. Raises ProfilerError.

        It ends by itself after `limit_s`, so that a killed loadcell leaves none in a running JVM.
        """
        self._run(f"start,{event.arguments},threads,timeout={math.ceil(limit_s)}")
        self.is_running = True

    def stop(self) -> tuple[str, str]:
        """End the profile: collapsed stacks with the number of samples, and with their total value.

        Raises ProfilerError.
        """
        form = "collapsed,threads,ann,dot"
        counts = self._written(f"dump,{form}")
        totals = self._written(f"stop,{form},total")
        self.is_running = False
        return counts, totals

    def drop(self) -> None:
        """End the profile, if one runs, whatever happened before."""
        if self.is_running:
            self.is_running = False
            with contextlib.suppress(ProfilerError):
                self._run("stop")

    def version(self) -> str:
        """`4.3`. Raises ProfilerError."""
        return self._written("version").strip()

    def _written(self, arguments: str) -> str:
        """The text that the agent writes. Raises ProfilerError."""
        path = self._file("output")
        self._run(f"{arguments},file={path}")
        return _text(path)

    def _run(self, arguments: str) -> None:
        log = self._file("log")
        try:
            result = load_agent(self.pid, self.library, f"{arguments},log={log}", _ANSWER_LIMIT_S)
        except AttachError as error:
            raise ProfilerError(ASYNC_PROFILER_NOT_LOADED(pid=self.pid, reason=error.message)) from error
        if result != 0:
            errors = [_LOG_MARK.sub("", line).strip() for line in _text(log).splitlines()]
            reason = next(filter(None, errors), NO_OUTPUT.text)
            if _BUSY in reason:
                raise ProfilerError(ASYNC_PROFILER_BUSY(pid=self.pid))
            raise ProfilerError(ASYNC_PROFILER_REFUSED(pid=self.pid, output=reason))

    def _file(self, name: str) -> Path:
        """An empty file that the user of the JVM can write, in a directory that this user cannot change."""
        path = self.home / f"{self.pid}-{name}"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        try:
            if os.geteuid() == 0:
                user = (Path("/proc") / str(self.pid)).stat()
                os.fchown(descriptor, user.st_uid, user.st_gid)
        finally:
            os.close(descriptor)
        return path


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def library_in(named: Path | None, unpacked: Path | None, home: Path, option: str) -> Path:
    """The library: the named one, or that of the package; from a jar it is copied to `home`.

    Raises ProfilerError.
    """
    directory = _DIRECTORIES.get(platform.machine())
    if named is not None and named.suffix != ".jar":
        if not named.is_file():
            raise ProfilerError(ASYNC_PROFILER_NO_LIBRARY(path=named, option=option))
        return named.absolute()
    if directory is None:
        raise ProfilerError(ASYNC_PROFILER_NO_PROCESSOR(processor=platform.machine(), option=option))
    if named is None:
        library = None if unpacked is None else unpacked / directory / _FILE
        if library is None or not library.is_file():
            raise ProfilerError(ASYNC_PROFILER_ABSENT(package=RELEASE.label, option=option))
        return library
    member = f"{directory}/{_FILE}"
    library = home / _FILE
    try:
        with zipfile.ZipFile(named) as jar:
            library.write_bytes(jar.read(member))
    except FileNotFoundError:
        raise ProfilerError(ASYNC_PROFILER_NO_LIBRARY(path=named, option=option)) from None
    except (KeyError, OSError, zipfile.BadZipFile):
        raise ProfilerError(ASYNC_PROFILER_NOT_IN_JAR(path=named, member=member, option=option)) from None
    library.chmod(0o755)
    return library


@dataclass
class AsyncSampler(ABC, Generic[ProfileT]):
    """Samples the JVMs of one trial's target, with files in a directory that is gone afterwards; not in
    `work`, whose name the agent may not understand.

    `unpacked` is the directory of the unpacked package; the load takes at most `limit_s`.
    """

    #: kind of the profile in records
    kind: ClassVar[str]
    #: nanoseconds or bytes of the profiler in one unit of the folded stacks
    scale: ClassVar[int] = 1
    #: True if the innermost frame is a class: of an object, or of a lock
    ends_in_class: ClassVar[bool] = True

    options: ProfileT
    work: Path
    process_kind: Callable[[str], str] = str
    unpacked: Path | None = None
    limit_s: float = LONGEST_S
    root: Path = procfs.ROOT
    _home: Path | None = None
    _agents: list[Agent] = field(default_factory=list)
    _event: Event | None = None
    _version: str = ""
    _stacks: list[tuple[Stacks, Stacks]] = field(default_factory=list)
    _lines: list[str] = field(default_factory=list)

    @classmethod
    def check(cls, options: AsyncProfile) -> None:
        """Raises ProfilerError if the named library is missing."""
        if options.library_path is not None and not options.library_path.is_file():
            raise ProfilerError(
                ASYNC_PROFILER_NO_LIBRARY(path=options.library_path, option=f"profile.{cls.kind}.library")
            )

    @classmethod
    def download(cls, options: AsyncProfile) -> Download | None:
        """The package, unless the plan names a library."""
        return RELEASE if options.library_path is None else None

    def workload(self, section: JsonObject) -> JsonObject:
        """The section as it is: the target is sampled from outside."""
        return section

    def attach(self, roots: list[int], *, by_thread: bool = False) -> None:  # noqa: ARG002
        """Load the profiler into the JVMs among these processes and their children. Raises ProfilerError."""
        pids = jvms_of(roots, self.root)
        self._home = home = process_directories.make_directory(_DIRECTORY)
        library = library_in(self.options.library_path, self.unpacked, home, f"profile.{self.kind}.library")
        for pid in pids:
            for path in (home, library):
                if not sees(pid, path):
                    raise ProfilerError(ASYNC_PROFILER_OTHER_FILES(pid=pid, path=path))
            agent = Agent(pid, library, home)
            self._agents.append(agent)
            self._event = self._begin(agent, self._events(pid) if self._event is None else (self._event,))
            agent.stop()
        self._version = self._agents[0].version()

    def _begin(self, agent: Agent, events: Sequence[Event]) -> Event:
        """Start with the first event that works; the reasons of the others go to the log.

        Raises ProfilerError.
        """
        *others, last = events
        for event in others:
            try:
                agent.start(event, self.limit_s)
            except ProfilerError as error:
                if error.message.code != ASYNC_PROFILER_REFUSED.code:
                    raise
                self._lines.append(f"async-profiler: {event.name}: {error.message.text}")
            else:
                return event
        agent.start(last, self.limit_s)
        return last

    def phase(self, name: str, mono_ns: int) -> None:  # noqa: ARG002
        """Start when the measurement begins, stop when it ends. Raises ProfilerError."""
        if name == "measure" and self._event is not None:
            for agent in self._agents:
                agent.start(self._event, self.limit_s)
        if name == "drain":
            for agent in self._agents:
                if agent.is_running:
                    counts, totals = agent.stop()
                    self._stacks.append((self._read(counts), self._read(totals)))

    def _read(self, collapsed: str) -> Stacks:
        return read(collapsed, ends_in_class=self.ends_in_class)

    def end(self) -> None:
        """Let go of the target, whatever happened."""
        for agent in self._agents:
            agent.drop()

    @abstractmethod
    def _events(self, pid: int) -> Sequence[Event]:
        """Events in the order of preference; a later one is for kernels that do not allow an earlier one."""

    @abstractmethod
    def _caption(self, samples: int, total: int, event: str) -> str:
        """Line below the title of the flame graph."""

    def collect(self, writer: TrialWriter, title: str, log: Callable[[str], None]) -> ProfileRecord:
        """Write folded stacks and flame graph into the trial's directory."""
        assert self._event is not None
        samples = sum(count for counts, _ in self._stacks for count in counts.values())
        values = [self._widths(counts, totals) for counts, totals in self._stacks]
        lines = "".join(f"{line}\n" for line in folded(values, self.scale))
        if lines:
            total = sum(int(line.rpartition(" ")[2]) for line in lines.splitlines())
            writer.text(FOLDED, lines)
            writer.text(
                FLAMES, _engine.flame_graph(lines, title, self._caption(samples, total, self._event.name))
            )
        else:
            log("profile: async-profiler took no sample while the load measured")
        return ProfileRecord(
            kind=self.kind,
            tool=f"async-profiler {self._version}",
            event=self._event.name,
            samples=samples,
            processes=len(self._agents),
            frequency=self._frequency,
        )

    @property
    def _frequency(self) -> int | None:
        """Samples per second of CPU time, of a profile of CPU time."""
        return None

    def _widths(self, counts: Stacks, totals: Stacks) -> Stacks:  # noqa: ARG002
        """Widths of stacks, by their numbers of samples and their total values."""
        return totals

    def output(self) -> list[str]:
        """Lines for the trial's log."""
        return list(self._lines)

    def remove(self) -> None:
        """Remove the files of the profiler."""
        if self._home is not None:
            process_directories.remove_directory(self._home)
            self._home = None
