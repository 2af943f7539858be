"""Process of an existing server, if it is one of this machine.

A port may be forwarded from another machine or a container, where the same process id is another process.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import psutil

from loadcell.linux import procfs
from loadcell.linux.process_counters import TICK_HZ

#: Largest difference between a start time in /proc and an uptime in whole seconds: both are truncated, and a
#: server counts from the end of its start.
_START_TOLERANCE_S = 3.0
#: Longest name of a process that the kernel keeps (TASK_COMM_LEN without the terminating NUL).
_NAME_LENGTH = 15


def listeners(port: int, socket: str | None = None) -> list[int]:
    """The processes of this machine that listen on a port, or on the path of a Unix socket, without those
    that another of them has started.

    Only root sees the sockets of other users' processes.
    """
    try:
        connections = psutil.net_connections(kind="tcp" if socket is None else "unix")
    except (psutil.Error, OSError):
        return []
    if socket is not None:
        pids = {other.pid for other in connections if str(other.laddr) == socket and other.pid}
    else:
        pids = {
            connection.pid
            for connection in connections
            if connection.status == psutil.CONN_LISTEN
            and connection.laddr
            and connection.laddr.port == port
            and connection.pid
        }
    return sorted(pid for pid in pids if _parent(pid) not in pids)


def _parent(pid: int) -> int | None:
    try:
        return psutil.Process(pid).ppid()
    except psutil.Error:
        return None


@dataclass(frozen=True)
class ReportedProcess:
    """Process as the server itself reports it: the id in its pid namespace, the name of its program, and
    for how long it has been running; None where it does not report it.
    """

    pid: int
    program: str | None = None
    uptime_s: int | None = None


def identify(reported: ReportedProcess, port: int, socket: str | None = None) -> int | None:
    """The id of the server's process in the namespace of this process; None where no process or several fit.

    A process with the reported id, in whichever pid namespace, is the server's if it listens at the address.
    Otherwise, as behind a forwarded port or where its sockets are hidden, program and start time must fit.
    """
    candidates = _with_id(reported.pid)
    listening = sorted(set(candidates).intersection(listeners(port, socket))) if candidates else []
    fitting = listening or [pid for pid in candidates if _fits(pid, reported)]
    return fitting[0] if len(fitting) == 1 else None


def _with_id(pid: int) -> list[int]:
    """Processes that have this id in their pid namespace (proc_pid_status(5): NSpid)."""
    return [other for other in procfs.process_ids() if _inner_id(other) == pid]


def _inner_id(pid: int) -> int | None:
    for line in procfs.read_small(f"/proc/{pid}/status").splitlines():
        name, _, ids = line.partition(":")
        if name == "NSpid":
            return int(ids.split()[-1])
    return None


def _fits(pid: int, reported: ReportedProcess) -> bool:
    """True if program and start time of a process are the reported ones."""
    stat = procfs.process_stat(procfs.ROOT, pid)
    if stat is None or reported.program is None or reported.uptime_s is None:
        return False
    uptime_s = time.clock_gettime(time.CLOCK_BOOTTIME) - stat.start / TICK_HZ
    return (
        stat.name == reported.program[:_NAME_LENGTH]
        and abs(uptime_s - reported.uptime_s) <= _START_TOLERANCE_S
    )
