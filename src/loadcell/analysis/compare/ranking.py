"""Rankings with letters: two that share one are not distinguishable."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from loadcell.analysis.compare import figures
from loadcell.analysis.compare.metrics import Metric
from loadcell.analysis.compare.sides import Sides
from loadcell.analysis.tukey import TukeyTest
from loadcell.stats import additive


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


def of_sides(sides: Sides, metric: Metric) -> tuple[Ranked, ...]:
    """The sides by one metric; empty where blocks are no pairs, or repeats tell nothing.

    The value is the ratio to the first side, turned so that larger is better. Groups are those of Tukey's
    honestly significant difference on block-adjusted logarithms, by which a run's report tells treatments
    apart, too. All are ranked over the same contexts, those of the first side: one that lacks some of them
    has no place, as a mean over the remaining ones would rank it by those alone.
    """
    if not sides.paired:
        return ()
    first = sides.sides[0]
    contexts = [context for context in sides.contexts if figures.of_side(first, context, metric)]
    of_sides = [
        figures.mean_of_complete_blocks([figures.logarithms(side, context, metric) for context in contexts])
        for side in sides.sides
    ]
    measured = [index for index, logs in enumerate(of_sides) if logs]
    if 0 not in measured or len(measured) < 2:
        return ()
    values = [
        (value, row, block) for row, index in enumerate(measured) for block, value in of_sides[index].items()
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
            continue  # in other blocks than the first side: nothing tells the two apart from these
        change = float(fitted.rows[row_of[index]] - fitted.rows[0])
        means[index] = math.exp(change if metric.higher_is_better else -change)

    def is_significant(first_index: int, other: int) -> bool:
        return bool(test.differ(row_of[first_index], row_of[other]))

    return tuple(rank(means, is_significant))
