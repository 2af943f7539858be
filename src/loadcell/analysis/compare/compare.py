"""The comparison: every figure of every context, each side against the first, judged together.

Judging goes from an effect to a word (`faster`, `slower`, `same` or `ambiguous`, and for the last one why),
and from words to ranks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import median
from typing import Literal

import numpy as np

from loadcell.analysis.compare.metrics import USUAL, Metric
from loadcell.analysis.compare.sides import Side, Sides
from loadcell.stats import hodges_lehmann as effect
from loadcell.stats.cross_check import CrossCheck, cross_check
from loadcell.stats.hodges_lehmann import FALSE_DISCOVERIES, Array, Effect, benjamini_hochberg

Word = Literal["same", "faster", "slower", "ambiguous"]
#: Why a verdict is what it is. For `ambiguous`: nothing to compare; too few transactions beyond a percentile;
#: too few blocks; the interval holds "no difference" and more than the least effect that matters; one such
#: interval in n is expected by chance; the difference is there, but whether it matters is not clear; it
#: is no larger than what identical arms differ by.
Reason = Literal["clear", "alike", "no-figure", "scarce", "few", "wide", "chance", "small", "noise"]

#: Below 2 % a change is seldom worth having, and layout, ASLR and the like alone move values by as much
#: (Mytkowicz 2009).
LEAST_EFFECT = 0.02


@dataclass(frozen=True)
class Verdict:
    """The word for B against A, and the reason for it."""

    word: Word
    reason: Reason


def judge(
    effect: Effect | None,
    adjusted_p: float | None,
    *,
    higher_is_better: bool,
    least_effect: float = LEAST_EFFECT,
    noise: float | None = None,
    scarce: bool = False,
) -> Verdict:
    """Judge B against A; where there is no effect, `scarce` says that it is for want of transactions.

    `least_effect` is the smallest change that matters, as a fraction; `noise` what identical arms were seen
    to differ by. *Same* needs the whole interval within the least effect; *faster* and *slower* an interval
    without 1 that outlives the correction, and an estimate beyond both.
    """
    if effect is None:
        return Verdict("ambiguous", "scarce" if scarce else "no-figure")
    if effect.low is None or effect.high is None or adjusted_p is None:
        return Verdict("ambiguous", "few")
    least = 1 + least_effect
    if 1 / least <= effect.low and effect.high <= least:
        return Verdict("same", "alike")
    if effect.low <= 1 <= effect.high:
        return Verdict("ambiguous", "wide")
    if adjusted_p > FALSE_DISCOVERIES:
        return Verdict("ambiguous", "chance")
    size = math.exp(abs(math.log(effect.ratio)))
    if size < least:
        return Verdict("ambiguous", "small")
    if noise is not None and size < 1 + noise:
        return Verdict("ambiguous", "noise")
    return Verdict("faster" if (effect.ratio > 1) == higher_is_better else "slower", "clear")


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


#: The context that stands for all of them together.
OVERALL = "*"
#: Cross-checks are made for as many rows as are read; a bootstrap of thousands of rows would only take time.
MOST_CROSS_CHECKED = 60

#: Values by block, and by arm where a run of identical arms is compared with something else.
Figures = Mapping[tuple[int, str], float]
#: What identical arms were seen to differ by, by metric and context, as a fraction.
Noise = Mapping[tuple[str, str], float]


@dataclass(frozen=True)
class Row:
    """One figure in one context, side `side` against the first one.

    `context` is a key of the sides' contexts or `OVERALL`; `medians` are those of the first side and of this
    one (None for OVERALL); `unusable` counts succeeded trials whose value is 0 or no number, of either.
    """

    side: int
    context: str
    metric: Metric
    medians: tuple[float | None, float | None]
    effect: Effect | None
    adjusted_p: float | None
    noise: float | None
    verdict: Verdict
    unusable: tuple[int, int] = (0, 0)
    checked: CrossCheck | None = None


@dataclass(frozen=True)
class Comparison:
    """Everything found; `ranking` is empty for two sides, and ranks by the first metric over all contexts."""

    sides: Sides
    metrics: tuple[Metric, ...]
    rows: tuple[Row, ...]
    least_effect: float
    ranking: tuple[Ranked, ...] = ()

    @property
    def headline(self) -> tuple[Row, ...]:
        """For each side but the first, the row of the first metric over all contexts."""
        context = OVERALL if len(self.sides.contexts) > 1 else next(iter(self.sides.contexts))
        return tuple(row for row in self.rows if row.context == context and row.metric == self.metrics[0])

    @property
    def incomplete(self) -> bool:
        """True if a context with a value on the first side has none on another side."""
        return any(row.effect is None for row in self.rows)


def compare(
    sides: Sides,
    metrics: Sequence[Metric] = USUAL,
    *,
    least_effect: float = LEAST_EFFECT,
    noise: Noise | None = None,
    cross_checks: int = MOST_CROSS_CHECKED,
) -> Comparison:
    """Compare every side with the first in every context, then in all of them together.

    `noise` is what identical arms differ by; the first `cross_checks` rows are looked at by other methods
    too.
    """
    matches = [
        _row(sides, side, context, metric)
        for side in range(1, len(sides.sides))
        for metric in metrics
        for context in _contexts(sides)
    ]
    adjusted = benjamini_hochberg([row.effect.p if row.effect else None for row in matches])
    floors = noise or {}
    rows = [
        replace(
            row,
            adjusted_p=p,
            noise=(floor := _noise_of(floors, sides, row)),
            verdict=judge(
                row.effect,
                p,
                higher_is_better=row.metric.higher_is_better,
                least_effect=least_effect,
                noise=floor,
                scarce=_scarce(sides, row),
            ),
        )
        for row, p in zip(matches, adjusted, strict=True)
    ]
    several = len(sides.sides) > 2
    return Comparison(
        sides,
        tuple(metrics),
        tuple(_cross_checked(sides, rows, cross_checks)),
        least_effect,
        _ranking(sides, metrics[0], least_effect, floors) if several else (),
    )


def _noise_of(noise: Noise, sides: Sides, row: Row) -> float | None:
    """The noise of the treatments in this row; where they were not measured, the most that was
    seen anywhere.
    """
    pair = (sides.sides[0], sides.sides[row.side])
    treatments = {trial.treatment for side in pair for trial in side.trials.get(row.context, ())} or {
        row.context
    }
    metric = row.metric.name
    noise_of_row = [noise[metric, treatment] for treatment in treatments if (metric, treatment) in noise]
    return max(noise_of_row or [size for (name, _), size in noise.items() if name == metric], default=None)


def _scarce(sides: Sides, row: Row) -> bool:
    """True if trials that the row is of had too few transactions for its percentile."""
    contexts = sides.contexts if row.context == OVERALL else (row.context,)
    pair = (sides.sides[0], sides.sides[row.side])
    trials = (trial for side in pair for context in contexts for trial in side.trials.get(context, ()))
    return any(trial.counts and row.metric.scarce(trial) for trial in trials)


def noise_floor(arms: Comparison) -> dict[tuple[str, str], float]:
    """Possible difference of identical arms, from their comparison: the far end of each interval, by metric
    and treatment.
    """
    return {
        (row.metric.name, row.context): math.expm1(
            max(abs(math.log(row.effect.low)), abs(math.log(row.effect.high)))
        )
        for row in arms.rows
        if row.effect is not None and row.effect.low is not None and row.effect.high is not None
    }


def _contexts(sides: Sides) -> list[str]:
    return [*sides.contexts, *([OVERALL] if len(sides.contexts) > 1 else [])]


def _row(sides: Sides, side: int, context: str, metric: Metric) -> Row:
    first, other = sides.sides[0], sides.sides[side]
    open_verdict = Verdict("ambiguous", "no-figure")
    if context == OVERALL:
        overall = _overall(sides, first, other, metric)
        return Row(side, context, metric, (None, None), overall, None, None, open_verdict)
    a, b = _figures(first, context, metric), _figures(other, context, metric)
    return Row(
        side,
        context,
        metric,
        (_median(a), _median(b)),
        _effect(_logs(a), _logs(b), sides.paired),
        None,
        None,
        open_verdict,
        (_unusable(first, context, metric), _unusable(other, context, metric)),
    )


def _figures(side: Side, context: str, metric: Metric) -> Figures:
    """Values of succeeded trials, by block."""
    return {
        (trial.block, trial.arm or ""): value
        for trial in side.trials.get(context, ())
        if trial.counts and (value := metric.of(trial)) is not None and value > 0
    }


def _unusable(side: Side, context: str, metric: Metric) -> int:
    """Number of succeeded trials with a throughput of zero, or a value that is no number."""
    trials = [trial for trial in side.trials.get(context, ()) if trial.status == "ok"]
    if metric.key is None:
        return sum(not (metric.of(trial) or 0) > 0 for trial in trials)
    return sum(
        value is not None and not (math.isfinite(value) and value > 0)
        for trial in trials
        for value in [(trial.response or {}).get(metric.key)]
    )


def _median(values: Figures) -> float | None:
    return median(values.values()) if values else None


def _logs(values: Figures) -> dict[tuple[int, str], float]:
    return {block: math.log(value) for block, value in values.items()}


def _effect(a: Figures, b: Figures, paired: bool) -> Effect | None:
    """The effect from logarithms by block; None where there is nothing, or no pair, to compare."""
    if paired:
        blocks = sorted(a.keys() & b.keys())
        return effect.of_pairs(np.array([b[block] - a[block] for block in blocks])) if blocks else None
    return effect.of_samples(_array(a), _array(b)) if a and b else None


def _array(values: Figures) -> Array:
    return np.array([values[block] for block in sorted(values)], dtype=np.float64)


def _overall(sides: Sides, first: Side, other: Side, metric: Metric) -> Effect | None:
    """Over all contexts with values on both sides: the geometric mean of their ratios, block by block.

    A block counts where it is whole, so that no context weighs more in one block than in another.
    """
    overall = [
        (a, b)
        for context in sides.contexts
        if (a := _logs(_figures(first, context, metric))) and (b := _logs(_figures(other, context, metric)))
    ]
    if not overall:
        return None
    if sides.paired:
        joined = [{block: b[block] - a[block] for block in a.keys() & b.keys()} for a, b in overall]
        ratios = _mean_of_complete_blocks([item for item in joined if item])
        return effect.of_pairs(_array(ratios)) if ratios else None
    return _effect(
        _mean_of_complete_blocks([a for a, _ in overall]),
        _mean_of_complete_blocks([b for _, b in overall]),
        paired=False,
    )


def _mean_of_complete_blocks(blocks: Sequence[Figures]) -> dict[tuple[int, str], float]:
    if not blocks:
        return {}
    common = set.intersection(*(set(item) for item in blocks))
    return {block: sum(item[block] for item in blocks) / len(blocks) for block in sorted(common)}


def _cross_checked(sides: Sides, rows: Sequence[Row], budget: int) -> list[Row]:
    """The rows with what other methods say of them, as far as there are intervals."""
    checked = []
    for row in rows:
        if row.effect is None or row.effect.descriptive_only or row.context == OVERALL or budget <= 0:
            checked.append(row)
            continue
        budget -= 1
        a = _figures(sides.sides[0], row.context, row.metric)
        b = _figures(sides.sides[row.side], row.context, row.metric)
        if sides.paired:
            blocks = sorted(a.keys() & b.keys())
            a, b = {block: a[block] for block in blocks}, {block: b[block] for block in blocks}
        checked.append(replace(row, checked=cross_check(_array(a), _array(b), paired=sides.paired)))
    return checked


def _ranking(sides: Sides, metric: Metric, least_effect: float, noise: Noise) -> tuple[Ranked, ...]:
    """All sides by one metric, each pair compared, all pairs corrected together.

    The value is the ratio to the first side, turned so that larger is better.
    """
    context = OVERALL if len(sides.contexts) > 1 else next(iter(sides.contexts))

    def between(first_index: int, other: int) -> Effect | None:
        pair = replace(sides, sides=(sides.sides[first_index], sides.sides[other]))
        return _row(pair, 1, context, metric).effect

    count = len(sides.sides)
    effects = {
        (first_index, other): between(first_index, other)
        for first_index, other in combinations(range(count), 2)
    }
    adjusted = benjamini_hochberg([best.p if best else None for best in effects.values()])
    words = {
        pair: judge(
            best,
            p,
            higher_is_better=metric.higher_is_better,
            least_effect=least_effect,
            noise=max((size for (name, _), size in noise.items() if name == metric.name), default=None),
        ).word
        for (pair, best), p in zip(effects.items(), adjusted, strict=True)
    }

    def value(index: int) -> float | None:
        if index == 0:  # the unit of the others, and nothing where there are none
            return 1.0 if any(effects[0, other] for other in range(1, count)) else None
        best = effects[0, index]
        return None if best is None else best.ratio if metric.higher_is_better else 1 / best.ratio

    def is_significant(first_index: int, other: int) -> bool:
        return words[min(first_index, other), max(first_index, other)] in {"faster", "slower"}

    return tuple(rank([value(index) for index in range(count)], is_significant))
