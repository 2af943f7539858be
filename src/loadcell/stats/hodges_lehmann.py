"""Size and precision of a difference: Hodges-Lehmann estimates of a ratio, with exact intervals.

Everything is done on logarithms, so that a difference is a ratio and `B/A` and `A/B` say the same. Functions
take many samples at once (a row each), because simulations need thousands of them. MATH.md says why these and
not others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from loadcell.stats import distributions
from loadcell.stats.repeats import COVERAGE, FEWEST_FOR_INTERVAL

Array = npt.NDArray[np.float64]

#: Above these sizes the exact distributions of ranks are as good as normal (the error of coverage is below
#: 0.1 %).
_EXACT_PAIRS, _EXACT_SAMPLE = 50, 40
#: Every pair of values is looked at: more values than this are first joined with their neighbours.
_MOST_VALUES = 1000
#: From 15 values on, one in ten is trimmed at either end for the p-value, so that a disturbed block does not
#: decide; of fewer, each is needed.
_TRIM_FROM, _TRIM_EVERY = 15, 10


@dataclass(frozen=True)
class Effect:
    """A ratio B/A: `low` and `high` are None when there are too few values for an interval, as is `p`.

    `n` is the number of pairs, or of values on the side that has fewer; `paired` says which. `p` is that of a
    trimmed t test on logarithms, before any correction.
    """

    ratio: float
    low: float | None
    high: float | None
    p: float | None
    n: int
    paired: bool

    @property
    def descriptive_only(self) -> bool:
        """True if it describes only the trials that were made."""
        return self.low is None


def of_pairs(log_ratios: Array) -> Effect:
    """The ratio from the logarithms of the ratios within blocks. Raises ValueError without any."""
    values = _joined(np.asarray(log_ratios, dtype=np.float64))
    middle, low, high = signed_rank(values[None, :])
    if np.size(log_ratios) < FEWEST_FOR_INTERVAL:
        return Effect(math.exp(middle[0]), None, None, None, np.size(log_ratios), paired=True)
    p = float(trimmed_t(values[None, :])[0])
    return Effect(
        math.exp(middle[0]), math.exp(low[0]), math.exp(high[0]), p, np.size(log_ratios), paired=True
    )


def of_samples(log_a: Array, log_b: Array) -> Effect:
    """The ratio B/A from two samples of logarithms that have nothing to do with each other.

    ValueError without any.
    """
    n = min(np.size(log_a), np.size(log_b))
    a, b = _joined(np.asarray(log_a, dtype=np.float64)), _joined(np.asarray(log_b, dtype=np.float64))
    middle, low, high = rank_sum(a[None, :], b[None, :])
    if n < FEWEST_FOR_INTERVAL:
        return Effect(math.exp(middle[0]), None, None, None, n, paired=False)
    p = float(yuen(a[None, :], b[None, :])[0])
    return Effect(math.exp(middle[0]), math.exp(low[0]), math.exp(high[0]), p, n, paired=False)


def signed_rank(differences: Array) -> tuple[Array, Array, Array]:
    """Estimate and interval of the centre of each row: the median of its Walsh averages, and two of them.

    The ends are the c-th smallest and c-th largest average, c from the exact distribution of Wilcoxon's
    signed-rank statistic: coverage is at least `COVERAGE` for any symmetric distribution, from 6 values on;
    with fewer the ends are the extremes, and cover less. Hodges and Lehmann (1963); Hollander, Wolfe and
    Chicken, *Nonparametric Statistical Methods* (2014), sections 3.2 and 3.3.
    """
    n = differences.shape[1]
    if not n:
        raise ValueError("no values to estimate from")
    first, second = np.triu_indices(n)
    averages = np.sort((differences[:, first] + differences[:, second]) / 2, axis=1)
    return _middle_and_ends(averages, _signed_rank_cut(n))


def rank_sum(a: Array, b: Array) -> tuple[Array, Array, Array]:
    """Estimate and interval of the shift from each row of `a` to that of `b`: the median of all differences,
    and two.

    The ends come from the exact distribution of the Mann-Whitney statistic. Hodges and Lehmann (1963); Moses
    (1965); Hollander, Wolfe and Chicken (2014), sections 4.2 and 4.3.
    """
    n, m = a.shape[1], b.shape[1]
    if not n or not m:
        raise ValueError("no values to estimate from")
    differences = np.sort((b[:, None, :] - a[:, :, None]).reshape(len(a), n * m), axis=1)
    return _middle_and_ends(differences, _rank_sum_cut(n, m))


def trimmed_t(differences: Array) -> Array:
    """Two-sided p of each row's trimmed mean being 0 (Tukey and McLaughlin 1963)."""
    mean, variance, remaining = _trimmed(differences)
    return _p_of_t(mean, variance, np.full(len(differences), remaining - 1.0))


