"""Values that a comparison rests on (one metric of one side, by block or by run), and sides ranked by them.

Rankings have letters: two sides that share one are not distinguishable.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from loadcell.analysis.compare.metrics import Metric
from loadcell.analysis.compare.sides import Side, Sides
from loadcell.analysis.trials import Trial
from loadcell.analysis.tukey import TukeyTest
from loadcell.stats import additive
from loadcell.stats.two_samples import Array

#: Values by block, and by arm where a run of identical arms is compared with something else; by the number of
#: the run where a side is several.
Figures = Mapping[tuple[int, str], float]


def of_side(side: Side, context: str, metric: Metric) -> Figures:
    """Values of succeeded trials, by block; of a side of several runs the median of each.

    A percentile is that of all trials or of none, as in a run's own report.
    """
    if not metric.carried([trial for trial in side.trials.get(context, ()) if trial.counts]):
        return {}
    if len(side.runs) < 2:
        return _by_block(side.trials.get(context, ()), metric)
    of_runs = [_by_block(run.get(context, ()), metric) for run in side.runs]
    return {(number, ""): median(values.values()) for number, values in enumerate(of_runs, 1) if values}


def _by_block(trials: Sequence[Trial], metric: Metric) -> Figures:
    return {
        (trial.block, trial.arm or ""): value
        for trial in trials
        if trial.counts and (value := metric.of(trial)) is not None and value > 0
    }


def unusable(side: Side, context: str, metric: Metric) -> int:
    """Number of succeeded trials with a throughput of zero, or a value that is no number."""
    trials = [trial for trial in side.trials.get(context, ()) if trial.status == "ok"]
    if metric.key is None:
        return sum(not (metric.of(trial) or 0) > 0 for trial in trials)
    return sum(
        value is not None and not (math.isfinite(value) and value > 0)
        for trial in trials
        for value in [(trial.response or {}).get(metric.key)]
    )


def middle(values: Figures) -> float | None:
    """The median, if there is one."""
    return median(values.values()) if values else None


def logarithms(side: Side, context: str, metric: Metric) -> Figures:
    """The logarithms of a side's values."""
    return {block: math.log(value) for block, value in of_side(side, context, metric).items()}


def array(values: Figures) -> Array:
    """The values (B,) in the order of blocks."""
    return np.array([values[block] for block in sorted(values)], dtype=np.float64)


def mean_of_complete_blocks(of_contexts: Sequence[Figures]) -> Figures:
    """The mean over all contexts of each block that has a value in every one."""
    if not of_contexts:
        return {}
    common = set.intersection(*(set(item) for item in of_contexts))
    return {block: sum(item[block] for item in of_contexts) / len(of_contexts) for block in sorted(common)}


@dataclass(frozen=True)
class Ranked:
    """One position of a ranking. `groups` are letters: two that share one are not distinguishable."""

    index: int
    value: float
    groups: str


def rank(values: list[float | None], is_significant: Callable[[int, int], bool]) -> list[Ranked]:
    """The items with a value, largest first, with their groups.

    A group is a longest stretch of the ranking of which no two are distinguishable (the underlines of Tukey
    1949, as letters; Piepho 2004). What has no value has no place.
    """
    order = sorted(
        (index for index, value in enumerate(values) if value is not None),
        key=lambda index: (-(values[index] or 0.0), index),
    )
    stretches: list[tuple[int, int]] = []
    for first in range(len(order)):
        last = first
        while last + 1 < len(order) and not any(
            is_significant(order[position], order[last + 1]) for position in range(first, last + 1)
        ):
            last += 1
        if not stretches or last > stretches[-1][1]:
            stretches.append((first, last))
    return [
        Ranked(
            index,
            values[index] or 0.0,
            "".join(
                letter(number) for number, (first, last) in enumerate(stretches) if first <= position <= last
            ),
        )
        for position, index in enumerate(order)
    ]


def letter(number: int) -> str:
    """a ... z, then a1 ... z1, and so on."""
    turn, position = divmod(number, 26)
    return chr(ord("a") + position) + (str(turn) if turn else "")


def rank_sides(sides: Sides, metric: Metric) -> tuple[Ranked, ...]:
    """The sides by one metric; empty where blocks are no pairs, or repeats tell nothing.

    The value is the ratio to the first side, turned so that larger is better. Groups are those of Tukey's
    honestly significant difference on block-adjusted logarithms, which a run's report applies to treatments,
    too. All are ranked over the same contexts, those of the first side: one that lacks some of them
    has no place, as a mean over the remaining ones would rank it by those alone.
    """
    if not sides.paired:
        return ()
    first = sides.sides[0]
    contexts = [context for context in sides.contexts if of_side(first, context, metric)]
    rank_sides = [
        mean_of_complete_blocks([logarithms(side, context, metric) for context in contexts])
        for side in sides.sides
    ]
    measured = [index for index, logs in enumerate(rank_sides) if logs]
    if 0 not in measured or len(measured) < 2:
        return ()
    values = [
        (value, row, block)
        for row, index in enumerate(measured)
        for block, value in rank_sides[index].items()
    ]
    fitted = additive.fit(
        np.array([value for value, _, _ in values]),
        np.array([row for _, row, _ in values], dtype=np.int64),
        additive.numbered([block for _, _, (block, _) in values]),
    )
    test = TukeyTest(fitted)
    if test.least_difference is None:
        return ()
    row_of = {index: row for row, index in enumerate(measured)}
    means: list[float | None] = [None] * len(sides.sides)
    for index in measured:
        if fitted.islands[row_of[index]] != fitted.islands[0]:
            continue  # in other blocks than the first side: these allow no comparison
        change = float(fitted.rows[row_of[index]] - fitted.rows[0])
        means[index] = math.exp(change if metric.higher_is_better else -change)

    def is_significant(first_index: int, other: int) -> bool:
        return bool(test.differ(row_of[first_index], row_of[other]))

    return tuple(rank(means, is_significant))
