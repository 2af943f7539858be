"""Programs run one after the other, read line by line, and ended with all that they started, even after our
death.

Each leads a process group. A guardian process waits for the end of this one, which a SIGKILL does not report,
and ends the group. What leaves its group becomes our child, and is ended with it; the guardian recognises it
by the variable `directory` of its environment.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from loadcell.linux import process as supervision
from loadcell.linux import procfs
from loadcell.model.message import Count, Message, MessageCode

ENDED_SIGNAL = MessageCode("ended.signal", signal=str)
TOOL_LINES_DROPPED = MessageCode("tool.lines-not-kept", count=Count)

#: How often a waiting process looks round.
_TICK_S = 0.05
#: How long a program may take to end once asked, before it is killed.
_PATIENCE_S = 5.0
#: The guardian looks again for who has left its group: while it begins a program, a process shows no
#: environment. It gives up on processes that do not even end when they are killed.
_LOOK_AGAIN_S, _LOOKS = 0.05, 100
#: Told in place of a process group while a program is being started.
_STARTING = -1
#: States of processes that have ended (proc(5)).
_ENDED = frozenset("ZX")
#: Lines longer than this are cut into pieces.
_LONGEST = 1 << 20


@dataclass(frozen=True)
class Ended:
    """End of a program: exit status (negative: the signal), and its duration.

    `asked`: it was ordered to end.
    """

    status: int
    wall_s: float
    asked: bool

    @property
    def how(self) -> Message:
        """Its exit status, or the signal that ended it."""
        if self.status > 0:
            return supervision.ENDED_STATUS(status=str(self.status))
        return ENDED_SIGNAL(signal=str(-self.status))


def cpu_time_s() -> float:
    """CPU time of all programs that have ended so far."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Children:
    """The programs of one load, which all find `directory` in their environment; it is removed even after a
    SIGKILL, unless it is for a `receiver`, a process that still runs then.
    """

    def __init__(self, directory: Path, receiver: int | None = None) -> None:
        self._running: subprocess.Popen[bytes] | None = None
        self._stopped = False
        supervision.adopt_orphans()
        self._guardian, self._group_pipe = _guardian(directory, receiver)

    @property
    def stopped(self) -> bool:
        """True if an end was asked for."""
        return self._stopped

    def stop(self) -> None:
        """End what is running, and start nothing more. May be called from a signal handler."""
        self._stopped = True
        self._signal(signal.SIGTERM)

    def _signal(self, number: signal.Signals) -> None:
        if (process := self._running) is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, number)

    def run(
        self,
        words: Sequence[str],
        environment: Mapping[str, str],
        directory: Path,
        on_line: supervision.OnLine,
        end_after_s: float | None = None,
        stdin: int = subprocess.DEVNULL,
    ) -> Ended:
        """Run a program to its end, or end it after a time. Raises OSError where it cannot be started."""
        began = time.monotonic()
        self._tell(_STARTING)
        process = subprocess.Popen(
            words,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=directory,
            env=dict(environment),
            start_new_session=True,
            preexec_fn=supervision.die_with_parent,
        )
        self._running = process
        self._tell(process.pid)
        if self._stopped:
            self._signal(signal.SIGTERM)
        asked_s: float | None = None
        output = supervision.LineReader(process, on_line, longest=_LONGEST, carriage_returns=True)
        try:
            while not _finished(process, output):
                now = time.monotonic()
                over = end_after_s is not None and now > began + end_after_s
                if asked_s is None and (over or self._stopped):
                    asked_s = now
                    self._signal(signal.SIGTERM)
                if asked_s is not None and now > asked_s + _PATIENCE_S:
                    self._signal(signal.SIGKILL)
            ended_s = time.monotonic()
        finally:
            self._signal(signal.SIGKILL)  # and what it has left behind
            self._running = None
            status = process.wait()
            self._tell(0)
            output.close()
            self._sweep()
        return Ended(status, ended_s - began, asked_s is not None)

    def _tell(self, group: int) -> None:
        """Let the guardian know whom to end with us."""
        with contextlib.suppress(BrokenPipeError):  # somebody ended it, and all that it can do now is missing
            os.write(self._group_pipe, f"{group}\n".encode())

    def _sweep(self) -> None:
        """End whoever left its group: it has become our child."""
        while pids := [pid for pid in procfs.children(procfs.ROOT, os.getpid()) if pid != self._guardian]:
            try:
                for pid in pids:
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
            except PermissionError:  # of another user, which only root may end
                return

    def close(self) -> None:
        """Let the guardian go, which removes a directory without a receiver."""
        os.close(self._group_pipe)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._guardian, 0)


