"""Sessions (setsid(2)) of started programs: ends what a program has started and left behind.

A kernel reuses the number of a session only after its last process. Every other process follows the first,
so the start of the first tells a session from a later one of the same number.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from pathlib import Path

from loadcell.linux import procfs

_FILE = "session.json"
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
#: How long killed processes may take to end.
_LIMIT_S = 5.0
_POLL_S = 0.02


def remaining(session: int, started: int) -> list[int]:
    """Processes of a session whose first was `started` then (ticks since boot); zombies excluded."""
    pids = []
    for pid in procfs.process_ids():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.getsid(pid) != session:
                continue
            stat = procfs.process_stat(procfs.ROOT, pid)
            if stat is not None and stat.state != "Z" and stat.start >= started:
                pids.append(pid)
    return pids


def end(session: int, started: int) -> None:
    """Kill the processes of a session, and wait until they have ended."""
    deadline = time.monotonic() + _LIMIT_S
    while pids := remaining(session, started):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            return
        time.sleep(_POLL_S)


def record(directory: Path, session: int, started: int) -> None:
    """Write down in a run's work directory which session a program of the run has."""
    facts = {"session": session, "started": started, "boot": procfs.text(_BOOT_ID)}
    with contextlib.suppress(OSError):  # it serves only a run that is killed
        (directory / _FILE).write_text(json.dumps(facts))


def end_recorded(directory: Path) -> None:
    """End the session that a dead run recorded in a directory, if there is one."""
    try:
        facts = json.loads((directory / _FILE).read_text())
        session, started, boot = int(facts["session"]), int(facts["started"]), facts["boot"]
    except (OSError, ValueError, KeyError, TypeError):
        return
    if boot == procfs.text(_BOOT_ID):
        end(session, started)
