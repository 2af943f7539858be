"""Samples of calls as the engine's result and intervals (`_engine.pyi`)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from loadcell.model.json import JsonObject

TRANSACTION = "transaction"
_PERCENTILES = {
    "p50_ns": 0.5, "p90_ns": 0.9, "p95_ns": 0.95, "p99_ns": 0.99, "p999_ns": 0.999, "p9999_ns": 0.9999,
}  # fmt: skip


class Sample(NamedTuple):
    """Calls in a row by one client, in nanoseconds of CLOCK_MONOTONIC. `due_ns` is None in a closed loop.

    A sample that failed has its last call besides `calls`, those that returned.
    """

    begin_ns: int
    end_ns: int
    due_ns: int | None
    calls: int
    failed: bool

    @property
    def started_ns(self) -> int:
        """When its first call was due, or else began."""
        return self.begin_ns if self.due_ns is None else self.due_ns


@dataclass
class Samples:
    """All samples of a load, by client, and the measured overhead of the loop."""

    begin_ns: int
    clients: int
    by_client: dict[int, list[Sample]] = field(default_factory=dict)
    #: those that `ended_by` has not returned
    _pending: list[Sample] = field(default_factory=list)
    overheads_ns: list[float] = field(default_factory=list)

    def add(self, client: int, rows: Iterable[Sequence[int | None]]) -> None:
        """Add rows as the harness writes them."""
        samples = [Sample(*row) for row in rows]  # type: ignore[arg-type]
        self.by_client.setdefault(client, []).extend(samples)
        self._pending += samples

    @property
    def overhead_ns(self) -> float:
        """Median time of the loop without the function, for one call."""
        return median(self.overheads_ns) if self.overheads_ns else 0.0

    def measured(self) -> list[Sample]:
        """Samples that began within the measurement."""
        return [
            sample
            for samples in self.by_client.values()
            for sample in samples
            if sample.started_ns >= self.begin_ns
        ]

    def end_ns(self) -> int:
        """End of the last sample of the measurement."""
        return max((sample.end_ns for sample in self.measured()), default=self.begin_ns)

    def times_ns(self, samples: Sequence[Sample], *, response: bool = True) -> list[tuple[float, int]]:
        """Mean time of the calls of each sample, and the number of those that returned."""
        overhead_ns = self.overhead_ns
        return [
            (_mean_ns(sample, response=response) - overhead_ns, sample.calls)
            for sample in samples
            if sample.calls
        ]

    def operation(self, samples: Sequence[Sample], *, closed: bool) -> JsonObject:
        """Counts and times of these samples, as the engine's operation."""
        times = self.times_ns(samples)
        succeeded = sum(sample.calls for sample in samples)
        failed = sum(sample.failed for sample in samples)
        failures = [(_mean_ns(sample, response=True), 1) for sample in samples if sample.failed]
        return {
            "name": TRANSACTION,
            "kind": TRANSACTION,
            "attempted": succeeded + failed,
            "carried_in": 0,
            "succeeded": succeeded,
            "failed": failed,
            "in_flight": 0,
            "retried": 0,
            "throughput_per_s": self.rate(samples, closed=closed),
            "response": distribution(times),
            "service": distribution(self.times_ns(samples, response=False)),
            "failed_response": distribution(failures),
        }

    def mean_ns(self, samples: Sequence[Sample]) -> float | None:
        """Mean time of a call without the overhead, below zero within its error; None without calls."""
        times = self.times_ns(samples, response=False)
        calls = sum(count for _, count in times)
        return sum(time_ns * count for time_ns, count in times) / calls if calls else None

    def ended_by(self, end_ns: int, begin_ns: int) -> list[Sample]:
        """Samples since the last call that ended by an instant, for an interval from `begin_ns` on.

        An interval of the measurement has none from before it.
        """
        first_ns = self.begin_ns if begin_ns >= self.begin_ns else 0
        ended = [sample for sample in self._pending if sample.end_ns <= end_ns]
        self._pending = [sample for sample in self._pending if sample.end_ns > end_ns]
        return [sample for sample in ended if sample.started_ns >= first_ns]

    def lateness(self, samples: Iterable[Sample]) -> tuple[JsonObject | None, JsonObject | None]:
        """Distributions of an open loop: waits for a free client, and delays of a free one."""
        chosen = set(samples)
        waits, delays = [], []
        for client in self.by_client.values():
            free_ns = 0
            for sample in client:
                if sample in chosen and sample.due_ns is not None:
                    waits.append((float(max(0, free_ns - sample.due_ns)), 1))
                    delays.append((float(sample.begin_ns - max(free_ns, sample.due_ns)), 1))
                free_ns = sample.end_ns
        return distribution(waits), distribution(delays)

    def rate(self, samples: Sequence[Sample], *, closed: bool) -> float | None:
        """Calls of a second of the time in the function, by all clients; None of an open loop, or if the time
        is not above zero.
        """
        if not closed:
            return None
        mean_ns = self.mean_ns(samples)
        return self.clients / mean_ns * 1e9 if mean_ns is not None and mean_ns > 0 else None


def _mean_ns(sample: Sample, *, response: bool) -> float:
    begin_ns = sample.started_ns if response else sample.begin_ns
    return (sample.end_ns - begin_ns) / (sample.calls + sample.failed)


def distribution(times: Sequence[tuple[float, int]]) -> JsonObject | None:
    """The distribution of times by their number of calls; negative ones, within the error of the overhead,
    count as they are in the mean. None without any.
    """
    if not times:
        return None
    ordered = sorted(times)
    reached = list(accumulate(count for _, count in ordered))
    count = reached[-1]
    mean_ns = sum(time_ns * number for time_ns, number in ordered) / count
    variance = sum(number * (time_ns - mean_ns) ** 2 for time_ns, number in ordered) / count
    return {
        "count": count,
        "mean_ns": max(0.0, mean_ns),
        "stdev_ns": variance**0.5,
        "min_ns": max(0.0, ordered[0][0]),
        "max_ns": max(0.0, ordered[-1][0]),
        **{name: max(0.0, _rank(ordered, reached, share * count)) for name, share in _PERCENTILES.items()},
    }


def _rank(ordered: Sequence[tuple[float, int]], reached: Sequence[int], rank: float) -> float:
    return ordered[min(len(ordered) - 1, bisect_left(reached, rank))][0]
