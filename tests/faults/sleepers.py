"""Real processes for faults to act on: a parent with a child, both asleep."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from loadcell.faults.hang import Hang
from loadcell.linux import procfs
from loadcell.plan.parts import SubjectOptions
from loadcell.systems.subjects import Subject

_PARENT = (
    "import subprocess, time; subprocess.Popen(['sleep', '60']); print('up', flush=True); time.sleep(60)"
)


@contextlib.contextmanager
def family() -> Iterator[int]:
    """The id of a process that has a child; both are killed at the end."""
    process = subprocess.Popen((sys.executable, "-c", _PARENT), stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    try:
        yield process.pid
    finally:
        for pid in reversed(procfs.tree(procfs.ROOT, [process.pid])):
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(_descriptor(pid), signal.SIGKILL)
        process.wait()
        process.stdout.close()


def _descriptor(pid: int) -> int:
    import os

    return os.pidfd_open(pid)


def states(pid: int) -> set[str]:
    """States of a process and its descendants."""
    stats = (procfs.process_stat(procfs.ROOT, member) for member in procfs.tree(procfs.ROOT, [pid]))
    return {stat.state for stat in stats if stat is not None}


def until_states(pid: int, wanted: set[str]) -> None:
    """Wait for the states of a process tree."""
    deadline = time.monotonic() + 10
    while states(pid) != wanted:
        assert time.monotonic() < deadline, states(pid)
        time.sleep(0.01)


def hang(pid: int, name: str = "sleeper") -> Hang:
    """A `hang` of a process tree."""
    return Hang(SubjectOptions(subject=name), Subject(name, lambda: (pid,)))


def journal_files(directory: Path) -> list[str]:
    """Names of the files in a journal."""
    return sorted(path.name for path in directory.glob("*"))
