"""Becomes another program: under another user, in a given directory, on given processors, and not outliving
its parent.

Run as a script by a bare interpreter, it knows nothing of loadcell:

    python -I -S launcher.py UID GID GROUP,GROUP SIGNAL PARENT DIRECTORY CPUS MEMORY PROGRAM [WORD...]

with `- - ""` for UID, GID and groups when the user stays, and `- -` for processors and memory when these are
as they come; all that the program starts inherits them. Processors and policies are written as the kernel
writes them (`0-3,8`; `bind:0`, `interleave:0-1`), empty where they are to stay.

The order matters: a change of user clears the death signal, so that one is asked for afterwards; a parent
that died before then is noticed by the changed parent process id.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import sys
from pathlib import Path
from typing import NoReturn

#: Numbers of set_mempolicy(2) and get_mempolicy(2): Linux' tables of system calls. Later architectures share
#: one.
_COMMON = (237, 236)
_CALLS = {
    "x86_64": (238, 239),
    "aarch64": _COMMON,
    "riscv64": _COMMON,
    "loongarch64": _COMMON,
    "ppc64le": (261, 260),
    "s390x": (270, 269),
}
#: linux/mempolicy.h: by number
_MODES = ("default", "prefer", "bind", "interleave", "local")
#: Bits of a set of nodes: more than any kernel is built for (CONFIG_NODES_SHIFT is 10 at the most).
_MOST_NODES = 1024
_WORD = 8 * ctypes.sizeof(ctypes.c_ulong)
_Nodes = ctypes.c_ulong * (_MOST_NODES // _WORD)


def pin(cpus: str, memory: str) -> None:
    """Pin this process and all that it starts. Raises OSError with what the kernel refused in `strerror`."""
    if cpus:
        try:
            os.sched_setaffinity(0, _numbers(cpus))
        except OSError as error:
            raise OSError(error.errno, f"the kernel refuses CPUs {cpus}: {error.strerror}") from None
    if memory:
        mode, _, nodes = memory.partition(":")
        mask = _Nodes()
        for node in _numbers(nodes):
            mask[node // _WORD] |= 1 << node % _WORD
        # The kernel reads one bit fewer than the number that it gets.
        failed = _call(0, ctypes.c_int(_MODES.index(mode)), mask, ctypes.c_ulong(_MOST_NODES + 1))
        if failed:
            raise OSError(
                failed,
                f"the kernel refuses the memory policy {memory}: {os.strerror(failed)}"
                + (" (a container needs the capability SYS_NICE for it)" if failed == 1 else ""),
            )


def pinned() -> tuple[str, str]:
    """Where this process runs, read back in the same notation; an empty policy where the kernel does not
    tell.
    """
    mode, mask = ctypes.c_int(), _Nodes()
    failed = _call(1, ctypes.byref(mode), mask, ctypes.c_ulong(_MOST_NODES + 1), None, ctypes.c_ulong(0))
    cpus = _ranges(sorted(os.sched_getaffinity(0)))
    if failed or not 0 <= mode.value < len(_MODES):
        return cpus, ""
    nodes = [node for node in range(_MOST_NODES) if mask[node // _WORD] >> node % _WORD & 1]
    return cpus, _MODES[mode.value] + (f":{_ranges(nodes)}" if nodes else "")


def _call(which: int, *arguments: object) -> int:
    """One of the two system calls: 0, or the error's number."""
    numbers = _CALLS.get(platform.machine())
    if numbers is None:
        return 38  # ENOSYS: nobody has looked the number up
    libc = ctypes.CDLL(None, use_errno=True)
    return ctypes.get_errno() if libc.syscall(ctypes.c_long(numbers[which]), *arguments) else 0


def _numbers(listed: str) -> list[int]:
    numbers: list[int] = []
    for part in listed.split(","):
        first, _, last = part.partition("-")
        numbers.extend(range(int(first), int(last or first) + 1))
    return numbers


def _ranges(numbers: list[int]) -> str:
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in parts)


_PR_SET_PDEATHSIG = 1
#: Exit status of a launch that failed: it could not become the user, or could not be pinned.
CANNOT_LAUNCH = 126


def _fail(step: str) -> NoReturn:
    print(step, file=sys.stderr, flush=True)
    os._exit(CANNOT_LAUNCH)


def _first_closed(directory: Path) -> Path:
    """The outermost directory on the way that this user cannot enter."""
    for step in [*reversed(directory.parents), directory]:
        if not os.access(step, os.X_OK):
            return step
    return directory


def _pin(cpus: str, memory: str) -> None:
    if (cpus, memory) == ("-", "-"):
        return
    try:
        pin(cpus.strip("-"), memory.strip("-"))
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
        os._exit(CANNOT_LAUNCH)
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
