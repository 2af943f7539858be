"""Differences of the server's running counters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from loadcell.model.tables import SampleTable
from loadcell.monitors.base import Row
from loadcell.systems.postgres.monitor.link import Record

#: The columns of pg_stat_database and its kin, as `questions.counters` names them.
COUNTERS = (
    "commits", "rollbacks", "blocks_hit", "blocks_read", "block_read_ms", "block_write_ms", "tuples_returned",
    "tuples_fetched", "tuples_inserted", "tuples_updated", "tuples_deleted", "temp_files", "temp_bytes", "deadlocks",
    "conflicts", "wal_bytes", "wal_records", "wal_full_pages", "wal_buffers_full", "wal_writes", "wal_syncs",
    "wal_write_ms", "wal_sync_ms", "checkpoints_timed", "checkpoints_requested", "checkpoint_write_ms",
    "checkpoint_sync_ms", "checkpoint_buffers", "bgwriter_buffers", "bgwriter_stops", "backend_buffers",
    "buffers_allocated",
)  # fmt: skip
IO_KEY = ("backend_type", "object", "context")
IO_COUNTERS = (
    "reads", "read_bytes", "read_ms", "writes", "write_bytes", "write_ms", "extends", "hits", "evictions", "reuses",
    "fsyncs", "fsync_ms",
)  # fmt: skip
IO_TABLE = SampleTable("postgres-io", (*IO_KEY, *IO_COUNTERS), text=frozenset(IO_KEY))

Numbers = dict[str, float | int | None]


def numbers(record: Record, names: Iterable[str]) -> Numbers:
    """The values of a record that the version has: milliseconds are fractions, everything else is an integer."""
    values: Numbers = {}
    for name in names:
        if name in record:
            text = record[name]
            values[name] = None if text is None else float(text) if name.endswith("_ms") else int(text)
    return values


def grown(before: Mapping[str, float | int | None], now: Numbers) -> Row:
    """Increase of each counter.

    One that fell was reset (by a crash, or by somebody): its increase is unknown.
    """
    row: Row = {}
    for name, value in now.items():
        old = before.get(name)
        row[name] = value - old if value is not None and old is not None and value >= old else None
    return row


def io_rows(before: Mapping[tuple[str, ...], Numbers], now: Mapping[tuple[str, ...], Numbers]) -> list[Row]:
    """The kinds of I/O that happened between two readings."""
    rows = []
    for key, values in now.items():
        row = grown(before.get(key, {}), values)
        if any(row.values()):
            rows.append({**dict(zip(IO_KEY, key, strict=True)), **row})
    return rows
