"""Drift of the machine over a run: differences between blocks, and a trend of throughput.

Blocks hold every treatment once, so a block that is slower throughout is no effect. For the trend each trial
is taken relative to its treatment's median, so that the order of treatments does not count.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from loadcell.analysis.finding import Concern, Finding, FindingCode, Subject
from loadcell.analysis.sweep import fit, speed_of
from loadcell.analysis.treatments import Treatment
from loadcell.model.message import Share
from loadcell.stats import distributions, steady_state
from loadcell.stats.additive import LEAST_NOISE, Additive
from loadcell.stats.autocorrelation import Array

#: Significant differences of blocks are reported from this standard deviation between them (a share).
NOTABLE_DRIFT = 0.02
#: Significance level of the F test of blocks.
DRIFT_LEVEL = 0.01


@dataclass(frozen=True)
class Drift:
    """Each block's throughput relative to the mean of all (1.0), the largest difference, and the F test.

    `p` is the probability of blocks that far apart on a machine that did not change, given how far trials
    differ within blocks; `deviation_share` the standard deviation between blocks without that noise.
    """

    blocks: dict[int, float]
    range_share: float
    deviation_share: float
    p: float

    @property
    def notable(self) -> bool:
        """True if blocks differ significantly, and by enough to matter."""
        return self.p < DRIFT_LEVEL and self.deviation_share >= NOTABLE_DRIFT


def of_blocks(treatments: Sequence[Treatment]) -> Drift | None:
    """The blocks of a run: None where no two can be compared, or nothing is known of noise within blocks."""
    measured = [item for item in treatments if any(speed_of(trial) for trial in item.trials)]
    fitted = fit(measured, speed_of) if measured else None
    if fitted is None:
        return None
    return of_fit(
        fitted, sorted({trial.block for item in measured for trial in item.trials if speed_of(trial)})
    )


def of_fit(fitted: Additive, names: Sequence[int]) -> Drift | None:
    """The same of a fit on logarithms, with the names of its blocks.

    The F test is that of blocks adjusted for treatments: a block without some of them is no slower one.
    """
    between = fitted.between_blocks
    if between is None or fitted.freedom < 1:
        return None
    noise, levels = fitted.variance or LEAST_NOISE**2, np.exp(fitted.blocks)
    return Drift(
        blocks=dict(zip(names, levels.tolist(), strict=True)),
        range_share=float(levels.max() - levels.min()),
        deviation_share=math.sqrt(between.variance(noise)),
        p=distributions.f_tail(between.squares / between.freedom / noise, between.freedom, fitted.freedom),
    )


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
