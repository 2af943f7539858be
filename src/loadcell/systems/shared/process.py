"""A server's process: started by a thread that outlives the start, its words passed on, ended step by step."""

from __future__ import annotations

import contextlib
import fcntl
import queue
import socket
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from signal import SIGKILL, Signals

from loadcell.systems.base import TargetError
from loadcell.systems.shared.account import environment
from loadcell.systems.shared.messages import PROCESS_NO_ANSWER, PROCESS_NOT_STARTED

_BIRTH_LIMIT_S = 5.0
#: A start may have to redo the log of a crash; the run's own limit for `up` is the sharper one.
_START_LIMIT_S = 600.0
_POLL_S = 0.03
_LOG_PIPE_BYTES = 1 << 20

#: A signal, how long its effect may take, and what the manner of that shutdown is called.
StopStep = tuple[Signals, float, str]


class Kept:
    """One process at a time, called `name`. `log` takes what it says, line by line.

    `variables` is its environment; by default what servers usually see.
    """

    def __init__(
        self, name: str, log: Callable[[str], None], variables: Mapping[str, str] | None = None
    ) -> None:
        self.name = name
        self.log = log
        self._variables = variables
        #: the last lines it said
        self.words: deque[str] = deque(maxlen=200)
        self._process: subprocess.Popen[bytes] | None = None
        self._keeper: threading.Thread | None = None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None and self.running else None

    @property
    def status(self) -> int | None:
        """Of a process that has ended: its exit status, or minus the signal that ended it."""
        return self._process.poll() if self._process is not None else None

    def start(self, command: list[str], ready: Callable[[], None]) -> None:
        """Start it and wait for `ready`, which raises where it did not come up: then it is stopped again."""
        self.words.clear()
        self._process = None
        born: queue.SimpleQueue[subprocess.Popen[bytes] | OSError] = queue.SimpleQueue()
        self._keeper = threading.Thread(
            target=self._keep, args=(command, born), name=f"{self.name}-log", daemon=True
        )
        try:
            self._keeper.start()
            process = born.get()
            if isinstance(process, OSError):
                raise TargetError(PROCESS_NOT_STARTED(said=process.strerror))
            ready()
        except BaseException:
            if self._process is None:  # interrupted while the keeper was at it
                with contextlib.suppress(queue.Empty):
                    born.get(timeout=_BIRTH_LIMIT_S)
            raise

    def _keep(self, command: list[str], born: queue.SimpleQueue[subprocess.Popen[bytes] | OSError]) -> None:
        """Start the server and pass on what it says, until it ends.

        A thread of its own, as the kernel sends the death signal when the *thread* ends that started a process.
        """
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=environment() if self._variables is None else self._variables,
                cwd="/",
                start_new_session=True,  # Ctrl-C is for loadcell, which then stops the server in its turn
            )
        except OSError as error:
            born.put(error)
            return
        assert process.stdout is not None
        with contextlib.suppress(OSError, AttributeError):
            fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, _LOG_PIPE_BYTES)
        self._process = process
        born.put(process)
        with process.stdout as said:
            for raw in said:
                line = raw.decode("utf-8", "replace").rstrip("\n")
                self.words.append(line)
                self.log(f"{self.name}: {line}")
        process.wait()

    def await_answer(self, knock: Callable[[], None], why_not: Callable[[], TargetError]) -> None:
        """Wait until `knock` no longer raises TargetError. `why_not` says what is wrong when the process has ended."""
        deadline = time.monotonic() + _START_LIMIT_S
        while True:
            if not self.running:
                raise why_not()
            try:
                knock()
                return
            except TargetError as error:
                if time.monotonic() > deadline:
                    raise TargetError(PROCESS_NO_ANSWER(limit_s=_START_LIMIT_S, why=error.message)) from error
            time.sleep(_POLL_S)

    def last_words(self) -> list[str]:
        """All that an ended process said at last."""
        if self._keeper is not None:
            self._keeper.join(timeout=2)
        return list(self.words)

    def stop(self, steps: Sequence[StopStep]) -> bool:
        """Signal after signal until it has ended; does nothing when it is gone. Whether it had to be killed."""
        process = self._process
        killed = False
        if process is not None and process.poll() is None:
            for number, limit_s, manner in steps:
                with contextlib.suppress(ProcessLookupError):
                    process.send_signal(number)
                try:
                    process.wait(limit_s)
                    break
                except subprocess.TimeoutExpired:
                    self.log(f"the server did not end within {limit_s:.0f} s of a {manner} shutdown")
            killed = process.returncode == -SIGKILL
        if self._keeper is not None and self._keeper is not threading.current_thread():
            self._keeper.join(timeout=5)
        self._process = self._keeper = None
        return killed


def free_port() -> int:
    """A TCP port of 127.0.0.1 that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
