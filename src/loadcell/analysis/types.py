"""Types of transaction and outcomes, where a workload counts them apart: of one trial, and over a treatment's
repeats.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loadcell.analysis.quantiles import carried
from loadcell.model.trial_record import TrialRecord
from loadcell.stats.repeats import Repeats, summarise

#: How a trial's record calls an operation that is a type of transaction, or an outcome of some that
#: succeeded.
TYPE, OUTCOME = "type", "outcome"

#: Where the unit is one operation, what an operation does is its type; of blocks also the flush that follows
#: one.
_OPERATIONS = {"operation": (TYPE, "read", "write"), "block": (TYPE, "read", "write", "other")}

#: Response-time statistics of a type, by their key in a trial's record.
FIGURES = ("mean_ms", "stdev_ms", "p50_ms", "p90_ms", "p95_ms", "p99_ms", "max_ms")


@dataclass(frozen=True)
class Counted:
    """One type or outcome in one trial; `response` in ms, None when none succeeded."""

    succeeded: int
    failed: int
    throughput_per_s: float | None
    response: Mapping[str, float] | None


@dataclass(frozen=True)
class OfType:
    """One type or outcome over the succeeded trials of a treatment.

    `share` is its part of all transactions that succeeded; `response` has a value for each key of `FIGURES`.
    """

    name: str
    succeeded: int
    failed: int
    share: float | None
    throughput: Repeats
    response: Mapping[str, Repeats]


def counted(record: TrialRecord, kind: str) -> dict[str, Counted]:
    """Types or outcomes of a trial by name, in the record's order; client groups, types to the engine, are
    excluded.
    """
    groups = record.groups or {}
    kinds = _OPERATIONS.get(record.unit or "", (kind,)) if kind == TYPE else (kind,)
    return {
        name: Counted(
            stats.succeeded or 0,
            stats.failed or 0,
            stats.throughput_per_s,
            carried(stats.response.values() if stats.response else None),
        )
        for name, stats in record.operations.items()
        if stats.kind in kinds and name not in groups
    }


def over(trials: Sequence[Mapping[str, Counted]], succeeded: int) -> tuple[OfType, ...]:
    """Every type (or outcome) that these trials have; `succeeded` counts all their transactions."""
    names = dict.fromkeys(name for trial in trials for name in trial)
    return tuple(_over(name, [trial[name] for trial in trials if name in trial], succeeded) for name in names)


def _over(name: str, counts: Sequence[Counted], succeeded: int) -> OfType:
    count = sum(counted.succeeded for counted in counts)
    return OfType(
        name,
        count,
        sum(counted.failed for counted in counts),
        count / succeeded if succeeded else None,
        summarise([counted.throughput_per_s for counted in counts]),
        {key: summarise([(counted.response or {}).get(key) for counted in counts]) for key in FIGURES},
    )
