"""Number of observations that a percentile needs: the rule of expectations and reports.

The q-quantile of n observations is the least of them that a share q does not exceed, the ceil(nq)-th in their
order: the inverse of the empirical distribution, definition 1 of Hyndman and Fan, *Sample Quantiles in
Statistical Packages* (The American Statistician 50, 1996). Where fewer than one observation lies beyond it,
n(1 - q) < 1, that is the last: a p99 of fewer than 100 transactions, or a p99.9 of fewer than 1,000, is the
maximum under another name, and no figure of how one in a hundred fares.
"""

from __future__ import annotations

import math

#: The quantiles kept in every record, by their names in expectations.
QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999, "p99.99": 0.9999}
#: Observations beyond a quantile without which it is none.
LEAST_BEYOND = 1
#: So that 100 times a hundredth is one.
ROUNDING = 1e-9


def enough(count: float, quantile: float, beyond: int = LEAST_BEYOND) -> bool:
    """True if at least `beyond` of these observations lie beyond their quantile."""
    return count * (1 - quantile) >= beyond - ROUNDING


def needed(quantile: float) -> int:
    """The fewest observations that carry a quantile."""
    return math.ceil((LEAST_BEYOND - ROUNDING) / (1 - quantile))
