"""Precision of a mean over time if one second depends on the previous one: batch means.

Neighbouring seconds of one trial are alike, so a thousand of them tell less than a thousand independent ones
would. The means of batches that are longer than the dependence are nearly independent; their scatter says how
sure the mean of all is, and how many independent seconds would be as sure: the effective sample size.

Source: Schmeiser (1982); batches of length sqrt(n), as Jones, Haran, Caffo and Neath (2006) show to be
consistent. This speaks of the mean *within one trial*. It is never an interval for a treatment: the unit of
that is the trial.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from loadcell.stats import distributions
from loadcell.stats.energy import Array

#: Fewer values than this give fewer than four batches of four: nothing can be said of their scatter.
FEWEST = 16
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Within:
    """`mean` of `values` values; `half_width` of its 95 % interval, and `effective` independent values it is
    worth.
    """

    mean: float
    half_width: float
    effective: float
    values: int

    @property
    def error_share(self) -> float | None:
        """The half width as a share of the mean; None when that is 0."""
        return self.half_width / abs(self.mean) if self.mean else None


def batch_means(values: Array, size: int) -> Array:
    """Means of complete batches of `size` neighbours; the remainder at the beginning is dropped."""
    count = values.size // size
    batches: Array = values[values.size - count * size :].reshape(count, size).mean(axis=1)
    return batches


def neighbours_alike(residuals: Array) -> float:
    """The correlation of neighbouring values, 0 to 0.99.

    Deviations from a mean or a line that were fitted to them look less alike than they are, to first order by
    `(1 + 4r)/n` (Kendall 1954): that is added.
    """
    total = float((residuals**2).sum())
    if total == 0:
        return 0.0
    r = max(0.0, float((residuals[1:] * residuals[:-1]).sum()) / total)
    return min(0.99, r + (1 + 4 * r) / residuals.size)


def mean_of(values: Array) -> Within | None:
    """The mean and how sure it is; None with fewer than `FEWEST` values.

    Of few values, batches are shorter than a long dependence and see only part of it; the correlation of
    neighbours, taken as that of a first-order process, sees it. The more careful of the two counts.
    """
    if values.size < FEWEST:
        return None
    size = math.isqrt(values.size)
    batches = batch_means(values, size)
    mean, variance = float(values.mean()), float(values.var(ddof=1))
    if variance <= (1e-12 * mean) ** 2:
        return Within(mean, 0.0, float(values.size), values.size)
    r = neighbours_alike(values - mean)
    between = float(
        batches.var(ddof=1)
    )  # none where values come round within each batch: a load of a constant rate
    effective = min(
        float(values.size),
        variance / (size * between / values.size) if between else float(values.size),
        values.size * (1 - r) / (1 + r) if r > 2 / math.sqrt(values.size) else float(values.size),
    )
    quantile = float(distributions.stdtrit(max(1.0, min(batches.size, effective) - 1), (1 + CONFIDENCE) / 2))
    return Within(mean, quantile * math.sqrt(variance / effective), effective, values.size)
