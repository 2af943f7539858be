"""Every transaction of a log, counted and forgotten: the distribution of its times, and the seconds in which they ended.

Memory depends on how long the execution took and on how far its times spread, never on the number of transactions.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from loadcell.tools.series import MOST, Intervals

Whole = npt.NDArray[np.int64]
Real = npt.NDArray[np.float64]

RANKS = {"p50_ms": 0.5, "p90_ms": 0.9, "p95_ms": 0.95, "p99_ms": 0.99, "p99.9_ms": 0.999}
#: Times below so many ticks are counted exactly, one by one; longer ones to a 4096th of themselves.
_EXACT = 2**20
_LONG_BITS = 12
#: Of one second 64 buckets for each doubling: a percentile of it is right within 0.8%.
_PARTS = 64
_BUCKETS = 64 * _PARTS
#: Counts of buckets that are held before they are put together.
_HELD = 2**20
_AT_ONCE = 2**15
#: A table of counts is quicker than sorting up to this size.
_TABLE = 2**22


class Times:
    """A distribution of times in whole ticks."""

    def __init__(self, ticks_per_ms: int) -> None:
        self._ticks_per_ms = ticks_per_ms
        self._short = np.zeros(1, dtype=np.int64)
        self._long: dict[int, int] = {}
        self._sum = 0
        self.count = 0

    def add(self, ticks: Whole) -> None:
        """More times, none of them negative."""
        if not len(ticks):
            return
        self.count += len(ticks)
        self._sum += int(ticks.sum())
        if int(ticks.max()) >= _EXACT:
            self._add_long(ticks[ticks >= _EXACT])
            ticks = ticks[ticks < _EXACT]
        found = np.bincount(ticks, minlength=1)
        if len(found) > len(self._short):
            self._short = np.concatenate([self._short, np.zeros(len(found) - len(self._short), np.int64)])
        self._short[: len(found)] += found

    def _add_long(self, ticks: Whole) -> None:
        shift = np.frexp(ticks.astype(np.float64))[1].astype(np.int64) - _LONG_BITS
        values, counts = np.unique((ticks >> shift) << shift, return_counts=True)
        for value, count in zip(values.tolist(), counts.tolist(), strict=True):
            self._long[value] = self._long.get(value, 0) + count

    def response(self) -> dict[str, float]:
        """Mean, deviation, extremes and percentiles in ms, by the record's keys; empty when nothing was counted.

        A percentile is the first time that so large a share of the others does not exceed.
        """
        if not self.count:
            return {}
        short = np.flatnonzero(self._short)
        long = sorted(self._long)
        values = np.concatenate([short, np.array(long, dtype=np.int64)]).astype(np.float64)
        counts = np.concatenate([self._short[short], np.array([self._long[one] for one in long], np.int64)])
        mean = self._sum / self.count
        spread = float((counts * (values - mean) ** 2).sum())
        upto = np.cumsum(counts)
        found = {
            key: float(values[np.searchsorted(upto, math.ceil(rank * (self.count - 1)), side="right")])
            for key, rank in RANKS.items()
        }
        deviation = math.sqrt(spread / (self.count - 1)) if self.count > 1 else 0.0
        found |= {
            "mean_ms": mean,
            "min_ms": float(values[0]),
            "max_ms": float(values[-1]),
            "stdev_ms": deviation,
        }
        return {key: value / self._ticks_per_ms for key, value in found.items()}


class Ledger:
    """All transactions of one execution that ended well, by when they ended (seconds) and how long they took (ticks)."""

    def __init__(self, ticks_per_ms: int, base_s: float | None = None) -> None:
        self.times = Times(ticks_per_ms)
        self._ticks_per_ms = ticks_per_ms
        #: Where seconds begin to count; by default where the first transaction began.
        self._base_s = base_s
        self._width_s = 1
        self.begun_s = math.inf
        self.ended_s = -math.inf
        self._keys: list[Whole] = []
        self._counts: list[Whole] = []
        self._held = 0
        self._sums: dict[int, float] = {}

    def add(self, ends_s: Real, ticks: Whole) -> None:
        """More transactions, in whatever order; so many at once as the processor's caches hold."""
        for begin in range(0, len(ticks), _AT_ONCE):
            self._add(ends_s[begin : begin + _AT_ONCE], ticks[begin : begin + _AT_ONCE])

    def _add(self, ends_s: Real, ticks: Whole) -> None:
        self.times.add(ticks)
        took_s = ticks / (self._ticks_per_ms * 1e3)
        self.begun_s = min(self.begun_s, float((ends_s - took_s).min()))
        self.ended_s = max(self.ended_s, float(ends_s.max()))
        if self._base_s is None:
            self._base_s = self.begun_s
        second = np.floor((ends_s - self._base_s) / self._width_s).astype(np.int64)
        keys, counts = _counted(second * _BUCKETS + _bucket(ticks))
        self._keys.append(keys)
        self._counts.append(counts)
        self._held += len(keys)
        low = int(second.min())
        if int(second.max()) - low < _TABLE:
            sums = np.bincount(second - low, weights=ticks)
            for number in np.flatnonzero(sums).tolist():
                self._sums[low + number] = self._sums.get(low + number, 0.0) + float(sums[number])
        else:
            own, places = np.unique(second, return_inverse=True)
            sums = np.bincount(places, weights=ticks)
            for number, total in zip(own.tolist(), sums.tolist(), strict=True):
                self._sums[number] = self._sums.get(number, 0.0) + total
        if self._held > _HELD or len(self._sums) > MOST:
            self._settle()

    def _settle(self) -> None:
        """Put counts of the same second and bucket together; make seconds wider where there are too many."""
        keys, places = np.unique(np.concatenate(self._keys), return_inverse=True)
        counts = np.bincount(places, weights=np.concatenate(self._counts)).astype(np.int64)
        # Only what cannot be put together any further makes them wider.
        while len(self._sums) > MOST or len(keys) > _HELD:
            self._width_s *= 2
            second, bucket = np.divmod(keys, _BUCKETS)
            keys, places = np.unique((second // 2) * _BUCKETS + bucket, return_inverse=True)
            counts = np.bincount(places, weights=counts).astype(np.int64)
            self._sums = _halved(self._sums)
        self._keys, self._counts, self._held = [keys], [counts], 0

    @property
    def length_s(self) -> float:
        """From the first transaction's beginning, or the base, to the last one's end."""
        return self.ended_s - min(self.begun_s, math.inf if self._base_s is None else self._base_s)

    def intervals(self) -> Intervals:
        """Seconds (or more of them together), also those in which nothing ended; the last and cut one left out."""
        found = Intervals()
        if not self.times.count:
            return found
        self._settle()
        keys, counts = self._keys[0], self._counts[0]
        second, bucket = np.divmod(keys, _BUCKETS)
        low, high = int(second.min()), int(second.max())
        while high - low > MOST:  # far apart, with nothing between: two executions in one log
            self._width_s *= 2
            second, low, high = second // 2, low // 2, high // 2
            self._sums = _halved(self._sums)
        order = np.lexsort((bucket, second))
        second, bucket, counts = second[order] - low, bucket[order], counts[order]
        number = high - low + 1
        done = np.bincount(second, weights=counts, minlength=number)
        sums = np.zeros(number)
        for place, total in self._sums.items():
            sums[place - low] = total
        mean = np.divide(sums, done, out=np.full(number, np.nan), where=done > 0)
        before = np.concatenate([[0.0], np.cumsum(done)[:-1]])
        within = np.cumsum(counts) - before[second]
        reached = np.flatnonzero(within >= 0.99 * done[second])
        own, first = np.unique(second[reached], return_index=True)
        late = np.full(number, np.nan)
        late[own] = _middle(bucket[reached[first]])
        assert self._base_s is not None
        origin = self._base_s - min(self.begun_s, self._base_s)
        start = (np.arange(low, high + 1) * self._width_s + origin).astype(np.float64)
        width = np.full(number, float(self._width_s))
        found.extend(
            start[:-1], width[:-1], (done / self._width_s)[:-1], np.full(number - 1, np.nan),
            mean_ms=mean[:-1] / self._ticks_per_ms, p99_ms=late[:-1] / self._ticks_per_ms,
        )  # fmt: skip
        return found


def _halved(sums: dict[int, float]) -> dict[int, float]:
    found: dict[int, float] = {}
    for number, total in sums.items():
        found[number // 2] = found.get(number // 2, 0.0) + total
    return found


def _counted(keys: Whole) -> tuple[Whole, Whole]:
    """Each key once, and how often it came."""
    low = int(keys.min())
    if int(keys.max()) - low < _TABLE:
        counts = np.bincount(keys - low)
        there = np.flatnonzero(counts)
        return there + low, counts[there]
    found, counts = np.unique(keys, return_counts=True)
    return found, counts


def _bucket(ticks: Whole) -> Whole:
    """64 buckets for each doubling; below 64 each number has its own."""
    part, doubling = np.frexp(ticks.astype(np.float64))
    inside = np.maximum((part * (2 * _PARTS)).astype(np.int64) - _PARTS, 0)
    return doubling.astype(np.int64) * _PARTS + inside


def _middle(bucket: Whole) -> Real:
    """The ticks that a bucket stands for."""
    doubling, inside = np.divmod(bucket, _PARTS)
    low = np.ldexp((inside + _PARTS) / (2 * _PARTS), doubling.astype(np.int32))
    width = np.ldexp(1 / (2 * _PARTS), doubling.astype(np.int32))
    return np.where(bucket < _PARTS, 0.0, low + np.maximum(width - 1, 0) / 2)
