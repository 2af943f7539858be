"""Figures of trials on the logarithmic scale, over treatments and blocks: where levels and machines act as
factors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from loadcell.analysis.treatments import Treatment
from loadcell.analysis.trials import Trial
from loadcell.stats import additive
from loadcell.stats.additive import Additive

#: What is read from a trial: a number above 0, or None where it has none.
Figure = Callable[[Trial], float | None]


def speed_of(trial: Trial) -> float | None:
    """A trial's throughput where it counts and is above 0, which a logarithm needs."""
    value = trial.throughput_per_s
    return value if trial.counts and value is not None and math.isfinite(value) and value > 0 else None


def response_of(trial: Trial) -> float | None:
    """A counting trial's mean response time in ms."""
    value = (trial.response or {}).get("mean_ms")
    return value if trial.counts and value is not None and math.isfinite(value) and value > 0 else None


def fit(treatments: Sequence[Treatment], figure: Figure) -> Additive | None:
    """A figure's logarithm over treatments (rows) and blocks; None without any.

    Every treatment must have one.
    """
    values, rows, blocks = [], [], []
    for row, treatment in enumerate(treatments):
        for trial in treatment.trials:
            value = figure(trial)
            if value is not None:
                values.append(math.log(value))
                rows.append(row)
                blocks.append(trial.block)
    if not values:
        return None
    return additive.fit(np.array(values), np.array(rows, dtype=np.int64), additive.numbered(blocks))
