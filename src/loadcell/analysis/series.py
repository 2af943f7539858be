"""Time series of trials, made small enough to be looked at and to be carried in a page."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Literal

import polars as pl

How = Literal["mean", "max", "sum"]


def bucket_size(points: int, at_most: int) -> int:
    """How many neighbouring points become one so that `points` shrink to `at_most` or fewer."""
    return max(1, math.ceil(points / at_most))


#: Ends of the names under which `thin` gives the extremes of what it joined.
LOWEST, HIGHEST = "_lowest", "_highest"


def thin(
    frame: pl.DataFrame, columns: Mapping[str, How], at_most: int, envelope: Collection[str] = ()
) -> pl.DataFrame:
    """Join neighbouring rows of each trial until none has more than `at_most`.

    `frame` has `trial`, `t_s` (where the time a row stands for ended, in seconds from the measurement's start;
    rows up to 0 are warm-up and never join with rows after it) and `columns`, of which those missing in the frame
    are left out. A joined row takes the last `t_s`, and of every other column what its `How` says over the values there are; peaks are kept by `max`.
    For the columns of `envelope` it also has their extremes (`<column>_lowest`, `<column>_highest`), if rows were joined. Where the frame
    has these already, its rows were joined before: they are those of all.
    """
    how = {name: kind for name, kind in columns.items() if name in frame.columns}
    if frame.is_empty():
        return frame.select("trial", "t_s", *how)
    reach = [name + end for name in how if name in envelope for end in (LOWEST, HIGHEST)]
    known = [name for name in reach if name in frame.columns]
    ordered = (
        frame.select("trial", "t_s", *how, *known).drop_nulls("t_s").sort("trial", "t_s", maintain_order=True)
    )
    size = bucket_size(max(ordered.group_by("trial").len()["len"].to_list(), default=0), at_most)
    if size == 1:
        return ordered
    in_window = pl.col("t_s") > 0
    ends = [
        _end(name, name if name in known else name.removesuffix(LOWEST).removesuffix(HIGHEST))
        for name in reach
    ]
    row = pl.int_range(pl.len()).over("trial", in_window)
    return (
        ordered.with_columns(in_window.alias("_measured"), (row // size).alias("_bucket"))
        .group_by("trial", "_measured", "_bucket", maintain_order=True)
        .agg(pl.col("t_s").last(), *(_joined(name, kind) for name, kind in how.items()), *ends)
        .drop("_measured", "_bucket")
    )


def _end(name: str, of: str) -> pl.Expr:
    column = pl.col(of)
    return (column.min() if name.endswith(LOWEST) else column.max()).alias(name)


def _joined(name: str, how: How) -> pl.Expr:
    column = pl.col(name)
    if how == "sum":
        return pl.when(column.count() > 0).then(column.sum()).alias(name)
    return column.max() if how == "max" else column.mean()
