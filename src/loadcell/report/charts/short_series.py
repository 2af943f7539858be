"""What a picture over time needs where trials are short: pieces of intervals, samples that are alone, fractions of a second."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import altair as alt

if TYPE_CHECKING:
    import polars as pl

#: A piece of an interval shorter than this share of a whole one holds too few requests to stand beside it.
PIECE = 0.25
#: Rows that a line needs.
FEWEST_ROWS = 2
#: Digits behind the point of a second: the fewest, and those of a source of which no two rows are near each other.
FEWEST_DIGITS, MOST_DIGITS = 1, 3


def whole(frame: pl.DataFrame) -> pl.DataFrame:
    """Intervals without the short pieces that a warm-up or a measurement ended with; those with errors stay where no whole interval of
    their trial has any."""
    import polars as pl

    if not {"trial", "duration_s", "failed"} <= set(frame.columns):
        return frame
    least = pl.col("duration_s").max().over("trial") * PIECE
    short = (pl.col("duration_s") < least).fill_null(value=False)
    failing = pl.col("failed").fill_null(0) > 0
    return frame.filter(~short | (failing & ~(failing & ~short).any().over("trial")))


def drawable(frames: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The sources that a line can be drawn of: those with two rows or more of some trial."""
    return {
        name: frame
        for name, frame in frames.items()
        if (frame.group_by("trial").len()["len"].max() or 0) >= FEWEST_ROWS  # type: ignore[operator]
    }


def alone(frame: pl.DataFrame) -> bool:
    """Whether there is a trial with one row only, of which a line shows nothing."""
    return frame.group_by("trial").len()["len"].min() == 1


def point(base: alt.Chart, **where: Any) -> alt.Chart:
    """The mark of a value that is alone in its trial."""
    counted = base.transform_joinaggregate(rows="count()", groupby=["name"])
    found: alt.Chart = (
        counted.transform_filter("datum.rows === 1").mark_point(filled=True, size=30).encode(**where)
    )
    return found


def digits(frame: pl.DataFrame) -> int:
    """How many digits of a second tell neighbouring rows of a trial apart, and show where between them each lies."""
    import polars as pl

    gaps = frame.sort("trial", "t_s").select(pl.col("t_s").diff().over("trial"))["t_s"].drop_nulls()
    gap = gaps.median()
    if not isinstance(gap, int | float) or gap <= 0:
        return MOST_DIGITS
    return min(MOST_DIGITS, max(FEWEST_DIGITS, math.ceil(-math.log10(gap)) + 1))