def _guardian(directory: Path, receiver: int | None) -> tuple[int, int]:
    """A process that outlives this one just long enough: its id, and the pipe for process groups."""
    read, write = os.pipe()
    receiver_start = None if receiver is None else procfs.started(receiver)
    pid = os.fork()
    if pid:
        os.close(read)
        return pid, write
    try:
        os.setsid()  # whoever ends the worker's session leaves us to our work
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        os.closerange(0, read)  # also our side of every pipe: whoever waits for their end shall see it
        os.closerange(read + 1, 1 << 16)
        group = 0
        while message := os.read(read, 4096):
            group = int(message.split()[-1])
        if group > 0:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)
        if group:
            for _ in range(_LOOKS):
                ended = _end_strays(directory)
                time.sleep(_LOOK_AGAIN_S)
                if not (ended or _end_strays(directory)):
                    break
        if receiver is None or not _runs(receiver, receiver_start):
            shutil.rmtree(directory, ignore_errors=True)
    finally:
        os._exit(0)


def _runs(pid: int, start: int | None) -> bool:
    """True if the process that started then still runs: one that nobody has waited for yet does not."""
    stat = procfs.process_stat(procfs.ROOT, pid)
    return stat is not None and stat.start == start and stat.state not in _ENDED


def _end_strays(directory: Path) -> bool:
    """End what has left its group: whoever was given this directory. True if there was somebody."""
    mark = f"directory={directory}".encode()
    ended = False
    for pid in procfs.process_ids():
        with contextlib.suppress(OSError):
            if mark in (procfs.ROOT / "proc" / str(pid) / "environ").read_bytes().split(b"\0"):
                os.kill(pid, signal.SIGKILL)
                ended = True
    return ended


def _finished(process: subprocess.Popen[bytes], output: supervision.LineReader) -> bool:
    """Read output for a while; returns True once the program has ended and no more output is waiting.

    Its streams may still be open in processes that it left behind.
    """
    ended = supervision.has_ended(process)
    if output.open:
        return not output.read(0 if ended else _TICK_S) and ended
    if not ended:
        time.sleep(_TICK_S)
    return ended


#: Of one command, so much is passed on to output.log ...
_PASSED_ON_BYTES = 4 << 20
#: ... and so much is kept to be read: the longest output of a tool known is that of a day of interval lines,
#: some 10 MB.
_STORED_BYTES = 256 << 20


class TooMuchError(Exception):
    """The tool printed more than is kept."""


class Output:
    """One command's output. `errors_apart`: what it writes to standard error is passed on, but not read."""

    def __init__(self, *, errors_apart: bool = False, passed_on: bool = True) -> None:
        self._apart = errors_apart
        self._most_passed_on = _PASSED_ON_BYTES if passed_on else 0
        self._file = tempfile.NamedTemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 (see close)
        self._bytes = self._passed = self._left_out = 0
        self._last = {1: "", 2: ""}
        #: streams on which a tool has begun to say how it is called: what was wrong it has said before
        self._usage: set[int] = set()

    def announce(self, words: Sequence[str]) -> None:
        """Say what is run."""
        if self._most_passed_on:
            print(f"$ {shlex.join(words)}", file=sys.stderr, flush=True)

    def take(self, stream: int, line: str) -> bool:
        """One more line; whether it is one to be read. Raises TooMuchError."""
        size = len(line) + 1
        self._bytes += size
        if line.strip() and stream not in self._usage:
            if self._last[stream] and line.lstrip().lower().startswith("usage:"):
                self._usage.add(stream)
            else:
                self._last[stream] = line.strip()
        self._pass_on(line, size)
        if self._apart and stream == 2:
            return False
        if self._bytes > _STORED_BYTES:
            raise TooMuchError
        self._file.write(f"{line}\n")
        return True

    def _pass_on(self, line: str, size: int) -> None:
        if self._passed + size > self._most_passed_on:
            self._left_out += 1
            return
        self._passed += size
        print(line, file=sys.stderr, flush=True)

    @property
    def last_words(self) -> str:
        """The last line that is not empty and not how the tool is called, of errors if there were any."""
        return (self._last[2] or self._last[1])[:500]

    def file(self) -> Path:
        """The file with all that is to be read."""
        self._file.flush()
        return Path(self._file.name)

    def text(self) -> str:
        """The same as text."""
        return self.file().read_text(encoding="utf-8", errors="replace")

    def close(self) -> None:
        """Say what was not passed on, and forget it all."""
        if self._left_out and self._most_passed_on:
            print(TOOL_LINES_DROPPED(count=self._left_out), file=sys.stderr, flush=True)
        self._file.close()
