"""Repeats of one treatment: their median, how sure it is, and how far they lie apart.

The unit is the trial. With few repeats nothing can be said about the next one, and this module then gives no
interval at all rather than a wrong one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

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
    def spread(self) -> float | None:
        """(highest - lowest) / median: None with fewer than two values or a median of 0."""
        if self.median is None or self.low is None or self.high is None or len(self.values) < 2:
            return None
        return (self.high - self.low) / self.median if self.median else None


def coverage(n: int, j: int) -> float:
    """Probability that the j-th smallest and the j-th largest of `n` values enclose the median.

    `1 - 2 P(B <= j - 1)` with B binomial(n, 1/2), exact. Thompson (1936); David and Nagaraja,
    *Order Statistics* (2003), section 7.1. Raises ValueError when `j` is not in 1..n//2.
    """
    if not 1 <= j <= n // 2:
        raise ValueError(f"j={j} does not name a pair of order statistics of {n} values")
    return 1 - 2 * sum(math.comb(n, i) for i in range(j)) / float(2**n)


def interval(values: Sequence[float], at_least: float = COVERAGE) -> Interval | None:
    """The narrowest interval `[x(j), x(n+1-j)]` for the median that covers `at_least`; None when
    none does.
    """
    n = len(values)
    interval = None
    for j in range(1, n // 2 + 1):
        reached = coverage(n, j)
        if reached < at_least:
            break
        interval = (j, reached)
    if interval is None:
        return None
    ordered = sorted(values)
    j, reached = interval
    return Interval(ordered[j - 1], ordered[n - j], reached)


def summarise(values: Sequence[float | None]) -> Repeats:
    """Everything about the repeats of one figure; missing values are left out."""
    present = tuple(value for value in values if value is not None)
    if not present:
        return Repeats((), None, None, None, None)
    return Repeats(present, median(present), min(present), max(present), interval(present))
