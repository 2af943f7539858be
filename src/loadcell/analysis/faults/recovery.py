"""The instant from which the load is again like the baseline."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from loadcell.analysis.faults.baseline import CHANCE, RATE_FLOOR, WINDOW, Normal
from loadcell.analysis.faults.completions import SLOT_S, Completions, Counts, Numbers, rolling
from loadcell.analysis.faults.dip import LowestSecond
from loadcell.analysis.faults.pause import Gap
from loadcell.model.fault_judgement import HOLD_S, Recovery
from loadcell.model.fault_record import Instants

#: For so long the load has to stay like the baseline, in slots.
HOLD = round(HOLD_S / SLOT_S)


def recovery(
    completions: Completions,
    normal: Normal,
    applied: Instants,
    undone: Instants | None,
    effects: Effects,
    begin_s: float,
    end: int,
) -> Recovery:
    """The recovery from `begin_s` to the slot `end`; censored where it does not come, or cannot be confirmed.

    It is the first instant whose next second is like the baseline, and so are the next 10 s together: at
    least 95% of its rate, and a p99 of at most 1.2 times its own. A second may also be as bad as the worst
    one of the baseline, and of the 10 s as many may be slow as is likely by chance (binomial distribution).
    As a fault may take effect late, it comes after the last outage, after the beginning of the lowest second
    if that is a dip, after every 10 s with a lower rate, and after the last failure where failures are an
    effect.
    """
    begin = completions.slot(begin_s)
    if end - begin < HOLD:
        return Recovery(censored="too-short")
    counts = completions.succeeded[begin:end]
    slower = completions.slower(normal.ceiling_s, begin, end)
    succeeded = rolling(counts, WINDOW)
    second = _is_normal(counts, slower, WINDOW, normal.fewest, (normal.share * succeeded).astype(np.float64))
    floor = min(RATE_FLOOR * normal.rate_per_slot * HOLD, normal.fewest / WINDOW * HOLD)
    share = normal.mean_share
    mean = share * rolling(counts, HOLD)
    by_chance = np.asarray(mean + CHANCE * np.sqrt((1 - share) * mean), np.float64)
    long = _is_normal(counts, slower, HOLD, floor, by_chance)
    ended_s = effects.ended_s(begin_s)
    low = np.flatnonzero(rolling(counts, HOLD) < floor)
    earliest = max(completions.slot(ended_s) - begin, int(low[-1]) + 1 if len(low) else 0)
    normal_from = np.flatnonzero(second[earliest : len(long)] & long[earliest:])
    if not len(normal_from):
        since_s = applied.ended_s
        if undone is not None and completions.slot(undone.began_s) < end:  # else it lasts to the end
            since_s = max(since_s, undone.ended_s)
        outage = effects.last_outage
        if outage is not None and completions.slot(outage.end_s) < end:  # the load came back
            since_s = max(since_s, outage.end_s)
        short = end - completions.slot(since_s) <= HOLD
        if short:
            return Recovery(censored="too-short")
        failing = effects.failed_s is not None and (second[: len(long)] & long).any()
        if failing:
            return Recovery(censored="not-recovered")
        unseen_s = (end - HOLD) * SLOT_S
        from_undo_s = unseen_s - undone.ended_s if undone is not None and undone.ended_s < unseen_s else None
        return Recovery(
            censored="not-recovered",
            at_least_s=unseen_s - applied.began_s,
            at_least_from_undo_s=from_undo_s,
        )
    at_s = max((begin + earliest + int(normal_from[0])) * SLOT_S, ended_s)
    pause = effects.pause
    if pause.begin_s <= at_s < pause.end_s and pause.length_s > normal.facts.gap_s:
        at_s = pause.end_s  # a second may have 5% less, and begin as much before the end of a pause
    return Recovery(
        at_s,
        at_s - applied.began_s,
        None if undone is None else max(0.0, at_s - undone.ended_s),
    )


@dataclass(frozen=True)
class Effects:
    """Effects of a fault: its longest pause, last outage and lowest second, and its last failure if more
    operations failed than before it.
    """

    pause: Gap
    last_outage: Gap | None
    lowest: LowestSecond | None
    failed_s: float | None

    def ended_s(self, injected_s: float) -> float:
        """The instant before which the load has not recovered."""
        outage_s = injected_s if self.last_outage is None else self.last_outage.end_s
        low_s = self.lowest.begin_s if self.lowest is not None and self.lowest.is_low else injected_s
        return max(injected_s, outage_s, low_s, self.failed_s or 0.0)


def _is_normal(
    counts: Counts, slower: Counts, width: int, fewest: float, most_slow: Numbers
) -> npt.NDArray[np.bool_]:
    """For each start of a window of `width` slots, whether it is like the baseline: at least `fewest`
    successes, and no more slow ones than `most_slow`.
    """
    ok: npt.NDArray[np.bool_] = (rolling(counts, width) >= fewest) & (rolling(slower, width) <= most_slow)
    return ok
