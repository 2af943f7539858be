"""CPU profiles of a target's processes: stacks that Linux's `perf` samples, folded and drawn.

perf is attached before the load, so that what the load begins is sampled with what began it.

perf answers over a pair of pipes (`--control`) when it has attached. It records from then on: told to begin
later, it would miss what processes that begin meanwhile have mapped, and so their stacks. What the
measurement is not is left out when the record is read; samples bear the engine's own clock.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, ClassVar, Generic, Protocol, TypeVar

from loadcell import _engine
from loadcell.linux import process
from loadcell.linux.process import StopStep, SupervisedProcess, launch_command
from loadcell.linux.procfs import command_line, tree
from loadcell.model.json import JsonObject
from loadcell.model.message import NO_OUTPUT, ForeignText, MessageCode, MessageError, Seconds
from loadcell.model.profile_record import ProfileRecord
from loadcell.plan.profile import CpuProfile
from loadcell.profilers.sampler import LONGEST_S, Download
from loadcell.store.layout import FLAMES, FOLDED
from loadcell.store.write import TrialWriter

PERF_MISSING = MessageCode("perf.missing")
PERF_GONE = MessageCode("perf.gone")
PERF_FILES = MessageCode("perf.files")
PERF_OTHER_KERNEL = MessageCode("perf.other-kernel")
PERF_NO_EVENTS = MessageCode("perf.no-events")
PERF_NO_PROCESSES = MessageCode("perf.no-processes")
PERF_NO_ANSWER = MessageCode("perf.no-answer", limit_s=Seconds)
PERF_NOT_ALLOWED = MessageCode("perf.not-allowed", paranoid=str)
PERF_NOT_SAMPLED = MessageCode("perf.not-sampled", said=ForeignText)
PERF_UNREADABLE = MessageCode("perf.unreadable", said=ForeignText)


class _PerfOptions(Protocol):
    @property
    def call_graph(self) -> str: ...


ProfileT = TypeVar("ProfileT", bound=_PerfOptions)


class ProfilerError(MessageError):
    """An error with its remedy. It ends the profiled trial, and nothing else."""


#: Of each sampled stack so much is kept for `dwarf`: perf's own default; deeper stacks lose their outermost
#: callers.
STACK_BYTES = 8192
#: How long perf may take to attach to the processes that are there, on a machine that is fully loaded.
#: A recording stops growing at this size; each stack takes 8 KiB with `dwarf`.
MOST_DATA_BYTES = 2 << 30
#: perf counts what it writes, without parts of the header: a full recording may be this much smaller.
_FULL = 0.99
_ATTACH_LIMIT_S = 60.0
_END_LIMIT_S = 60.0
_STOP_STEPS: Sequence[StopStep] = (
    (signal.SIGTERM, _END_LIMIT_S, "orderly"),
    (signal.SIGKILL, _END_LIMIT_S, "forced"),
)
_ROLE_LENGTH = 80
#: How often to attach when a process ends just then.
_ATTEMPTS = 5
#: of threads that all do the same: `load-3`
_NUMBERED = re.compile(r"-\d+$")
#: `server-4711;...`: the outermost frame as the engine folds it
_OUTERMOST = re.compile(r"^(?P<name>[^;]*)-(?P<pid>\d+)(?P<rest>[; ].*)$")
_PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
#: What inferno reads.
_FIELDS = "comm,pid,tid,time,event,ip,sym,dso"
_EVENT = re.compile(r"\s\d+\.\d+:\s+(?:\d+\s+)?(?P<event>\S+?):?\s*$")


class GoneError(ProfilerError):
    """A process was gone before perf could look at it."""


def find_program() -> str:
    """The program. Raises ProfilerError where it is not installed."""
    program = shutil.which("perf")
    if program is None:
        raise ProfilerError(PERF_MISSING())
    return program


def trouble(output: str, otherwise: MessageCode = PERF_NOT_SAMPLED) -> ProfilerError:
    """Error for a message of perf, with its remedy; `otherwise` is the code of unknown messages."""
    lines = [line.strip() for line in output.splitlines() if line.strip(" .")]
    low = output.lower()
    if "no such process" in low:
        return GoneError(PERF_GONE())
    if any(words in low for words in ("not permitted", "permission", "is limited", "perf_event_paranoid")):
        try:
            paranoid = _PARANOID.read_text().strip()
        except OSError:
            paranoid = "?"
        return ProfilerError(PERF_NOT_ALLOWED(paranoid=paranoid))
    if "too many open files" in low:
        return ProfilerError(PERF_FILES())
    if "not found for kernel" in low or "unknown option" in low:
        return ProfilerError(PERF_OTHER_KERNEL())
    if "not implemented" in low or "not supported" in low or "no such device" in low:
        return ProfilerError(PERF_NO_EVENTS())
    first = next((line for line in lines if "error" in line.lower()), next(iter(lines), ""))
    return ProfilerError(otherwise(said=first[:200] or NO_OUTPUT))


@dataclass
class Perf:
    """One recording, of `processes`, into `home`."""

    home: Path
    processes: Sequence[int]
    events: Sequence[str]
    call_graph: str
    program: str = field(default_factory=find_program)
    _lines: list[str] = field(default_factory=list)
    _orders: int = -1
    _answers: int = -1
    #: perf ended before its signal: at the size limit, by an error, or because all processes had exited
    ended_early: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        environment = {**process.plain_environment(), "LC_ALL": "C"}
        self._process = SupervisedProcess("perf", self._lines.append, environment)

    @property
    def _data(self) -> Path:
        return self.home / "perf.data"

    @property
    def is_full(self) -> bool:
        """True if the recording reached its size limit."""
        try:
            return self._data.stat().st_size >= _FULL * MOST_DATA_BYTES
        except FileNotFoundError:
            return False

    def version(self) -> str:
        """`perf 6.1.187`."""
        output = subprocess.run(
            [self.program, "--version"],
            capture_output=True,
            text=True,
            env=process.plain_environment(),
            check=False,
        ).stdout
        return output.replace("version ", "").strip() or "perf"

    def attach(self) -> None:
        """Sample the processes from now on. Raises ProfilerError. To be called from the main thread."""
        if not self.processes:
            raise ProfilerError(PERF_NO_PROCESSES())
        graph = f"dwarf,{STACK_BYTES}" if self.call_graph == "dwarf" else self.call_graph
        orders, self._orders = os.pipe()
        self._answers, answers = os.pipe()
        command = [
            self.program, "record", "--no-buildid", "--no-buildid-cache",
            *(*self.events, "--call-graph", graph, "--clockid", "CLOCK_MONOTONIC"),
            *("--control", f"fd:{orders},{answers}", "--output", str(self._data)),
            *("--pid", ",".join(map(str, self.processes))),
        ]  # fmt: skip
        try:
            self._process.start(launch_command(command, self.home, signal.SIGKILL), (orders, answers))
        finally:
            os.close(orders)
            os.close(answers)
        self._order("ping", _ATTACH_LIMIT_S)

    def end(self) -> None:
        """Let go of the processes, whatever happened before; what was recorded stays."""
        if self._orders >= 0:  # told for the first time
            self.ended_early = not self._process.running
        self._process.stop(_STOP_STEPS)
        for descriptor in (self._orders, self._answers):
            if descriptor >= 0:
                os.close(descriptor)
        self._orders = self._answers = -1

    def script(self, from_ns: int, to_ns: int) -> tuple[Path, str | None]:
        """The samples of a stretch of monotonic time as text, in a file of their own, and the name of the
        event that was sampled.

        Raises ProfilerError.
        """
        window = f"{from_ns // 10**9}.{from_ns % 10**9:09d},{to_ns // 10**9}.{to_ns % 10**9:09d}"
        text = self.text(["--time", window, "-F", _FIELDS])
        with text.open(encoding="utf-8", errors="replace") as lines:
            first = next((match for line in lines if (match := _EVENT.search(line))), None)
        return text, None if first is None else first["event"].partition(":")[0]

    def text(self, options: Sequence[str]) -> Path:
        """The recording as text in a file, by `perf script` with these options. Raises ProfilerError."""
        text = self.home / "perf-script.txt"
        with self.output_of(options) as output, text.open("wb") as file:
            shutil.copyfileobj(output, file)
        return text

    @contextlib.contextmanager
    def output_of(self, options: Sequence[str]) -> Iterator[IO[bytes]]:
        """Output of `perf script` with these options, to be read while perf prints it. Raises ProfilerError,
        if perf fails, once the output is read.
        """
        command = [self.program, "script", "--no-inline", *options, "-i", str(self._data)]
        with tempfile.TemporaryFile(dir=self.home) as errors:
            with subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**process.plain_environment(), "LC_ALL": "C"},
            ) as script:
                assert script.stdout is not None
                yield script.stdout
            errors.seek(0)
            printed = errors.read().decode("utf-8", "replace")
        self._lines += [f"perf: {line}" for line in printed.splitlines()]
        if script.returncode != 0:
            raise trouble(printed, PERF_UNREADABLE)

    def _order(self, word: str, limit_s: float = _END_LIMIT_S) -> None:
        """Tell perf, and wait until it has done it."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self._orders, f"{word}\n".encode())
        readable, _, _ = select.select([self._answers], [], [], limit_s)
        if not readable:
            raise ProfilerError(PERF_NO_ANSWER(limit_s=limit_s))
        if not os.read(self._answers, 64):
            raise trouble("\n".join(self._process.last_output()))

    def output(self) -> list[str]:
        """Lines that perf has printed, with its name in front."""
        return list(self._lines)


