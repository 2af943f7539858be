"""The noise of a search's trials, from its repeats, and which levels it leaves indistinguishable.

The scatter of repeats is pooled over levels on the log scale. Two levels differ when their medians do by more
than the tolerance and by more than Student's t allows, one-sided at `LEVEL` divided by the number of levels
that are compared (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from loadcell.design.search.model import Question, Seen, Table
from loadcell.stats import distributions

#: Probability that a level with the highest true value is taken for a lower one.
LEVEL = 0.05
#: Degrees of freedom without which a scatter says too little.
FEWEST_FREEDOM = 2


@dataclass(frozen=True)
class Noise:
    """Standard deviation of the logarithm of a trial's value, with its degrees of freedom."""

    deviation: float
    freedom: int


def noise_of(seen: Sequence[Seen]) -> Noise | None:
    """Noise of the repeats of a search; None with too few."""
    by_level: dict[int, list[float]] = {}
    for observation in seen:
        if observation.stage == "confirm" and observation.value is not None and observation.value > 0:
            by_level.setdefault(observation.level, []).append(math.log(observation.value))
    freedom = sum(len(values) - 1 for values in by_level.values())
    if freedom < FEWEST_FREEDOM:
        return None
    squares = sum((value - mean(values)) ** 2 for values in by_level.values() for value in values)
    return Noise(math.sqrt(squares / freedom), freedom)


def unbiased(question: Question, seen: Sequence[Seen]) -> Table:
    """Trials by level, without those that chose the candidate wherever a level was repeated.

    The best of several noisy values is too high on average; what is measured again afterwards is not.
    """
    searched = [observation for observation in seen if observation.stage not in ("overload", "after")]
    repeated = {observation.level for observation in searched if observation.stage == "confirm"}
    return Table(
        question,
        [
            observation
            for observation in searched
            if observation.stage == "confirm" or observation.level not in repeated
        ],
    )


def distinguishable(table: Table, low: int, high: int) -> bool:
    """True if `high` exceeds `low` by more than the noise of repeats; where that is unknown, too."""
    here, there = table.value(low), table.value(high)
    noise = noise_of(table.seen)
    if noise is None or here is None or there is None or not 0 < here < there:
        return True
    compared = max(1, len(table.levels) - 1)
    deviations = noise.deviation * float(distributions.stdtrit(noise.freedom, 1 - LEVEL / compared))
    standard_error = math.sqrt(sum(1 / len(table.values(level)) for level in (low, high)))
    return math.log(there / here) > deviations * standard_error


def indistinguishable(table: Table, level: int) -> tuple[int, int]:
    """The lowest and highest level that are not lower than this one by more than tolerance and noise."""
    there = table.value(level) or 0.0
    alike = [level]
    for other in table.levels:
        here = table.value(other)
        if here is not None and (
            here >= (1 - table.question.tolerance) * there
            or (noise_of(table.seen) is not None and not distinguishable(table, other, level))
        ):
            alike.append(other)
    return min(alike), max(alike)
