"""Intervals of one execution in columns: as many as a report can use, however many the tool printed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from loadcell.tools.base import Interval

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Column = npt.NDArray[np.float64]

#: More than a day of seconds. Beyond it neighbours are joined two by two, so that memory and files stay small.
MOST = 100_000
#: Intervals that came one by one are held so long before they go into columns.
_HELD = 4096
_WHOLE = ("start", "duration", "rate", "failed")


class Intervals(Sequence[Interval]):
    """Grows by single intervals or by columns of them, in the order of time; reads like a list.

    When two are joined, throughput is that of both, failures add up, the mean is weighted by what was done, and of
    percentiles and maxima the larger stands: an upper bound, as a percentile of both cannot be told from two.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._one_by_one: list[Interval] = []
        self._columns: dict[str, list[Column]] = {}
        self._length = 0
        self._joined = 1

    @classmethod
    def of_seconds(cls, found: Mapping[str, Any]) -> Intervals:
        """As the engine counts transactions: `first` is the number of the first interval, each `width_s` wide; in it `done` ended.

        `mean_ms` and `p99_ms` are None where nothing did; `origin_s` is where number 0 begins.
        """
        import numpy as np

        intervals, width_s = cls(), found["width_s"]
        done = np.array(found["done"], dtype=np.float64)
        if len(done):
            start = np.arange(found["first"], found["first"] + len(done)) * width_s + found["origin_s"]
            same = np.full(len(done), float(width_s))
            times = {key: np.array(found[key], dtype=np.float64) for key in ("mean_ms", "p99_ms")}
            intervals.extend(
                start.astype(np.float64), same, done / width_s, np.full(len(done), np.nan), **times
            )
        return intervals

    @property
    def joined(self) -> int:
        """How many printed intervals one kept interval stands for at most."""
        if not self._few:
            self._settle()
        return self._joined

    @property
    def _few(self) -> bool:
        """Whether all came one by one, and are no more than are kept: then there is no need for columns."""
        return not self._columns and len(self._one_by_one) <= self._most

    def append(self, one: Interval) -> None:
        """One more."""
        self._one_by_one.append(one)
        if len(self._one_by_one) >= _HELD:
            self._settle()

    def extend(
        self, start: Column, duration: Column, rate: Column, failed: Column, **response: Column
    ) -> None:
        """Many more; in `failed` and `response` (by the record's keys) NaN is what was not said."""
        self._settle()
        self._take(
            {"start": start, "duration": duration, "rate": rate, "failed": failed, **response}, len(start)
        )

    def _settle(self) -> None:
        """Put what came one by one into the columns."""
        import numpy as np

        held, self._one_by_one = self._one_by_one, []
        if not held:
            return
        keys = {key for one in held for key in one.response}
        columns = {
            "start": np.array([one.start_s for one in held]),
            "duration": np.array([one.duration_s for one in held]),
            "rate": np.array([one.throughput_per_s for one in held]),
            "failed": np.array([np.nan if one.failed is None else one.failed for one in held]),
            **{key: np.array([one.response.get(key, np.nan) for one in held]) for key in keys},
        }
        self._take(columns, len(held))

    def _take(self, columns: Mapping[str, Column], length: int) -> None:
        import numpy as np

        for key in {*columns, *self._columns}:
            own = self._columns.setdefault(key, [np.full(self._length, np.nan)] if self._length else [])
            own.append(columns[key] if key in columns else np.full(length, np.nan))
        self._length += length
        while self._length > self._most:
            self._join()

    def _whole(self) -> dict[str, Column]:
        import numpy as np

        return {key: np.concatenate(parts).astype(np.float64) for key, parts in self._columns.items()}

    def _join(self) -> None:
        """Two by two; the last of an odd number stays alone."""
        import numpy as np

        old = self._whole()
        length = self._length
        even = length - length % 2

        def pairs(key: str) -> tuple[Column, Column]:
            return old[key][:even:2], old[key][1:even:2]

        (duration, next_duration), (rate, next_rate) = pairs("duration"), pairs("rate")
        done, next_done = duration * rate, next_duration * next_rate
        together = duration + next_duration
        new: dict[str, Column] = {}
        for key in old:
            one, two = pairs(key)
            if key == "start":
                new[key] = one
            elif key == "duration":
                new[key] = together
            elif key == "rate":
                new[key] = np.divide(
                    done + next_done, together, out=np.zeros_like(together), where=together > 0
                )
            elif key == "failed":
                new[key] = np.where(np.isnan(one), two, np.where(np.isnan(two), one, one + two))
            elif key == "mean_ms":
                weight, next_weight = np.where(np.isnan(one), 0, done), np.where(np.isnan(two), 0, next_done)
                weights = weight + next_weight
                total = np.nan_to_num(one) * weight + np.nan_to_num(two) * next_weight
                new[key] = np.divide(total, weights, out=np.full_like(weights, np.nan), where=weights > 0)
            else:
                new[key] = np.fmin(one, two) if key == "min_ms" else np.fmax(one, two)
        self._columns = {key: [np.concatenate([column, old[key][even:]])] for key, column in new.items()}
        self._length = even // 2 + length % 2
        self._joined *= 2

    def __len__(self) -> int:
        if self._few:
            return len(self._one_by_one)
        self._settle()
        return self._length

    def __iter__(self) -> Iterator[Interval]:
        if self._few:
            yield from self._one_by_one
            return
        self._settle()
        columns = self._whole()
        response = [key for key in columns if key not in _WHOLE]
        for number in range(self._length):
            failed = columns["failed"][number]
            times = {key: float(columns[key][number]) for key in response}
            yield Interval(
                float(columns["start"][number]), float(columns["duration"][number]), float(columns["rate"][number]),
                None if failed != failed else int(failed),
                {key: value for key, value in times.items() if value == value},
            )  # fmt: skip

    @overload
    def __getitem__(self, index: int) -> Interval: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Interval]: ...
    def __getitem__(self, index: Any) -> Any:
        return tuple(self)[index]
