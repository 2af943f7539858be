"""Sessions (setsid(2)) of programs that loadcell has started, to end all processes of one.

A kernel reuses the number of a session only after its last process. While the first process lives, its start
identifies the session. After its end the scheduling group does (autogroup, sched(7)): the kernel makes one
for each session, numbers them without reuse, and lets no process choose another. Where a kernel has none,
nothing identifies the processes that outlive their first, and they are left alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from loadcell.linux import procfs
from loadcell.linux.process_identity import boot_id

_FILE = "session.json"
#: How long killed processes may take to end.
_LIMIT_S = 5.0
_POLL_S = 0.02


@dataclass(frozen=True)
class Session:
    """A session by its number, and by what tells it from a later one of that number."""

    number: int
    #: when its first process was started, in ticks since boot
    started: int
    #: scheduling group of its processes; empty if the kernel has none
    group: str

    @staticmethod
    def of(pid: int) -> Session:
        """The session that a living process has just been started in as the first."""
        return Session(pid, procfs.started(pid) or 0, _group(pid))


def remaining_processes(session: Session) -> list[int]:
    """Processes of a session, except zombies."""
    first = procfs.started(session.number)
    if first not in (None, session.started):
        return []
    pids = []
    for pid in procfs.process_ids():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.getsid(pid) != session.number:
                continue
            stat = procfs.process_stat(procfs.ROOT, pid)
            if stat is None or stat.state == "Z":
                continue
            if first is not None or (session.group and _group(pid) == session.group):
                pids.append(pid)
    return pids


def _group(pid: int) -> str:
    """The scheduling group of a process, without its nice value."""
    return procfs.read_small(f"{procfs.ROOT}/proc/{pid}/autogroup").partition(" ")[0]


def end_session(session: Session) -> None:
    """Kill the processes of a session, and wait until they have ended."""
    deadline = time.monotonic() + _LIMIT_S
    while pids := remaining_processes(session):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            return
        time.sleep(_POLL_S)


def record_session(directory: Path, session: Session) -> None:
    """Write down in a run's work directory which session a program of the run has."""
    facts = {**asdict(session), "boot": boot_id()}
    with contextlib.suppress(OSError):  # it serves only a run that is killed
        (directory / _FILE).write_text(json.dumps(facts))


def end_recorded(directory: Path) -> None:
    """End the session that a dead run recorded in a directory, if there is one."""
    try:
        facts = json.loads((directory / _FILE).read_text())
        session = Session(int(facts["number"]), int(facts["started"]), str(facts["group"]))
        boot = facts["boot"]
    except (OSError, ValueError, KeyError, TypeError):
        return
    if str(boot).strip() == boot_id():
        end_session(session)
