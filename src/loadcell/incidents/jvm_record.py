"""Collections of a JVM in the record of an examination."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from loadcell.incidents.evidence.collections import Collections
from loadcell.model import duration_classes
from loadcell.model.gc_pauses import Durations, PauseKind
from loadcell.model.numbers import utc_text

#: Full collections and values of the live set in a record.
MOST_ROWS: Final = 1_000
_SECOND: Final = 1e9


@dataclass(frozen=True)
class DurationsRecord:
    """Number, total and longest of events of one name, in seconds."""

    name: str
    count: int
    total_s: float
    longest_s: float


@dataclass(frozen=True)
class PausesRecord:
    """Distribution of all pauses; quantiles are exact to 2 %. `stopped_s` counts nested pauses once."""

    count: int
    stopped_s: float
    longest_s: float
    median_s: float | None
    p90_s: float | None
    p99_s: float | None
    by_kind: tuple[DurationsRecord, ...]
    by_cause: tuple[DurationsRecord, ...]


@dataclass(frozen=True)
class FullRecord:
    """A full collection: time since the first line, interval to the one before, bytes."""

    t_s: float
    utc: str | None
    interval_s: float | None
    duration_s: float
    cause: str
    before_bytes: int | None
    after_bytes: int | None
    freed_bytes: int | None
    capacity_bytes: int | None
    line: int


@dataclass(frozen=True)
class LiveRecord:
    """Heap in use after a collection of the old generation."""

    t_s: float
    used_bytes: int


@dataclass(frozen=True)
class JvmRecord:
    """Activity of the collector of one JVM. Times are from its first line."""

    vm: str
    collector: str
    flags: tuple[str, ...]
    lines: int
    lines_not_understood: int
    pauses: PausesRecord
    running_share: float | None
    allocated_bytes_per_s: float | None
    promoted_bytes_per_s: float | None
    capacity_bytes: int | None
    full: tuple[FullRecord, ...]
    live: tuple[LiveRecord, ...]
    concurrent: tuple[DurationsRecord, ...]
    safepoints: tuple[DurationsRecord, ...]
    longest_reaching_s: float | None


def durations_by_name(
    named: dict[str, Durations] | dict[PauseKind, Durations],
) -> tuple[DurationsRecord, ...]:
    """Tallies by name, the longest total first."""
    rows = [
        DurationsRecord(name, durations.count, durations.total_ns / _SECOND, durations.longest_ns / _SECOND)
        for name, durations in named.items()
    ]
    return tuple(sorted(rows, key=lambda row: -row.total_s))


def pauses(evidence: Collections) -> PausesRecord:
    """The distribution of pauses."""
    totals = evidence.log.totals

    def quantile(level: float) -> float | None:
        value = duration_classes.quantile_ns(totals.classes, level)
        return None if value is None else min(value, totals.all.longest_ns) / _SECOND

    return PausesRecord(
        totals.all.count,
        totals.stopped_ns / _SECOND,
        totals.all.longest_ns / _SECOND,
        quantile(0.5),
        quantile(0.9),
        quantile(0.99),
        durations_by_name(dict(totals.by_kind)),
        durations_by_name(dict(totals.by_cause)),
    )


def full(evidence: Collections) -> tuple[FullRecord, ...]:
    """Full collections with their intervals and the bytes that each freed."""
    pauses = [pause for pause in evidence.log.pauses if pause.kind == "full"]
    earlier = [None, *pauses]
    rows: list[FullRecord] = []
    for before, pause in list(zip(earlier, pauses, strict=False))[-MOST_ROWS:]:
        freed = None
        if pause.before_bytes is not None and pause.after_bytes is not None:
            freed = pause.before_bytes - pause.after_bytes
        utc_ns = evidence.utc_ns(pause.start_ns)
        rows.append(
            FullRecord(
                (pause.start_ns - evidence.begin_ns) / _SECOND,
                None if utc_ns is None else utc_text(utc_ns),
                None if before is None else (pause.start_ns - before.start_ns) / _SECOND,
                pause.duration_ns / _SECOND,
                pause.cause,
                pause.before_bytes,
                pause.after_bytes,
                freed,
                pause.capacity_bytes,
                pause.line,
            )
        )
    return tuple(rows)


def running_share(evidence: Collections) -> float | None:
    """Share of the time in which the program ran."""
    if not evidence.duration_ns:
        return None
    return max(0.0, 1 - evidence.log.totals.stopped_ns / evidence.duration_ns)


def per_second(evidence: Collections, total_bytes: int | None) -> float | None:
    """A rate over the time of the log."""
    if total_bytes is None or not evidence.duration_ns:
        return None
    return total_bytes / (evidence.duration_ns / _SECOND)


def record(evidence: Collections) -> JvmRecord:
    """The record of the collections of a JVM."""
    log, around = evidence.log, evidence.log.around
    return JvmRecord(
        around.vm,
        log.collector,
        around.flags,
        log.lines,
        log.unread,
        pauses(evidence),
        running_share(evidence),
        per_second(evidence, log.totals.allocated_bytes),
        per_second(evidence, log.totals.promoted_bytes),
        evidence.capacity_bytes,
        full(evidence),
        tuple(
            LiveRecord((item.end_ns - evidence.begin_ns) / _SECOND, item.used_bytes)
            for item in around.live_sets[-MOST_ROWS:]
        ),
        durations_by_name(dict(around.concurrent)),
        durations_by_name(dict(around.safepoints)),
        around.reaching.longest_ns / _SECOND if around.reaching.count else None,
    )