@dataclass(frozen=True)
class SampledStacks:
    """Folded stacks of a recording, with the process in the outermost frame.

    `samples` of `event` were recorded; `caption` describes them below the title of the flame graph.
    """

    folded: str
    event: str
    samples: int
    caption: str
    frequency: int | None = None
    waits: int | None = None


@dataclass
class PerfSampler(ABC, Generic[ProfileT]):
    """Samples one trial, in a directory under `work` that is gone afterwards."""

    #: kind of the profile in records
    kind: ClassVar[str]
    #: line of the trial's log where no stack was sampled
    nothing_sampled: ClassVar[str]

    options: ProfileT
    work: Path
    root: Path = Path("/")
    process_kind: Callable[[str], str] = str
    _home: tempfile.TemporaryDirectory[str] | None = None
    _perf: Perf | None = None
    _roots: list[int] = field(default_factory=list)
    _window: list[int] = field(default_factory=list)
    _roles: dict[int, str] = field(default_factory=dict)
    _by_thread: bool = False
    unpacked: Path | None = None
    limit_s: float = LONGEST_S

    @classmethod
    def check(cls, options: object) -> None:  # noqa: ARG003
        """Raises ProfilerError where perf is not installed."""
        find_program()

    @classmethod
    def download(cls, options: object) -> Download | None:  # noqa: ARG003
        """None: perf is a program of the distribution."""
        return None

    def workload(self, section: JsonObject) -> JsonObject:
        """The section as it is: the target is sampled from outside."""
        return section

    def attach(self, roots: list[int], *, by_thread: bool = False) -> None:
        """Get ready to sample the trees of these processes. Raises ProfilerError.

        `by_thread`: its processes are distinguished by the names of their threads.
        """
        self._roots, self._by_thread = roots, by_thread
        self._home = tempfile.TemporaryDirectory(prefix="profile-", dir=self.work)
        for attempts_left in reversed(range(_ATTEMPTS)):
            pids = tree(self.root, roots)
            self._perf = Perf(Path(self._home.name), pids, self._events(), self.options.call_graph)
            try:
                self._perf.attach()
                return
            except GoneError:  # such as a worker that had nothing to do any more
                self._perf.end()
                if not attempts_left:
                    raise

    def phase(self, name: str, mono_ns: int) -> None:
        """The load entered this phase at this time; of the samples, those of `measure` are kept."""
        if name in ("measure", "drain"):
            self._window.append(mono_ns)
            self._look()

    def end(self) -> None:
        """Let go of the target, whatever happened."""
        if self._perf is not None:
            self._perf.end()

    @abstractmethod
    def _events(self) -> Sequence[str]:
        """perf's options that choose what is sampled."""

    @abstractmethod
    def _stacks(self, perf: Perf, log: Callable[[str], None]) -> SampledStacks:
        """The stacks within the measurement. Raises ProfilerError."""

    def collect(self, writer: TrialWriter, title: str, log: Callable[[str], None]) -> ProfileRecord:
        """Write folded stacks and flame graph into the trial's directory. Raises ProfilerError."""
        assert self._perf is not None
        stacks = self._stacks(self._perf, log)
        folded = "".join(f"{line}\n" for line in named(stacks.folded, self._roles))
        if folded:
            writer.text(FOLDED, folded)
            writer.text(FLAMES, _engine.flame_graph(folded, title, stacks.caption))
        else:
            log(self.nothing_sampled)
        return ProfileRecord(
            kind=self.kind,
            tool=self._perf.version(),
            event=stacks.event,
            samples=stacks.samples,
            processes=len(self._roots if self._by_thread else self._roles),
            frequency=stacks.frequency,
            call_graph=self.options.call_graph,
            in_client=self._by_thread or None,
            waits=stacks.waits,
        )

    def output(self) -> list[str]:
        """Lines that perf has printed so far."""
        return [] if self._perf is None else self._perf.output()

    def remove(self) -> None:
        """Remove what perf wrote."""
        if self._home is not None:
            self._home.cleanup()
            self._home = None

    def _look(self) -> None:
        """Kinds of the present processes; a process keeps its first one."""
        if self._by_thread:
            return
        for pid in tree(self.root, self._roots):
            if pid not in self._roles and (role := self._role(pid)):
                self._roles[pid] = role

    def _role(self, pid: int) -> str:
        """The title that a process gives itself; of one that has none, its program."""
        words = command_line(pid, self.root)
        if not words:
            return ""
        program, blank, title = (words[0] if len(words) == 1 else words[0].replace(" ", "_")).partition(" ")
        return self.process_kind(f"{program.rpartition('/')[2]}{blank}{title}")[:_ROLE_LENGTH]


