"""Intervals of one execution in columns: as many as a report can use, however many the tool printed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from loadcell.ingest.base import Interval

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Column = npt.NDArray[np.float64]
    Columns = Mapping[str, Column]

#: More than a day of seconds. Beyond it neighbours are joined, so that memory, files and reports stay small.
MOST = 100_000
#: Of each of many executions at least about half of this stays, whatever all of them have.
MOST_EACH = 1_000
#: Intervals that came one by one are held so long before they go into columns.
_HELD = 4096
#: Columns that are no times: the others are percentiles and such by the record's keys.
UNJOINED = ("start", "duration", "rate", "failed", "lowest", "highest")


@dataclass(frozen=True)
class SecondSeries:
    """Transactions of a log by interval, as the engine counts them.

    `first` is the number of the first interval, number 0 begins at `origin_s`, and each is `width_s` wide.
    `done` transactions ended in it; `mean_ms` and `p99_ms` are None where none did. `lowest` and `highest`
    are the throughputs of the seconds within an interval of several.
    """

    first: int
    width_s: int
    origin_s: float
    done: Sequence[int]
    mean_ms: Sequence[float | None]
    p99_ms: Sequence[float | None]
    lowest: Sequence[float] | None
    highest: Sequence[float] | None


class Intervals(Sequence[Interval]):
    """Grows by single intervals or by columns of them, in the order of time; reads like a list.

    When there are too many, each becomes twice as long, and stands for as many printed ones as all others;
    the last may stand for fewer. Throughput is that of all of them, and its lowest and highest are kept;
    failures add up; the mean is weighted by what was done; of percentiles and maxima the largest stands: an
    upper bound, as a percentile of two cannot be told from both.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most - most % 2
        self._one_by_one: list[Interval] = []
        #: As they came, fewer than make another one that is kept.
        self._fresh: list[Columns] = []
        self._stored: list[Columns] = []
        self._joined = 1
        #: How many printed ones, or seconds, each stood for when it came.
        self._each = 1

    @classmethod
    def of(cls, intervals: Sequence[Interval]) -> Intervals:
        """The same in columns."""
        if isinstance(intervals, Intervals):
            return intervals
        result = cls()
        for interval in intervals:
            result.append(interval)
        return result

    @classmethod
    def of_seconds(cls, series: SecondSeries) -> Intervals:
        """The same from the engine's series of a log."""
        import numpy as np

        intervals, width_s = cls(), series.width_s
        done = np.array(series.done, dtype=np.float64)
        if len(done):
            start = np.arange(series.first, series.first + len(done)) * width_s + series.origin_s
            same = np.full(len(done), float(width_s))
            keys = ("mean_ms", "p99_ms", *(() if series.lowest is None else ("lowest", "highest")))
            columns = {key: np.array(getattr(series, key), dtype=np.float64) for key in keys}
            intervals._each = width_s
            intervals.extend(
                start.astype(np.float64), same, done / width_s, np.full(len(done), np.nan), **columns
            )
        return intervals

    @property
    def joined(self) -> int:
        """Number of printed ones, or seconds, one that is kept stands for, at most."""
        if not self._few:
            self._settle()
        return self._joined * self._each

    @property
    def _few(self) -> bool:
        """True if all came one by one, and are no more than are kept: then there is no need for columns."""
        return not self._stored and not self._fresh and len(self._one_by_one) <= self._most

    def append(self, interval: Interval) -> None:
        """One more."""
        self._one_by_one.append(interval)
        if len(self._one_by_one) >= _HELD:
            self._settle()

    def extend(
        self, start: Column, duration: Column, rate: Column, failed: Column, **response: Column
    ) -> None:
        """Many more; in `failed` and `response` (by the record's keys) NaN is what was not said.

        Of those that are joined already
        `lowest` and `highest` say how far the rate went."""
        self._hold()
        self._fresh.append({"start": start, "duration": duration, "rate": rate, "failed": failed, **response})
        if _length(self._fresh) >= max(_HELD, self._joined):
            self._settle()

    def shrink(self, most: int) -> None:
        """Limit the number of intervals from now on."""
        self._most = most - most % 2
        if self._few:
            return
        self._settle()
        if _length(self._stored) + bool(self._fresh) > self._most:
            self._stored = [self.columns()]
            self._fresh = []
            while _length(self._stored) > self._most:
                self._widen()

    def columns(self) -> Columns:
        """All of them: `start` and `duration` (s), `rate` (per s), `failed`, times by the record's keys; and
        where some were joined,
        the `lowest` and `highest` rate. NaN is what was not said."""
        self._settle()
        unfinished = [_joined(_join(self._fresh), self._joined)] if self._fresh else []
        parts = [*self._stored, *unfinished]
        return _join(parts) if parts else {}

    def _hold(self) -> None:
        """Put what came one by one into columns."""
        import numpy as np

        held, self._one_by_one = self._one_by_one, []
        if not held:
            return
        keys = {key for interval in held for key in interval.response}
        self._fresh.append(
            {
                "start": np.array([interval.start_s for interval in held]),
                "duration": np.array([interval.duration_s for interval in held]),
                "rate": np.array([interval.throughput_per_s for interval in held]),
                "failed": np.array(
                    [np.nan if interval.failed is None else interval.failed for interval in held]
                ),
                **{key: np.array([interval.response.get(key, np.nan) for interval in held]) for key in keys},
            }
        )

    def _settle(self) -> None:
        """Join complete groups of intervals; join wider ones when the limit is reached."""
        self._hold()
        if not self._fresh:
            return
        fresh, at = _join(self._fresh), 0
        length = len(fresh["start"])
        while at < length:
            if _length(self._stored) >= self._most:
                self._widen()
            count = min((length - at) // self._joined, self._most - _length(self._stored))
            if not count:
                break
            end = at + count * self._joined
            self._stored.append(_joined({key: column[at:end] for key, column in fresh.items()}, self._joined))
            at = end
        self._fresh = [{key: column[at:] for key, column in fresh.items()}] if at < length else []

    def _widen(self) -> None:
        self._stored = [_joined(_join(self._stored), 2)]
        self._joined *= 2

    def __len__(self) -> int:
        if self._few:
            return len(self._one_by_one)
        self._settle()
        return _length(self._stored) + bool(self._fresh)

    def __iter__(self) -> Iterator[Interval]:
        if self._few:
            yield from self._one_by_one
            return
        columns = self.columns()
        response = [key for key in columns if key not in UNJOINED]
        extremes = "lowest" in columns
        for number in range(len(columns["start"])):
            failed = columns["failed"][number]
            times = {key: float(columns[key][number]) for key in response}
            yield Interval(
                float(columns["start"][number]), float(columns["duration"][number]), float(columns["rate"][number]),
                None if failed != failed else int(failed),
                {key: value for key, value in times.items() if value == value},
                *((float(columns["lowest"][number]), float(columns["highest"][number])) if extremes else ()),
            )  # fmt: skip

    @overload
    def __getitem__(self, index: int) -> Interval: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Interval]: ...
    def __getitem__(self, index: Any) -> Any:
        return tuple(self)[index]


