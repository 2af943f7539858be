"""Repeats of one treatment: their median, how sure it is, and how far they lie apart.

The unit is the trial. With few repeats nothing can be said about the next one, and this module then gives no
interval at all rather than a wrong one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean, median

from loadcell.stats import distributions

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
        freedom = len(self.values) - 1
        if freedom < 1 or not (mean := fmean(self.values)):
            return None
        return math.sqrt(math.fsum((value - mean) ** 2 for value in self.values) / freedom) / abs(mean)


def coverages(n: int) -> Iterator[tuple[int, float]]:
    """Ranks `j` from the middle outwards, each with the probability that the j-th smallest and the j-th
    largest of `n` values enclose the median.

    `P(j <= B <= n - j)` with B binomial(n, 1/2), exact. Thompson (1936); David and Nagaraja, *Order
    Statistics* (2003), section 7.1. Each binomial coefficient follows from its neighbour; of those from the
    middle to a usual coverage there are about as many as the root of `n`.
    """
    # Whole numbers, divided once: 2**1024 and beyond is no float.
    cases: int = 2**n
    ways = math.comb(n, n // 2)
    enclosing = 2 * ways if n % 2 else ways
    for j in range(n // 2, 0, -1):
        yield j, enclosing / cases
        ways = ways * j // (n - j + 1)
        enclosing += 2 * ways


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
    outer = _least_pair(n, at_least)
    if outer is None:
        return None
    d, covered, next_covered = outer
    ordered = sorted(values)
    if next_covered is None:
        return Interval(ordered[d - 1], ordered[n - d], covered)
    share = (covered - at_least) / (covered - next_covered)
    weight = (n - d) * share / (d + (n - 2 * d) * share)
    low = ordered[d - 1] + weight * (ordered[d] - ordered[d - 1])
    high = ordered[n - d] - weight * (ordered[n - d] - ordered[n - d - 1])
    return Interval(low, high, at_least)


@cache
def _least_pair(n: int, at_least: float) -> tuple[int, float, float | None] | None:
    """The largest rank whose pair covers `at_least`, its coverage, and that of the next rank if there is one.

    None if no pair covers as much.
    """
    inner: float | None = None
    for j, covered in coverages(n):
        if covered >= at_least:
            return j, covered, inner
        inner = covered
    return None


def summarise(values: Sequence[float | None]) -> Repeats:
    """Everything about the repeats of one figure; missing values are left out."""
    present = tuple(value for value in values if value is not None)
    if not present:
        return Repeats((), None, None, None, None)
    return Repeats(present, median(present), min(present), max(present), interval(present))


#: Significance level of the scatter of one treatment, over all treatments (Bonferroni).
SCATTER_LEVEL = 0.05


def scatter_widely(treatments: Sequence[Repeats], share: float) -> bool:
    """True if repeats scatter by more than `share` on the whole, or significantly more in some treatment.

    The largest of many coefficients of variation grows with their number: of 16 treatments that scatter by
    3 %, one exceeds 5 % in two of three runs of three repeats.
    """
    squares = [
        (repeats.spread**2, len(repeats.values) - 1) for repeats in treatments if repeats.spread is not None
    ]
    freedom = sum(values for _, values in squares)
    return sum(square * values for square, values in squares) > share**2 * freedom or any(
        distributions.chi_squared_tail(values * square / share**2, values) * len(squares) < SCATTER_LEVEL
        for square, values in squares
    )
