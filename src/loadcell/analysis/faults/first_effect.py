"""The time from injection to the first effect: an interval, as applying a fault and noticing it take time."""

from __future__ import annotations

import numpy as np

from loadcell.analysis.faults.baseline import WINDOW, Normal
from loadcell.analysis.faults.completions import SLOT_S, Completions, rolling
from loadcell.analysis.faults.pause import Gap
from loadcell.model.fault_record import Instants


def first_effect(
    completions: Completions, normal: Normal, applied: Instants, pause: Gap, begin: int, end: int
) -> tuple[float, float] | None:
    """The earliest and the latest time of the first effect within slots [begin, end); None without one.

    An effect is a gap longer than any of the baseline, a second with fewer successes or more slow ones than
    any of it, or an error where it had none.
    """
    effects = [
        span
        for span in (
            _of_pause(normal, pause),
            _of_second(completions, normal, begin, end),
            _of_error(completions, normal, begin, end),
        )
        if span is not None
    ]
    if not effects:
        return None
    earliest_s, latest_s = min(effects, key=lambda span: span[1])
    return max(0.0, earliest_s - applied.ended_s), max(0.0, latest_s - applied.began_s)


_Span = tuple[float, float]


def _of_pause(normal: Normal, pause: Gap) -> _Span | None:
    usual_s = normal.facts.gap_s
    return (pause.begin_s, pause.begin_s + usual_s) if pause.length_s > 2 * usual_s else None


def _of_second(completions: Completions, normal: Normal, begin: int, end: int) -> _Span | None:
    """The first second that is unlike the baseline begins one second before the effect is certain."""
    counts = rolling(completions.succeeded[begin:end], WINDOW)
    slower = rolling(completions.slower(normal.ceiling_s, begin, end), WINDOW)
    unlike = np.flatnonzero((counts < normal.fewest) | (slower > normal.share * counts))
    if not len(unlike):
        return None
    at_s = (begin + int(unlike[0])) * SLOT_S
    return at_s, at_s + WINDOW * SLOT_S


def _of_error(completions: Completions, normal: Normal, begin: int, end: int) -> _Span | None:
    usual_from, usual_to = completions.slot(normal.facts.begin_s), completions.slot(normal.facts.end_s)
    usual = completions.errors_between(usual_from, usual_to)
    low, high = np.searchsorted(completions.error_slot, (begin, end))
    codes = completions.errors[low:high]
    number = next((number for number, (code, _) in enumerate(codes) if code not in usual), None)
    if number is None:
        return None
    slot = int(completions.error_slot[low + number])
    return slot * SLOT_S, (slot + 1) * SLOT_S