class Room:
    """Shared limit of several executions: the more there are, the longer the intervals of the longest become."""

    def __init__(self, most: int = MOST, most_each: int = MOST_EACH) -> None:
        self._most, self._least = most, most_each
        self._each = most
        self._all: list[Intervals] = []

    def add(self, intervals: Intervals) -> None:
        """One more execution, which has ended."""
        self._all.append(intervals)
        intervals.shrink(self._each)
        while self._each > self._least and sum(len(series) for series in self._all) > self._most:
            self._each = max(self._least, self._each // 2)
            for series in self._all:
                series.shrink(self._each)


def _length(parts: Sequence[Columns]) -> int:
    return sum(len(part["start"]) for part in parts)


def _join(parts: Sequence[Columns]) -> Columns:
    """One after the other; NaN where one has a column that another has not."""
    import numpy as np

    if len(parts) == 1:
        return parts[0]
    keys = dict.fromkeys(key for part in parts for key in part)
    return {key: np.concatenate([_column(part, key) for part in parts]) for key in keys}


def _column(part: Columns, key: str) -> Column:
    import numpy as np

    if key in part:
        return part[key]
    return part["rate"] if key in ("lowest", "highest") else np.full(len(part["start"]), np.nan)


def _joined(old: Columns, by: int) -> Columns:
    """Join neighbours in groups of `by`; the last group may be smaller."""
    import numpy as np

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
    """The function over so many neighbours at a time.

    Of each two, which is what columns are most often joined by, in a third of the time.
    """
    import numpy as np

    if by != 2:
        sums: npt.NDArray[Any] = function.reduceat(column, np.arange(0, len(column), by))
        return sums
    firsts, seconds = column[::2], column[1::2]
    if len(firsts) == len(seconds):
        return function(firsts, seconds)  # type: ignore[no-any-return]
    return np.append(function(firsts[:-1], seconds), firsts[-1])


def _quotient(over: Column, under: Column, otherwise: float) -> Column:
    import numpy as np

    quotients: Column = np.divide(over, under, out=np.full_like(under, otherwise), where=under > 0)
    return quotients
