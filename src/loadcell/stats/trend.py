"""True if a series rises or falls all along: a straight line through it, judged with its values' dependence
in mind.

The line is that of least squares. Values that depend on their neighbours make chance look like a trend, so
the number of values is replaced by the number of independent ones they are worth, `n (1 - r) / (1 + r)` with
r the correlation of neighbouring residuals (Santer et al. 2000, *Statistical significance of trends and trend
differences in layer-average atmospheric temperature time series*).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from loadcell.stats.batch_means import batch_means, neighbours_alike
from loadcell.stats.energy import Array

#: Points a line is put through: longer series are joined to this many.
POINTS = 60
#: With fewer points there is no judging a line.
FEWEST = 8


@dataclass(frozen=True)
class Trend:
    """`change` from the line's first to its last value, as a share of the mean; `p` is how likely chance
    makes it.
    """

    change: float
    p: float


def find(series: Array) -> Trend | None:
    """The trend along a series of equal steps; None when it is too short, or 0 on average."""
    from scipy.special import stdtr

    if series.size < FEWEST:
        return None
    joined = batch_means(series, -(-series.size // POINTS)) if series.size > POINTS else series
    mean, n = float(joined.mean()), joined.size
    if mean == 0 or n < FEWEST:
        return None
    x = np.arange(n) - (n - 1) / 2
    slope = float((x * joined).sum() / (x**2).sum())
    residuals = joined - mean - slope * x
    left_over = float((residuals**2).sum())
    change = slope * (n - 1) / mean
    if left_over <= (1e-12 * mean) ** 2 * n:
        return Trend(change, 0.0 if abs(change) > 1e-9 else 1.0)
    r = neighbours_alike(residuals)
    effective = n * (1 - r) / (1 + r)
    if effective <= 3:
        return Trend(change, 1.0)
    error = math.sqrt(left_over / (effective - 2) / float((x**2).sum()))
    return Trend(change, float(2 * stdtr(effective - 2, -abs(slope) / error)))