def yuen(a: Array, b: Array) -> Array:
    """Two-sided p of the trimmed means of two samples being equal, variances free (Yuen 1974)."""
    mean_a, variance_a, drawn_a = _trimmed(a)
    mean_b, variance_b, drawn_b = _trimmed(b)
    total = variance_a + variance_b
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = total**2 / (variance_a**2 / (drawn_a - 1) + variance_b**2 / (drawn_b - 1))
    return _p_of_t(mean_b - mean_a, total, np.where(np.isfinite(freedom), freedom, drawn_a + drawn_b - 2.0))


def _joined(values: Array) -> Array:
    """At most `_MOST_VALUES` values: neighbours in time are averaged, which keeps what they have
    in common.
    """
    if values.size <= _MOST_VALUES:
        return values
    return np.array([part.mean() for part in np.array_split(values, _MOST_VALUES)])


def _middle_and_ends(ordered: Array, cut: int) -> tuple[Array, Array, Array]:
    count = ordered.shape[1]
    middle = (ordered[:, (count - 1) // 2] + ordered[:, count // 2]) / 2
    return middle, ordered[:, cut - 1], ordered[:, count - cut]


def _trimmed(values: Array) -> tuple[Array, Array, int]:
    """Trimmed mean, its variance by the winsorised sum of squares, and how many values were kept."""
    n = values.shape[1]
    cut = (n - _TRIM_FROM) // _TRIM_EVERY + 1 if n >= _TRIM_FROM else 0
    ordered = np.sort(values, axis=1)
    inner = ordered[:, cut : n - cut]
    winsorised = np.clip(values, inner[:, :1], inner[:, -1:])
    squares = ((winsorised - winsorised.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    remaining = n - 2 * cut
    return inner.mean(axis=1), squares / (remaining * (remaining - 1)), remaining


def _p_of_t(difference: Array, variance: Array, freedom: Array) -> Array:
    """Without any scatter, a difference is certain and none at all is no difference."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(difference) / np.sqrt(variance)
    p: Any = 2 * distributions.stdtr(freedom, -t)
    return np.where(variance > 0, p, np.where(difference == 0, 1.0, 0.0))


@cache
def _signed_rank_cut(n: int) -> int:
    """The largest c with P(T <= c - 1) <= 2.5 %; 1 when even c = 1 does not reach it."""
    tail = (1 - COVERAGE) / 2
    if n > _EXACT_PAIRS:
        spread = math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
        return max(1, math.floor(n * (n + 1) / 4 - _NORMAL * spread))
    counts = [1] + [0] * (n * (n + 1) // 2)
    for rank in range(1, n + 1):
        for total in range(len(counts) - 1, rank - 1, -1):
            counts[total] += counts[total - rank]
    return _cut(counts, 2**n, tail)


@cache
def _rank_sum_cut(n: int, m: int) -> int:
    """The same for the Mann-Whitney statistic, whose counts are the coefficients of a Gaussian binomial."""
    tail = (1 - COVERAGE) / 2
    if max(n, m) > _EXACT_SAMPLE:
        spread = math.sqrt(n * m * (n + m + 1) / 12)
        return max(1, math.floor(n * m / 2 - _NORMAL * spread))
    size = n * m + 1
    counts = [1] + [0] * (size - 1)
    for step in range(1, m + 1):
        for total in range(size - 1, n + step - 1, -1):
            counts[total] -= counts[total - n - step]
        for total in range(step, size):
            counts[total] += counts[total - step]
    return _cut(counts, math.comb(n + m, n), tail)


def _cut(counts: list[int], total: int, tail: float) -> int:
    below, cut = 0, 0
    while (below + counts[cut]) / total <= tail:
        below += counts[cut]
        cut += 1
    return max(1, cut)


#: The normal quantile of half of the probability outside `COVERAGE`.
_NORMAL = 1.959963984540054


#: The share of false discoveries that is accepted among those made.
FALSE_DISCOVERIES = 0.05


def benjamini_hochberg(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjusted p-values, in the same order: those up to q hold a share of false ones of at most q.

    Benjamini and Hochberg (1995). Valid for independent tests and for those that vary together, as throughput
    and the percentiles of one trial do (Benjamini and Yekutieli 2001). What has no p-value is not counted.
    """
    ranked = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    least = 1.0
    for rank in range(len(ranked), 0, -1):
        p, index = ranked[rank - 1]
        least = min(least, p * len(ranked) / rank)
        adjusted[index] = least
    return adjusted