class CpuSampler(PerfSampler[CpuProfile]):
    """Samples what runs on the CPU."""

    kind = "cpu"
    nothing_sampled = "profile: no sample was taken: the target used no CPU while the load measured"

    def _events(self) -> Sequence[str]:
        return ("--freq", str(self.options.frequency), "--max-size", f"{MOST_DATA_BYTES >> 20}M")

    def _stacks(self, perf: Perf, log: Callable[[str], None]) -> SampledStacks:
        if perf.is_full:
            log(
                f"profile: the recording ended at its limit of {MOST_DATA_BYTES >> 30} GiB: lower `frequency`"
            )
        script, event = perf.script(*self._window)
        folded = _engine.fold_stacks(script)
        samples = sum(int(line.rpartition(" ")[2]) for line in folded.splitlines())
        frequency = self.options.frequency
        caption = f"{samples:,} samples of {event}, {frequency} a second of CPU time"
        return SampledStacks(folded, event or "", samples, caption, frequency=frequency)


def named(folded: str, roles: dict[int, str]) -> list[str]:
    """Folded stacks whose outermost frame says what the process is, with equal ones put together; sorted."""
    counts: dict[str, int] = {}
    for line in folded.splitlines():
        stack, _, count = line.rpartition(" ")
        match = _OUTERMOST.match(stack + ";")
        if match is not None:
            role = roles.get(int(match["pid"])) or _NUMBERED.sub("", match["name"])
            stack = f"{role.replace(';', ':')}{match['rest'].rstrip(';')}"
        counts[stack] = counts.get(stack, 0) + int(count)
    return [f"{stack} {count}" for stack, count in sorted(counts.items())]


#: Kind of profile, and what takes it.
SAMPLERS = (("cpu", CpuSampler),)
