"""Samples of SQL servers: increases of counters, and waits of sessions over several looks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from loadcell.model.panels import SampleTable
from loadcell.monitors.base import Row

Numbers = dict[str, float | int | None]
#: A session that is active and waits for nothing runs, or would if it had a processor.
RUNNING = "CPU"
#: What the sessions as a whole did, means over the looks of one row.
MEANS = ("sessions", "sessions_active", "sessions_idle_in_transaction", "other_sessions_active")


def grown(before: Mapping[str, float | int | None], now: Numbers) -> Row:
    """Increase of each counter.

    One that fell was reset (by a crash, or by somebody): its increase is unknown.
    """
    row: Row = {}
    for name, value in now.items():
        old = before.get(name)
        row[name] = value - old if value is not None and old is not None and value >= old else None
    return row


def waits_table(system: str) -> SampleTable:
    """The table of waits of sessions of a kind of server (`Waits`)."""
    columns = ("wait_event_type", "wait_event", "looks", "sessions")
    return SampleTable(f"{system}-waits", columns, text=frozenset(columns[:2]))


class Waits:
    """Adds up looks until they are taken."""

    def __init__(self) -> None:
        self.hidden = 0
        self._looks = 0
        self._waits: Counter[tuple[str, str]] = Counter()
        self._means: Counter[str] = Counter()

    def look(self, sessions: Sequence[Mapping[str, str | None]]) -> None:
        """Add one look: a record per state and wait.

        `whose` is load, elsewhere or hidden; `sessions` is the number, besides `state`, `wait_event_type` and
        `wait_event`.
        """
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
