"""The values that a comparison rests on: one metric of one side, by block or by run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median

import numpy as np

from loadcell.analysis.compare.metrics import Metric
from loadcell.analysis.compare.sides import Side
from loadcell.analysis.trials import Trial
from loadcell.stats.two_samples import Array

#: Values by block, and by arm where a run of identical arms is compared with something else; by the number of
#: the run where a side is several.
Figures = Mapping[tuple[int, str], float]


def of_side(side: Side, context: str, metric: Metric) -> Figures:
    """Values of succeeded trials, by block; of a side of several runs the median of each.

    A percentile is that of all trials or of none, as in a run's own report.
    """
    if not metric.carried([trial for trial in side.trials.get(context, ()) if trial.counts]):
        return {}
    if len(side.runs) < 2:
        return _by_block(side.trials.get(context, ()), metric)
    of_runs = [_by_block(run.get(context, ()), metric) for run in side.runs]
    return {(number, ""): median(values.values()) for number, values in enumerate(of_runs, 1) if values}


def _by_block(trials: Sequence[Trial], metric: Metric) -> Figures:
    return {
        (trial.block, trial.arm or ""): value
        for trial in trials
        if trial.counts and (value := metric.of(trial)) is not None and value > 0
    }


def unusable(side: Side, context: str, metric: Metric) -> int:
    """Number of succeeded trials with a throughput of zero, or a value that is no number."""
    trials = [trial for trial in side.trials.get(context, ()) if trial.status == "ok"]
    if metric.key is None:
        return sum(not (metric.of(trial) or 0) > 0 for trial in trials)
    return sum(
        value is not None and not (math.isfinite(value) and value > 0)
        for trial in trials
        for value in [(trial.response or {}).get(metric.key)]
    )


def middle(values: Figures) -> float | None:
    """The median, if there is one."""
    return median(values.values()) if values else None


def logarithms(side: Side, context: str, metric: Metric) -> Figures:
    """The logarithms of a side's values."""
    return {block: math.log(value) for block, value in of_side(side, context, metric).items()}


def array(values: Figures) -> Array:
    """The values (B,) in the order of blocks."""
    return np.array([values[block] for block in sorted(values)], dtype=np.float64)


def mean_of_complete_blocks(of_contexts: Sequence[Figures]) -> Figures:
    """The mean over all contexts of each block that has a value in every one."""
    if not of_contexts:
        return {}
    common = set.intersection(*(set(item) for item in of_contexts))
    return {block: sum(item[block] for item in of_contexts) / len(of_contexts) for block in sorted(common)}
