"""The comparison: every figure of every context, each side against the first, judged together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from loadcell.analysis.compare.metrics import USUAL, USUAL_LEAST_EFFECTS, LeastEffects, Metric
from loadcell.analysis.compare.ranking import Ranked, rank
from loadcell.analysis.compare.sides import FEWEST_RUNS, Side, Sides
from loadcell.analysis.compare.verdict import Verdict, Word, judge
from loadcell.analysis.trials import Trial
from loadcell.analysis.tukey import TukeyTest
from loadcell.stats import additive
from loadcell.stats.cross_check import CrossCheck, cross_check
from loadcell.stats.hodges_lehmann import Array, Effect, Pairs, Ratio, Samples
from loadcell.stats.multiple_testing import FALSE_DISCOVERIES, benjamini_hochberg, holm, miss_rate_of_chosen
from loadcell.stats.repeats import FEWEST_FOR_INTERVAL

#: The context that stands for all of them together.
OVERALL = "*"
#: Cross-checks are made for as many rows as are read; a bootstrap of thousands of rows would only take time.
MOST_CROSS_CHECKED = 60

#: Values by block, and by arm where a run of identical arms is compared with something else; by the number of
#: the run where a side is several.
Figures = Mapping[tuple[int, str], float]
#: What identical arms were seen to differ by, by metric and context, as a fraction.
Noise = Mapping[tuple[str, str], float]


@dataclass(frozen=True)
class Row:
    """One figure in one context, side `side` against the first one.

    `context` is a key of the sides' contexts or `OVERALL`; `medians` are those of the first side and of this
    one (None for OVERALL); `unusable` counts succeeded trials whose value is 0 or no number, of either.
    `adjusted_p` limits the share of false differences among those called, `gate_p` the probability of any.
    """

    side: int
    context: str
    metric: Metric
    medians: tuple[float | None, float | None]
    effect: Effect | None
    adjusted_p: float | None
    noise: float | None
    least_effect: float
    verdict: Verdict
    gate_p: float | None = None
    unusable: tuple[int, int] = (0, 0)
    checked: CrossCheck | None = None


@dataclass(frozen=True)
class Comparison:
    """Everything found; `ranking` is empty for two sides, and ranks by the first metric over all contexts."""

    sides: Sides
    metrics: tuple[Metric, ...]
    rows: tuple[Row, ...]
    least_effects: LeastEffects
    ranking: tuple[Ranked, ...] = ()

    @property
    def least_effect(self) -> float:
        """That of the first metric."""
        return self.least_effects.of(self.metrics[0])

    @property
    def headline(self) -> tuple[Row, ...]:
        """For each side but the first, the row of the first metric over all contexts."""
        context = OVERALL if len(self.sides.contexts) > 1 else next(iter(self.sides.contexts))
        return tuple(row for row in self.rows if row.context == context and row.metric == self.metrics[0])

    @property
    def incomplete(self) -> bool:
        """True if a side has no value, or a context has a value on one side only.

        A context that neither side measured does not count.
        """
        return any(row.effect is None for row in self.headline) or any(
            (row.medians[0] is None) != (row.medians[1] is None) for row in self.rows
        )

    @property
    def undecided(self) -> bool:
        """True if the design allows no verdict on some side."""
        return any(row.verdict.word == "insufficient" for row in self.headline)

    @property
    def gate_words(self) -> frozenset[Word]:
        """Words of all rows; *faster* and *slower* only where the probability of any false one among all rows
        is at most 5 % (Holm), as for a gate that one false alarm closes.
        """
        return frozenset(
            row.verdict.word
            for row in self.rows
            if row.verdict.word not in {"faster", "slower"}
            or (row.gate_p is not None and row.gate_p <= FALSE_DISCOVERIES)
        )


def compare(
    sides: Sides,
    metrics: Sequence[Metric] = USUAL,
    *,
    least_effects: LeastEffects = USUAL_LEAST_EFFECTS,
    noise: Noise | None = None,
    cross_checks: int = MOST_CROSS_CHECKED,
) -> Comparison:
    """Compare every side with the first in every context, then in all of them together.

    `noise` is what identical arms differ by; the first `cross_checks` rows are looked at by other methods
    too.
    """
    compared = [
        (side, context, metric)
        for side in range(1, len(sides.sides))
        for metric in metrics
        for context in _contexts(sides)
    ]
    ratios = [_ratio(sides, side, context, metric) for side, context, metric in compared]
    families = [context == OVERALL for _, context, _ in compared]
    judged = _corrected(sides, [side for side, _, _ in compared], ratios, families)
    gate = holm([None if item is None else item.p for item, _ in judged])
    floors = noise or {}
    rows = [
        _row(sides, position, effect, p, gate_p, floors, least_effects.of(position[2]))
        for position, (effect, p), gate_p in zip(compared, judged, gate, strict=True)
    ]
    several = len(sides.sides) > 2
    return Comparison(
        sides,
        tuple(metrics),
        tuple(_cross_checked(sides, rows, cross_checks)),
        least_effects,
        _ranking(sides, metrics[0]) if several else (),
    )


def _corrected(
    sides: Sides, compared: Sequence[int], ratios: Sequence[Ratio | None], families: Sequence[bool]
) -> list[tuple[Effect | None, float | None]]:
    """Effects with p-values corrected for multiple testing, and intervals corrected for the selection of the
    significant ones. Families are the single contexts and all contexts combined. Effects whose design allows
    no verdict do not count.
    """
    counts = [
        ratio is not None and sides.lack(side) is None for side, ratio in zip(compared, ratios, strict=True)
    ]
    comparisons = max(1, sum(counts))
    effects = [
        None if ratio is None else ratio.effect(comparisons if count else 1)
        for ratio, count in zip(ratios, counts, strict=True)
    ]
    effects = [
        effect if effect is None or count else replace(effect, p=None)
        for effect, count in zip(effects, counts, strict=True)
    ]
    adjusted = benjamini_hochberg([None if effect is None else effect.p for effect in effects])
    outside = {
        family: miss_rate_of_chosen(
            [p for p, of_family in zip(adjusted, families, strict=True) if of_family is family]
        )
        for family in (False, True)
    }
    return [
        (
            ratio.effect(comparisons, outside[family])
            if ratio is not None and p is not None and p <= FALSE_DISCOVERIES
            else effect,
            p,
        )
        for ratio, effect, p, family in zip(ratios, effects, adjusted, families, strict=True)
    ]


def _row(
    sides: Sides,
    position: tuple[int, str, Metric],
    effect: Effect | None,
    adjusted_p: float | None,
    gate_p: float | None,
    floors: Noise,
    least_effect: float,
) -> Row:
    side, context, metric = position
    first, other = sides.sides[0], sides.sides[side]
    overall = context == OVERALL
    floor = _noise_of(floors, sides, side, context, metric)
    return Row(
        side,
        context,
        metric,
        (None, None)
        if overall
        else (_median(_figures(first, context, metric)), _median(_figures(other, context, metric))),
        effect,
        adjusted_p,
        floor,
        least_effect,
        judge(
            effect,
            adjusted_p,
            higher_is_better=metric.higher_is_better,
            least_effect=least_effect,
            noise=floor,
            scarce=_scarce(sides, side, context, metric),
            lack=sides.lack(side),
        ),
        gate_p,
        (0, 0) if overall else (_unusable(first, context, metric), _unusable(other, context, metric)),
    )


def _noise_of(noise: Noise, sides: Sides, side: int, context: str, metric: Metric) -> float | None:
    """The noise of the treatments in this row; where they were not measured, the most that was
    seen anywhere.
    """
    pair = (sides.sides[0], sides.sides[side])
    treatments = {trial.treatment for item in pair for trial in item.trials.get(context, ())} or {context}
    key = metric.name
    noise_of_row = [noise[key, treatment] for treatment in treatments if (key, treatment) in noise]
    return max(noise_of_row or [size for (name, _), size in noise.items() if name == key], default=None)


def _scarce(sides: Sides, side: int, context: str, metric: Metric) -> bool:
    """True if trials that the row is of had too few transactions for its percentile."""
    contexts = sides.contexts if context == OVERALL else (context,)
    pair = (sides.sides[0], sides.sides[side])
    trials = (trial for item in pair for name in contexts for trial in item.trials.get(name, ()))
    return any(trial.counts and metric.scarce(trial) for trial in trials)


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


def _ratio(sides: Sides, side: int, context: str, metric: Metric) -> Ratio | None:
    """The values from which a row is estimated; None without values, or without pairs."""
    first, other = sides.sides[0], sides.sides[side]
    if context == OVERALL:
        return _overall(sides, first, other, metric)
    return _of_logs(sides, _logs(_figures(first, context, metric)), _logs(_figures(other, context, metric)))


def _figures(side: Side, context: str, metric: Metric) -> Figures:
    """Values of succeeded trials, by block; of a side of several runs the median of each."""
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


def _of_logs(sides: Sides, a: Figures, b: Figures) -> Ratio | None:
    """From logarithms by block (or by run); None where there is nothing, or no pair, to compare."""
    if sides.paired:
        blocks = sorted(a.keys() & b.keys())
        return Pairs(np.array([b[block] - a[block] for block in blocks])) if blocks else None
    fewest = FEWEST_RUNS if sides.unit == "run" else FEWEST_FOR_INTERVAL
    return Samples(_array(a), _array(b), fewest) if a and b else None


def _array(values: Figures) -> Array:
    return np.array([values[block] for block in sorted(values)], dtype=np.float64)


def _overall(sides: Sides, first: Side, other: Side, metric: Metric) -> Ratio | None:
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
        return Pairs(_array(ratios)) if ratios else None
    return _of_logs(
        sides,
        _mean_of_complete_blocks([a for a, _ in overall]),
        _mean_of_complete_blocks([b for _, b in overall]),
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


def _ranking(sides: Sides, metric: Metric) -> tuple[Ranked, ...]:
    """All sides by one metric; empty where blocks are no pairs, or repeats tell nothing.

    The value is the ratio to the first side, turned so that larger is better. Groups are those of Tukey's
    honestly significant difference on block-adjusted logarithms, by which a run's report tells treatments
    apart, too.
    """
    if not sides.paired:
        return ()
    of_sides = [_logs_of_blocks(sides, side, metric) for side in sides.sides]
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
        change = float(fitted.rows[row_of[index]] - fitted.rows[0])
        means[index] = math.exp(change if metric.higher_is_better else -change)

    def is_significant(first_index: int, other: int) -> bool:
        return bool(test.differ(row_of[first_index], row_of[other]))

    return tuple(rank(means, is_significant))


def _logs_of_blocks(sides: Sides, side: Side, metric: Metric) -> Figures:
    """A side's logarithms by block, over all contexts in which it has values."""
    logs = [_logs(_figures(side, context, metric)) for context in sides.contexts]
    return _mean_of_complete_blocks([item for item in logs if item])
