"""Operations lost in a fault, and the overshoot in which a backlog drains.

The lost operations are the area between the baseline's rate B and the rate r where r is lower, and the
overshoot that where it is higher. Taken slot by slot, both areas would grow with the noise of every slot. So
they are read from the shortfall `B t - N(t)` after N(t) successes: of its rises and falls, those larger than
any of the baseline's own are summed (zigzag with a reversal threshold).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from loadcell.analysis.faults.baseline import Normal
from loadcell.analysis.faults.completions import SLOT_S, Completions, Numbers


@dataclass(frozen=True)
class Excursions:
    """Operations below and above those that the baseline would have had."""

    lost: float
    overshoot: float


def excursions(completions: Completions, normal: Normal, begin_s: float, end_s: float) -> Excursions:
    """The lost operations and the overshoot between two instants."""
    end_s = max(begin_s, end_s)
    rate_per_s = normal.facts.rate_per_s
    facts = normal.facts
    usual = _shortfall(completions, rate_per_s, facts.begin_s, facts.end_s)
    threshold = max(_largest_rise(usual), _largest_rise(-usual), 1.0)
    threshold *= max(1.0, math.sqrt((end_s - begin_s) / (facts.end_s - facts.begin_s)))
    return _zigzag(_shortfall(completions, rate_per_s, begin_s, end_s), threshold)


def _shortfall(completions: Completions, rate_per_s: float, begin_s: float, end_s: float) -> Numbers:
    """`B t - N(t)` at both instants, and at the first and the last success of each slot in between.

    In this way a gap counts with its exact length.
    """
    begin, end = completions.slot(begin_s), completions.slot(end_s + SLOT_S * 0.999)
    succeeded = completions.succeeded[begin:end]
    filled = (succeeded > 0) & (completions.first_s[begin:end] >= begin_s)
    filled &= completions.first_s[begin:end] < end_s
    first, last = completions.first_s[begin:end][filled], completions.last_s[begin:end][filled]
    after = np.cumsum(succeeded[filled])
    before = after - succeeded[filled]
    times = np.concatenate(([begin_s], np.column_stack((first, last)).ravel(), [end_s]))
    total = after[-1] if len(after) else 0
    counts = np.concatenate(([0], np.column_stack((before, after)).ravel(), [total]))
    shortfall: Numbers = rate_per_s * (times - begin_s) - counts
    return shortfall


def _largest_rise(values: Numbers) -> float:
    return float(np.max(values - np.minimum.accumulate(values), initial=0.0))


def _zigzag(values: Numbers, threshold: float) -> Excursions:
    """Sums of the rises and of the falls that are larger than a threshold.

    Each ends with a reversal larger than the threshold, or with the series.
    """
    lost = overshoot = 0.0
    direction = 0
    low = high = float(values[0])
    for value in values.tolist():
        if direction >= 0 and value > high:
            high = value
            if direction == 0 and high - low > threshold:
                direction = 1
        if direction <= 0 and value < low:
            low = value
            if direction == 0 and high - low > threshold:
                direction = -1
        if direction == 0:
            continue
        if direction > 0 and high - value > threshold:
            lost += high - low
            direction, low = -1, value
        elif direction < 0 and value - low > threshold:
            overshoot += high - low
            direction, high = 1, value
    if direction > 0:
        lost += high - low
    elif direction < 0:
        overshoot += high - low
    return Excursions(lost, overshoot)
