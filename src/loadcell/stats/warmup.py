"""Where the warm-up ends: MSER-5.

Cutting off the beginning removes bias and makes the remainder less precise. MSER cuts where the mean of the
remainder is surest by its own scatter,

    d* = argmin over d of  sum over i > d of (y_i - mean_d)^2 / (n - d)^2 ,

on means of 5 neighbouring values, and looks only at the first half: a minimum beyond it says that the series
has not come to rest (White 1997; White, Cobb and Spratt 2000). Where the minimum lies is a matter of chance
in a series that is at rest, so a cut counts only when what it cuts off differs from the rest, by more than
chance and by enough to matter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from loadcell.stats.batch_means import batch_means, mean_of
from loadcell.stats.energy import Array

#: The 5 of MSER-5.
BATCH = 5
#: Batches there must be: fewer have no first half to speak of.
FEWEST_BATCHES = 8
#: A beginning that differs by less than this share of the level does no harm.
NOTABLE = 0.02
#: Beyond the middle, where the end of a steady series is soon cut off by chance, less than this is let pass.
NOTABLE_LATE = 0.05
#: Half widths of the level's 95 % interval that a beginning must differ by: about four standard errors.
SURE = 2.0


@dataclass(frozen=True)
class Cut:
    """The first `values` values are warm-up; `settled` says whether the rest came to rest after it.

    `difference` is the difference between the means of the cut part and the remainder, as a share of the
    latter.
    """

    values: int
    settled: bool
    difference: float


def mser(series: Array) -> int:
    """Number of batches MSER cuts off.

    The last few are never left alone: of two values that are alike, nothing is learnt.
    """
    n = series.size
    remaining = n - np.arange(n)
    # sums over the remainder after cutting d, from running sums from the end
    total = series[::-1].cumsum()[::-1]
    squares = (series**2)[::-1].cumsum()[::-1]
    scatter = np.maximum(squares - total**2 / remaining, 0.0) / remaining.astype(np.float64) ** 2
    return int(np.argmin(scatter[: n - BATCH + 1]))


def cut(series: Array) -> Cut | None:
    """The warm-up of a series; None when it is too short to tell."""
    size = BATCH
    count = series.size // size
    if count < FEWEST_BATCHES:
        return None
    batches = batch_means(series, size)
    centred = batches - batches.mean()
    off = mser(centred)
    dropped = series.size - count * size
    beyond = off > count // 2
    begins = dropped + off * size if off else 0
    difference = _difference(series, begins)
    if difference is None or (beyond and abs(difference) < NOTABLE_LATE):
        return Cut(0, settled=True, difference=0.0)
    return Cut(begins, settled=not beyond, difference=difference)


def _difference(series: Array, begins: int) -> float | None:
    """Relative difference of the beginning from the remainder; None if it is chance, or does not matter."""
    head, tail = series[:begins], series[begins:]
    level = mean_of(tail)
    if not head.size or level is None or level.mean == 0:
        return None
    difference = float(head.mean() / level.mean - 1)
    # the beginning is as unsure as its share of the independent values makes it
    unsure = (level.error_share or 0.0) * math.sqrt(1 + tail.size / head.size)
    return difference if abs(difference) > max(NOTABLE, SURE * unsure) else None
