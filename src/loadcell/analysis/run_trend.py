"""Whether throughput rose or fell from a run's first trial to its last: wear, heat, a table that grows, a cache that fills.

Each trial is taken relative to its treatment's median, so that the order of treatments is no trend. Blocks that lie
apart without order are `drift`'s affair.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from loadcell.analysis import trend
from loadcell.analysis.phrase import Finding, Phrase
from loadcell.analysis.treatments import Treatment
from loadcell.analysis.trend import Trend

#: A trend is said when chance makes it in fewer than this share of runs, and it moves throughput by this share or more.
LEVEL, NOTABLE = 0.01, 0.03
#: Repeats that a treatment's median needs to be worth comparing a trial with.
FEWEST_REPEATS = 3


def find(treatments: Sequence[Treatment]) -> Trend | None:
    """The trend over trials in the order they ran; None with too few that can be compared."""
    relative: dict[int, float] = {}
    for treatment in treatments:
        middle = treatment.throughput.median
        if middle and len(treatment.throughput.values) >= FEWEST_REPEATS:
            for trial in treatment.trials:
                if trial.counts and trial.throughput_per_s is not None:
                    relative[trial.number] = trial.throughput_per_s / middle
    return trend.find(np.array([relative[number] for number in sorted(relative)]))


def findings(treatments: Sequence[Treatment]) -> tuple[Finding, ...]:
    """That throughput rose or fell over the run, if it did."""
    found = find(treatments)
    if found is None or found.p >= LEVEL or abs(found.change) < NOTABLE:
        return ()
    key = "found.run-rose" if found.change > 0 else "found.run-fell"
    return (Finding("spread", "caution", Phrase(key, {"change_share": abs(found.change)})),)
