"""Becomes another program: under another user, in a given directory, on given processors, and not outliving
its parent.

Run as a script by a bare interpreter, it knows nothing of loadcell:

    python -I -S launcher.py UID GID GROUP,GROUP SIGNAL PARENT DIRECTORY CPUS MEMORY PROGRAM [WORD...]

with `- - ""` for UID, GID and groups when the user stays, and `- -` for processors and memory when these are
as they come; all that the program starts inherits them. The order matters: a change of user clears the death
signal, so that one is asked for afterwards; a parent that died before then is noticed by the changed parent
process id.
"""

from __future__ import annotations

import ctypes
import os
import runpy
import signal
import sys
from pathlib import Path
from typing import NoReturn

_PR_SET_PDEATHSIG = 1
_CANNOT_LAUNCH = 126


def _fail(step: str) -> NoReturn:
    print(step, file=sys.stderr, flush=True)
    os._exit(_CANNOT_LAUNCH)


def _first_closed(directory: Path) -> Path:
    """The outermost directory on the way that this user cannot enter."""
    for step in [*reversed(directory.parents), directory]:
        if not os.access(step, os.X_OK):
            return step
    return directory


def _pin(cpus: str, memory: str) -> None:
    if (cpus, memory) == ("-", "-"):
        return
    affinity = runpy.run_path(str(Path(__file__).with_name("affinity.py")))  # a bare interpreter: no package
    try:
        affinity["pin"](cpus.strip("-"), memory.strip("-"))
    except OSError as error:
        _fail(f"cannot pin: {error.strerror}")


def main(words: list[str]) -> NoReturn:
    """Never returns: the program takes this process over, or it ends with status 126 and a line that says
    why.
    """
    uid, gid, groups, death, parent, directory, cpus, memory, *program = words
    _pin(cpus, memory)
    libc = ctypes.CDLL(None, use_errno=True)
    if uid != "-":
        try:
            os.setgroups([int(group) for group in groups.split(",") if group])
            os.setgid(int(gid))
            os.setuid(int(uid))
        except OSError as error:
            _fail(f"cannot become user {uid}: {error.strerror}")
    if libc.prctl(_PR_SET_PDEATHSIG, int(death), 0, 0, 0) != 0:
        _fail(f"cannot ask to end with the parent process: {os.strerror(ctypes.get_errno())}")
    if os.getppid() != int(parent):
        os._exit(_CANNOT_LAUNCH)
    try:
        os.chdir(directory)
    except OSError as error:
        _fail(f"closed: {_first_closed(Path(directory))}: {error.strerror}")
    os.umask(0o077)
    # The interpreter ignores this one, and an ignored signal stays ignored in the program.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        os.execv(program[0], program)  # noqa: S606
    except OSError as error:
        _fail(f"cannot run {program[0]}: {error.strerror}")


if __name__ == "__main__":
    main(sys.argv[1:])
