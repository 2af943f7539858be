"""Intervals of one execution in columns: as many as a report can use, however many the tool printed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from loadcell.ingest import columns
from loadcell.ingest.base import Interval

if TYPE_CHECKING:
    from loadcell.ingest.columns import Columns

#: More than a day of seconds. Beyond it neighbours are joined, so that memory, files and reports stay small.
MOST = 100_000
#: Of each of many executions at least about half of this stays, whatever all of them have.
MOST_EACH = 1_000
#: Intervals that came one by one are held so long before they go into columns.
_HELD = 4096

_PRINTED = ("start", "duration", "rate", "failed")


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
    upper bound, as two percentiles do not determine that of both.
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
        intervals = cls()
        if series.done:
            intervals._each = series.width_s
            intervals.extend(columns.of_seconds(series))
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

    def extend(self, many: Columns) -> None:
        """Add columns of intervals; those that are joined already have `lowest` and `highest` rates."""
        self._hold()
        self._fresh.append(many)
        if columns.length(self._fresh) >= max(_HELD, self._joined):
            self._settle()

    def shrink(self, most: int) -> None:
        """Limit the number of intervals from now on."""
        self._most = most - most % 2
        if self._few:
            return
        self._settle()
        if columns.length(self._stored) + bool(self._fresh) > self._most:
            self._stored = [self.columns()]
            self._fresh = []
            while columns.length(self._stored) > self._most:
                self._widen()

    def columns(self) -> Columns:
        """All of them; where some were joined, also the `lowest` and `highest` rate."""
        self._settle()
        unfinished = [columns.joined(columns.join(self._fresh), self._joined)] if self._fresh else []
        parts = [*self._stored, *unfinished]
        return columns.join(parts) if parts else {}

    def _hold(self) -> None:
        """Put what came one by one into columns."""
        held, self._one_by_one = self._one_by_one, []
        if held:
            self._fresh.append(columns.of_intervals(held))

    def _settle(self) -> None:
        """Join complete groups of intervals; join wider ones when the limit is reached."""
        self._hold()
        if not self._fresh:
            return
        fresh, at = columns.join(self._fresh), 0
        length = len(fresh["start"])
        while at < length:
            if columns.length(self._stored) >= self._most:
                self._widen()
            count = min((length - at) // self._joined, self._most - columns.length(self._stored))
            if not count:
                break
            end = at + count * self._joined
            self._stored.append(
                columns.joined({key: column[at:end] for key, column in fresh.items()}, self._joined)
            )
            at = end
        self._fresh = [{key: column[at:] for key, column in fresh.items()}] if at < length else []

    def _widen(self) -> None:
        self._stored = [columns.joined(columns.join(self._stored), 2)]
        self._joined *= 2

    def __len__(self) -> int:
        if self._few:
            return len(self._one_by_one)
        self._settle()
        return columns.length(self._stored) + bool(self._fresh)

    def __iter__(self) -> Iterator[Interval]:
        if self._few:
            yield from self._one_by_one
            return
        every = self.columns()
        response = [key for key in every if key not in columns.UNJOINED]
        extremes = [every[key] for key in ("lowest", "highest") if key in every]
        for number in range(len(every["start"])):
            start_s, duration_s, rate, failed = (float(every[key][number]) for key in _PRINTED)
            times = {key: float(every[key][number]) for key in response}
            yield Interval(
                start_s,
                duration_s,
                rate,
                None if failed != failed else int(failed),
                {key: value for key, value in times.items() if value == value},
                *(float(column[number]) for column in extremes),
            )

    @overload
    def __getitem__(self, index: int) -> Interval: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Interval]: ...
    def __getitem__(self, index: Any) -> Any:
        return tuple(self)[index]


class Room:
    """Shared limit of several executions: the more there are, the longer are the intervals."""

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
