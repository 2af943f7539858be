"""The comparison: every figure of every context, each side against the first, judged together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from loadcell.analysis.compare import figures
from loadcell.analysis.compare.figures import Figures, Ranked
from loadcell.analysis.compare.metrics import (
    DIFFERENT,
    USUAL,
    USUAL_LEAST_EFFECTS,
    LeastEffects,
    Metric,
    Verdict,
    Word,
    judge,
)
from loadcell.analysis.compare.sides import FEWEST_RUNS, Side, Sides
from loadcell.stats.multiple_testing import (
    FALSE_DISCOVERIES,
    benjamini_hochberg,
    holm,
    miss_rate_of_chosen,
)
from loadcell.stats.repeats import FEWEST_FOR_INTERVAL
from loadcell.stats.two_samples import (
    CrossCheck,
    Effect,
    Pairs,
    Ratio,
    Samples,
    cross_check,
)

#: Words of rows that are no verdict: groups of sides would claim what the design does not show.
NO_VERDICT: frozenset[Word] = frozenset({"insufficient", "no-value"})
#: The context that stands for all of them together.
OVERALL = "*"
#: Cross-checks are made for as many rows as are read; a bootstrap of thousands of rows would only take time.
MOST_CROSS_CHECKED = 60

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

    @property
    def contrary_medians(self) -> float | None:
        """The change of the medians, as a fraction, where the verdict claims a difference that does not agree
        with it: it has the other sign, or lies outside of the effect's interval.

        Without a difference known, medians are expected to lie on either side of it.
        """
        before, after = self.medians
        if not before or after is None or self.effect is None or self.verdict.word not in DIFFERENT:
            return None
        ratio, effect = after / before, self.effect
        if effect.low is not None and effect.high is not None and not effect.low <= ratio <= effect.high:
            return ratio - 1
        percent = [round((value - 1) * 100, 1) for value in (ratio, effect.ratio)]
        return ratio - 1 if percent[0] * percent[1] < 0 else None

    @property
    def gate_word(self) -> Word:
        """The verdict's word; *faster* and *slower* are *ambiguous* unless the probability of any false one
        among all rows is at most 5 % (Holm).
        """
        word = self.verdict.word
        called = word in {"faster", "slower"}
        return "ambiguous" if called and (self.gate_p is None or self.gate_p > FALSE_DISCOVERIES) else word


@dataclass(frozen=True)
class Comparison:
    """Everything found; `ranking` is empty for two sides and without any verdict, and ranks by the first
    metric over all contexts.

    `absent` are metrics that no side has a value of: there are no rows of them, unless it is the first one.
    """

    sides: Sides
    metrics: tuple[Metric, ...]
    rows: tuple[Row, ...]
    least_effects: LeastEffects
    ranking: tuple[Ranked, ...] = ()
    absent: tuple[Metric, ...] = ()

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
        return any(row.effect is None for row in self.headline) or bool(self.one_sided)

    @property
    def one_sided(self) -> tuple[Row, ...]:
        """Rows of a context that one side has a value of and the other has not."""
        return tuple(row for row in self.rows if (row.medians[0] is None) != (row.medians[1] is None))

    @property
    def undecided(self) -> bool:
        """True if the design allows no verdict on some side."""
        return any(row.verdict.word == "insufficient" for row in self.headline)

    @property
    def gate_words(self) -> frozenset[Word]:
        """Words of all rows, as a gate that one false alarm closes must read them: `Row.gate_word`."""
        return frozenset(row.gate_word for row in self.rows)


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
    valued = {row.metric for row in rows if row.effect is not None or row.medians != (None, None)}
    absent = tuple(metric for metric in metrics[1:] if metric not in valued)
    rows = [row for row in rows if row.metric not in absent]
    checked = tuple(_cross_checked(sides, rows, cross_checks))
    comparison = Comparison(sides, tuple(metrics), checked, least_effects, absent=absent)
    several = len(sides.sides) > 2
    if several and any(row.verdict.word not in NO_VERDICT for row in comparison.headline):
        comparison = replace(comparison, ranking=figures.rank_sides(sides, metrics[0]))
    return comparison


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
        else (
            figures.middle(figures.of_side(first, context, metric)),
            figures.middle(figures.of_side(other, context, metric)),
        ),
        effect,
        adjusted_p,
        floor,
        least_effect,
        judge(
            effect,
            adjusted_p,
            higher_is_better=metric.higher_is_better,
            directed=metric.directed,
            least_effect=least_effect,
            noise=floor,
            scarce=_scarce(sides, side, context, metric),
            lack=sides.lack(side),
        ),
        gate_p,
        (0, 0)
        if overall
        else (figures.unusable(first, context, metric), figures.unusable(other, context, metric)),
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
    return _of_logs(
        sides, figures.logarithms(first, context, metric), figures.logarithms(other, context, metric)
    )


def _of_logs(sides: Sides, a: Figures, b: Figures) -> Ratio | None:
    """From logarithms by block (or by run); None where there is nothing, or no pair, to compare."""
    if sides.paired:
        blocks = sorted(a.keys() & b.keys())
        return Pairs(np.array([b[block] - a[block] for block in blocks])) if blocks else None
    fewest = FEWEST_RUNS if sides.unit == "run" else FEWEST_FOR_INTERVAL
    return Samples(figures.array(a), figures.array(b), fewest) if a and b else None


def _overall(sides: Sides, first: Side, other: Side, metric: Metric) -> Ratio | None:
    """Over all contexts with values on both sides: the geometric mean of their ratios, block by block.

    A block counts where it is whole, so that no context weighs more in one block than in another.
    """
    overall = [
        (a, b)
        for context in sides.contexts
        if (a := figures.logarithms(first, context, metric))
        and (b := figures.logarithms(other, context, metric))
    ]
    if not overall:
        return None
    if sides.paired:
        joined = [{block: b[block] - a[block] for block in a.keys() & b.keys()} for a, b in overall]
        ratios = figures.mean_of_complete_blocks([item for item in joined if item])
        return Pairs(figures.array(ratios)) if ratios else None
    return _of_logs(
        sides,
        figures.mean_of_complete_blocks([a for a, _ in overall]),
        figures.mean_of_complete_blocks([b for _, b in overall]),
    )


def _cross_checked(sides: Sides, rows: Sequence[Row], budget: int) -> list[Row]:
    """The rows with what other methods say of them, as far as there are intervals."""
    checked = []
    for row in rows:
        if row.effect is None or row.effect.descriptive_only or row.context == OVERALL or budget <= 0:
            checked.append(row)
            continue
        budget -= 1
        a = figures.of_side(sides.sides[0], row.context, row.metric)
        b = figures.of_side(sides.sides[row.side], row.context, row.metric)
        if sides.paired:
            blocks = sorted(a.keys() & b.keys())
            a, b = {block: a[block] for block in blocks}, {block: b[block] for block in blocks}
        checked.append(
            replace(row, checked=cross_check(figures.array(a), figures.array(b), paired=sides.paired))
        )
    return checked
