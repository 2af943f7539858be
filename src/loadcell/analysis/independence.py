"""Independence of repeats, without which the interval of a median covers less than it states."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from loadcell.analysis import drift
from loadcell.analysis.treatments import Treatment
from loadcell.stats.autocorrelation import Array, consecutive_alike

#: Consecutive repeats count as alike when chance makes them so in fewer than this share of runs.
CONSECUTIVE_LEVEL = 0.05
#: From this probability and this number of blocks on, independence is taken as shown: 93 % of the intervals
#: of first-order processes then cover the median or are not confirmed. Fewer blocks hide a correlation with
#: which 56 to 80 % of the intervals cover.
UNREMARKABLE, FEWEST_TO_SEE = 0.25, 15

#: Repeats depend on each other; nothing speaks against independence; there is too little to tell.
Judgement = Literal["dependent", "independent", "unseen"]


def of_repeats(treatments: Sequence[Treatment]) -> Judgement:
    """Judge repeats: *dependent* where throughput changed along the run, or consecutive repeats are alike."""
    blocks = residuals(treatments)
    if drift.trend_findings(treatments):
        return "dependent"
    return of_blocks(len(blocks), consecutive_alike(blocks))


def of_blocks(blocks: int, p: float | None) -> Judgement:
    """The same by the probability that consecutive blocks are alike by chance; None where it has none."""
    if p is not None and p < CONSECUTIVE_LEVEL:
        return "dependent"
    return "independent" if blocks >= FEWEST_TO_SEE and (p is None or p >= UNREMARKABLE) else "unseen"


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
