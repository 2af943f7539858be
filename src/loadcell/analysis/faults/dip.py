"""Depth of a dip in throughput, and what depth the baseline's own noise makes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loadcell.analysis.faults.baseline import WINDOW, Normal
from loadcell.analysis.faults.completions import SLOT_S, Completions, Counts
from loadcell.model.fault_judgement import Dip

#: Step of the windows in slots: 100 ms.
STEP = 10
_STEPS = WINDOW // STEP
#: A dip is one whose depth has a lower bound above this.
DEPTH = 0.05
LEVEL = 0.95
_RESAMPLES = 200
#: Steps of a resampled series: the lowest of more windows is hardly lower.
_MOST_STEPS = 600
_SEED = 22


@dataclass(frozen=True)
class LowestSecond:
    """The second with the lowest throughput: when it begins, and its dip."""

    begin_s: float
    dip: Dip

    @property
    def is_low(self) -> bool:
        """True if it is certainly lower than the baseline."""
        return self.dip.at_least > DEPTH


def steps(counts: Counts) -> Counts:
    """Successes of each complete step."""
    total = len(counts) // STEP * STEP
    sums: Counts = counts[:total].reshape(-1, STEP).sum(axis=1)
    return sums


def lowest_second(completions: Completions, normal: Normal, begin: int, end: int) -> LowestSecond | None:
    """The lowest of the windows that overlap the slots [begin, end); None for less than one window.

    The lowest of many windows is low by chance, too. Its 95% quantile without a fault comes from resampled
    baselines (moving blocks of one window; Künsch, 1989), and is subtracted for the lower bound.
    """
    first = max(0, begin - WINDOW + STEP)
    observed = steps(completions.succeeded[first:end])
    if len(observed) < _STEPS:
        return None
    windows = windows_of(observed[np.newaxis])[0]
    lowest = int(np.argmin(windows))
    expected = normal.facts.rate_per_s * WINDOW * SLOT_S
    depth = float(1 - windows[lowest] / expected)
    chance = 1 - windows_of(_resampled(steps(normal.counts), len(observed))).min(axis=1) / expected
    bound = depth - float(np.quantile(chance, LEVEL))
    return LowestSecond((first + lowest * STEP) * SLOT_S, Dip(max(0.0, depth), max(0.0, bound)))


def windows_of(series: Counts) -> Counts:
    """Successes in each window of each series."""
    sums = np.concatenate((np.zeros((len(series), 1), np.int64), np.cumsum(series, axis=1)), axis=1)
    of_windows: Counts = sums[:, _STEPS:] - sums[:, :-_STEPS]
    return of_windows


def _resampled(baseline: Counts, length: int) -> Counts:
    """Series of this length, made of blocks of the baseline."""
    resampled: Counts = baseline[resampled_steps(len(baseline), length)]
    return resampled


def resampled_steps(total: int, length: int, seed: int = _SEED) -> Counts:
    """Places of the steps of resampled series of this length within a baseline of `total` steps."""
    length = min(length, _MOST_STEPS)
    blocks = -(-length // _STEPS) + 1
    starts = np.random.default_rng(seed).integers(0, total - _STEPS + 1, size=(_RESAMPLES, blocks))
    places: Counts = (starts[:, :, np.newaxis] + np.arange(_STEPS)).reshape(_RESAMPLES, -1)[:, :length]
    return places
