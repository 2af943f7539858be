"""Programs run one after the other, heard line by line, and never outlived: not by what they started, nor after our death.

Each is the leader of a process group of its own. Its end, an order to stop, and the end of this process, however it comes,
are the end of the whole group: a guardian process waits for our death, which a SIGKILL does not tell us of. What leaves
its group becomes our child, and is ended with it; the guardian knows it by its environment, in which `directory` is ours.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import selectors
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

#: How often a waiting process looks round.
_TICK_S = 0.05
#: How long a program may take to end once asked, before it is killed.
_PATIENCE_S = 5.0
#: Lines longer than this are cut into pieces.
_LONGEST = 1 << 20
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36

#: Called with the stream (1 or 2) and a line without its end.
Hear = Callable[[int, str], None]


@dataclass(frozen=True)
class Ended:
    """How a program ended: exit status (negative: the signal), and how long it took. `asked`: it was told to end."""

    status: int
    wall_s: float
    asked: bool


class Children:
    """The programs of one load, which all find `directory` in their environment; it is removed even after a SIGKILL."""

    def __init__(self, directory: Path) -> None:
        self._running: subprocess.Popen[bytes] | None = None
        self._stopped = False
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._guardian, self._told = _guardian(directory)

    @property
    def stopped(self) -> bool:
        """Whether an end was asked for."""
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
        hear: Hear,
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
            preexec_fn=_die_with_parent,
        )
        self._running = process
        self._tell(process.pid)
        if self._stopped:
            self._signal(signal.SIGTERM)
        asked_s: float | None = None
        streams = _Streams(process, hear)
        try:
            while not streams.hear(_TICK_S):
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
            streams.close()
            self._sweep()
        return Ended(status, ended_s - began, asked_s is not None)

    def _tell(self, group: int) -> None:
        """Let the guardian know whom to end with us."""
        with contextlib.suppress(BrokenPipeError):  # somebody ended it, and all that it can do now is missing
            os.write(self._told, f"{group}\n".encode())

    def _sweep(self) -> None:
        """End whoever left its group: it has become our child."""
        while left := [pid for pid in _children() if pid != self._guardian]:
            try:
                for pid in left:
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
            except PermissionError:  # of another user, which only root may end
                return

    def close(self) -> None:
        """Let the guardian go, which removes the directory."""
        os.close(self._told)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._guardian, 0)


def _children() -> list[int]:
    found: list[int] = []
    for task in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(pid) for pid in task.read_text().split()]
    return found


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _guardian(directory: Path) -> tuple[int, int]:
    """A process that outlives this one just long enough: its id, and where it is told of process groups."""
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
        while told := os.read(read, 4096):
            group = told.split()[-1]
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


class _Streams:
    """What a program says on both its streams, as whole lines; a carriage return ends one, too."""

    def __init__(self, process: subprocess.Popen[bytes], hear: Hear) -> None:
        self._process, self._hear = process, hear
        self._selector = selectors.DefaultSelector()
        self._rest = {1: b"", 2: b""}
        for stream, pipe in ((1, process.stdout), (2, process.stderr)):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ, stream)

    def hear(self, within_s: float) -> bool:
        """Take what came; whether that was all: both streams have ended, or whoever still has them is none that is run."""
        ended = _has_ended(self._process)
        if not self._selector.get_map():
            if not ended:
                time.sleep(within_s)
            return ended
        came = self._selector.select(0 if ended else within_s)
        for key, _ in came:
            data = os.read(key.fd, 1 << 16)
            if not data:
                self._selector.unregister(key.fileobj)
            self._take(key.data, data, last=not data)
        return ended and not came

    def _take(self, stream: int, data: bytes, *, last: bool) -> None:
        *lines, rest = (self._rest[stream] + data).replace(b"\r", b"\n").split(b"\n")
        if rest and (last or len(rest) > _LONGEST):
            lines, rest = [*lines, rest], b""
        self._rest[stream] = rest
        for line in lines:
            self._hear(stream, line.decode("utf-8", "replace"))

    def close(self) -> None:
        """Whatever was left unfinished is a line, too."""
        for stream in (1, 2):
            self._take(stream, b"", last=True)
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()
        self._selector.close()


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether it has, leaving it a zombie: so its id, and that of its group, are nobody else's yet."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
