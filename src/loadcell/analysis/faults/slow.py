"""Share of slow requests in the worst second after a fault, and what share the baseline's own noise makes."""

from __future__ import annotations

import math

import numpy as np

from loadcell.analysis.faults.baseline import RULE_OF_THREE, WINDOW, Normal, p99_of
from loadcell.analysis.faults.completions import Completions, Numbers, rolling
from loadcell.analysis.faults.dip import LEVEL, STEP, resampled_steps, steps, windows_of
from loadcell.model.fault_judgement import Slow

#: Requests are slower if the lower bound of their share in a second is above this.
SHARE = 0.05
#: Of many windows the worst one is this many standard deviations above the mean by chance.
_DEVIATIONS = 3.5
_STEPS = WINDOW // STEP
_SEED = 25


def slow(completions: Completions, normal: Normal, begin: int, end: int) -> Slow | None:
    """The share of requests slower than 1.2 times p99 of the baseline in that second of slots [begin, end) in
    which it is largest; None for less than a second, or without a success.

    The worst of many seconds is bad by chance, too. The bound without a fault is the larger one of the 95%
    quantile of resampled baselines (moving blocks, as that of a dip), and of the uncertainty of a small
    baseline: the upper bound on its share, and the binomial noise of a second.
    """
    succeeded = rolling(completions.succeeded[begin:end], WINDOW)
    slower = rolling(completions.slower(normal.ceiling_s, begin, end), WINDOW)
    if not succeeded.any():
        return None
    shares: Numbers = slower / np.maximum(succeeded, 1)
    # of the seconds with the largest share that with the most requests
    worst = int(np.lexsort((succeeded, shares))[-1])
    share, count = float(shares[worst]), int(succeeded[worst])
    bound = max(_of_resampled(normal, (end - begin) // STEP), _of_small(normal, count))
    first = begin + worst
    return Slow(share, max(0.0, share - bound), p99_of(completions, first, first + WINDOW) * 1e3)


def _of_resampled(normal: Normal, length: int) -> float:
    """95% quantile of the largest share in series of that many steps, made of blocks of the baseline."""
    slower, succeeded = steps(normal.slower), steps(normal.counts)
    places = resampled_steps(len(succeeded), max(length, _STEPS), _SEED)
    shares = windows_of(slower[places]) / np.maximum(windows_of(succeeded[places]), 1)
    return float(np.quantile(shares.max(axis=1), LEVEL))


def _of_small(normal: Normal, count: int) -> float:
    """Bound on the share of `count` requests by the number of requests in the baseline."""
    usual = min(1.0, normal.mean_share + RULE_OF_THREE / int(normal.counts.sum()))
    return usual + _DEVIATIONS * math.sqrt(usual * (1 - usual) / count)
