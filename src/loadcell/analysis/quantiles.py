"""Distributions without the percentiles that too few observations support (`loadcell.plan.quantiles` has the
rule).

Trials are compared where some more lie beyond, as a value made by a single observation is another one in
every trial.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from loadcell.plan.expect import LEAST_BEYOND, ROUNDING, enough
from loadcell.plan.expect import QUANTILES as _BY_NAME
from loadcell.store.frames import Frame

#: The quantiles kept in every record: key in the record -> quantile.
QUANTILES = {f"{name}_ms": quantile for name, quantile in _BY_NAME.items()}
#: Observations beyond a quantile without which two of them are not compared.
LEAST_BEYOND_TO_COMPARE = 5


def carries(figures: Mapping[str, float], key: str, beyond: int = LEAST_BEYOND) -> bool:
    """True if that many observations lie beyond the quantile of this key; for what is none, True.

    Values that do not say how many observations there were are taken to have had enough: the tool that gave
    them knew.
    """
    quantile, count = QUANTILES.get(key), figures.get("count")
    return quantile is None or count is None or enough(count, quantile, beyond)


def left_out(figures: Mapping[str, float]) -> tuple[str, ...]:
    """The keys of quantiles that there are too few observations for."""
    return tuple(key for key in figures if not carries(figures, key))


def carried(figures: Mapping[str, float] | None) -> Mapping[str, float] | None:
    """Values of a distribution (ms, by the record's keys) without those that too few observations support."""
    if figures is None:
        return None
    return {key: value for key, value in figures.items() if carries(figures, key)}


def carried_over_time(intervals: Frame) -> Frame:
    """Rows of intervals without the quantiles that what `succeeded` in each does not carry: a point of such a
    line would be the
    slowest of an interval, and the line one of maxima."""
    if not intervals.has("succeeded"):
        return intervals
    succeeded = intervals.numbers("succeeded")
    columns = {}
    for key, quantile in QUANTILES.items():
        few = succeeded * (1 - quantile) < LEAST_BEYOND - ROUNDING
        for name in (f"response_{key}", f"service_{key}"):
            if intervals.has(name):
                columns[name] = np.where(few, np.nan, intervals.numbers(name))
    return intervals.adding(columns)
