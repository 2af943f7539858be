"""Rows and events of the monitor: increases of counters, waits of sessions, and checkpoints.

Waits are an active session history: what the sessions that were at work were waiting for, each time they were
looked at. A checkpoint is counted when it begins; its times are added when all is written and synced.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from loadcell.model.panels import SampleTable
from loadcell.monitors.base import Row
from loadcell.systems.postgres.monitor.queries import Record

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

Numbers = dict[str, float | int | None]


def numbers(record: Record, names: Iterable[str]) -> Numbers:
    """The values of a record that the version has: milliseconds are fractions, all else is an integer."""
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


#: A session that is active and waits for nothing runs, or would if it had a processor.
RUNNING = "CPU"
WAITS_TABLE = SampleTable(
    "postgres-waits",
    ("wait_event_type", "wait_event", "looks", "sessions"),
    text=frozenset({"wait_event_type", "wait_event"}),
)
#: What the sessions as a whole did, means over the looks of one row.
MEANS = ("sessions", "sessions_active", "sessions_idle_in_transaction", "other_sessions_active")


class Waits:
    """Adds up looks until they are taken."""

    def __init__(self) -> None:
        self.hidden = 0
        self._looks = 0
        self._waits: Counter[tuple[str, str]] = Counter()
        self._means: Counter[str] = Counter()

    def look(self, sessions: Sequence[Record]) -> None:
        """Add one look: the records of `questions.sessions`."""
        self._looks += 1
        for record in sessions:
            count, state = int(record["sessions"] or 0), record["state"] or ""
            if record["whose"] == "hidden":
                self.hidden = max(self.hidden, count)
            elif record["whose"] == "elsewhere":
                self._means["other_sessions_active"] += count * (state == "active")
            else:
                self._means["sessions"] += count
                self._means["sessions_idle_in_transaction"] += count * state.startswith("idle in transaction")
                if state == "active":
                    self._means["sessions_active"] += count
                    kind = record["wait_event_type"] or RUNNING
                    self._waits[kind, record["wait_event"] or RUNNING] += count

    def take(self) -> tuple[Row, list[Row]]:
        """The means since the last time, and a row a wait: `sessions` is their sum over the `looks`."""
        looks, self._looks = self._looks, 0
        averages: Row = {"looks": looks}
        if looks:
            averages |= {name: self._means[name] / looks for name in MEANS}
        rows = [
            {"wait_event_type": kind, "wait_event": event, "looks": looks, "sessions": count}
            for (kind, event), count in sorted(self._waits.items())
        ]
        self._waits.clear()
        self._means.clear()
        return averages, rows


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
