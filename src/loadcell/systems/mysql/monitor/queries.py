"""Queries of the monitor for MariaDB (10.5 and later) and MySQL (8.0 and later), and their session.

A session never waits longer than its limit, whatever becomes of the server.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from loadcell.systems.mysql import driver
from loadcell.systems.mysql.connection import rows
from loadcell.systems.shared.server_errors import ANSWER_ERRORS
from loadcell.systems.shared.server_monitor import AnswerError as AnswerError
from loadcell.systems.shared.server_monitor import LinkError as LinkError

if TYPE_CHECKING:
    from loadcell.systems.mysql.connection import Connection

#: The program name of the monitor in the server's connection attributes.
APPLICATION = "loadcell monitor"
#: How long an answer, and a connection, may take: a server that is stopped must not stop the monitor.
ANSWER_LIMIT_S = 2
CONNECT_LIMIT_S = 2


class Link:
    """One session; counts its queries."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.questions = 0

    def ask(self, sql: str, values: Sequence[Any] | None = None) -> list[tuple[Any, ...]]:
        """The rows of a query. Raises LinkError and AnswerError."""
        self.questions += 1
        try:
            return rows(self._connection, sql, values)
        except (driver.Error, OSError, *ANSWER_ERRORS) as error:
            number = error.args[0] if error.args else None
            text = str(error.args[-1]) if error.args else str(error)
            gone = not isinstance(number, int) or not number or 2000 <= number < 3000 or number in _ENDED
            raise (LinkError if gone else AnswerError)(text) from error

    def close(self) -> None:
        """Close the socket without waiting for the server."""
        self._connection._force_close()


#: Shutdown of the server, and connections that it ends (KILL).
_ENDED = (1053, 1927)

IDENTITY = "SELECT version(), connection_id(), @@performance_schema"
#: The operating system's id of the session's thread: MariaDB, and MySQL with performance_schema.
THREAD_MARIADB = "SELECT tid FROM information_schema.processlist WHERE id = connection_id()"
THREAD_MYSQL = "SELECT thread_os_id FROM performance_schema.threads WHERE processlist_id = connection_id()"
#: One row if the user may see the sessions of others.
PROCESS_RIGHT = (
    "SELECT 1 FROM information_schema.user_privileges WHERE privilege_type = 'PROCESS' AND grantee = "
    "CONCAT('''', REPLACE(SUBSTRING_INDEX(CURRENT_USER(), '@', 1), '''', ''''''), '''@''', "
    "SUBSTRING_INDEX(CURRENT_USER(), '@', -1), '''')"
)

#: Sessions by state. A transaction of a session without a statement is idle.
_SESSIONS = """
    SELECT p.db <=> %s, p.command, p.state, {lock}, {transaction}, COUNT(*), MAX({time_s})
    FROM information_schema.processlist p {join}
    WHERE p.id <> CONNECTION_ID()
      AND p.command NOT IN ('Daemon', 'Binlog Dump', 'Binlog Dump GTID', 'Connect')
    GROUP BY 1, 2, 3, 4, 5
"""


def sessions(*, mariadb: bool, transactions: bool) -> str:
    """Query of the client sessions: of the load's database or not, command, state, whether it waits for a row
    lock, whether it has a transaction, number of sessions, longest time in this state in s.

    Without `transactions` (no right to read information_schema.innodb_trx) row locks are not seen.
    """
    return _SESSIONS.format(
        lock="COALESCE(t.trx_state = 'LOCK WAIT', 0)" if transactions else "0",
        transaction="t.trx_id IS NOT NULL" if transactions else "0",
        time_s="p.time_ms / 1000" if mariadb else "p.time",
        join="LEFT JOIN information_schema.innodb_trx t ON t.trx_mysql_thread_id = p.id"
        if transactions
        else "",
    )


#: Lock waits: pairs of transactions, and the transactions that others wait for.
LOCKS_MARIADB = "SELECT COUNT(*), COUNT(DISTINCT blocking_trx_id) FROM information_schema.innodb_lock_waits"
LOCKS_MYSQL = (
    "SELECT COUNT(*), COUNT(DISTINCT blocking_engine_transaction_id) FROM performance_schema.data_lock_waits"
)

#: Columns and the status variables of which they are the increase.
COUNTERS = {
    "statements": "Questions",
    "commits": "Com_commit",
    "rollbacks": "Com_rollback",
    "deadlocks": "Innodb_deadlocks",
    "read_requests": "Innodb_buffer_pool_read_requests",
    "blocks_read": "Innodb_buffer_pool_reads",
    "pages_flushed": "Innodb_buffer_pool_pages_flushed",
    "free_page_waits": "Innodb_buffer_pool_wait_free",
    "wal_bytes": "Innodb_os_log_written",
    "wal_writes": "Innodb_log_writes",
    "wal_requests": "Innodb_log_write_requests",
    "wal_syncs": "Innodb_os_log_fsyncs",
    "wal_buffer_waits": "Innodb_log_waits",
    "row_lock_waits": "Innodb_row_lock_waits",
    "row_lock_ms": "Innodb_row_lock_time",
    "data_read_bytes": "Innodb_data_read",
    "data_written_bytes": "Innodb_data_written",
    "data_syncs": "Innodb_data_fsyncs",
    "temp_tables": "Created_tmp_tables",
    "temp_disk_tables": "Created_tmp_disk_tables",
    "connections": "Connections",
}
#: Columns and the status variables whose present values they are.
LEVELS = {
    "dirty_pages": "Innodb_buffer_pool_pages_dirty",
    "pending_reads": "Innodb_data_pending_reads",
    "history_list": "Innodb_history_list_length",
    "checkpoint_age_bytes": "Innodb_checkpoint_age",
    "checkpoint_age_limit_bytes": "Innodb_checkpoint_max_age",
}
#: Log sequence number of the last checkpoint, which MariaDB has as a status variable.
CHECKPOINT_LSN = "Innodb_lsn_last_checkpoint"
STATUS = "SHOW GLOBAL STATUS WHERE Variable_name IN ({})".format(
    ", ".join(f"'{name}'" for name in (*COUNTERS.values(), *LEVELS.values(), CHECKPOINT_LSN))
)
#: MySQL has no status variable of these two.
METRICS = (
    "SELECT name, count FROM information_schema.innodb_metrics "
    "WHERE status = 'enabled' AND name IN ('lock_deadlocks', 'trx_rseg_history_len')"
)
ENGINE_STATUS = "SHOW ENGINE INNODB STATUS"
_NOW = re.compile(r"^Log sequence number\s+(\d+)", re.MULTILINE)
_CHECKPOINT = re.compile(r"^Last checkpoint at\s+(\d+)", re.MULTILINE)


def checkpoint(status: str) -> tuple[int, int] | None:
    """Log sequence numbers of now and of the last checkpoint, by the text of SHOW ENGINE INNODB STATUS."""
    now, last = _NOW.search(status), _CHECKPOINT.search(status)
    return (int(now[1]), int(last[1])) if now and last else None
