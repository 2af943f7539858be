"""True if the machine drifted: blocks hold every treatment once, so a block that is slower throughout is no
effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from loadcell.analysis.treatments import Treatment

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
