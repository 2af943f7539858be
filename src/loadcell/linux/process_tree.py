"""Signals to process trees: the processes are held by descriptors, so that a reused id is never hit."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from loadcell.linux import procfs
from loadcell.model.json import JsonObject

#: Looks at a tree until no process of it is new: one that forks may start children between two looks.
_MOST_LOOKS = 20


@dataclass(frozen=True)
class ProcessRoot:
    """A process by its id and its start in ticks since boot."""

    pid: int
    started: int


def roots(pids: Sequence[int]) -> tuple[ProcessRoot, ...]:
    """The living processes among these."""
    started = ((pid, procfs.started(pid)) for pid in pids)
    return tuple(ProcessRoot(pid, ticks) for pid, ticks in started if ticks is not None)


def document(processes: Sequence[ProcessRoot]) -> JsonObject:
    """As arguments of an undo."""
    return {"roots": [[process.pid, process.started] for process in processes]}


def recorded(arguments: JsonObject) -> tuple[ProcessRoot, ...]:
    """The processes of an undo that still live."""
    listed = [ProcessRoot(int(pid), int(started)) for pid, started in arguments.get("roots", [])]
    return tuple(process for process in listed if procfs.started(process.pid) == process.started)


@contextlib.contextmanager
def held(process: ProcessRoot) -> Iterator[int | None]:
    """A descriptor of the process; None if it has ended."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except OSError:
        yield None
        return
    try:
        # the descriptor is of this process only if it had the id before and has it still
        yield descriptor if procfs.started(process.pid) == process.started else None
    finally:
        os.close(descriptor)


def send(process: ProcessRoot, number: signal.Signals) -> bool:
    """Send a signal; False if the process has ended."""
    with held(process) as descriptor:
        if descriptor is None:
            return False
        try:
            signal.pidfd_send_signal(descriptor, number)
        except ProcessLookupError:
            return False
    return True


def signal_tree(processes: Sequence[ProcessRoot], number: signal.Signals) -> tuple[ProcessRoot, ...]:
    """Send a signal to each process and its descendants, parents first; the processes that got it."""
    seen: set[ProcessRoot] = set()
    reached: list[ProcessRoot] = []
    for _ in range(_MOST_LOOKS):
        unseen = [process for process in tree(processes) if process not in seen]
        if not unseen:
            break
        seen.update(unseen)
        reached += [process for process in unseen if send(process, number)]
    return tuple(reached)


def tree(processes: Sequence[ProcessRoot]) -> tuple[ProcessRoot, ...]:
    """The processes and their living descendants."""
    living = [process.pid for process in processes if procfs.started(process.pid) == process.started]
    return roots(procfs.tree(procfs.ROOT, living))


def is_stopped(processes: Sequence[ProcessRoot]) -> bool:
    """True if a process of the trees is stopped by a signal (state T)."""
    stats = (procfs.process_stat(procfs.ROOT, process.pid) for process in tree(processes))
    return any(stat is not None and stat.state == "T" for stat in stats)
