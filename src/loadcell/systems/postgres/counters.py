"""Counters of a PostgreSQL that a load's record is compared with."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from loadcell.systems.base import COMMITS_PER_CONNECTION, WORKERS_PER_QUERY
from loadcell.systems.postgres.connection import LOCK_APPLICATION

if TYPE_CHECKING:
    from psycopg import Connection

#: A session commits a transaction when it begins, and one when it has prepared its statements.
_COMMITS_OF_CONNECTION = 2
#: A session reports its last counts when it ends; this long may the load's take to do so.
_LEAVE_LIMIT_S = 2.0
_PAUSE_S = 0.02
#: Before version 15 the values went through a file that is at most this old.
_FILE_AGE_S = 0.6

_DATABASE = """
    SELECT xact_commit, xact_rollback, tup_inserted, tup_updated, tup_deleted, tup_returned, tup_fetched,
           blks_hit, blks_read, deadlocks, temp_bytes, conflicts
    FROM pg_stat_database WHERE datname = %s
"""
_WORKERS = "SELECT current_setting('max_parallel_workers_per_gather')"
_OTHERS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = %s AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND usename = %s
      AND NOT starts_with(application_name, %s)
"""
_WAL = """
    SELECT pg_wal_lsn_diff(
        CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END,
        '0/0')
"""
_CHECKPOINTS = "SELECT num_timed + num_requested FROM pg_stat_checkpointer"
_CHECKPOINTS_BEFORE_17 = "SELECT checkpoints_timed + checkpoints_req FROM pg_stat_bgwriter"


def read_counters(connection: Connection[Any], database: str, role: str) -> dict[str, int]:
    """Counters of one database (pg_stat_database), and of the server: `wal_bytes`, `checkpoints`.

    Waits a moment for the sessions of `role`, as a session reports its last counts when it ends. Background
    work (autovacuum) is in these values too.
    """
    deadline = time.monotonic() + _LEAVE_LIMIT_S
    while _number(connection, _OTHERS, [database, role, LOCK_APPLICATION]) and time.monotonic() < deadline:
        time.sleep(_PAUSE_S)
    if connection.info.server_version < 150000:
        time.sleep(_FILE_AGE_S)
    cursor = connection.execute(_DATABASE, [database])
    names = [column.name for column in cursor.description or ()]
    row = cursor.fetchone() or ()
    counters = {name: int(value) for name, value in zip(names, row, strict=False) if value is not None}
    counters[COMMITS_PER_CONNECTION] = _COMMITS_OF_CONNECTION
    counters[WORKERS_PER_QUERY] = _number(connection, _WORKERS)
    counters["wal_bytes"] = _number(connection, _WAL)
    new = connection.info.server_version >= 170000
    counters["checkpoints"] = _number(connection, _CHECKPOINTS if new else _CHECKPOINTS_BEFORE_17)
    return counters


def _number(connection: Connection[Any], query: str, values: list[Any] | None = None) -> int:
    row = connection.execute(query, values).fetchone()
    return int(row[0]) if row and row[0] is not None else 0
