"""Calls that may hang on a dead mount, each in a process that is abandoned where it does not answer.

A process in uninterruptible sleep cannot be ended by any signal. While one exists, no other begins.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
import socket
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

Value = TypeVar("Value")

LIMIT_S: Final = 2.0
_MOST_BYTES: Final = 1 << 20
_MOST_DESCRIPTORS: Final = 32


@dataclass(frozen=True)
class Answer(Generic[Value]):
    """Value and open descriptors that a call returned; the caller closes them."""

    value: Value
    descriptors: tuple[int, ...] = ()


@dataclass
class DisposableCalls:
    """Calls one after the other; none while an earlier one hangs."""

    limit_s: float = LIMIT_S
    _outstanding: int | None = field(default=None, init=False)

    @property
    def is_hanging(self) -> bool:
        """True while the process of an earlier call has not ended."""
        if self._outstanding is not None and _has_ended(self._outstanding):
            self._outstanding = None
        return self._outstanding is not None

    def call(self, function: Callable[[], tuple[Value, Sequence[int]]]) -> Answer[Value] | None:
        """The answer of a function that returns a value and open descriptors; None if it hangs or fails."""
        if self.is_hanging:
            return None
        receiver, sender = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _MOST_BYTES)
        with receiver:
            with sender, warnings.catch_warnings():
                # threads do nothing that the new process needs
                warnings.simplefilter("ignore", DeprecationWarning)
                try:
                    pid = os.fork()
                except OSError:
                    return None
                if pid == 0:
                    _work(function, sender, self.limit_s)
            self._outstanding = pid
            answer: Answer[Value] | None = None
            if select.select([receiver], [], [], self.limit_s)[0]:
                answer = _received(receiver)
        if answer is None:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + self.limit_s
        while self.is_hanging and time.monotonic() < deadline and answer is not None:
            time.sleep(0.001)
        return answer


def _received(receiver: socket.socket) -> Answer[Value] | None:
    data, descriptors, _, _ = socket.recv_fds(receiver, _MOST_BYTES, _MOST_DESCRIPTORS)
    if not data:
        return None
    value: Value = pickle.loads(data)  # noqa: S301 - written by a process of this program
    return Answer(value, tuple(descriptors))


def _work(
    function: Callable[[], tuple[object, Sequence[int]]], sender: socket.socket, limit_s: float
) -> None:
    """Call in the new process, and end it: nothing of the caller may run in it."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(int(limit_s) + 2)  # the caller may be killed
        # the pipes of the caller must not stay open while this process hangs
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        value, descriptors = function()
        socket.send_fds(sender, [pickle.dumps(value)], list(descriptors))
    finally:
        os._exit(0)


def _has_ended(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True
