"""Gaps between successes. A gap longer than a slot is exact, as slots have their first and last success."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loadcell.analysis.faults.completions import SLOT_S, Completions, Numbers

#: A longer gap is an outage, if it is also longer than twice the longest gap of the baseline.
OUTAGE_S = 1.0
_TIMES_USUAL_GAP = 2.0
_NONE: Numbers = np.zeros(0)


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
    until_s = min(end * SLOT_S, completions.duration_s)
    return _longest(*_gaps(completions, begin, end, begin * SLOT_S, until_s))


def interruption(completions: Completions, began_s: float, at_s: float, usual_s: float) -> Gap | None:
    """The gap in which an instant is, if a fault at `began_s` has interrupted the load; it may last until the
    end.

    It is an outage already, or longer than all gaps since that fault: a slow one makes long gaps again and
    again. It is also longer than gaps of the baseline, of which the longest is `usual_s`.
    """
    slot = completions.slot(at_s)
    after = completions.first_s[slot:]
    if len(after) and after[0] <= at_s:
        return None
    earlier = completions.last_s[:slot][~np.isnan(completions.last_s[:slot])]
    later = after[~np.isnan(after)]
    begin_s = float(earlier[-1]) if len(earlier) else 0.0
    begins, ends = _after(completions, began_s, begin_s) if begin_s > began_s else (_NONE, _NONE)
    others_s = min(float(np.max(ends - begins, initial=0.0)), OUTAGE_S)
    if at_s - begin_s <= max(_TIMES_USUAL_GAP * usual_s, others_s, SLOT_S):
        return None
    return Gap(begin_s, float(later[0]) if len(later) else completions.duration_s)


def pause(completions: Completions, at_s: float, until_s: float) -> Gap:
    """The longest gap that ends after a fault at `at_s`, and before `until_s`, or is interrupted there.

    It may have begun with the last success before the fault, and last until the end of the load.
    """
    return _longest(*_after(completions, at_s, until_s))


def last_outage(completions: Completions, at_s: float, until_s: float, usual_s: float) -> Gap | None:
    """The last of these gaps that is an outage, after a baseline with a longest gap of `usual_s`."""
    begins, ends = _after(completions, at_s, until_s)
    outages = np.flatnonzero(ends - begins > max(OUTAGE_S, _TIMES_USUAL_GAP * usual_s))
    return Gap(float(begins[outages[-1]]), float(ends[outages[-1]])) if len(outages) else None


def _after(completions: Completions, at_s: float, until_s: float) -> tuple[Numbers, Numbers]:
    """Beginnings and ends of the gaps between a fault at `at_s` and `until_s`."""
    begin, end = completions.slot(at_s), completions.slot(until_s)
    before = completions.last_s[:begin]
    earlier = before[~np.isnan(before)]
    inside = completions.first_s[begin : begin + 1]
    # a success of the fault's own slot may precede the fault
    since_s = float(inside[0]) if len(inside) and inside[0] <= at_s else None
    if since_s is None:
        since_s = float(earlier[-1]) if len(earlier) else 0.0
    return _gaps(completions, begin, end, since_s, min(until_s, completions.duration_s))


def _gaps(
    completions: Completions, begin: int, end: int, since_s: float, until_s: float
) -> tuple[Numbers, Numbers]:
    last = completions.last_s[begin:end]
    filled = ~np.isnan(last)
    begins = np.concatenate(([since_s], last[filled]))
    ends = np.concatenate((completions.first_s[begin:end][filled], [max(until_s, since_s)]))
    return begins, np.maximum(begins, ends)


def _longest(begins: Numbers, ends: Numbers) -> Gap:
    longest = int(np.argmax(ends - begins))
    return Gap(float(begins[longest]), float(ends[longest]))
