"""The main metric of runs, and its change from one run to the next, for lists: no test of significance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from loadcell.analysis import open_loop
from loadcell.analysis.compare import differences
from loadcell.analysis.compare.metrics import METRICS, Metric
from loadcell.analysis.history import Run, run_of
from loadcell.model.json import JsonObject
from loadcell.model.run_record import RunRecord
from loadcell.model.trial_record import TrialRecord


@dataclass(frozen=True)
class MainValue:
    """The best median of a run's treatments, and its change to the run before.

    `change` is relative, the geometric mean over the treatments of both runs; None for the first run, for
    another metric, and where the plans differ.
    """

    metric: Metric
    value: float | None
    change: float | None


def main_metric(records: Sequence[TrialRecord]) -> Metric:
    """Throughput; in an open loop, whose throughput is given, the 99th percentile of response times."""
    measured = [record for record in records if record.totals is not None]
    opened = [open_loop.from_schedule(record.schedule) is not None for record in measured]
    return METRICS["p99" if opened and all(opened) else "throughput"]


def read(name: str, state: str, run: RunRecord, records: Sequence[TrialRecord], host: JsonObject) -> Run:
    """A run with the medians of its main metric."""
    return run_of(name, state, run, records, host, main_metric(records))


def main_values(runs: Sequence[Run]) -> list[MainValue]:
    """The main values of runs of one plan, in order of time, each with its change to the run before it."""
    values: list[MainValue] = []
    before: Run | None = None
    for run in runs:
        metric = main_metric(run.records)
        best = (max if metric.higher_is_better else min)(run.values.values(), default=None)
        values.append(MainValue(metric, best, None if before is None else _change(before, run)))
        before = run if run.values else before
    return values


def _change(before: Run, after: Run) -> float | None:
    shared = before.values.keys() & after.values.keys()
    if not shared or main_metric(before.records) is not main_metric(after.records):
        return None
    if any(difference.path != "treatments" for difference in differences.plans(before.run, after.run)):
        return None
    logs = [math.log(after.values[name] / before.values[name]) for name in shared]
    return math.expm1(math.fsum(logs) / len(logs))
