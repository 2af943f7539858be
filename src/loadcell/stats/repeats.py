"""Repeats of one treatment: their median, how sure it is, and how far they lie apart.

The unit is the trial. With few repeats nothing can be said about the next one, and this module then gives no
interval at all rather than a wrong one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean, median, stdev

#: Coverage an interval must reach to be shown.
COVERAGE = 0.95
#: The fewest repeats whose extremes enclose the median with `COVERAGE`: 1 - 2 / 2**6 = 0.969, while 5 reach
#: 0.9375.
FEWEST_FOR_INTERVAL = 6


@dataclass(frozen=True)
class Interval:
    """An interval for the median: its ends, in the unit of the values, and the coverage it really
    has (0..1).
    """

    low: float
    high: float
    coverage: float


@dataclass(frozen=True)
class Repeats:
    """The repeats of one figure.

    `values` in order of repeat; `median`, `low` and `high` (the extremes) are None without values; `interval`
    is None when there are too few repeats, which makes the figure *descriptive only*.
    """

    values: tuple[float, ...]
    median: float | None
    low: float | None
    high: float | None
    interval: Interval | None

    @property
    def descriptive_only(self) -> bool:
        """True if these repeats describe only themselves."""
        return self.interval is None

    @property
    def reach(self) -> tuple[float, float] | None:
        """Where the median may lie: the interval, or with too few repeats for one the extremes."""
        if self.interval is not None:
            return self.interval.low, self.interval.high
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def spread(self) -> float | None:
        """Coefficient of variation, standard deviation / mean: None with fewer than two values or a mean of
        0.

        A range would grow with the number of repeats.
        """
        if len(self.values) < 2 or not (mean := fmean(self.values)):
            return None
        return stdev(self.values) / abs(mean)


def coverage(n: int, j: int) -> float:
    """Probability that the j-th smallest and the j-th largest of `n` values enclose the median.

    `1 - 2 P(B <= j - 1)` with B binomial(n, 1/2), exact. Thompson (1936); David and Nagaraja,
    *Order Statistics* (2003), section 7.1. Raises ValueError when `j` is not in 1..n//2.
    """
    if not 1 <= j <= n // 2:
        raise ValueError(f"j={j} does not name a pair of order statistics of {n} values")
    # Whole numbers, divided once: 2**1024 and beyond is no float.
    cases: int = 2**n
    return (cases - 2 * sum(math.comb(n, i) for i in range(j))) / cases


def interval(values: Sequence[float], at_least: float = COVERAGE) -> Interval | None:
    """The interval for the median of coverage `at_least`; None if the extremes cover less.

    Between order statistics it is interpolated: with `d` the largest rank whose pair `[x(d), x(n+1-d)]`
    covers at least that much, and c(d), c(d+1) the coverages of it and of the next one,

        I = (c(d) - at_least) / (c(d) - c(d+1)),   w = (n - d) I / (d + (n - 2d) I)

    its ends lie at w between x(d) and x(d+1), and between their counterparts (Hettmansperger and Sheather
    1986; Nyblom 1992). That is nearly free of assumptions on the distribution; whole ranks alone would cover
    96 to 99 %, and be wider with 8 repeats than with 6.
    """
    n = len(values)
    d = _last_rank(n, at_least)
    if not d:
        return None
    ordered = sorted(values)
    if d + 1 > n // 2:
        return Interval(ordered[d - 1], ordered[n - d], coverage(n, d))
    share = (coverage(n, d) - at_least) / (coverage(n, d) - coverage(n, d + 1))
    weight = (n - d) * share / (d + (n - 2 * d) * share)
    low = ordered[d - 1] + weight * (ordered[d] - ordered[d - 1])
    high = ordered[n - d] - weight * (ordered[n - d] - ordered[n - d - 1])
    return Interval(low, high, at_least)


@cache
def _last_rank(n: int, at_least: float) -> int:
    """The largest rank whose pair of order statistics covers `at_least`; 0 if none does.

    Coverage falls with the rank: by bisection, as each is a sum of huge whole numbers.
    """
    low, high = 0, n // 2
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (low, middle - 1) if coverage(n, middle) < at_least else (middle, high)
    return low


def summarise(values: Sequence[float | None]) -> Repeats:
    """Everything about the repeats of one figure; missing values are left out."""
    present = tuple(value for value in values if value is not None)
    if not present:
        return Repeats((), None, None, None, None)
    return Repeats(present, median(present), min(present), max(present), interval(present))
