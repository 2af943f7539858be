"""Two samples compared: the size and precision of their difference, and the same by other methods.

Everything is done on logarithms, so that a difference is a ratio and `B/A` and `A/B` say the same. Pairs are
judged by ranks (Hodges and Lehmann), samples by trimmed means (Student, Welch, Yuen): from 10 values on, a
fifth is trimmed at either end, so that disturbed trials do not decide; of fewer, each is needed. Functions
take many samples at once (a row each), because simulations need thousands of them. A difference is checked
by other methods, so that no single one has to be believed: a bootstrap of the ratio of medians over blocks,
the ratio of means after Kalibera and Jones, and the overlap after Cliff. MATH.md says why these and not
others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from loadcell.stats import distributions
from loadcell.stats.autocorrelation import lag_1
from loadcell.stats.multiple_testing import FALSE_DISCOVERIES
from loadcell.stats.repeats import COVERAGE, FEWEST_FOR_INTERVAL

Array = npt.NDArray[np.float64]

#: From this number of values on a fifth is trimmed at either end (Wilcox 2012): with one trial in ten
#: disturbed by 30 %, intervals then cover 95 to 97 % instead of 98 %.
_TRIM_FROM, _TRIM_EVERY = 10, 5


@dataclass(frozen=True, eq=False)
class TrimmedMeans:
    """Differences of means of several rows of samples, with the squared error and degrees of freedom of
    each.
    """

    difference: Array
    variance: Array
    freedom: Array

    @property
    def p(self) -> Array:
        """Two-sided p of each difference being 0. Without any scatter, a difference is certain and none at
        all is no difference.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.abs(self.difference) / np.sqrt(self.variance)
        p: Any = 2 * distributions.student_cdf(self.freedom, -t)
        return np.where(self.variance > 0, p, np.where(self.difference == 0, 1.0, 0.0))

    def interval(self, outside: float) -> tuple[Array, Array]:
        """Ends of the intervals with probability `outside` beyond them."""
        half = distributions.student_quantile(self.freedom, 1 - outside / 2) * np.sqrt(self.variance)
        return self.difference - half, self.difference + half


def means_of_pairs(differences: Array) -> TrimmedMeans:
    """Each row's trimmed mean (Tukey and McLaughlin 1963)."""
    mean, variance, remaining = _trimmed(differences)
    return TrimmedMeans(mean, variance, np.full(len(differences), remaining - 1.0))


def means_of_samples(a: Array, b: Array) -> TrimmedMeans:
    """The trimmed mean of each row of `b` less that of `a`, variances free (Welch 1947; Yuen 1974)."""
    mean_a, variance_a, remaining_a = _trimmed(a)
    mean_b, variance_b, remaining_b = _trimmed(b)
    total = variance_a + variance_b
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = total**2 / (variance_a**2 / (remaining_a - 1) + variance_b**2 / (remaining_b - 1))
    freedom = np.where(np.isfinite(freedom), freedom, remaining_a + remaining_b - 2.0)
    return TrimmedMeans(mean_b - mean_a, total, freedom)


