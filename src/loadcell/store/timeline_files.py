"""`timeline.csv` and `slow.csv` of a trial with faults: rows of them, and the timelines that they hold."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from loadcell.model.panels import Row
from loadcell.model.timeline import Slots, SlowRequest, Timeline
from loadcell.store.layout import SLOW, SLOW_COLUMNS, TIMELINE, TIMELINE_COLUMNS
from loadcell.store.write import TrialWriter


def write(timelines: Sequence[Timeline], writer: TrialWriter) -> None:
    """Write both files of a trial; neither without timelines. Raises StoreError."""
    if timelines:
        writer.rows(TIMELINE, TIMELINE_COLUMNS, _slot_rows(timelines))
        writer.rows(SLOW, SLOW_COLUMNS, _slow_rows(timelines))


def _slot_rows(timelines: Iterable[Timeline]) -> Iterator[Row]:
    for timeline in timelines:
        slots = timeline.slots
        for number, start_ns in enumerate(slots.start_ns):
            yield {
                "t_s": start_ns / 1e9,
                "group": timeline.group,
                "succeeded": slots.succeeded[number],
                "failed": sum(count for _, count in slots.errors[number]),
                "first_ns": slots.first_ns[number],
                "last_ns": slots.last_ns[number],
                "slowest_ns": slots.slowest_ns[number],
                "response_ns": " ".join(f"{limit}:{count}" for limit, count in slots.response_ns[number]),
                "errors": json.dumps(dict(slots.errors[number])) if slots.errors[number] else None,
            }


def _slow_rows(timelines: Iterable[Timeline]) -> Iterator[Row]:
    for timeline in timelines:
        for request in timeline.slow:
            yield {
                "client": request.client,
                "group": timeline.group,
                "intended_s": request.intended_ns / 1e9,
                "start_s": request.start_ns / 1e9,
                "end_s": request.end_ns / 1e9,
                "outcome": request.outcome,
            }


def read(directory: Path) -> tuple[Timeline, ...]:
    """The timelines of a trial's directory; none where it has no such files, or damaged ones."""
    try:
        slots = _by_group(directory / TIMELINE)
        slow = _by_group(directory / SLOW)
        return tuple(
            Timeline(group, _slots(rows), tuple(map(_slow, slow.get(group, ()))))
            for group, rows in slots.items()
        )
    except (OSError, KeyError, TypeError, ValueError):
        return ()


_Fields = dict[str, str]


def _by_group(path: Path) -> dict[str, list[_Fields]]:
    groups: dict[str, list[_Fields]] = {}
    with path.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            groups.setdefault(row["group"], []).append(row)
    return groups


def _slots(rows: Sequence[_Fields]) -> Slots:
    return Slots(
        tuple(round(float(row["t_s"]) * 1e9) for row in rows),
        tuple(int(row["succeeded"]) for row in rows),
        tuple(tuple(json.loads(row["errors"]).items()) if row["errors"] else () for row in rows),
        tuple(int(row["first_ns"]) if row["first_ns"] else None for row in rows),
        tuple(int(row["last_ns"]) if row["last_ns"] else None for row in rows),
        tuple(int(row["slowest_ns"]) for row in rows),
        tuple(tuple(_pair(pair) for pair in row["response_ns"].split()) for row in rows),
    )


def _pair(text: str) -> tuple[int, int]:
    limit, _, count = text.partition(":")
    return int(limit), int(count)


def _slow(row: _Fields) -> SlowRequest:
    intended_ns, start_ns, end_ns = (
        round(float(row[name]) * 1e9) for name in ("intended_s", "start_s", "end_s")
    )
    return SlowRequest(int(row["client"]), intended_ns, start_ns, end_ns, row["outcome"])
