"""A process that outlives a killed run, and removes its remains: servers, their memory, the work directory.

It waits at the end of a pipe whose other end only the run has. A byte dismisses it. The end of the pipe
without a byte is the end of the run by a kill. Until then it is a bare interpreter, which costs nothing.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from loadcell.execution import workdir
from loadcell.linux import child_environment, owned_directories

_WAIT = "import os, sys; os.read(0, 1) or os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
#: Knows all targets, which the packages below do not.
_SWEEPER = "loadcell.cli.sweep"
#: How long servers whose run was killed may take for their own end. A later run removes the remainder.
_LIMIT_S = 60.0
_POLL_S = 0.2


@contextlib.contextmanager
def guarded(home: Path) -> Iterator[None]:
    """Have the remains in `home` swept if this process is killed during the block."""
    command = [sys.executable, "-I", "-S", "-c", _WAIT, "-m", _SWEEPER, str(home)]
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=child_environment.plain(),
            cwd="/",
            start_new_session=True,  # no signal of a terminal is for it
        )
    except OSError:
        yield  # a later run sweeps
        return
    assert process.stdin is not None
    try:
        yield
    finally:
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(b".")
            process.stdin.flush()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        process.wait()


def sweep(home: Path, release: Callable[[Path], None]) -> None:
    """Sweep what dead runs left, as soon as their servers have ended."""
    deadline = time.monotonic() + _LIMIT_S
    while owned_directories.abandoned(home) and time.monotonic() < deadline:
        workdir.sweep(home, release)
        time.sleep(_POLL_S)
