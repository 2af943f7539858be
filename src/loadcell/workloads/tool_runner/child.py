"""Programs run one after the other, heard line by line, and never outlived: not by what they started, nor
after our death.

Each is the leader of a separate process group. Its end, an order to stop, and the end of this process,
however it comes, are the end of the whole group: a guardian process waits for our death, which a SIGKILL does
not tell us of. What leaves its group becomes our child, and is ended with it; the guardian knows it by its
environment, in which `directory` is ours.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from loadcell.linux import procfs
from loadcell.linux.process import LineReader, OnLine, adopt_orphans, die_with_parent, has_ended

#: How often a waiting process looks round.
_TICK_S = 0.05
#: How long a program may take to end once asked, before it is killed.
_PATIENCE_S = 5.0
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


class Children:
    """The programs of one load, which all find `directory` in their environment; it is removed even after a
    SIGKILL.
    """

    def __init__(self, directory: Path) -> None:
        self._running: subprocess.Popen[bytes] | None = None
        self._stopped = False
        adopt_orphans()
        self._guardian, self._told = _guardian(directory)

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
        on_line: OnLine,
        end_after_s: float | None = None,
    ) -> Ended:
        """Run a program to its end, or end it after a time. Raises OSError where it cannot be started."""
        began = time.monotonic()
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=directory,
            env=dict(environment),
            start_new_session=True,
            preexec_fn=die_with_parent,
        )
        self._running = process
        self._tell(process.pid)
        if self._stopped:
            self._signal(signal.SIGTERM)
        asked_s: float | None = None
        output = LineReader(process, on_line, longest=_LONGEST, carriage_returns=True)
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
            os.write(self._told, f"{group}\n".encode())

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
        """Let the guardian go, which removes the directory."""
        os.close(self._told)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._guardian, 0)


def _guardian(directory: Path) -> tuple[int, int]:
    """A process that outlives this one just long enough: its id, and the pipe for process groups."""
    read, write = os.pipe()
    pid = os.fork()
    if pid:
        os.close(read)
        return pid, write
    try:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        os.closerange(0, read)  # also our side of every pipe: whoever waits for their end shall see it
        os.closerange(read + 1, 1 << 16)
        group = b""
        while message := os.read(read, 4096):
            group = message.split()[-1]
        with contextlib.suppress(ProcessLookupError, ValueError):
            if int(group):
                os.killpg(int(group), signal.SIGKILL)
                _end_strays(directory)
        shutil.rmtree(directory, ignore_errors=True)
    finally:
        os._exit(0)


def _end_strays(directory: Path) -> None:
    """End what has left its group: whoever was given this directory."""
    mark = f"directory={directory}".encode()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (process / "environ").read_bytes().split(b"\0"):
                os.kill(int(process.name), signal.SIGKILL)


def _finished(process: subprocess.Popen[bytes], output: LineReader) -> bool:
    """Read output for a while; returns True once the program has ended and no more output is waiting.

    Its streams may still be open in processes that it left behind.
    """
    ended = has_ended(process)
    if output.open:
        return not output.read(0 if ended else _TICK_S) and ended
    if not ended:
        time.sleep(_TICK_S)
    return ended
