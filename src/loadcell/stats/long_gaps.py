"""Gaps between events that are longer than the usual ones of their series, whatever their distribution.

The upper tail of the usual gaps is taken as that of a Pareto distribution, with the estimator of Hill (1975)
for its index; the number of gaps that are as long by chance follows from that (Weissman 1978). Tails of
Poisson traffic, of bursts and of regular jobs are lighter, so that the estimate is cautious. Candidates are
tested from the shortest to the longest, each against all shorter gaps, so that several long gaps do not hide
one another (Kimber 1982). `MATH.md` has the derivation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

#: Fewer gaps show no usual one.
FEWEST: Final = 30
#: Number of gaps of this length that chance may cause in a series.
LEVEL: Final = 0.001
#: Of the longest usual gap: less is not notable.
FACTOR: Final = 3.0
#: Gaps of the tail, at least.
_LEAST_TAIL: Final = 10
#: Durations are exact to 2 %: regular jobs would have a tail of no width.
_LEAST_INDEX: Final = 0.02


def outliers(gaps: Sequence[tuple[float, int]], candidates: Sequence[float], level: float = LEVEL) -> int:
    """Number of the longest gaps that are not usual ones: as many of the first of `candidates`.

    `gaps` are all of a series, as values with their counts, the longest first; `candidates` are the longest
    ones, exactly, the longest first.
    """
    total = sum(count for _, count in gaps)
    most = min(len(candidates), total // 10)
    if total < FEWEST:
        return 0
    for number in range(most, 0, -1):
        usual = _without(gaps, number)
        value = candidates[number - 1]
        # Bursts have gaps for most of the time, and then long ones are usual.
        is_observed = sum(gap * count for gap, count in usual) >= sum(candidates[:number])
        if not is_observed or value < FACTOR * usual[0][0]:
            continue
        if expected(usual, value) <= level:
            return number
    return 0


def expected(usual: Sequence[tuple[float, int]], value: float) -> float:
    """Number of gaps of at least `value` that chance causes in a series with these usual ones."""
    total = sum(count for _, count in usual)
    tail = min(total - 1, max(_LEAST_TAIL, round(math.sqrt(total))))
    if tail < 1:
        return math.inf
    logs: list[tuple[float, int]] = []
    remaining = tail
    threshold = usual[-1][0]
    for gap, count in usual:
        if remaining <= 0:
            threshold = gap
            break
        taken = min(count, remaining)
        logs.append((math.log(max(gap, 1.0)), taken))
        remaining -= taken
        if taken < count:
            threshold = gap
            break
    base = math.log(max(threshold, 1.0))
    index = max(_LEAST_INDEX, sum((log - base) * count for log, count in logs) / tail)
    exponent = (math.log(max(value, 1.0)) - base) / index
    return tail * math.exp(-exponent) if exponent < 700 else 0.0


def _without(gaps: Sequence[tuple[float, int]], number: int) -> list[tuple[float, int]]:
    """The gaps without the longest ones."""
    remaining: list[tuple[float, int]] = []
    for gap, count in gaps:
        removed = min(count, number)
        number -= removed
        if count > removed:
            remaining.append((gap, count - removed))
    return remaining
