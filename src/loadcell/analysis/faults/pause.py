"""Gaps between successes. A gap longer than a slot is exact, as slots have their first and last success."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loadcell.analysis.faults.completions import SLOT_S, Completions


@dataclass(frozen=True)
class Gap:
    """Time without a success, from one success to the next."""

    begin_s: float
    end_s: float

    @property
    def length_s(self) -> float:
        return self.end_s - self.begin_s


def longest_gap(completions: Completions, begin: int, end: int) -> Gap:
    """The longest gap between successes of slots [begin, end), the edges included."""
    return _longest(completions, begin, end, begin * SLOT_S)


def pause(completions: Completions, at_s: float, end: int) -> Gap:
    """The longest gap that ends after a fault at `at_s` and begins before the slot `end`.

    It may have begun with the last success before the fault, and last until the end of the load.
    """
    begin = completions.slot(at_s)
    before = completions.last_s[:begin]
    earlier = before[~np.isnan(before)]
    inside = completions.first_s[begin : begin + 1]
    # a success of the fault's own slot may precede the fault
    since_s = float(inside[0]) if len(inside) and inside[0] <= at_s else None
    if since_s is None:
        since_s = float(earlier[-1]) if len(earlier) else 0.0
    return _longest(completions, begin, end, since_s)


def _longest(completions: Completions, begin: int, end: int, since_s: float) -> Gap:
    last = completions.last_s[begin:end]
    filled = ~np.isnan(last)
    until_s = min(end * SLOT_S, completions.duration_s)
    begins = np.concatenate(([since_s], last[filled]))
    ends = np.concatenate((completions.first_s[begin:end][filled], [max(until_s, since_s)]))
    longest = int(np.argmax(ends - begins))
    return Gap(float(begins[longest]), float(max(ends[longest], begins[longest])))
