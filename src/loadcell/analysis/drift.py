"""Drift of the machine: blocks that are slower throughout, and throughput that rises or falls over a run.

Blocks hold every treatment once, so a block that is slower throughout is no effect. For the trend each trial
is taken relative to its treatment's median, so that the order of treatments is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from loadcell.analysis.finding import Concern, Finding, FindingCode, Subject
from loadcell.analysis.treatments import Treatment
from loadcell.model.message import Share
from loadcell.stats import steady_state
from loadcell.stats.energy import Array

#: Blocks further apart than this are said; twice what repeats of one treatment differ by on a quiet machine.
NOTABLE = 0.05
#: A block's level is a median over treatments: fewer of them say too little.
FEWEST_TREATMENTS = 4


@dataclass(frozen=True)
class Drift:
    """Each block's throughput relative to the treatments' medians (1.0 = typical), and the largest
    difference.
    """

    blocks: dict[int, float]
    range_share: float


def find(treatments: Sequence[Treatment]) -> Drift | None:
    """The blocks' levels: None with fewer than two blocks or too few treatments in one."""
    shares: dict[int, list[float]] = {}
    for treatment in treatments:
        middle = treatment.throughput.median
        for trial in treatment.trials if middle else ():
            if trial.counts and trial.throughput_per_s is not None and middle:
                shares.setdefault(trial.block, []).append(trial.throughput_per_s / middle)
    blocks = {
        block: median(shares_of_block)
        for block, shares_of_block in sorted(shares.items())
        if len(shares_of_block) >= FEWEST_TREATMENTS
    }
    if len(blocks) < 2:
        return None
    return Drift(blocks, max(blocks.values()) - min(blocks.values()))


#: A trend is reported when chance makes it in fewer than this share of runs, and it moves throughput by this
#: share or more.
TREND_LEVEL, NOTABLE_TREND = 0.01, 0.03
#: Repeats that a treatment's median needs to be worth comparing a trial with.
FEWEST_REPEATS = 3

RUN_FELL = FindingCode("found.run-fell", Subject.SPREAD, "caution", (Concern.TRUST, 80), change_share=Share)
RUN_ROSE = FindingCode("found.run-rose", Subject.SPREAD, "caution", (Concern.TRUST, 90), change_share=Share)


def relative(treatments: Sequence[Treatment]) -> Array:
    """Throughput of the trials that can be compared over their treatments' medians, in the order they ran."""
    deviations: dict[int, float] = {}
    for treatment in treatments:
        middle = treatment.throughput.median
        if middle and len(treatment.throughput.values) >= FEWEST_REPEATS:
            for trial in treatment.trials:
                if trial.counts and trial.throughput_per_s is not None:
                    deviations[trial.number] = trial.throughput_per_s / middle
    return np.array([deviations[number] for number in sorted(deviations)])


def of_the_first(change: float, least: float) -> float:
    """A change along a line, which is a share of the line's mean, as a share of where the line begins.

    A line through positive values may begin or end below 0, where no throughput is: not below `least`, the
    lowest of them over their mean.
    """
    begins, ends = max(1 - change / 2, least), max(1 + change / 2, least)
    return (ends - begins) / begins


def trend_findings(treatments: Sequence[Treatment]) -> tuple[Finding, ...]:
    """That throughput rose or fell over the run, if it did."""
    series = relative(treatments)
    fitted = steady_state.find(series)
    if fitted is None or fitted.p >= TREND_LEVEL or abs(fitted.change) < NOTABLE_TREND:
        return ()
    changed = abs(of_the_first(fitted.change, float(series.min() / series.mean())))
    return ((RUN_ROSE if fitted.change > 0 else RUN_FELL).finding(change_share=changed),)
