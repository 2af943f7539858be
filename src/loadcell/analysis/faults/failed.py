"""Share of operations that failed while a fault was held, and what share fails without it."""

from __future__ import annotations

import numpy as np

from loadcell.analysis.faults.baseline import CHANCE, RULE_OF_THREE, WINDOW, Normal
from loadcell.analysis.faults.completions import SLOT_S, Completions, Counts, Numbers, rolling
from loadcell.analysis.faults.dip import LEVEL, STEP, resampled_steps, steps
from loadcell.model.fault_judgement import Failed

#: The resampled baselines are independent of the resampled times of the fault.
_SEED_HELD, _SEED_BEFORE = 23, 24


def failed(completions: Completions, normal: Normal, begin: int, end: int) -> Failed | None:
    """The share of the slots [begin, end), at least one window; None where nothing ended in them.

    The share of a time of that length differs from the baseline's by chance, too. The 95% quantile of that
    difference without a fault comes from resampled baselines, as that of a dip. After a baseline without
    failures the bound is that of the rule of three.
    """
    end = max(end, begin + WINDOW)
    failures, successes = completions.failed(begin, end), completions.succeeded[begin:end]
    ended = int(failures.sum() + successes.sum())
    if not ended:
        return None
    share = int(failures.sum()) / ended
    return Failed(share, max(0.0, share - _bound(completions, normal, (end - begin) // STEP)))


def last_failure_s(completions: Completions, normal: Normal, begin: int, end: int) -> float | None:
    """End of the last second of slots [begin, end), at least one, in which more operations failed than is
    likely by chance without the fault; None without one.
    """
    end = max(end, begin + WINDOW)
    failures = completions.failed(begin, end)[: len(completions.succeeded[begin:end])]
    failed_by_second = rolling(failures, WINDOW)
    mean = _bound(completions, normal, WINDOW // STEP) * rolling(
        completions.succeeded[begin:end] + failures, WINDOW
    )
    seconds = np.flatnonzero(failed_by_second > mean + CHANCE * np.sqrt(mean))
    if not len(seconds):
        return None
    slots = np.flatnonzero(failures[: int(seconds[-1]) + WINDOW])
    return (begin + int(slots[-1]) + 1) * SLOT_S


def _bound(completions: Completions, normal: Normal, length: int) -> float:
    """95% bound on the share of failures in this number of steps without a fault."""
    begin = completions.slot(normal.facts.begin_s)
    before = steps(completions.failed(begin, begin + len(normal.counts)))
    ended = steps(normal.counts) + before
    usual = float(before.sum() / ended.sum())
    held = _shares(before, ended, resampled_steps(len(ended), length, _SEED_HELD))
    others = _shares(before, ended, resampled_steps(len(ended), len(ended), _SEED_BEFORE))
    chance = float(np.quantile(held - others, LEVEL))
    return max(usual + chance, RULE_OF_THREE / float(ended.sum()))


def _shares(failures: Counts, ended: Counts, places: Counts) -> Numbers:
    shares: Numbers = failures[places].sum(axis=1) / np.maximum(ended[places].sum(axis=1), 1)
    return shares
