"""Processes of a PostgreSQL by their titles, and the first process of a running server."""

from __future__ import annotations

import os
import re
import socket
from typing import TYPE_CHECKING, Any

from loadcell.linux import procfs

if TYPE_CHECKING:
    from psycopg import Connection

#: Others name a database, a process or a subscription: `postgres: parallel worker for PID 4711`.
_WORKER = re.compile(r"^postgres: (?:.*: )?((?:autovacuum|parallel|logical replication(?: \w+)*) worker)\b")
#: Others name a position of the log: `postgres: standby_1: walreceiver streaming 0/3000148`.
_REPLICATION = re.compile(r"^(postgres: (?:\S+: )?(?:startup|walreceiver|walsender))\b")
#: Title of a server process: `postgres: user database 127.0.0.1(5432) idle in transaction`.
_CLIENT_BACKEND = re.compile(r"^postgres: (?:.*: )?\S+ \S+ (?:\[local\]|\S+\(\d+\))")


def kind(title: str) -> str:
    """The title of a process without what changes from moment to moment."""
    if replication := _REPLICATION.match(title):
        return replication[1]
    if _CLIENT_BACKEND.match(title):
        return "postgres: client backend"
    worker = _WORKER.match(title)
    return title if worker is None else f"postgres: {worker[1]}"


def postmaster_of(connection: Connection[Any]) -> list[int]:
    """The postmaster's process id, if the server process of this connection is one of this machine.

    A port may be forwarded from elsewhere, where the same number is another process: the title of ours
    must name the port we connected from.
    """
    row = connection.execute("SELECT pg_backend_pid()").fetchone()
    assert row is not None
    pid = int(row[0])
    title = " ".join(procfs.command_line(pid))
    try:
        with socket.socket(fileno=os.dup(connection.fileno())) as client:
            origin = "[local]" if client.family == socket.AF_UNIX else f"({client.getsockname()[1]})"
    except OSError:
        return []
    stat = procfs.process_stat(procfs.ROOT, pid)
    if stat is None or not title.startswith("postgres:") or origin not in title:
        return []
    return [stat.parent]