def _trimmed(values: Array) -> tuple[Array, Array, int]:
    """Trimmed mean, its variance by the winsorised sum of squares, and how many values were kept."""
    n = values.shape[1]
    cut = n // _TRIM_EVERY if n >= _TRIM_FROM else 0
    ordered = np.sort(values, axis=1)
    inner = ordered[:, cut : n - cut]
    winsorised = np.clip(values, inner[:, :1], inner[:, -1:])
    squares = ((winsorised - winsorised.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    remaining = n - 2 * cut
    return inner.mean(axis=1), squares / (remaining * (remaining - 1)), remaining


#: Above this size the exact distribution of ranks is as good as normal (the error of coverage is below
#: 0.1 %).
_EXACT_PAIRS = 50
#: Every pair of values is looked at: more values than this are first joined with their neighbours.
_MOST_VALUES = 1000


@dataclass(frozen=True)
class Effect:
    """A ratio B/A: `low` and `high` are None when there are too few values for an interval, as is `p`.

    `n` is the number of pairs, or of values on the side that has fewer; `paired` says which. `p` is that of
    no difference, before any correction. `coverage` is the nominal one of the interval. `alike` is the
    correlation of neighbouring pairs in time; None of samples, and of fewer pairs than an interval needs.
    `sizes` are the numbers of values of A and B; None of pairs.
    """

    ratio: float
    low: float | None
    high: float | None
    p: float | None
    n: int
    paired: bool
    coverage: float = COVERAGE
    alike: float | None = None
    sizes: tuple[int, int] | None = None

    @property
    def descriptive_only(self) -> bool:
        """True if it describes only the trials that were made."""
        return self.low is None


class Ratio(Protocol):
    """Values of two sides from which a ratio is estimated."""

    def effect(self, comparisons: int = 1, outside: float = 1 - COVERAGE) -> Effect:
        """The ratio as one of several comparisons that are corrected together, with probability `outside` its
        interval.
        """
        ...


@dataclass(frozen=True, eq=False)
class Pairs:
    """Logarithms of the ratios within blocks, in the order of the blocks."""

    logs: Array

    def effect(self, comparisons: int = 1, outside: float = 1 - COVERAGE) -> Effect:
        """By Wilcoxon's signed ranks; where few pairs could not outlive the correction of many
        comparisons, p and wider intervals by the trimmed t test. ValueError without any pair.
        """
        n = int(np.size(self.logs))
        rows = _joined(np.asarray(self.logs, dtype=np.float64))[None, :]
        middle, low, high = signed_rank(rows, 1 - COVERAGE)
        if n < FEWEST_FOR_INTERVAL:
            return Effect(math.exp(middle[0]), None, None, None, n, paired=True)
        means = means_of_pairs(rows)
        size = rows.shape[1]
        if least_p(size) > FALSE_DISCOVERIES / comparisons:
            p = float(means.p[0])
        else:
            p = float(signed_rank_p(rows)[0])
        if outside < 1 - COVERAGE:
            ends = signed_rank(rows, outside)[1:] if least_p(size) <= outside else means.interval(outside)
            low, high = np.minimum(low, ends[0]), np.maximum(high, ends[1])
        alike = lag_1(rows[0] - rows[0].mean()).positive
        return Effect(
            math.exp(middle[0]), math.exp(low[0]), math.exp(high[0]), p, n, True, 1 - outside, alike
        )


@dataclass(frozen=True, eq=False)
class Samples:
    """Logarithms of two sides that have nothing to do with each other; `fewest` values of each give an
    interval.
    """

    a: Array
    b: Array
    fewest: int = FEWEST_FOR_INTERVAL

    def effect(self, comparisons: int = 1, outside: float = 1 - COVERAGE) -> Effect:  # noqa: ARG002
        """By Welch's and Yuen's test of the means, whose p has no least value. ValueError without any."""
        sizes = int(np.size(self.a)), int(np.size(self.b))
        n = min(sizes)
        if not n:
            raise ValueError("no values to estimate from")
        a, b = (_joined(np.asarray(side, dtype=np.float64))[None, :] for side in (self.a, self.b))
        if n < self.fewest:
            ratio = math.exp(np.median(b) - np.median(a))
            return Effect(ratio, None, None, None, n, paired=False, sizes=sizes)
        means = means_of_samples(a, b)
        low, high = means.interval(outside)
        return Effect(
            math.exp(means.difference[0]), math.exp(low[0]), math.exp(high[0]), float(means.p[0]), n,
            paired=False, coverage=1 - outside, sizes=sizes,
        )  # fmt: skip


def of_pairs(log_ratios: Array) -> Effect:
    """The ratio from the logarithms of the ratios within blocks. Raises ValueError without any."""
    return Pairs(log_ratios).effect()


def of_samples(log_a: Array, log_b: Array) -> Effect:
    """The ratio B/A from two samples of logarithms that have nothing to do with each other.

    ValueError without any.
    """
    return Samples(log_a, log_b).effect()


def signed_rank(differences: Array, outside: float = 1 - COVERAGE) -> tuple[Array, Array, Array]:
    """Estimate and interval of the centre of each row: the median of its Walsh averages, and two of them.

    The ends are the c-th smallest and c-th largest average, c from the exact distribution of Wilcoxon's
    signed-rank statistic: coverage is at least `1 - outside` for any symmetric distribution of independent
    values, 95 % from 6 values on; with fewer the ends are the extremes, and cover less. Hodges and Lehmann
    (1963); Hollander, Wolfe and Chicken, *Nonparametric Statistical Methods* (2014), sections 3.2 and 3.3.
    """
    averages = _walsh(differences)
    count, cut = averages.shape[1], _signed_rank_cut(differences.shape[1], outside)
    middle = (averages[:, (count - 1) // 2] + averages[:, count // 2]) / 2
    return middle, averages[:, cut - 1], averages[:, count - cut]


def signed_rank_p(differences: Array) -> Array:
    """Two-sided p of the centre of each row being 0: at most `outside` where `signed_rank` leaves 0 out.

    Exact in up to 50 values. Where all values are the same and not 0, a difference is certain: 0.
    """
    averages = _walsh(differences)
    n = differences.shape[1]
    positive, negative = (averages > 0).sum(axis=1), (averages < 0).sum(axis=1)
    fewer = averages.shape[1] - np.maximum(positive, negative)
    tails = _tails(n)
    p = np.minimum(1.0, 2 * tails[np.minimum(fewer, len(tails) - 1)])
    constant = (averages[:, 0] == averages[:, -1]) & (averages[:, 0] != 0)
    return np.where(constant, 0.0, p)


def least_p(n: int) -> float:
    """The least two-sided p that signed ranks of `n` values can have."""
    return float(2.0 ** (1 - n))


def _walsh(differences: Array) -> Array:
    """Averages of all pairs of values of each row, each value with itself too, in order."""
    n = differences.shape[1]
    if not n:
        raise ValueError("no values to estimate from")
    first, second = np.triu_indices(n)
    averages: Array = np.sort((differences[:, first] + differences[:, second]) / 2, axis=1)
    return averages


def _joined(values: Array) -> Array:
    """At most `_MOST_VALUES` values: neighbours in time are averaged, which keeps what they have
    in common.
    """
    if values.size <= _MOST_VALUES:
        return values
    return np.array([part.mean() for part in np.array_split(values, _MOST_VALUES)])


def _signed_rank_cut(n: int, outside: float = 1 - COVERAGE) -> int:
    """The largest c with P(T <= c - 1) <= half of `outside`; 1 when even c = 1 does not reach it."""
    return max(1, int(np.searchsorted(_tails(n), outside / 2 + 1e-12, side="right")))


@cache
def _tails(n: int) -> Array:
    """P(T <= t) of Wilcoxon's signed-rank statistic of `n` values, for t = 0 and on, up to its middle."""
    most = n * (n + 1) // 2
    if n > _EXACT_PAIRS:
        spread = math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
        z = (np.arange(1, most // 2 + 2) - n * (n + 1) / 4) / spread
        return np.array([math.erfc(-value / math.sqrt(2)) / 2 for value in z])
    counts = [1] + [0] * most
    for rank in range(1, n + 1):
        for total in range(most, rank - 1, -1):
            counts[total] += counts[total - rank]
    return np.cumsum(np.array(counts[: most // 2 + 1], dtype=np.float64)) / 2.0**n


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
    t = float(distributions.student_quantile(a.size - 1 if paired else a.size + b.size - 2, 0.975))
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
