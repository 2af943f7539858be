"""Which treatment had the highest throughput, what it cost, and how surely it was the highest.

This speaks of the levels that were tried, and of nothing between or beyond them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from loadcell.analysis.layout import Layout
from loadcell.analysis.treatments import Treatment
from loadcell.analysis.trials import Trial
from loadcell.stats.repeats import Repeats, interval

#: A level with this share of the highest throughput is nearly as good; the last 5 % are often paid dearly in
#: latency.
NEARLY = 0.95


@dataclass(frozen=True)
class Best:
    """The treatment with the highest median throughput among those measured.

    `lowest` is the other end; `tied` are treatments whose repeats overlap with the best one's, also block by
    block, so that this run does not tell them apart. Along a numeric factor, other factors held: `last` is
    the highest level tried, where
    `at_edge` says that it is the best itself; `factor` is that factor's key.
    """

    treatment: Treatment
    lowest: Treatment
    tied: tuple[Treatment, ...]
    last: Treatment | None
    at_edge: bool
    factor: str | None


def _throughput(treatment: Treatment) -> float:
    return treatment.throughput.median or 0.0


def reach(repeats: Repeats) -> tuple[float, float] | None:
    """Where the median may lie: the interval, or with too few repeats for one the extremes."""
    if repeats.interval is not None:
        return repeats.interval.low, repeats.interval.high
    if repeats.low is None or repeats.high is None:
        return None
    return repeats.low, repeats.high


def overlap(repeats: Repeats, other: Repeats) -> bool:
    """True if two medians may be one, as far as these repeats tell."""
    a, b = reach(repeats), reach(other)
    return a is not None and b is not None and a[0] <= b[1] and b[0] <= a[1]


def alike(
    treatment: Treatment,
    other: Treatment,
    repeats: Callable[[Treatment], Repeats],
    figure: Callable[[Trial], float | None],
) -> bool:
    """True if this run does not tell two treatments apart in a value: their medians may be one, and block by
    block neither
    was ahead of the other (the interval for the median of their ratio holds 1). What moves a whole block
    makes ranges overlap, and leaves its ratio as it is.
    """
    if not overlap(repeats(treatment), repeats(other)):
        return False
    here, there = (
        {trial.block: value for trial in item.trials if trial.counts and (value := figure(trial))}
        for item in (treatment, other)
    )
    between = interval([here[block] / there[block] for block in here if block in there])
    return between is None or between.low <= 1 <= between.high


def alike_in_throughput(treatment: Treatment, other: Treatment) -> bool:
    """The same of throughput."""
    return alike(treatment, other, lambda item: item.throughput, lambda trial: trial.throughput_per_s)


def find(treatments: Sequence[Treatment], layout: Layout) -> Best | None:
    """The best of the measured treatments; None when none was measured."""
    measured = [treatment for treatment in treatments if treatment.measured]
    if not measured:
        return None
    best = max(measured, key=_throughput)
    line = _line_through(best, measured, layout)
    tried = _line_through(best, treatments, layout)
    return Best(
        treatment=best,
        lowest=min(measured, key=_throughput),
        tied=tuple(other for other in measured if other is not best and alike_in_throughput(best, other)),
        last=line[-1] if line else None,
        at_edge=len(line) >= 3 and tried[-1] is best,
        factor=layout.x.key if layout.x is not None else None,
    )


def _line_through(best: Treatment, among: Sequence[Treatment], layout: Layout) -> list[Treatment]:
    """The treatments that differ from `best` in the numeric factor of `layout` alone, by rising level."""
    x = layout.x
    if x is None or not x.numeric:
        return []
    others = {key: level for key, level in best.levels.items() if key != x.key}
    line = [
        treatment
        for treatment in among
        if all(treatment.levels[key] == level for key, level in others.items())
    ]
    return sorted(line, key=lambda treatment: x.at[treatment.levels[x.key]])
