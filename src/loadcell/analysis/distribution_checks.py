"""Percentiles that cannot be: of no distribution is p90 above p99, or the mean outside the extremes.

Values of other tools are taken as they are; a tool that estimates each percentile separately can give
contradictory ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

#: Values of one distribution in ascending order.
RISING = ("min_ms", "p50_ms", "p90_ms", "p95_ms", "p99_ms", "p99.9_ms", "p99.99_ms", "max_ms")
#: Histograms keep three digits; a mean may lie this far beside an extreme that all values share.
ROUNDING = 0.01
#: A percentile is that of a bucket, and fio's are a 64th wide: it may lie so far above the greatest value,
#: which is exact.
BUCKET = 0.02


def impossible(figures: Mapping[str, float | None]) -> dict[str, float]:
    """The first pair of values that contradict each other; empty if all are possible."""
    values = {name: value for name in RISING if (value := figures.get(name)) is not None}
    for (lower, low), (upper, high) in pairwise(values.items()):
        if low > high * (1 + BUCKET if upper == "max_ms" else 1):
            return {lower: low, upper: high}
    mean, least, most = (figures.get(name) for name in ("mean_ms", "min_ms", "max_ms"))
    if mean is not None and least is not None and mean < least * (1 - ROUNDING):
        return {"mean_ms": mean, "min_ms": least}
    if mean is not None and most is not None and mean > most * (1 + ROUNDING):
        return {"mean_ms": mean, "max_ms": most}
    return {}
