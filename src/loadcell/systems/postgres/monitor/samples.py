"""Rows and events of the monitor: increases of counters, waits of sessions, and checkpoints.

Waits are an active session history: what the sessions that were at work were waiting for, each time they were
looked at. A checkpoint is counted when it begins; its times are added when all is written and synced.

The statements that took most of the server's time, by pg_stat_statements, where it is loaded.

Only the texts of pg_stat_statements are kept, in which parameters stand for constants. It leaves utility
statements as they were sent, passwords and all: of these only the first words are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from loadcell.model.panels import SampleTable
from loadcell.monitors.base import Row
from loadcell.systems.postgres.monitor.queries import Link, Record, literal
from loadcell.systems.shared.server_samples import Numbers, grown, waits_table
from loadcell.systems.shared.statement_text import shown

#: The columns of pg_stat_database and its kin, as `questions.counters` names them.
COUNTERS = (
    "commits", "rollbacks", "blocks_hit", "blocks_read", "block_read_ms", "block_write_ms", "tuples_returned",
    "tuples_fetched", "tuples_inserted", "tuples_updated", "tuples_deleted", "temp_files", "temp_bytes",
    "deadlocks",
    "conflicts", "wal_bytes", "wal_records", "wal_full_pages", "wal_buffers_full", "wal_writes", "wal_syncs",
    "wal_write_ms", "wal_sync_ms", "checkpoints_timed", "checkpoints_requested", "checkpoint_write_ms",
    "checkpoint_sync_ms", "checkpoint_buffers", "bgwriter_buffers", "bgwriter_stops", "backend_buffers",
    "buffers_allocated",
)  # fmt: skip
IO_KEY = ("backend_type", "object", "context")
IO_COUNTERS = (
    "reads", "read_bytes", "read_ms", "writes", "write_bytes", "write_ms", "extends", "hits", "evictions",
    "reuses",
    "fsyncs", "fsync_ms",
)  # fmt: skip
IO_TABLE = SampleTable("postgres-io", (*IO_KEY, *IO_COUNTERS), text=frozenset(IO_KEY))
REPLICATION_KEY = ("standby", "state", "sync_state")
REPLICATION_LAGS = (
    "sent_lag_bytes", "flush_lag_bytes", "replay_lag_bytes", "write_lag_ms", "flush_lag_ms", "replay_lag_ms",
)  # fmt: skip
REPLICATION_TABLE = SampleTable(
    "postgres-replication", (*REPLICATION_KEY, *REPLICATION_LAGS), text=frozenset(REPLICATION_KEY)
)


def replication_rows(records: Iterable[Record]) -> list[Row]:
    """A row of each standby that is connected."""
    return [
        {**{name: record[name] for name in REPLICATION_KEY}, **numbers(record, REPLICATION_LAGS)}
        for record in records
    ]


def numbers(record: Record, names: Iterable[str]) -> Numbers:
    """The values of a record that the version has: milliseconds are fractions, all else is an integer."""
    values: Numbers = {}
    for name in names:
        if name in record:
            text = record[name]
            values[name] = None if text is None else float(text) if name.endswith("_ms") else int(text)
    return values


def io_rows(before: Mapping[tuple[str, ...], Numbers], now: Mapping[tuple[str, ...], Numbers]) -> list[Row]:
    """The kinds of I/O that happened between two readings."""
    rows = []
    for key, values in now.items():
        row = grown(before.get(key, {}), values)
        if any(row.values()):
            rows.append({**dict(zip(IO_KEY, key, strict=True)), **row})
    return rows


WAITS_TABLE = waits_table("postgres")
_REASONS = {"checkpoints_timed": "timed", "checkpoints_requested": "requested"}


class Checkpoints:
    """Turns differences into events."""

    def __init__(self) -> None:
        self._buffers = 0

    def events(self, row: Row) -> list[Row]:
        """Events of a row of differences: `checkpoint` (with `reason`), `checkpoint-end` (with `write_s`,
        `sync_s`, `buffers`).
        """
        events: list[Row] = []
        for column, reason in _REASONS.items():
            if row.get(column):
                events.append({"event": "checkpoint", "reason": reason})
                self._buffers = 0
        self._buffers += row.get("checkpoint_buffers") or 0
        write_ms, sync_ms = row.get("checkpoint_write_ms") or 0.0, row.get("checkpoint_sync_ms") or 0.0
        if write_ms > 0 or sync_ms > 0 or row.get("checkpoints_done"):
            events.append(
                {
                    "event": "checkpoint-end",
                    "write_s": write_ms / 1e3,
                    "sync_s": sync_ms / 1e3,
                    "buffers": self._buffers,
                }
            )
            self._buffers = 0
        return events


TABLE = SampleTable(
    "postgres-statements",
    (
        "query_id", "query", "calls", "total_ms", "mean_ms", "share", "rows", "blocks_hit", "blocks_read",
        "blocks_dirtied", "temp_blocks_read", "temp_blocks_written", "wal_bytes",
    ),
    text=frozenset({"query_id", "query"}),
)  # fmt: skip
_FIGURES = (
    "calls", "total_ms", "rows", "blocks_hit", "blocks_read", "blocks_dirtied", "temp_blocks_read",
    "temp_blocks_written", "wal_bytes",
)  # fmt: skip
_WHERE = (
    "SELECT extnamespace::regnamespace::text AS home FROM pg_extension WHERE extname = 'pg_stat_statements'"
)
_READ = """
    SELECT queryid AS query_id, sum(calls) AS calls, sum({time}) AS total_ms, sum(rows) AS rows,
           sum(shared_blks_hit) AS blocks_hit, sum(shared_blks_read) AS blocks_read,
           sum(shared_blks_dirtied) AS blocks_dirtied, sum(temp_blks_read) AS temp_blocks_read,
           sum(temp_blks_written) AS temp_blocks_written{wal}
    FROM {home}.pg_stat_statements(false)
    WHERE dbid = (SELECT oid FROM pg_database WHERE datname = {database}) AND queryid IS NOT NULL {top}
    GROUP BY queryid
