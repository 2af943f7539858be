"""The load before a fault, with which the load after it is compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loadcell.analysis.faults.completions import SLOT_S, Completions, Counts, rolling
from loadcell.analysis.faults.pause import longest_gap
from loadcell.model.fault_judgement import LEAST_BASELINE_S, Baseline

#: Width of the windows in which rates and percentiles are compared, in slots: 1 s.
WINDOW = 100
#: A baseline is at most the last minute before the fault: the load of the hour before may be another one.
MOST_S = 60.0
#: Successes without which a baseline has no rate to compare with.
FEWEST_SUCCESSES = 20
#: Bounds of a load that is as before: rate, and p99, in proportion to the baseline's.
RATE_FLOOR, P99_CEILING = 0.95, 1.2
BEYOND_P99 = 0.01
#: After n operations without a case, the 95% bound on the share of cases is this divided by n (rule of
#: three; Hanley, Lippman-Hand, 1983).
RULE_OF_THREE = 3.0
#: A number is likely by chance up to this many standard deviations above its mean (99%).
CHANCE = 2.326


@dataclass(frozen=True, eq=False)
class Normal:
    """A baseline with the bounds of loads that are like it.

    The bounds are those of the definition, or what the baseline itself had in its worst window: `fewest`
    successes per window, and the largest `share` of them slower than `ceiling_s`. `counts` are its successes
    by slot, and `slower` those that were slower than that.
    """

    facts: Baseline
    counts: Counts
    slower: Counts
    fewest: float
    ceiling_s: float
    share: float

    @property
    def rate_per_slot(self) -> float:
        """Mean number of successes in a slot."""
        return self.facts.rate_per_s * SLOT_S

    @property
    def mean_share(self) -> float:
        """Share of its successes that were slower than `ceiling_s`; at least one in a hundred, as of p99."""
        return max(BEYOND_P99, int(self.slower.sum()) / int(self.counts.sum()))


def baseline(completions: Completions, begin_s: float, end_s: float) -> Normal | None:
    """The baseline between two instants; None where there is too little load."""
    begin, end = completions.slot(max(begin_s, end_s - MOST_S) + SLOT_S * 0.999), completions.slot(end_s)
    counts = completions.succeeded[begin:end]
    total = int(counts.sum())
    if (end - begin) * SLOT_S < LEAST_BASELINE_S or total < FEWEST_SUCCESSES:
        return None
    p99_s = p99_of(completions, begin, end)
    ceiling_s = P99_CEILING * p99_s
    per_window = rolling(counts, WINDOW)
    slower = completions.slower(ceiling_s, begin, end)
    rate_per_s = total / ((end - begin) * SLOT_S)
    share = float(np.max(rolling(slower, WINDOW) / np.maximum(per_window, 1), initial=0.0))
    return Normal(
        Baseline(
            begin * SLOT_S, end * SLOT_S, rate_per_s, p99_s * 1e3,
            longest_gap(completions, begin, end).length_s,
        ),
        counts,
        slower,
        min(RATE_FLOOR * rate_per_s * WINDOW * SLOT_S, float(per_window.min())),
        ceiling_s,
        max(BEYOND_P99, share),
    )  # fmt: skip


def p99_of(completions: Completions, begin: int, end: int) -> float:
    """99th percentile of the response times in seconds."""
    _, response_s, count = completions.responses(begin, end)
    if not len(count):
        return 0.0
    order = np.argsort(response_s)
    cumulative = np.cumsum(count[order])
    index = int(np.searchsorted(cumulative, (1 - BEYOND_P99) * cumulative[-1]))
    return float(response_s[order][min(index, len(order) - 1)])
