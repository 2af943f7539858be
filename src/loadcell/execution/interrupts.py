"""Ctrl-C, SIGTERM and time limits, turned into something a trial can handle at the right moment.

The first signal asks for a clean end; the second ends the process at once (what it started dies with it, by
PR_SET_PDEATHSIG), or only the load where the process does other work, too. A blocking step in this process is
bounded by `Interrupts.bounded`, which raises out of it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from types import FrameType

from loadcell.model.message import MessageCode

INTERRUPTED = MessageCode("interrupted", resume=str)
NOTHING_LEFT = MessageCode("run.nothing-left", "info")

#: How often a time limit repeats itself, in case a library swallowed the first exception.
_REPEAT_S = 2.0

EXIT_INTERRUPTED = 130


class LimitReached(BaseException):
    """A step took longer than its limit.

    A BaseException, so that no `except Exception` on the way keeps it.
    """


class Interrupted(BaseException):
    """The user asked for the end during a step that may be broken off."""


class Interrupts:
    """Installed for the length of a run, in the main thread."""

    def __init__(
        self, at_once: Callable[[], None] = lambda: None, resume: str = "", *, ends_process: bool = True
    ) -> None:
        """`at_once` is called on the second signal, before the process ends: it must only kill, not wait.

        `resume` is the command that resumes the run. Without `ends_process`, the process outlives the run.
        """
        self.requested = False
        #: the first signal
        self.signal: int | None = None
        #: why a trial ends that was under way
        self.reason = INTERRUPTED(resume=resume)
        self._at_once = at_once
        self._ends_process = ends_process
        self._breakable = False
        self._timer = (0.0, 0.0)
        self._began = 0.0
        self._before: dict[int, object] = {}

    def __enter__(self) -> Interrupts:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # Ignored by nohup, or by a shell for its background job; None: a handler outside Python.
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                self._before[number] = signal.signal(number, self._asked)
        self._timer = signal.setitimer(signal.ITIMER_REAL, 0)
        self._began = time.monotonic()
        self._before[signal.SIGALRM] = signal.signal(signal.SIGALRM, self._late)
        return self

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # what signal.signal gave back
        remaining_s, interval_s = self._timer
        if remaining_s:  # a timer of the process itself
            elapsed_s = time.monotonic() - self._began
            signal.setitimer(signal.ITIMER_REAL, max(remaining_s - elapsed_s, 0.001), interval_s)

    @contextlib.contextmanager
    def bounded(self, limit_s: float | None, *, breakable: bool = True) -> Iterator[None]:
        """Run a blocking step: raises LimitReached after `limit_s`, Interrupted on a signal when `breakable`.

        A step that cleans up is not breakable: the first signal leaves it alone.
        """
        if breakable and self.requested:
            raise Interrupted
        self._breakable = breakable
        if limit_s is not None:
            signal.setitimer(signal.ITIMER_REAL, max(limit_s, 0.001), _REPEAT_S)
        try:
            yield
        finally:
            self._breakable = False
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _asked(self, number: int, _frame: FrameType | None) -> None:
        if self.requested:
            self._at_once()
            if self._ends_process:
                os._exit(EXIT_INTERRUPTED)
            return
        self.requested = True
        self.signal = number
        if self._breakable:
            self._breakable = False
            raise Interrupted

    @staticmethod
    def _late(_number: int, _frame: FrameType | None) -> None:
        raise LimitReached
