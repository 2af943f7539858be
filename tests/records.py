"""Records for tests: a test names only the fields that matter to it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from loadcell.model.latency import Latency
from loadcell.model.run_record import TreatmentRecord
from loadcell.model.trial_record import OperationStats, Status, TrialRecord

Record = TypeVar("Record")


def trial(number: int = 1, treatment: str = "t", **fields: Any) -> TrialRecord:
    """Record of a trial; without further fields the first repeat, succeeded."""
    defaults: dict[str, Any] = {"name": str(number), "repeat": 1, "status": Status.OK}
    return TrialRecord(number, treatment=treatment, **{**defaults, **fields})


def treatment(settings: dict[str, Any], name: str = "t", **fields: Any) -> TreatmentRecord:
    """Record of a treatment with these settings of a plan."""
    return TreatmentRecord(name, settings=settings, **fields)


def latency(count: int | None = None, **times: float) -> Latency:
    """Latencies by their keys in JSON; `p99_9_ms` is the 99.9th percentile."""
    named = {name.replace("9_9", "9.9"): value for name, value in times.items()}
    return Latency.from_values({**named, **({} if count is None else {"count": count})})


def operation(kind: str, succeeded: int, failed: int = 0, **times: float) -> OperationStats:
    """Ten seconds of one operation with these response times."""
    return OperationStats(
        kind, attempted=succeeded + failed, succeeded=succeeded, failed=failed,
        throughput_per_s=succeeded / 10, response=latency(succeeded, **times) if succeeded else None,
    )  # fmt: skip


def with_field(record: Record, path: str, value: Any) -> Record:
    """The record with another value in the field at a dotted path."""
    name, _, inner = path.partition(".")
    changed = with_field(getattr(record, name), inner, value) if inner else value
    return replace(record, **{name: changed})  # type: ignore[type-var]


def with_times(record: TrialRecord, **times: float) -> TrialRecord:
    """The record with other response times of whole transactions."""
    assert record.totals is not None
    response = record.totals.response or Latency()
    changed = Latency.from_values({**response.values(), **latency(**times).values()})
    return with_field(record, "totals.response", changed)
