"""Rows of the monitor: sessions by state, and the statements of performance_schema.

The process list has states, not wait events: a class is derived from the state's name (MariaDB Knowledge
Base, "Thread States"; MySQL 8.0 manual, 8.14). A state that names no wait is `CPU`: the session executes,
which includes reads from disk.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from loadcell.model.panels import SampleTable
from loadcell.monitors.base import Row
from loadcell.systems.mysql.monitor.queries import COUNTERS, LEVELS, Link
from loadcell.systems.shared.server_samples import MEANS, RUNNING, waits_table
from loadcell.systems.shared.statement_text import shown

TABLE = SampleTable(
    "mysql",
    (
        "elapsed_s", "looks", *MEANS, "longest_statement_s", "lock_waits", "blocking_transactions",
        *COUNTERS, "blocks_hit", *LEVELS, "checkpoints",
    ),
)  # fmt: skip
WAITS_TABLE = waits_table("mysql")
STATEMENTS_TABLE = SampleTable(
    "mysql-statements",
    (
        "query_id", "query", "calls", "total_ms", "mean_ms", "share", "rows", "rows_examined", "lock_ms",
        "temp_disk_tables", "errors", "blocks_hit", "blocks_read",
    ),
    text=frozenset({"query_id", "query"}),
)  # fmt: skip

#: Classes of waits by what is in the name of a state; the first that matches. Waits for locks come first: a
#: commit waits for "commit lock" and a query for "table flush" while another session holds FLUSH TABLES.
_CLASSES = (
    (
        "Lock",
        re.compile(r"^waiting\b.*\block$|^waiting for tables?( flush)?$|^flushing tables$", re.IGNORECASE),
    ),
    ("Commit", re.compile(r"commit|binlog|semi-sync|\back\b|prior transaction", re.IGNORECASE)),
    ("Lock", re.compile(r"\block(s|ed)?\b|metadata", re.IGNORECASE)),
    ("Client", re.compile(r"to net|from net|to client|from client", re.IGNORECASE)),
    ("IO", re.compile(r"on disk|to disk|from storage|flush|fsync|sync", re.IGNORECASE)),
    ("Wait", re.compile(r"^waiting", re.IGNORECASE)),
)


def wait_of(state: str, *, row_lock: bool) -> tuple[str, str]:
    """Class and name of the wait of an active session."""
    if row_lock:
        return "Lock", "row"
    for name, pattern in _CLASSES:
        if pattern.search(state):
            return name, state
    return RUNNING, RUNNING


class Sessions:
    """One look at the sessions: records for `Waits`, the longest statement and the sessions waiting for row
    locks.
    """

    def __init__(self, answer: Sequence[tuple[Any, ...]]) -> None:
        self.records: list[Mapping[str, str | None]] = []
        self.longest_s = 0.0
        self.row_locks = 0
        for here, command, state, row_lock, transaction, count, time_s in answer:
            active = command != "Sleep"
            kind, event = wait_of(state or "", row_lock=bool(row_lock))
            self.records.append(
                {
                    "whose": "load" if here else "elsewhere",
                    "state": "active" if active else "idle in transaction" if transaction else "idle",
                    "wait_event_type": None if kind == RUNNING else kind,
                    "wait_event": event,
                    "sessions": str(count),
                }
            )
            if here and active:
                self.longest_s = max(self.longest_s, float(time_s or 0))
                self.row_locks += count if row_lock else 0


#: Statements of one database by digest; times are in picoseconds.
_READ = """
    SELECT digest, count_star, sum_timer_wait / 1e9, sum_rows_sent + sum_rows_affected, sum_rows_examined,
           sum_lock_time / 1e9, sum_created_tmp_disk_tables, sum_errors
    FROM performance_schema.events_statements_summary_by_digest
    WHERE schema_name = %s AND digest IS NOT NULL
"""
#: Executions of prepared statements, of all databases, which are in no digest (MariaDB 10.11, MySQL 8.0.15).
_EXECUTIONS = """
    SELECT 'prepared', count_star, sum_timer_wait / 1e9, sum_rows_sent + sum_rows_affected, sum_rows_examined,
           sum_lock_time / 1e9, sum_created_tmp_disk_tables, sum_errors
    FROM performance_schema.events_statements_summary_global_by_event_name
    WHERE event_name = 'statement/com/Execute'
"""
EXECUTIONS = "EXECUTE …"
#: As bytes: a text that was cut in the middle of a character is no valid UTF-8.
_TEXTS = """
    SELECT digest, CAST(LEFT(digest_text, 4000) AS BINARY)
    FROM performance_schema.events_statements_summary_by_digest
    WHERE schema_name = %s AND digest IN ({digests})
"""
_COUNTS = ("calls", "total_ms", "rows", "rows_examined", "lock_ms", "temp_disk_tables", "errors")
Reading = dict[str, dict[str, float]]


def read(link: Link, database: str) -> Reading:
    """Counters of each statement digest of the database. Raises AnswerError and LinkError.

    Executions of prepared statements without a digest are one statement, `prepared`.
    """
    return {
        str(digest): dict(zip(_COUNTS, map(float, counts), strict=True))
        for digest, *counts in [*link.ask(_READ, [database]), *link.ask(_EXECUTIONS)]
    }


def top(before: Reading, now: Reading, most: int) -> list[Row]:
    """The statements that took most time between two readings, with their share of all such time."""
    statements: list[Row] = []
    for digest, counts in now.items():
        old = before.get(digest, {})
        if counts["calls"] < old.get("calls", 0):  # the table was truncated
            old = {}
        increase = {name: value - old.get(name, 0) for name, value in counts.items()}
        if increase["calls"] > 0:
            statements.append({"query_id": digest, **increase})
    total_ms = sum(row["total_ms"] for row in statements)
    for row in statements:
        row["mean_ms"] = row["total_ms"] / row["calls"]
        row["share"] = row["total_ms"] / total_ms if total_ms > 0 else None
    return sorted(statements, key=lambda row: -row["total_ms"])[:most]


def with_texts(link: Link, database: str, statements: Sequence[Row]) -> list[Row]:
    """The rows with their statements' texts, in which `?` stands for constants."""
    if not statements:
        return []
    digests = [row["query_id"] for row in statements]
    sql = _TEXTS.format(digests=", ".join(["%s"] * len(digests)))
    texts = {digest: text_of(text) for digest, text in link.ask(sql, [database, *digests])}
    texts["prepared"] = EXECUTIONS
    return [{**row, "query": texts.get(row["query_id"], "")} for row in statements]


def text_of(stored: bytes | str | None) -> str:
    """The text of a digest: bytes that are no UTF-8 become U+FFFD, control characters blanks."""
    text = stored.decode(errors="replace") if isinstance(stored, bytes) else stored or ""
    return shown("".join(character if character.isprintable() else " " for character in text))
