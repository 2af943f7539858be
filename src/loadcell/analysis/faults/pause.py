"""Gaps between successes. A gap longer than a slot is exact, as slots have their first and last success."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loadcell.analysis.faults.completions import SLOT_S, Completions, Numbers

#: A longer gap is an outage, if it is also longer than twice the longest gap of the baseline.
OUTAGE_S = 1.0
_TIMES_USUAL_GAP = 2.0


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
    return _longest(*_gaps(completions, begin, end, begin * SLOT_S))


def pause(completions: Completions, at_s: float, end: int) -> Gap:
    """The longest gap that ends after a fault at `at_s` and begins before the slot `end`.

    It may have begun with the last success before the fault, and last until the end of the load.
    """
    return _longest(*_after(completions, at_s, end))


def last_outage(completions: Completions, at_s: float, end: int, usual_s: float) -> Gap | None:
    """The last of these gaps that is an outage, after a baseline with a longest gap of `usual_s`."""
    begins, ends = _after(completions, at_s, end)
    outages = np.flatnonzero(ends - begins > max(OUTAGE_S, _TIMES_USUAL_GAP * usual_s))
    return Gap(float(begins[outages[-1]]), float(ends[outages[-1]])) if len(outages) else None


def _after(completions: Completions, at_s: float, end: int) -> tuple[Numbers, Numbers]:
    """Beginnings and ends of the gaps that end after a fault at `at_s` and begin before the slot `end`."""
    begin = completions.slot(at_s)
    before = completions.last_s[:begin]
    earlier = before[~np.isnan(before)]
    inside = completions.first_s[begin : begin + 1]
    # a success of the fault's own slot may precede the fault
    since_s = float(inside[0]) if len(inside) and inside[0] <= at_s else None
    if since_s is None:
        since_s = float(earlier[-1]) if len(earlier) else 0.0
    return _gaps(completions, begin, end, since_s)


def _gaps(completions: Completions, begin: int, end: int, since_s: float) -> tuple[Numbers, Numbers]:
    last = completions.last_s[begin:end]
    filled = ~np.isnan(last)
    until_s = min(end * SLOT_S, completions.duration_s)
    begins = np.concatenate(([since_s], last[filled]))
    ends = np.concatenate((completions.first_s[begin:end][filled], [max(until_s, since_s)]))
    return begins, np.maximum(begins, ends)


def _longest(begins: Numbers, ends: Numbers) -> Gap:
    longest = int(np.argmax(ends - begins))
    return Gap(float(begins[longest]), float(ends[longest]))
