"""A profile of a load of Python: the part of the worker.

The harness profiles itself, or py-spy samples it from outside. Findings and stacks are written into files of
the load's directory. Standard library only.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from loadcell.model.python_profile import (
    ALLOCATIONS_FILE,
    CALLS_FILE,
    FINDINGS,
    OUTERMOST,
    STACKS,
    TRACE_FILE,
)
from loadcell.workloads.python_runner.spec import ProfileSpec, PythonSpec

if TYPE_CHECKING:
    from loadcell.model.json import JsonObject

#: Functions in the findings.
MOST_FUNCTIONS: Final = 50
_FILES: Final = {"calls": CALLS_FILE, "memory": ALLOCATIONS_FILE, "trace": TRACE_FILE}
#: How long py-spy may take to look at a process, and to write its samples.
_LIMIT_S: Final = 30.0
#: Frame of the loop that calls the function, as py-spy prints it; `_empty` is called to measure the loop.
_LOOP, _EMPTY = "_timed (", "_empty ("


@dataclass
class Profiling:
    """The profile of one load."""

    profile: ProfileSpec
    section: PythonSpec
    directory: Path
    _stacks: Counter[str] = field(default_factory=Counter)
    _findings: JsonObject = field(default_factory=dict)
    _outside: list[PySpy] = field(default_factory=list)
    _remaining: int = 0

    @property
    def takes_all_clients(self) -> bool:
        """False where only one client can be profiled, which is then the only one."""
        return self.profile.kind == "python"

    @property
    def files(self) -> list[str]:
        """Names of its files in the directory."""
        stacks = [STACKS] if self.profile.kind in ("python", "memory") else []
        file = _FILES.get(self.profile.kind)
        return [FINDINGS, *stacks, *([] if file is None else [file])]

    def order(self) -> JsonObject:
        """The section `profile` of the harness's order."""
        return {
            "kind": self.profile.kind,
            "file": str(self.directory / _FILES.get(self.profile.kind, "")),
            "functions": list(self.profile.functions),
            "most": MOST_FUNCTIONS,
            "events": self.profile.events,
            "least_ns": self.profile.least_ns,
        }

    def prepare(self, processes: Sequence[int]) -> int:
        """Samples per second that the harness takes itself: 0 if py-spy samples these processes."""
        self._remaining = len(processes)
        if self.profile.kind != "python":
            return 0
        program = py_spy(self.section.interpreter) if self.profile.tool != "interpreter" else None
        if program is not None and may_attach(program, processes[0]):
            self._outside = [
                PySpy(program, process, self.profile.frequency, self.directory / f"py-spy-{process}.txt")
                for process in processes
            ]
            return 0
        return self.profile.frequency

    def measure(self) -> None:
        """The measurement begins."""
        for sampler in self._outside:
            sampler.start()

    def take(self, line: JsonObject) -> None:
        """Take a line of the harness."""
        match line["type"]:
            case "stacks":
                self._stacks.update(line["stacks"])
            case "findings":
                self._findings = {key: value for key, value in line.items() if key != "type"}
            case "end":
                self._remaining -= 1
                if self._remaining == 0:
                    self._finish()

    def _finish(self) -> None:
        for sampler in self._outside:
            self._stacks.update(sampler.end(self.section.work.call))
        if self.profile.kind == "python":
            tool = self._outside[0].version() if self._outside else "sys._current_frames"
            self._findings = {"tool": tool, "event": "wall-clock", "frequency": self.profile.frequency}
            self._findings["samples"] = self._stacks.total()
        if STACKS in self.files:
            rows = (f"{stack} {count}\n" for stack, count in sorted(self._stacks.items()))
            (self.directory / STACKS).write_text("".join(rows))
        (self.directory / FINDINGS).write_text(json.dumps(self._findings))


def py_spy(interpreter: str) -> str | None:
    """The program, of the interpreter's environment or else of the path."""
    alongside = Path(interpreter).with_name("py-spy")
    return str(alongside) if alongside.is_file() else shutil.which("py-spy")


def may_attach(program: str, process: int) -> bool:
    """True if the kernel lets py-spy read this process."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        words = [program, "dump", "--pid", str(process)]
        return subprocess.run(words, capture_output=True, timeout=_LIMIT_S, check=False).returncode == 0
    return False


@dataclass
class PySpy:
    """Samples a process from outside until it ends."""

    program: str
    process: int
    frequency: int
    file: Path
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _running: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Sample from now on."""
        words = [
            self.program, "record", "--pid", str(self.process), "--rate", str(self.frequency), "--idle",
            "--function", "--format", "raw", "--output", str(self.file),
        ]  # fmt: skip
        with self._lock:
            self._running = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )

    def end(self, call: str | None) -> Counter[str]:
        """The stacks within the loop; none if py-spy failed."""
        with self._lock:
            running = self._running
        if running is None:
            return Counter()
        if running.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                running.send_signal(signal.SIGINT)
        try:
            running.wait(_LIMIT_S)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()
        try:
            return within_loop(self.file.read_text(errors="replace"), call)
        except OSError:
            return Counter()

    def version(self) -> str:
        """`py-spy 0.4.0`."""
        done = subprocess.run([self.program, "--version"], capture_output=True, text=True, check=False)
        return done.stdout.strip() or "py-spy"


def within_loop(raw: str, call: str | None) -> Counter[str]:
    """Folded stacks of py-spy from the loop inwards; without a Python function in it, `call`."""
    stacks: Counter[str] = Counter()
    for line in raw.splitlines():
        stack, _, count = line.rpartition(" ")
        frames = stack.split(";")
        loop = next((position for position, frame in enumerate(frames) if frame.startswith(_LOOP)), None)
        if loop is None or not count.isdecimal():
            continue
        inner = frames[loop + 1 :]
        if not (inner and inner[0].startswith(_EMPTY)):
            names = ["<code>", *inner] if call is None else inner or [call]
            stacks[";".join([OUTERMOST, *names])] += int(count)
    return stacks
