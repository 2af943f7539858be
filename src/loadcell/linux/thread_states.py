"""Waits of threads at one instant, from /proc: uninterruptible sleep (state D), calls that wait for storage
to confirm, and calls that wait for another thread.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from loadcell.linux.procfs import read_small

#: Reads a file, as `read_small` does.
Read = Callable[[str], str]

#: System calls that return once data is on stable storage, by machine: fsync, fdatasync, msync,
#: sync_file_range, syncfs (Linux, unistd.h of each architecture).
_FLUSH_CALLS: Final = {
    "x86_64": frozenset({74, 75, 26, 277, 306}),
    "aarch64": frozenset({82, 83, 227, 84, 267}),
}
#: System calls that wait for another thread or process, by machine: futex, futex_waitv, semop, semtimedop.
_CALLS_OF_LOCKS: Final = {
    "x86_64": frozenset({202, 449, 65, 220}),
    "aarch64": frozenset({98, 449, 193, 192}),
}


@dataclass(frozen=True, slots=True)
class ThreadState:
    """State of a thread as a letter (proc(5): R running or ready, S asleep, D uninterruptible sleep).

    `flushing`: it waits in a call that ends once data is on stable storage; None if the kernel does not tell.
    """

    state: str
    flushing: bool | None = None

    @property
    def blocked(self) -> bool:
        """True in uninterruptible sleep, as the column `b` of vmstat counts: mostly for storage."""
        return self.state == "D"


def thread_state(root: Path, pid: int, tid: int, read: Read = read_small) -> ThreadState | None:
    """State of one thread; None when it is gone. The call is read of blocked threads alone."""
    home = f"{root}/proc/{pid}/task/{tid}"
    text = read(f"{home}/stat")
    after = text.rfind(") ")
    if after < 0:
        return None
    state = text[after + 2 : after + 3]
    return ThreadState(state, _is_in(_FLUSH_CALLS, home, read) if state == "D" else False)


def waits_for_thread(root: Path, pid: int, tid: int, read: Read = read_small) -> bool:
    """True if a thread waits for another one: for a lock, a condition or a semaphore."""
    return bool(_is_in(_CALLS_OF_LOCKS, f"{root}/proc/{pid}/task/{tid}", read))


def _is_in(calls_of: Mapping[str, Set[int]], home: str, read: Read) -> bool | None:
    """Reading the call takes the right to trace the process (ptrace(2)); None without it."""
    word, _, _ = read(f"{home}/syscall").partition(" ")
    calls = calls_of.get(platform.machine())
    if calls is None or not word.strip():
        return None
    return word.isdecimal() and int(word) in calls
