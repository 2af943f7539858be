"""Which percentiles so many observations carry.

The q-quantile of n observations is the least of them that a share q does not exceed, the ceil(nq)-th in their order: the inverse of the
empirical distribution, definition 1 of Hyndman and Fan, *Sample Quantiles in Statistical Packages* (The American Statistician 50,
1996). Where fewer than one observation lies beyond it, n(1 - q) < 1, that is the last: a p99 of fewer than 100 transactions, or a
p99.9 of fewer than 1,000, is the maximum under another name, and no figure of how one in a hundred fares. So it is left out.

Trials are compared where some more lie beyond, as a figure made by a single observation is another one in every trial.
"""

from __future__ import annotations

from collections.abc import Mapping

#: The quantiles kept in every record: key in the record -> quantile.
QUANTILES = {
    "p50_ms": 0.5,
    "p90_ms": 0.9,
    "p95_ms": 0.95,
    "p99_ms": 0.99,
    "p99.9_ms": 0.999,
    "p99.99_ms": 0.9999,
}
#: Observations beyond a quantile without which it is none, and without which two of them are not compared.
LEAST_BEYOND, LEAST_BEYOND_TO_COMPARE = 1, 5
#: So that 100 times a hundredth is one.
_ROUNDING = 1e-9


def enough(count: float, quantile: float, beyond: int = LEAST_BEYOND) -> bool:
    """Whether of so many observations at least `beyond` lie beyond their quantile."""
    return count * (1 - quantile) >= beyond - _ROUNDING


def carries(figures: Mapping[str, float], key: str, beyond: int = LEAST_BEYOND) -> bool:
    """Whether so many observations lie beyond the quantile of this key; for what is none, True.

    Figures that do not say how many observations there were are taken to have had enough: the tool that gave them knew.
    """
    quantile, count = QUANTILES.get(key), figures.get("count")
    return quantile is None or count is None or enough(count, quantile, beyond)


def left_out(figures: Mapping[str, float]) -> tuple[str, ...]:
    """The keys of quantiles that there are too few observations for."""
    return tuple(key for key in figures if not carries(figures, key))


def carried(figures: Mapping[str, float] | None) -> Mapping[str, float] | None:
    """Figures of a distribution (ms, by the record's keys) without those that there are too few observations for."""
    if figures is None:
        return None
    return {key: value for key, value in figures.items() if carries(figures, key)}
