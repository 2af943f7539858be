"""Response times of each interval of a trial, from its latency.hlog, in classes of equal width on a
logarithmic scale.

Classes begin at 10^(k/`PER_DECADE`) ms for every integer k, so those of different trials are the same.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from loadcell.store import trial_files

Counts: TypeAlias = npt.NDArray[np.int64]
Times: TypeAlias = npt.NDArray[np.float64]

#: Classes of a decade: each is 12 % wide, a place of the log 0.1 %.
PER_DECADE = 20
#: Nanoseconds (10^0) begin at this class: 1 ns is 10^-6 ms.
LOWEST_CLASS = -6 * PER_DECADE
#: 10^13 ns are more than two hours: the last class has everything above.
CLASSES = 13 * PER_DECADE


def lower_ms(places: Counts) -> Times:
    """Lower ends of classes in ms, by their places."""
    edges: Times = 10.0 ** ((places + LOWEST_CLASS) / PER_DECADE)
    return edges


@dataclass(frozen=True, eq=False)
class IntervalHistograms:
    """Requests by interval (rows) and class (columns, `CLASSES`); `begin_s` and `end_s` count from the start
    of the measurement.

    `every` is 1 where all intervals were read, else n: one of n neighbouring ones.
    """

    begin_s: Times
    end_s: Times
    counts: Counts
    every: int = 1

    @property
    def total(self) -> Counts:
        """Requests by class, all intervals together."""
        total: Counts = self.counts.sum(axis=0)
        return total


def read(path: Path, tag: str, at_most: int) -> IntervalHistograms:
    """Histograms of one tag; of more than `at_most` intervals one of n neighbours, chosen at random with a
    fixed seed.

    Without rows when the log does not have the tag. Raises OSError, and ValueError for what is no such log.
    """
    lines = trial_files.tagged_lines(path, tag)
    every = max(1, math.ceil(len(lines) / max(1, at_most)))
    if every > 1:
        chance = random.Random(0)  # noqa: S311 - a sample, no secret
        starts = range(0, len(lines), every)
        lines = [lines[chance.randrange(first, min(first + every, len(lines)))] for first in starts]
    fields = [line.strip().split(",") for line in lines]
    try:
        begin_s = np.array([float(start) for _, start, *_ in fields])
        end_s = begin_s + np.array([float(length) for _, _, length, *_ in fields])
    except ValueError as error:
        raise ValueError(f"{path}: a line that is no interval: {error}") from None
    decoded = trial_files.decode(path, [histogram for *_, histogram in fields])
    exponents = np.log10(trial_files.highest_ms(decoded.places, decoded)) * PER_DECADE
    classes = np.clip(np.floor(exponents).astype(np.int64) - LOWEST_CLASS, 0, CLASSES - 1)
    counts = np.bincount(decoded.of * CLASSES + classes, decoded.counts, len(lines) * CLASSES)
    return IntervalHistograms(begin_s, end_s, counts.astype(np.int64).reshape(-1, CLASSES), every)
