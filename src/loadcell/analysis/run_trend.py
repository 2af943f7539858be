"""True if throughput rose or fell from a run's first trial to its last: wear, heat, a table that grows, a
cache that fills.

Each trial is taken relative to its treatment's median, so that the order of treatments is no trend. Blocks
that lie apart without order are `drift`'s affair.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from loadcell.analysis.finding import Concern, Finding, FindingCode, Subject
from loadcell.analysis.treatments import Treatment
from loadcell.model.message import Share
from loadcell.stats import trend
from loadcell.stats.energy import Array

#: A trend is said when chance makes it in fewer than this share of runs, and it moves throughput by this
#: share or more.
LEVEL, NOTABLE = 0.01, 0.03
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


def findings(treatments: Sequence[Treatment]) -> tuple[Finding, ...]:
    """That throughput rose or fell over the run, if it did."""
    series = relative(treatments)
    trend_found = trend.find(series)
    if trend_found is None or trend_found.p >= LEVEL or abs(trend_found.change) < NOTABLE:
        return ()
    changed = abs(of_the_first(trend_found.change, float(series.min() / series.mean())))
    return ((RUN_ROSE if trend_found.change > 0 else RUN_FELL).finding(change_share=changed),)
