"""Latency distributions compared: percentile by percentile, and as shapes that can be laid over
one another.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from loadcell.analysis.trials import LEAST_BEYOND_TO_COMPARE
from loadcell.plan.expect import enough
from loadcell.stats.repeats import FEWEST_FOR_INTERVAL
from loadcell.stats.two_samples import Array, Effect, Pairs, Samples

#: Percentiles that are compared, as quantiles.
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9999)
#: Steps of a drawn distribution for each doubling of the latency.
PER_DOUBLING = 8


@dataclass(frozen=True)
class Histogram:
    """A trial's latencies: values in ms, rising, and how many transactions took each."""

    values_ms: Array
    counts: npt.NDArray[np.int64]

    @property
    def total(self) -> int:
        """Number of transactions there were."""
        return int(self.counts.sum())

    def quantiles(self, wanted: Sequence[float]) -> list[float | None]:
        """The least value that a share of all transactions does not exceed; None where too few
        lie beyond it.
        """
        below = np.cumsum(self.counts)
        total = self.total
        values: list[float | None] = []
        for quantile in wanted:
            if not total or not enough(total, quantile, LEAST_BEYOND_TO_COMPARE):
                values.append(None)
                continue
            rank = max(1, math.ceil(quantile * total - 1e-9))
            values.append(float(self.values_ms[int(np.searchsorted(below, rank))]))
        return values


def pooled(histograms: Sequence[Histogram]) -> Histogram:
    """Merge the histograms of several trials."""
    values = np.concatenate([histogram.values_ms for histogram in histograms])
    counts = np.concatenate([histogram.counts for histogram in histograms])
    distinct, places = np.unique(values, return_inverse=True)
    return Histogram(distinct, np.bincount(places, counts).astype(np.int64))


#: A trial's place among those of its side and context: its block, and its arm.
Place = tuple[int, str]


@dataclass(frozen=True)
class Shift:
    """Difference of one percentile between two sides; `effect` is not corrected for multiple comparisons."""

    quantile: float
    effect: Effect


@dataclass(frozen=True)
class Step:
    """One step of a distribution: latencies from `low_ms` to `high_ms`, and the share of
    transactions in it.
    """

    low_ms: float
    high_ms: float
    share: float


def shifts(
    a: Mapping[Place, Histogram],
    b: Mapping[Place, Histogram],
    *,
    paired: bool,
    fewest: int = FEWEST_FOR_INTERVAL,
) -> list[Shift]:
    """Every percentile that all trials support, B against A; intervals need `fewest` trials of each side."""
    if paired:
        blocks = a.keys() & b.keys()
        a, b = ({key: logs[key] for key in sorted(blocks)} for logs in (a, b))
    if not a or not b:
        return []
    of_a = [histogram.quantiles(QUANTILES) for histogram in a.values()]
    of_b = [histogram.quantiles(QUANTILES) for histogram in b.values()]
    all_shifts = []
    for position, quantile in enumerate(QUANTILES):
        left_logs, right_logs = _logs(of_a, position), _logs(of_b, position)
        if left_logs is None or right_logs is None:
            continue
        all_shifts.append(
            Shift(
                quantile,
                Pairs(right_logs - left_logs).effect()
                if paired
                else Samples(left_logs, right_logs, fewest).effect(),
            )
        )
    return all_shifts


def distribution(histograms: Sequence[Histogram]) -> list[Step]:
    """All trials of a side together, each weighing the same, in steps of equal width on a
    logarithmic axis.
    """
    shares: dict[int, float] = {}
    counted = [histogram for histogram in histograms if histogram.total]
    for histogram in counted:
        positive = histogram.values_ms > 0
        places = np.floor(np.log2(histogram.values_ms[positive]) * PER_DOUBLING).astype(np.int64)
        weights = histogram.counts[positive] / histogram.total / len(counted)
        for number in np.unique(places):
            shares[int(number)] = shares.get(int(number), 0.0) + float(weights[places == number].sum())
    if not shares:
        return []
    return [
        Step(2 ** (number / PER_DOUBLING), 2 ** ((number + 1) / PER_DOUBLING), shares.get(number, 0.0))
        for number in range(min(shares), max(shares) + 1)
    ]


def _logs(quantiles: Sequence[Sequence[float | None]], position: int) -> Array | None:
    values = [quantile[position] for quantile in quantiles]
    if any(value is None or value <= 0 for value in values):
        return None
    return np.log(np.array(values, dtype=np.float64))
