"""The same difference by other methods, so that no single one has to be believed.

The ratio of the two medians by a bootstrap over blocks, the ratio of the two means after Kalibera and Jones,
and Cliff's delta for how much the two overlap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from loadcell.stats import distributions
from loadcell.stats.hodges_lehmann import Array

RESAMPLES = 4000
#: Many values need fewer resamples for the same certainty of the ends, and as many numbers at once are
#: enough.
_MOST_DRAWN = 1_000_000
_SEED = 20260309


@dataclass(frozen=True)
class CrossCheck:
    """`medians` and `means` are (ratio B/A, low, high); `means` is None where Fieller's interval is
    unbounded.

    `delta` is P(B > A) - P(B < A): 0 for equal distributions, 1 or -1 if they do not overlap.
    """

    medians: tuple[float, float, float]
    means: tuple[float, float, float] | None
    delta: float


def cross_check(a: Array, b: Array, *, paired: bool) -> CrossCheck:
    """All three for positive values of one figure; paired, `a` and `b` are in the order of their blocks."""
    return CrossCheck(bootstrap(a, b, paired=paired), kalibera_jones(a, b, paired=paired), cliffs_delta(a, b))


def bootstrap(
    a: Array, b: Array, *, paired: bool, resamples: int = RESAMPLES, seed: int = _SEED
) -> tuple[float, float, float]:
    """Ratio of medians with the percentile interval of resampled blocks (Davison and Hinkley 1997, section
    5.3).

    Paired, a block is drawn with both its values; else both sides are drawn on their own. All resamples are
    one array.
    """
    resamples = max(200, min(resamples, _MOST_DRAWN // max(a.size, b.size)))
    chance = np.random.default_rng(seed)
    drawn_a = chance.integers(0, a.size, (resamples, a.size))
    drawn_b = drawn_a if paired else chance.integers(0, b.size, (resamples, b.size))
    ratios = np.median(b[drawn_b], axis=1) / np.median(a[drawn_a], axis=1)
    low, high = np.quantile(ratios, (0.025, 0.975))
    return float(np.median(b) / np.median(a)), float(low), float(high)


def kalibera_jones(a: Array, b: Array, *, paired: bool) -> tuple[float, float, float] | None:
    """Ratio of means with Fieller's interval, as Kalibera and Jones (2013) use it; paired, with the
    covariance.

    The interval holds every ratio r for which mean(B) - r mean(A) is within its t quantile of 0, which is a
    quadratic inequality in r; None where A's mean is not safely above 0, as no bounded interval exists then.
    """
    mean_a, mean_b = float(a.mean()), float(b.mean())
    variance_a, variance_b = float(a.var(ddof=1)) / a.size, float(b.var(ddof=1)) / b.size
    shared = float(np.cov(a, b)[0, 1]) / a.size if paired else 0.0
    t = float(distributions.stdtrit(a.size - 1 if paired else a.size + b.size - 2, 0.975))
    square = mean_a**2 - t**2 * variance_a
    if square <= 0:
        return None
    middle = mean_a * mean_b - t**2 * shared
    discriminant = middle**2 - square * (mean_b**2 - t**2 * variance_b)
    half = math.sqrt(max(discriminant, 0.0))
    return mean_b / mean_a, (middle - half) / square, (middle + half) / square


def cliffs_delta(a: Array, b: Array) -> float:
    """P(B > A) - P(B < A) over all pairs (Cliff 1993)."""
    ordered = np.sort(a)
    below = np.searchsorted(ordered, b, side="left").sum()
    above = (a.size - np.searchsorted(ordered, b, side="right")).sum()
    return float(below - above) / (a.size * b.size)
