"""A program whose output is read without waiting: bounded in bytes, killed with its process group.

It dies with the thread that started it, so also with a loadcell that is killed.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from loadcell.linux.process import Session, end_session, has_ended, launch_command

#: Most bytes of standard output between two samples, and of one line.
MOST_BYTES: Final = 1 << 18
#: Most characters of standard error that are shown, and the bytes of it that are stored.
MOST_ERRORS: Final = 300
_ERRORS_STORED: Final = 1 << 14
_READ_BYTES: Final = 1 << 16
_POLL_S: Final = 0.005
#: How long a program may take to end when it is asked to, and when it is killed.
_PROBE_LIMIT_S: Final = 5.0
_TERM_LIMIT_S, _KILL_LIMIT_S = 0.5, 1.0


class TooMuchOutputError(Exception):
    """The program printed more than `MOST_BYTES` since the last look, or one line of that length."""


class Program:
    """One process of the program. Raises OSError if it cannot be started. `redact` takes secrets out of its
    standard error before that is cut.
    """

    def __init__(
        self,
        words: Sequence[str],
        directory: Path,
        environment: Mapping[str, str],
        redact: Callable[[str], str] = str,
    ) -> None:
        self.cpu_s = 0.0
        self._redact = redact
        self._first_errors = b""
        self.error_bytes = 0
        #: exit status, or minus the number of the signal that ended it; None while it runs
        self.status: int | None = None
        self._partial = b""
        self._process = subprocess.Popen(
            _mortal(words, directory),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment),
            cwd=directory,
            start_new_session=True,
        )
        self._session = Session.of(self._process.pid)
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._output, self._errors = self._process.stdout, self._process.stderr
        for pipe in (self._output, self._errors):
            os.set_blocking(pipe.fileno(), False)

    @property
    def errors(self) -> str:
        """The first characters of standard error, without secrets."""
        return self._redact(self._first_errors.decode("utf-8", "replace"))[:MOST_ERRORS]

    def lines(self) -> list[str]:
        """Whole lines since the last call. Raises TooMuchOutputError."""
        ended = self._ended
        pieces, size = [self._partial], 0
        while data := _read(self._output.fileno()):
            pieces.append(data)
            size += len(data)
            if size > MOST_BYTES:
                raise TooMuchOutputError
        errors = _read(self._errors.fileno())
        self.error_bytes += len(errors)
        self._first_errors += errors[: _ERRORS_STORED - len(self._first_errors)]
        if ended:
            self._reap()
        *lines, self._partial = b"".join(pieces).split(b"\n")
        if len(self._partial) > MOST_BYTES:
            raise TooMuchOutputError
        if ended and self._partial:
            lines, self._partial = [*lines, self._partial], b""
        return [line.decode("utf-8", "replace") for line in lines]

    def wait(self, limit_s: float) -> list[str]:
        """Lines until it ends, or until the limit, where `status` stays None. Raises TooMuchOutputError."""
        deadline_s = time.monotonic() + limit_s
        lines: list[str] = []
        size = 0
        poll = select.poll()
        end = os.pidfd_open(self._process.pid)
        try:
            for descriptor in (end, self._output.fileno(), self._errors.fileno()):
                poll.register(descriptor, select.POLLIN)
            while True:
                more = self.lines()
                lines += more
                size += sum(map(len, more))
                if size > MOST_BYTES or self.error_bytes > MOST_BYTES:
                    raise TooMuchOutputError
                remaining_s = deadline_s - time.monotonic()
                if self.status is not None or remaining_s <= 0:
                    return lines
                for descriptor, flags in poll.poll(remaining_s * 1000 + 1):
                    if flags & select.POLLHUP and not flags & select.POLLIN:
                        poll.unregister(descriptor)
        finally:
            os.close(end)

    def close(self, *, ask: bool = True) -> None:
        """End it and all that it started. With `ask`, its process group gets SIGTERM and time to end."""
        if self.status is None:
            if ask:
                self._signal(signal.SIGTERM)
                deadline_s = time.monotonic() + _TERM_LIMIT_S
                while not self._ended and time.monotonic() < deadline_s:
                    with contextlib.suppress(TooMuchOutputError):
                        self.lines()  # one that prints on must not wait for a reader
                    time.sleep(_POLL_S)
            if not self._ended:
                self._signal(signal.SIGKILL)
            deadline_s = time.monotonic() + _KILL_LIMIT_S
            while not self._ended and time.monotonic() < deadline_s:
                time.sleep(_POLL_S)
            end_session(self._session)
            if self._ended:
                self._reap()
        for pipe in (self._output, self._errors):
            pipe.close()

    @property
    def _ended(self) -> bool:
        return self.status is not None or has_ended(self._process)

    def _reap(self) -> None:
        """Kill what it left behind, while its id is still taken, and take its status and CPU time."""
        if self.status is not None:
            return
        end_session(self._session)
        _, status, usage = os.wait4(self._process.pid, 0)
        self.status = self._process.returncode = os.waitstatus_to_exitcode(status)
        self.cpu_s = usage.ru_utime + usage.ru_stime

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


def _mortal(words: Sequence[str], directory: Path) -> list[str]:
    """The command so that the program is killed when the thread that started it ends."""
    if (setpriv := _setpriv(shutil.which("setpriv"))) is not None:  # Python starts ten times as slowly
        return [setpriv, "--pdeathsig", "KILL", "--", *words]
    return launch_command(words, directory, signal.SIGKILL)


@cache
def _setpriv(program: str | None) -> str | None:
    """The program if it knows death signals; that of util-linux before 2.33 and BusyBox' do not."""
    if program is None:
        return None
    try:
        tried = subprocess.run(
            [program, "--pdeathsig", "KILL", "--", program, "--help"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PROBE_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return program if tried.returncode == 0 else None


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _READ_BYTES)
    except BlockingIOError:
        return b""
