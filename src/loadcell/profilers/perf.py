"""Samples processes with Linux's `perf`: attached before the load, so that what it begins is sampled with
what began it.

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
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from loadcell.linux.process import StopStep, SupervisedProcess, launch_command
from loadcell.model.message import NO_OUTPUT, ForeignText, MessageCode, MessageError, Seconds

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


class ProfilerError(MessageError):
    """An error with its remedy. It ends the profiled trial, and nothing else."""


#: Of each sampled stack so much is kept for `dwarf`: perf's own default; deeper stacks lose their outermost
#: callers.
STACK_BYTES = 8192
#: How long perf may take to attach to the processes that are there, on a machine that is fully loaded.
_ATTACH_LIMIT_S = 60.0
_END_LIMIT_S = 60.0
_STOP_STEPS: Sequence[StopStep] = (
    (signal.SIGTERM, _END_LIMIT_S, "orderly"),
    (signal.SIGKILL, _END_LIMIT_S, "forced"),
)
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
    frequency: int
    call_graph: str
    program: str = field(default_factory=find_program)
    _lines: list[str] = field(default_factory=list)
    _orders: int = -1
    _answers: int = -1

    def __post_init__(self) -> None:
        environment = {**os.environ, "LC_ALL": "C"}
        self._process = SupervisedProcess("perf", self._lines.append, environment)

    @property
    def _data(self) -> Path:
        return self.home / "perf.data"

    def version(self) -> str:
        """`perf 6.1.187`."""
        output = subprocess.run(
            [self.program, "--version"], capture_output=True, text=True, check=False
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
            *("--freq", str(self.frequency), "--call-graph", graph, "--clockid", "CLOCK_MONOTONIC"),
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
        text = self.home / "perf-script.txt"
        command = [self.program, "script", "--no-inline", "--time", window, "-F", _FIELDS]
        with text.open("wb") as output:
            ended = subprocess.run(
                [*command, "-i", str(self._data)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.PIPE,
                env={**os.environ, "LC_ALL": "C"},
                check=False,
            )
        printed = ended.stderr.decode("utf-8", "replace")
        self._lines += [f"perf: {line}" for line in printed.splitlines()]
        if ended.returncode != 0:
            raise trouble(printed, PERF_UNREADABLE)
        with text.open(encoding="utf-8", errors="replace") as lines:
            first = next((match for line in lines if (match := _EVENT.search(line))), None)
        return text, None if first is None else first["event"].partition(":")[0]

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
