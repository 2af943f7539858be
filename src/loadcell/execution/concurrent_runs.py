"""Notices other loadcell runs on this machine: two at once measure each other.

A run names its main thread; the kernel shows that name to everybody and takes it back when the process dies,
however it dies. Runs in other containers are not seen.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

from loadcell.linux.procfs import command_line, process_ids, read_small

NAME = "loadcell-run"  # at most 15 characters (prctl(2))
_PR_SET_NAME, _PR_GET_NAME = 15, 16


@contextlib.contextmanager
def named(name: str = NAME) -> Iterator[None]:
    """Bear the name while the block runs. Call it in the main thread."""
    libc = ctypes.CDLL(None)
    before = ctypes.create_string_buffer(16)
    libc.prctl(_PR_GET_NAME, before, 0, 0, 0)
    libc.prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(_PR_SET_NAME, before, 0, 0, 0)


def look(root: Path = Path("/"), name: str = NAME, own_pid: int | None = None) -> list[int]:
    """Process ids of the other runs."""
    own_pid = os.getpid() if own_pid is None else own_pid
    return sorted(
        pid
        for pid in process_ids(root)
        if pid != own_pid and read_small(f"{root}/proc/{pid}/comm").rstrip("\n") == name
    )


def described(pid: int, root: Path = Path("/")) -> str:
    """A neighbour in words: its process id, and what it runs if that may be known."""
    words = command_line(pid, root)
    arguments = words[words.index("run") + 1 :] if "run" in words else []
    plan = next((word for word in arguments if word and not word.startswith("-")), None)
    return f"process {pid}" + (f", plan {plan}" if plan else "")
