"""Columns of intervals: made of single ones, and joined to longer ones.

Loaded lazily, because only long series need numpy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from loadcell.ingest.base import Interval
    from loadcell.ingest.series import SecondSeries

Column = npt.NDArray[np.float64]
#: `start` and `duration` (s), `rate` (per s), `failed`, times by the record's keys; NaN is not reported.
Columns = Mapping[str, Column]

#: Columns that are no times: the others are percentiles and such by the record's keys.
UNJOINED = ("start", "duration", "rate", "failed", "lowest", "highest")


def of_bytes(doubles: bytes) -> Column:
    """A column of doubles as the engine gives them."""
    return np.frombuffer(doubles)


def of_intervals(held: Sequence[Interval]) -> Columns:
    """Single intervals as columns."""
    keys = {key for interval in held for key in interval.response}
    return {
        "start": np.array([interval.start_s for interval in held]),
        "duration": np.array([interval.duration_s for interval in held]),
        "rate": np.array([interval.throughput_per_s for interval in held]),
        "failed": np.array([np.nan if interval.failed is None else interval.failed for interval in held]),
        **{key: np.array([interval.response.get(key, np.nan) for interval in held]) for key in keys},
    }


def of_seconds(series: SecondSeries) -> Columns:
    """The engine's series of a log as columns."""
    done, width_s = np.array(series.done, dtype=np.float64), series.width_s
    start = np.arange(series.first, series.first + len(done)) * width_s + series.origin_s
    keys = ("mean_ms", "p99_ms", *(() if series.lowest is None else ("lowest", "highest")))
    return {
        "start": start.astype(np.float64),
        "duration": np.full(len(done), float(width_s)),
        "rate": done / width_s,
        "failed": np.full(len(done), np.nan),
        **{key: np.array(getattr(series, key), dtype=np.float64) for key in keys},
    }


def of_printed(
    began_s: float, ends_s: Column, rate: Column, failed_per_s: Column | None, **response: Column
) -> Columns:
    """Intervals that follow each other from `began_s` on, of which a tool prints the ends."""
    start = np.concatenate([[began_s], ends_s[:-1]])
    duration = ends_s - start
    failed = np.full(len(ends_s), np.nan) if failed_per_s is None else np.round(failed_per_s * duration)
    return {"start": start, "duration": duration, "rate": rate, "failed": failed, **response}


def positive(values: Column) -> Column:
    """The values, with NaN in place of those that are not above 0."""
    return np.where(values > 0, values, np.nan)


def total(parts: Sequence[Column]) -> Column:
    """The sum of columns, row by row."""
    sums: Column = np.sum(parts, axis=0)
    return sums


def length(parts: Sequence[Columns]) -> int:
    """Number of intervals."""
    return sum(len(part["start"]) for part in parts)


def join(parts: Sequence[Columns]) -> Columns:
    """One after the other; NaN where one has a column that another has not."""
    if len(parts) == 1:
        return parts[0]
    keys = dict.fromkeys(key for part in parts for key in part)
    return {key: np.concatenate([_column(part, key) for part in parts]) for key in keys}


def _column(part: Columns, key: str) -> Column:
    if key in part:
        return part[key]
    return part["rate"] if key in ("lowest", "highest") else np.full(len(part["start"]), np.nan)


def joined(old: Columns, by: int) -> Columns:
    """Join neighbours in groups of `by`; the last group may be smaller."""
    if by == 1:
        return old
    done = old["duration"] * old["rate"]
    durations = _over(np.add, old["duration"], by)
    new: dict[str, Column] = {}
    for key in dict.fromkeys((*old, "lowest", "highest")):
        column = _column(old, key)
        if key == "start":
            new[key] = column[::by]
        elif key == "duration":
            new[key] = durations
        elif key == "rate":
            new[key] = _quotient(_over(np.add, done, by), durations, 0.0)
        elif key == "failed":
            present = _over(np.logical_or, ~np.isnan(column), by)
            new[key] = np.where(present, _over(np.add, np.nan_to_num(column), by), np.nan)
        elif key == "mean_ms":
            weights = np.where(np.isnan(column), 0.0, done)
            total = _over(np.add, np.nan_to_num(column) * weights, by)
            new[key] = _quotient(total, _over(np.add, weights, by), np.nan)
        elif key in ("lowest", "min_ms"):
            new[key] = _over(np.fmin, column, by)
        else:
            new[key] = _over(np.fmax, column, by)
    return new


def _over(function: np.ufunc, column: npt.NDArray[Any], by: int) -> npt.NDArray[Any]:
    """The function over `by` neighbours at a time.

    Of each two, which is what columns are most often joined by, in a third of the time.
    """
    if by != 2:
        sums: npt.NDArray[Any] = function.reduceat(column, np.arange(0, len(column), by))
        return sums
    firsts, seconds = column[::2], column[1::2]
    if len(firsts) == len(seconds):
        return function(firsts, seconds)  # type: ignore[no-any-return]
    return np.append(function(firsts[:-1], seconds), firsts[-1])


def _quotient(over: Column, under: Column, otherwise: float) -> Column:
    quotients: Column = np.divide(over, under, out=np.full_like(under, otherwise), where=under > 0)
    return quotients