"""
_TEXTS = """
    SELECT DISTINCT ON (queryid) queryid AS query_id, query FROM {home}.pg_stat_statements(true)
    WHERE queryid IN ({ids}) AND dbid = (SELECT oid FROM pg_database WHERE datname = {database})
"""
Reading = dict[str, dict[str, float]]


def home(link: Link) -> str | None:
    """The schema of the extension in the database of this session, quoted; None when it is not there."""
    row = link.ask(_WHERE)[0]
    return row[0]["home"] if row else None


def read(link: Link, home: str, database: str) -> Reading:
    """Counters of each statement of the database. Raises AnswerError if the extension is not loaded."""
    new = link.version >= 130000
    sql = _READ.format(
        home=home,
        database=literal(database),
        time="total_exec_time" if new else "total_time",
        wal=", sum(wal_bytes) AS wal_bytes" if new else "",
        top="AND toplevel" if link.version >= 140000 else "",
    )
    return {
        str(record["query_id"]): {name: float(record[name] or 0) for name in _FIGURES if name in record}
        for record in link.ask(sql)[0]
    }


def top(before: Reading, now: Reading, most: int) -> list[Row]:
    """The statements that took most time between two readings, with their share of all such time."""
    statements: list[Row] = []
    for query_id, figures in now.items():
        old = before.get(query_id, {})
        if figures["calls"] < old.get("calls", 0):  # evicted, and started again
            old = {}
        grown = {name: value - old.get(name, 0) for name, value in figures.items()}
        if grown["calls"] > 0:
            statements.append({"query_id": query_id, **grown})
    total_ms = sum(row["total_ms"] for row in statements)
    for row in statements:
        row["mean_ms"] = row["total_ms"] / row["calls"]
        row["share"] = row["total_ms"] / total_ms if total_ms > 0 else None
    return sorted(statements, key=lambda row: -row["total_ms"])[:most]


def with_texts(link: Link, home: str, database: str, rows: Sequence[Row]) -> list[Row]:
    """The rows with their statements' texts."""
    if not rows:
        return []
    ids = ", ".join(str(int(row["query_id"])) for row in rows)
    sql = _TEXTS.format(home=home, ids=ids, database=literal(database))
    texts = {record["query_id"]: shown(record["query"] or "") for record in link.ask(sql)[0]}
    return [{**row, "query": texts.get(row["query_id"], "")} for row in rows]
