"""Independence of repeats, without which the interval of a median covers less than it states."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from loadcell.analysis import drift
from loadcell.analysis.treatments import Treatment
from loadcell.stats.energy import Array, consecutive_alike

#: Consecutive repeats count as alike when chance makes them so in fewer than this share of runs.
LEVEL = 0.05


def dependent(treatments: Sequence[Treatment]) -> bool:
    """True if throughput rose or fell over the run, or consecutive repeats are alike."""
    if drift.trend_findings(treatments):
        return True
    p = consecutive_alike(residuals(treatments))
    return p is not None and p < LEVEL


def residuals(treatments: Sequence[Treatment]) -> Array:
    """Logarithms of throughput less the treatment's mean: a row a block, a column a treatment, 0 for a trial
    that does not count.
    """
    logarithms = [
        {
            trial.block: math.log(trial.throughput_per_s)
            for trial in treatment.trials
            if trial.counts and trial.throughput_per_s
        }
        for treatment in treatments
    ]
    blocks = sorted({block for of_treatment in logarithms for block in of_treatment})
    rows = {block: row for row, block in enumerate(blocks)}
    table = np.zeros((len(blocks), len(logarithms)))
    for column, of_treatment in enumerate(logarithms):
        level = sum(of_treatment.values()) / len(of_treatment) if of_treatment else 0.0
        for block, value in of_treatment.items():
            table[rows[block], column] = value - level
    return table
