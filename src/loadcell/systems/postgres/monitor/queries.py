"""Queries of the monitor, by the server's version (PostgreSQL 11 to 18, manual chapter 27.2), and the session
that asks them.

Every figure has one name here, whatever view the version has it in; what a version does not tell is missing.
A session never waits longer than its limit, whatever becomes of the server.
"""

from __future__ import annotations

import select
import time
from typing import TYPE_CHECKING, Any

from loadcell.systems.postgres import driver
from loadcell.systems.postgres.connection import LOCK_APPLICATION
from loadcell.systems.shared.server_monitor import AnswerError, LinkError

if TYPE_CHECKING:
    from psycopg import Connection

#: The name under which a server's own views show the monitor.
APPLICATION = "loadcell monitor"
#: How long an answer, and a connection, may take: a server that is stopped must not stop the monitor.
ANSWER_LIMIT_S = 2.0
CONNECT_LIMIT_S = 2

Record = dict[str, str | None]


class RefusedError(AnswerError):
    """The server refused a query: its message, and the SQLSTATE."""

    def __init__(self, message: str, sqlstate: str) -> None:
        super().__init__(message)
        self.sqlstate = sqlstate


class Link:
    """One session.

    Questions are plain SQL by the simple protocol, which a replication session understands too.
    """

    def __init__(self, connection: Connection[Any]) -> None:
        self._connection = connection
        self._pg = connection.pgconn
        self.version: int = connection.info.server_version
        self.questions = 0

    def ask(self, sql: str) -> list[list[Record]]:
        """The records of each statement of `sql`, as text. Raises LinkError and AnswerError."""
        self.questions += 1
        deadline = time.monotonic() + ANSWER_LIMIT_S
        try:
            self._pg.send_query(sql.encode())
            while self._pg.flush():
                self._await(select.POLLOUT, deadline)
            return self._answers(deadline)
        except driver.Error as error:
            raise LinkError(_first_line(str(error))) from error

    def _answers(self, deadline: float) -> list[list[Record]]:
        records: list[list[Record]] = []
        refused: RefusedError | None = None
        while True:
            while self._pg.is_busy():
                self._await(select.POLLIN, deadline)
                self._pg.consume_input()
            result = self._pg.get_result()
            if result is None:
                break
            if result.status == driver.ExecStatus.TUPLES_OK:
                records.append(_records(result))
            elif result.status == driver.ExecStatus.FATAL_ERROR:
                refused = _refusal(result)
        if refused is None:
            return records
        if not refused.sqlstate or refused.sqlstate.startswith(("57P", "08")):
            raise LinkError(str(refused))
        raise refused

    def _await(self, condition: int, deadline: float) -> None:
        """Wait until the socket can be read or written."""
        poll = select.poll()
        poll.register(self._pg.socket, condition)
        if not poll.poll(max(0.0, deadline - time.monotonic()) * 1e3):
            raise LinkError(f"no answer within {ANSWER_LIMIT_S:g} s")

    def close(self) -> None:
        """Let go."""
        self._connection.close()


def _records(result: Any) -> list[Record]:
    names = [result.fname(column).decode() for column in range(result.nfields)]
    return [
        {
            name: None
            if (value := result.get_value(row, column)) is None
            else value.decode("utf-8", "replace")
            for column, name in enumerate(names)
        }
        for row in range(result.ntuples)
    ]


def _refusal(result: Any) -> RefusedError:
    message = result.error_field(driver.DiagnosticField.MESSAGE_PRIMARY) or result.error_message
    code = result.error_field(driver.DiagnosticField.SQLSTATE) or b""
    return RefusedError(_first_line(message.decode("utf-8", "replace")), code.decode())


def _first_line(text: str) -> str:
    return (text.strip().splitlines() or ["no reason given"])[0]


