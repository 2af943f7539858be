"""Figures of distributions without the percentiles that too few observations carry (`loadcell.plan.quantiles` has the rule).

Trials are compared where some more lie beyond, as a figure made by a single observation is another one in every trial.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from loadcell.plan.quantiles import LEAST_BEYOND, ROUNDING, enough
from loadcell.plan.quantiles import QUANTILES as _BY_NAME

if TYPE_CHECKING:
    import polars as pl

#: The quantiles kept in every record: key in the record -> quantile.
QUANTILES = {f"{name}_ms": quantile for name, quantile in _BY_NAME.items()}
#: Observations beyond a quantile without which two of them are not compared.
LEAST_BEYOND_TO_COMPARE = 5


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


def carried_over_time(intervals: pl.DataFrame) -> pl.DataFrame:
    """Rows of intervals without the quantiles that what `succeeded` in each does not carry: a point of such a line would be the
    slowest of an interval, and the line one of maxima."""
    import polars as pl

    if "succeeded" not in intervals.columns:
        return intervals
    short = {
        f"{kind}_{key}": pl.col("succeeded") * (1 - quantile) < LEAST_BEYOND - ROUNDING
        for kind in ("response", "service")
        for key, quantile in QUANTILES.items()
    }
    return intervals.with_columns(
        pl.when(few.fill_null(value=False)).then(None).otherwise(pl.col(name)).alias(name)
        for name, few in short.items()
        if name in intervals.columns
    )
