"""What a database server did: its counters at each treatment, its checkpoints, the statements that took most time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from loadcell.analysis import waits
from loadcell.analysis.treatments import Treatment
from loadcell.analysis.waits import Waited, measured

#: Sums over the measurement that are shown as rates, or held against commits.
_SUMS = (
    "elapsed_s", "commits", "rollbacks", "deadlocks", "blocks_hit", "blocks_read", "temp_bytes", "wal_bytes",
    "wal_full_pages",
)  # fmt: skip


@dataclass(frozen=True)
class Served:
    """One treatment's counters, over all trials that count; None where the server did not tell."""

    treatment: Treatment
    commits_per_s: float | None
    hit_share: float | None
    blocks_read_per_s: float | None
    wal_bytes_per_s: float | None
    wal_bytes_per_commit: float | None
    temp_bytes_per_s: float | None
    deadlocks: int
    checkpoints: int


@dataclass(frozen=True)
class Checkpoint:
    """When a checkpoint began and was done, in seconds from the measurement's start; `end_s` None: not seen."""

    trial: str
    begin_s: float
    end_s: float | None
    reason: str


@dataclass(frozen=True)
class Statement:
    """One statement over all trials that count; `share` is of all time spent in recorded statements."""

    query: str
    calls: float
    total_ms: float
    share: float
    rows: float
    hit_share: float | None


@dataclass(frozen=True)
class Evidence:
    """All that a server said of itself in one run.

    `samples` and `over_time` (a column `w0`, `w1` ... for each of `kinds`, and `rest`) are frames a row a second;
    `notes` says what could not be seen: the monitor's code of it, and its own words.
    """

    samples: pl.DataFrame
    kinds: tuple[str, ...]
    over_time: pl.DataFrame
    waited: tuple[Waited, ...]
    served: tuple[Served, ...]
    checkpoints: tuple[Checkpoint, ...]
    statements: tuple[Statement, ...]
    notes: Mapping[str, str]


#: How many statements a report shows.
MOST_STATEMENTS = 12


def evidence(
    samples: pl.DataFrame,
    sessions: pl.DataFrame,
    statements: pl.DataFrame,
    events: pl.DataFrame,
    records: Iterable[Mapping[str, Any]],
    treatments: Iterable[Treatment],
) -> Evidence:
    """Put together from what the monitor recorded: its samples, waits and statements, and the trials' events and records."""
    treatments, records = tuple(treatments), tuple(records)
    # What is read when the load is over belongs to sums over it, and to no picture.
    ends = {record["name"]: (record.get("measure") or {}).get("duration_s") for record in records}
    samples, sessions = waits.until(samples, ends), waits.until(sessions, ends)
    names = waits.kinds(sessions)
    seen = checkpoints(events)
    notes: dict[str, str] = {}
    for record in records:
        for note in ((record.get("monitors") or {}).get("postgres") or {}).get("notes") or ():
            notes.setdefault(str(note["note"]), str(note["text"]))
    return Evidence(
        samples=samples,
        kinds=tuple(names),
        over_time=samples if samples.is_empty() else waits.over_time(sessions, samples, names),
        waited=waits.by_treatment(sessions, samples, treatments),
        served=by_treatment(samples, seen, treatments),
        checkpoints=tuple(seen),
        statements=top_statements(statements, treatments, MOST_STATEMENTS),
        notes=notes,
    )


def checkpoints(events: pl.DataFrame) -> list[Checkpoint]:
    """Checkpoints in the order they were seen, each with its end."""
    found: list[Checkpoint] = []
    if events.is_empty():
        return found
    kinds = events.filter(
        pl.col("event").is_in(["checkpoint", "checkpoint-end"]) & pl.col("t_s").is_not_null()
    )
    for trial, at_s, event, detail in kinds.select("trial", "t_s", "event", "detail").iter_rows():
        if event == "checkpoint":
            found.append(Checkpoint(trial, at_s, None, str(json.loads(detail).get("reason", ""))))
        elif found and found[-1].trial == trial and found[-1].end_s is None:
            last = found[-1]
            found[-1] = Checkpoint(trial, last.begin_s, at_s, last.reason)
    return found


def by_treatment(
    samples: pl.DataFrame, checkpoints: Iterable[Checkpoint], treatments: Iterable[Treatment]
) -> tuple[Served, ...]:
    """The counters of each treatment that was watched."""
    treatments = tuple(treatments)
    if samples.is_empty():
        return ()
    there = [name for name in _SUMS if name in samples.columns]
    known = [pl.col(name).sum() if samples[name].count() else pl.lit(None).alias(name) for name in there]
    frame = measured(samples, treatments).group_by("treatment").agg(known)
    sums = {row["treatment"]: row for row in frame.iter_rows(named=True)}
    begun: dict[str, int] = {}
    for one in checkpoints:
        if one.begin_s > 0:
            begun[one.trial] = begun.get(one.trial, 0) + 1
    found = []
    for treatment in treatments:
        row = sums.get(treatment.id)
        if row is None or not row.get("elapsed_s"):
            continue
        seconds, commits = row["elapsed_s"], row.get("commits")
        hit, read = row.get("blocks_hit"), row.get("blocks_read")
        found.append(
            Served(
                treatment,
                commits_per_s=_ratio(commits, seconds),
                hit_share=None if hit is None or read is None else _ratio(hit, hit + read),
                blocks_read_per_s=_ratio(read, seconds),
                wal_bytes_per_s=_ratio(row.get("wal_bytes"), seconds),
                wal_bytes_per_commit=_ratio(row.get("wal_bytes"), commits),
                temp_bytes_per_s=_ratio(row.get("temp_bytes"), seconds),
                deadlocks=int(row.get("deadlocks") or 0),
                checkpoints=sum(begun.get(trial.name, 0) for trial in treatment.trials if trial.counts),
            )
        )
    return tuple(found)


def _ratio(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole


def top_statements(
    statements: pl.DataFrame, treatments: Iterable[Treatment], most: int
) -> tuple[Statement, ...]:
    """The statements that took most time over all trials that count (whole loads, warm-up included)."""
    if statements.is_empty():
        return ()
    counting = [trial.name for treatment in treatments for trial in treatment.trials if trial.counts]
    own = statements.filter(pl.col("trial").is_in(counting))
    summed = own.group_by("query").agg(pl.col("calls", "total_ms", "rows", "blocks_hit", "blocks_read").sum())
    whole = summed["total_ms"].sum()
    ordered = summed.sort("total_ms", "query", descending=[True, False]).head(most)
    return tuple(
        Statement(
            query=row["query"] or "",
            calls=row["calls"],
            total_ms=row["total_ms"],
            share=row["total_ms"] / whole if whole else 0.0,
            rows=row["rows"],
            hit_share=_ratio(row["blocks_hit"], row["blocks_hit"] + row["blocks_read"]),
        )
        for row in ordered.iter_rows(named=True)
    )