_DATABASE = """
    SELECT xact_commit AS commits, xact_rollback AS rollbacks, blks_hit AS blocks_hit,
           blks_read AS blocks_read,
           blk_read_time AS block_read_ms, blk_write_time AS block_write_ms,
           tup_returned AS tuples_returned, tup_fetched AS tuples_fetched, tup_inserted AS tuples_inserted,
           tup_updated AS tuples_updated, tup_deleted AS tuples_deleted, temp_files, temp_bytes, deadlocks,
           conflicts
    FROM pg_stat_database WHERE datname = {database}
"""
#: The position in the log is exact at every instant, and every version knows it. The clock says which instant
#: that was: when the answer arrives is another matter on a busy machine.
_LOG = """
    SELECT extract(epoch FROM clock_timestamp()) * 1000 AS clock_ms, pg_wal_lsn_diff(
        CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END,
        '0/0'
    ) AS wal_bytes
"""
_WAL_14 = """
    SELECT wal_records, wal_fpi AS wal_full_pages, wal_buffers_full, wal_write AS wal_writes,
           wal_sync AS wal_syncs,
           wal_write_time AS wal_write_ms, wal_sync_time AS wal_sync_ms
    FROM pg_stat_wal
"""
_WAL_18 = """
    SELECT w.*, i.* FROM (SELECT wal_records, wal_fpi AS wal_full_pages, wal_buffers_full FROM pg_stat_wal) w,
        (SELECT sum(writes) AS wal_writes, sum(fsyncs) AS wal_syncs, sum(write_time) AS wal_write_ms,
                sum(fsync_time) AS wal_sync_ms
         FROM pg_stat_io WHERE object = 'wal') i
"""
_WRITER_12 = """
    SELECT checkpoints_timed, checkpoints_req AS checkpoints_requested,
           checkpoint_write_time AS checkpoint_write_ms,
           checkpoint_sync_time AS checkpoint_sync_ms, buffers_checkpoint AS checkpoint_buffers,
           buffers_clean AS bgwriter_buffers, maxwritten_clean AS bgwriter_stops,
           buffers_backend AS backend_buffers, buffers_alloc AS buffers_allocated
    FROM pg_stat_bgwriter
"""
_WRITER_17 = """
    SELECT c.*, b.* FROM
        (SELECT num_timed AS checkpoints_timed, num_requested AS checkpoints_requested, {done}
                write_time AS checkpoint_write_ms, sync_time AS checkpoint_sync_ms,
                buffers_written AS checkpoint_buffers
         FROM pg_stat_checkpointer) c,
        (SELECT buffers_clean AS bgwriter_buffers, maxwritten_clean AS bgwriter_stops,
                buffers_alloc AS buffers_allocated
         FROM pg_stat_bgwriter) b
"""
_IO = """
    SELECT backend_type, object, context, reads, read_time AS read_ms, writes, write_time AS write_ms,
           extends, hits, evictions, reuses, fsyncs, fsync_time AS fsync_ms,
           {read_bytes} AS read_bytes, {write_bytes} AS write_bytes
    FROM pg_stat_io
"""
_IO_16 = _IO.format(
    read_bytes="reads * op_bytes", write_bytes="(coalesce(writes, 0) + coalesce(extends, 0)) * op_bytes"
)
_IO_18 = _IO.format(
    read_bytes="read_bytes", write_bytes="coalesce(write_bytes, 0) + coalesce(extend_bytes, 0)"
)

#: Standbys that are connected. A lag in time is that of the last commits; of an idle server it is none.
REPLICATION = """
    SELECT application_name AS standby, state, sync_state,
           pg_wal_lsn_diff(position, sent_lsn) AS sent_lag_bytes,
           pg_wal_lsn_diff(position, flush_lsn) AS flush_lag_bytes,
           pg_wal_lsn_diff(position, replay_lsn) AS replay_lag_bytes,
           extract(epoch FROM write_lag) * 1000 AS write_lag_ms,
           extract(epoch FROM flush_lag) * 1000 AS flush_lag_ms,
           extract(epoch FROM replay_lag) * 1000 AS replay_lag_ms
    FROM pg_stat_replication,
         (SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
                      ELSE pg_current_wal_insert_lsn() END AS position) AS log
    WHERE state IS NOT NULL AND pid <> pg_backend_pid()
"""

#: A session whose owner we may not look at has no state and this text.
_SESSIONS = """
    SELECT CASE WHEN query = '<insufficient privilege>' AND backend_type IS NULL THEN 'hidden'
                WHEN datname IS DISTINCT FROM {database} THEN 'elsewhere' ELSE 'load' END AS whose,
           state, wait_event_type, wait_event, count(*) AS sessions
    FROM pg_stat_activity
    WHERE (backend_type = 'client backend' OR backend_type IS NULL) AND pid <> pg_backend_pid()
      AND application_name <> {application} AND NOT starts_with(application_name, {lock})
    GROUP BY 1, 2, 3, 4
"""

WHO = """
    SELECT pg_backend_pid() AS pid, current_database() AS database,
           pg_has_role(current_user, 'pg_read_all_stats', 'USAGE') AS sees_all
"""


def counters(version: int, database: str) -> str:
    """The running counters of the database and the server, in one record; `version` as 150004."""
    parts = [_DATABASE.format(database=literal(database)), _LOG]
    if version >= 180000:
        parts.append(_WAL_18)
    elif version >= 140000:
        parts.append(_WAL_14)
    if version >= 170000:
        done = "num_done AS checkpoints_done, " if version >= 180000 else ""
        parts.append(_WRITER_17.format(done=done))
    else:
        parts.append(_WRITER_12)
    named = ", ".join(f"({part}) AS q{number}" for number, part in enumerate(parts))
    return f"SELECT * FROM {named}"  # noqa: S608 - of our own parts, the name quoted


def io(version: int) -> str | None:
    """The running counters of pg_stat_io, a record a kind of process, object and context."""
    if version < 160000:
        return None
    return _IO_18 if version >= 180000 else _IO_16


def sessions(database: str) -> str:
    """The client sessions of this moment by state and wait: `whose` is load, elsewhere or hidden."""
    return _SESSIONS.format(
        database=literal(database), application=literal(APPLICATION), lock=literal(LOCK_APPLICATION)
    )


def literal(text: str) -> str:
    """Text as SQL writes it."""
    return driver.sql.Literal(text).as_string(None)
