"""Main effects and interactions of factors: analysis of variance on the logarithmic scale.

On that scale a factor that costs a third costs a third everywhere, so effects are ratios and an interaction
is the remainder when ratios do not simply multiply (Jain, *The Art of Computer Systems Performance Analysis*,
1991, ch. 16-23).
`docs/reference/methods/effects.md` has the arithmetic.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from loadcell.analysis.layout import asked
from loadcell.analysis.load_curves import RATE
from loadcell.analysis.recommend import is_choice
from loadcell.analysis.sweep import LOAD, Figure, fit
from loadcell.analysis.treatments import Treatment, short_keys
from loadcell.stats import additive, distributions
from loadcell.stats.additive import COVERAGE, LEAST_NOISE, Additive, Floats, Indices

#: A term is significant if chance gives its F this rarely, over all terms (Bonferroni).
SURPRISE = 0.05
#: Without repeats, a term matters when it explains at least this share of the variation; a factor also when
#: it multiplies throughput by `MUCH`: a load from 1 to 256 clients explains nearly all variation, and a loss
#: of a fifth matters nevertheless.
HARDLY, MUCH = 0.05, 1.2
#: With repeats, a significant effect matters from this factor on: the minimum practical effect.
LEAST_EFFECT = 1.02
#: Number of bootstrap resamples from which the choice of a level is repeated.
RESAMPLES = 1000
#: Interactions of three and more factors are put together: nobody can act on one of them.
MOST_COMBINED = 2

Design = Literal["full", "one-at-a-time"]
#: Why there are no effects to speak of; "" where there are.
Reason = Literal["", "one-factor", "nothing", "missing", "shape", "open-loop"]


@dataclass(frozen=True)
class Ratio:
    """One figure over another: 1 is no difference. The ends of the 95 % interval are None without repeats, or
    where no blocks join the two.
    """

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def is_significant(self) -> bool | None:
        """True if the interval leaves out 1; None without one."""
        return None if self.low is None or self.high is None else not self.low <= 1 <= self.high

    @property
    def ends(self) -> tuple[float, float]:
        """The interval; the value itself, twice, without one."""
        return (self.value if self.low is None else self.low, self.value if self.high is None else self.high)

    @property
    def size(self) -> float:
        """Distance from 1, either way: 1.2 for 1.2 and for 1/1.2."""
        return max(self.value, 1 / self.value)


@dataclass(frozen=True)
class Change:
    """Ratio of the metric between one level of a factor and another; `base` is where that was, if
    one place. `at` has the levels of other factors under which it was, empty where these are averaged over.
    """

    key: str
    before: str
    after: str
    ratio: Ratio
    base: Treatment | None = None
    at: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class MainEffect:
    """A factor's own effect, over all levels of the others: each level against the overall (geometric) mean.

    `change` goes from the level with the lowest figure to the one with the highest, in the plan's order.
    `largest` is the largest change between these two under one combination of the other factors' levels.
    """

    key: str
    levels: Mapping[str, Ratio]
    change: Change
    largest: Change
    share: float
    real: bool | None

    @property
    def matters(self) -> bool:
        """True if it is worth speaking of."""
        size = self.change.ratio.size
        if self.real is None:
            return self.share >= HARDLY or size >= MUCH
        return self.real and size >= LEAST_EFFECT

    @property
    def is_uneven(self) -> bool:
        """True if the effect is large under a combination of the other factors' levels."""
        return self.largest.ratio.size >= MUCH


@dataclass(frozen=True)
class Interaction:
    """Two factors' interaction: what `of` does at each level of `at`. `share` and `real` as for `MainEffect`.

    `cells` holds each pair of levels (of, at) against the overall (geometric) mean.
    """

    of: str
    at: str
    changes: Mapping[str, Change]
    cells: Mapping[tuple[str, str], Ratio]
    share: float
    real: bool | None

    @property
    def matters(self) -> bool:
        """True if it is worth speaking of: how far apart are the ratios that should be one?"""
        ratios = [change.ratio.value for change in self.changes.values()]
        if self.real is None:
            return self.share >= HARDLY
        return self.real and max(ratios) / min(ratios) >= LEAST_EFFECT


@dataclass(frozen=True)
class Choice:
    """The level of a factor that is never far behind, whatever the others are (minimax regret; Savage 1951).

    `buys` is its figure over that of the worst level where this is most, `risks` over that of the best level
    where this is least: 1 where it is the best one everywhere; `surely` says that nowhere repeats fail to
    tell it from another level then. `alike` are levels that it might as well be, from what repeats differ by;
    none without repeats.
    """

    key: str
    level: str
    buys: float
    risks: float
    surely: bool
    alike: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Effects:
    """A run's effects on one figure.

    `share` is that of the variation in the figure's logarithm, `higher` what interactions of three and more
    factors explain, `noise` what repeats of one treatment do; together with all terms these are 1. In a
    `one-at-a-time` design there are no shares and no `interactions`, and `changes` go from the baseline to
    each other level; of a single factor (`one-factor`) they have its largest change alone.
    `repeated` says that there is noise to hold effects against, `alike` that there are repeats, but all the
    same number; `choices` has factors that matter; `missing` names treatments without a value.
    """

    design: Design
    reason: Reason
    names: Mapping[str, str]
    mains: tuple[MainEffect, ...] = ()
    interactions: tuple[Interaction, ...] = ()
    higher: float = 0.0
    noise: float = 0.0
    changes: tuple[Change, ...] = ()
    choices: tuple[Choice, ...] = ()
    repeated: bool = False
    alike: bool = False
    missing: tuple[Treatment, ...] = ()


def find(treatments: Sequence[Treatment], figure: Figure, design: str) -> Effects:
    """Effects on a metric (a number above 0) of a run whose plan has `design`."""
    kind: Design = "one-at-a-time" if design == "one-at-a-time" else "full"
    every = dict.fromkeys(key for treatment in treatments for key in treatment.levels)
    keys = [key for key in every if len(_levels(key, treatments)) > 1]
    names = dict(zip(keys, short_keys(keys).values(), strict=True))
    if _follows_rate(treatments):
        return Effects(kind, "open-loop", names)
    if len(keys) < 2:
        return _of_one(treatments, figure, names, kind)
    if any(key not in treatment.levels for key in keys for treatment in treatments):
        return Effects(kind, "shape", names)
    usable = [item for item in treatments if any(figure(trial) for trial in item.trials)]
    missing = tuple(item for item in treatments if item not in usable)
    if not usable:
        return Effects(kind, "nothing", names, missing=missing)
    fitted = fit(usable, figure)
    assert fitted is not None
    estimate = _Contrasts(fitted)
    complete = len(treatments) == math.prod(len(_levels(key, treatments)) for key in keys)
    if not complete and kind == "one-at-a-time":
        return _one_at_a_time(usable, _baselines(treatments, keys), missing, estimate, names)
    if missing or not complete:
        return Effects("full", "missing", names, missing=missing)
    return _full(usable, estimate, names)


def _follows_rate(treatments: Sequence[Treatment]) -> bool:
    """True if throughput is the rate that each treatment asked for, whatever its settings."""
    loops = [trial.open_loop for item in treatments for trial in item.trials if trial.counts]
    return bool(loops) and all(loop is not None and loop.sustained for loop in loops)


def _of_one(
    treatments: Sequence[Treatment], figure: Figure, names: Mapping[str, str], kind: Design
) -> Effects:
    """The largest change between levels of a single factor, where all were measured.

    There is none of the rate of an open loop, and none of faults: levels of these are no settings, and the
    effect of each fault is found by itself (`loadcell.analysis.faults`).
    """
    none = Effects(kind, "one-factor", names)
    usable = [item for item in treatments if any(figure(trial) for trial in item.trials)]
    alone = [key for key in names if key != RATE]
    if (
        not is_choice(treatments)
        or not alone
        or len(usable) < len(treatments)
        or any(alone[0] not in item.levels for item in treatments)
    ):
        return none
    fitted = fit(usable, figure)
    assert fitted is not None
    estimate = _Contrasts(fitted)
    rows = _Rows(usable, estimate, {key: _levels(key, usable) for key in alone})
    return replace(
        none,
        changes=tuple(rows.change(key, {}) for key in alone),
        repeated=estimate.repeated,
        alike=estimate.alike,
    )


def _levels(key: str, treatments: Sequence[Treatment]) -> tuple[str, ...]:
    """A factor's levels in the plan's order."""
    return tuple(dict.fromkeys(item.levels[key] for item in treatments if key in item.levels))


class _Contrasts:
    """Sums of treatment effects with their intervals: Student's, from the spread pooled over treatments."""

    def __init__(self, estimate: Additive) -> None:
        self.fitted = estimate
        variance = estimate.variance
        self.repeated = variance is not None
        self.alike = variance is None and estimate.freedom > 0
        self.variance = variance or 0.0
        self.reach = distributions.t_quantile(COVERAGE, estimate.freedom) if self.repeated else 0.0

    def reach_of_range(self, levels: int) -> float | None:
        """Quantile for the difference of the lowest and the highest of several levels, in its standard
        errors.
        """
        if not self.repeated:
            return None
        return distributions.range_quantile(COVERAGE, levels, self.fitted.freedom) / math.sqrt(2)

    def reach_from_baseline(self, others: int) -> float | None:
        """Dunnett's quantile for the differences of several treatments from one baseline."""
        if not self.repeated:
            return None
        return distributions.dunnett_quantile(COVERAGE, others, self.fitted.freedom)

    def ratio(self, weights: Floats, reach: float | None = None) -> Ratio:
        """exp of the weighted sum of the rows' logarithms (R,).

        `reach` is the quantile of the interval in standard errors: Student's, unless the contrast was chosen
        among several.
        """
        value = float(weights @ self.fitted.rows)
        share = self.fitted.error(weights) if self.repeated else None
        if share is None:
            return Ratio(math.exp(value))
        error = (reach or self.reach) * math.sqrt(self.variance) * share
        return Ratio(math.exp(value), math.exp(value - error), math.exp(value + error))


def _full(treatments: Sequence[Treatment], estimate: _Contrasts, names: Mapping[str, str]) -> Effects:
    """All terms of a full factorial: unweighted means, should treatments differ in how many trials count."""
    keys = list(names)
    levels = {key: _levels(key, treatments) for key in keys}
    order = {
        tuple(levels[key].index(item.levels[key]) for key in keys): row for row, item in enumerate(treatments)
    }
    shape = tuple(len(levels[key]) for key in keys)
    order_of_cells = np.array([order[cell] for cell in np.ndindex(*shape)])
    table = estimate.fitted.rows[order_of_cells].reshape(shape)
    squares, freedoms = _squares(table, estimate.fitted.effective_count)
    residual = float(np.sum(estimate.fitted.residuals**2))
    total = sum(squares.values()) + residual
    if total <= len(estimate.fitted.residuals) * LEAST_NOISE**2:
        total = math.inf  # every figure is the same: nothing varies that could be explained
    terms = sum(len(term) <= MOST_COMBINED for term in squares)

    def real(term: tuple[int, ...]) -> bool | None:
        if not estimate.repeated:
            return None
        f = squares[term] / freedoms[term] / estimate.variance
        return distributions.f_tail(f, freedoms[term], estimate.fitted.freedom) * terms < SURPRISE

    rows = _Rows(treatments, estimate, levels)
    mains = tuple(
        MainEffect(key, {level: rows.cell({key: level}) for level in levels[key]}, rows.change(key, {}),
             rows.largest(key), squares[(axis,)] / total, real((axis,)))
        for axis, key in enumerate(keys)
    )  # fmt: skip
    shares = {main.key: main.share for main in mains}
    combined = []
    for pair in itertools.combinations(range(len(keys)), 2):
        # What is asked of the target is the condition, and what can be chosen is what does something under
        # it.
        of, at = sorted((keys[axis] for axis in pair), key=lambda key: (asked(key), -shares[key]))
        start, end = rows.ends(of)
        changes = {level: rows.between(of, start, end, {at: level}) for level in levels[at]}
        cells = {
            pair_of: rows.cell(dict(zip((of, at), pair_of, strict=True)))
            for pair_of in itertools.product(levels[of], levels[at])
        }
        combined.append(Interaction(of, at, changes, cells, squares[pair] / total, real(pair)))
    # a load is no setting to choose: saturation speaks of it; nor is the work that is asked for
    matter = [main.key for main in mains if main.matters]
    matter += [key for pair in combined if pair.matters for key in (pair.of, pair.at)]
    again = estimate.fitted.rows[None]  # as measured, then as they might have been
    if estimate.repeated:
        drawn = additive.draws(estimate.fitted, RESAMPLES, np.random.default_rng(0))
        again = np.concatenate([again, again + drawn])
    higher = sum(value for term, value in squares.items() if len(term) > MOST_COMBINED)
    return Effects(
        "full", "", names,
        mains=tuple(sorted(mains, key=lambda main: -main.share)),
        choices=tuple(
            _choice(
                key, levels[key], np.moveaxis(order_of_cells.reshape(shape), axis,
                0).reshape(len(levels[key]), -1), again, estimate
            )
            for axis, key in enumerate(keys)
            if key in matter and key != LOAD and not asked(key)
        ),
        interactions=tuple(sorted(combined, key=lambda term: -term.share)),
        higher=higher / total, noise=residual / total, repeated=estimate.repeated, alike=estimate.alike,
    )  # fmt: skip


def _choice(key: str, levels: Sequence[str], rows: Indices, again: Floats, estimate: _Contrasts) -> Choice:
    """From the numbers of the fitted rows (L, C), a row a level and a column a combination of the other
    factors' levels, and
    from their logarithms (T, R): first as measured, then as they might have been."""
    tables = again[:, rows]
    behind = tables.max(axis=1, keepdims=True) - tables
    safest = behind.max(axis=2).argmin(axis=1)
    at, table = int(safest[0]), tables[0]
    often = np.bincount(safest[1:], minlength=len(levels)) / max(1, len(safest) - 1)
    alike = tuple(level for index, level in enumerate(levels) if index != at and often[index] > 1 - COVERAGE)
    buys = float((table[at] - table.min(axis=0)).max())
    identity = np.eye(len(estimate.fitted.rows))
    surely = all(
        not estimate.repeated or estimate.ratio(identity[rows[at, column]] - identity[row]).is_significant
        for column in range(rows.shape[1])
        for row in np.delete(rows[:, column], at)
    )
    return Choice(key, levels[at], math.exp(buys), math.exp(-float(behind[0, at].max())), surely, alike)


def _squares(
    table: Floats, per_cell: float
) -> tuple[dict[tuple[int, ...], float], dict[tuple[int, ...], int]]:
    """Sums of squares and degrees of freedom of every term of a table with an axis a factor, `each` values a
    cell.
    """
    axes = range(table.ndim)
    squares: dict[tuple[int, ...], float] = {}
    freedoms: dict[tuple[int, ...], int] = {}
    for size in range(1, table.ndim + 1):
        for term in itertools.combinations(axes, size):
            others = tuple(axis for axis in axes if axis not in term)
            effect = table.mean(axis=others, keepdims=True) if others else table
            for axis in term:
                effect = effect - effect.mean(axis=axis, keepdims=True)
            repeated = table.size / effect.size
            squares[term] = float(np.sum(effect**2)) * repeated * per_cell
            freedoms[term] = math.prod(table.shape[axis] - 1 for axis in term)
    return squares, freedoms


class _Rows:
    """Contrasts between means over the treatments with certain levels."""

    def __init__(
        self, treatments: Sequence[Treatment], estimate: _Contrasts, levels: Mapping[str, tuple[str, ...]]
    ) -> None:
        self.estimate, self.levels = estimate, levels
        self.having = {
            (key, level): np.array([item.levels[key] == level for item in treatments], dtype=np.float64)
            for key, levels_of_key in levels.items()
            for level in levels_of_key
        }

    def mean(self, levels: Mapping[str, str]) -> Floats:
        """Weights of the mean over all treatments with these levels."""
        weights = np.ones(len(self.estimate.fitted.rows))
        for item in levels.items():
            weights = weights * self.having[item]
        return np.asarray(weights / weights.sum())

    def cell(self, levels: Mapping[str, str]) -> Ratio:
        """The treatments with these levels against the mean of all."""
        return self.estimate.ratio(self.mean(levels) - self.mean({}))

    def ends(self, key: str) -> tuple[str, str]:
        """The levels with the lowest and the highest figure, the earlier one first."""
        at = [float(self.mean({key: level}) @ self.estimate.fitted.rows) for level in self.levels[key]]
        first, last = sorted((int(np.argmin(at)), int(np.argmax(at))))
        if first == last:  # all the same
            last = len(at) - 1
        return self.levels[key][first], self.levels[key][last]

    def between(self, key: str, start: str, end: str, held: Mapping[str, str]) -> Change:
        """From one level to another, other factors' levels held or averaged over.

        The two were chosen as the ends of all levels: their interval has the quantile of the studentised
        range.
        """
        weights = self.mean({**held, key: end}) - self.mean({**held, key: start})
        ratio = self.estimate.ratio(weights, self.estimate.reach_of_range(len(self.levels[key])))
        return Change(key, start, end, ratio, at=held)

    def change(self, key: str, held: Mapping[str, str]) -> Change:
        """Between the levels that matter most."""
        return self.between(key, *self.ends(key), held)

    def largest(self, key: str) -> Change:
        """The largest of these changes under one combination of the other factors' levels."""
        others = [other for other in self.levels if other != key]
        combinations = itertools.product(*(self.levels[other] for other in others))
        changes = [self.change(key, dict(zip(others, levels, strict=True))) for levels in combinations]
        return max(changes, key=lambda change: change.ratio.size)


def _one_at_a_time(
    treatments: Sequence[Treatment],
    baselines: Sequence[Treatment],
    missing: tuple[Treatment, ...],
    estimate: _Contrasts,
    names: Mapping[str, str],
) -> Effects:
    """Each level against the baseline with the same levels of crossed factors."""
    middles = [index for index, item in enumerate(treatments) if item in baselines]
    if not middles:
        return Effects("one-at-a-time", "missing", names, missing=missing)
    changes = []
    rows = np.eye(len(treatments))
    reach = estimate.reach_from_baseline(max(1, len(treatments) - 1))
    for index, item in enumerate(treatments):
        for base in middles[:1] if index in middles else middles:
            before = treatments[base].levels
            different = [key for key in names if item.levels[key] != before[key]]
            if len(different) == 1:
                key = different[0]
                ratio = estimate.ratio(rows[index] - rows[base], reach)
                changes.append(Change(key, before[key], item.levels[key], ratio, treatments[base]))
    return Effects(
        "one-at-a-time", "", names,
        changes=tuple(changes), repeated=estimate.repeated, alike=estimate.alike, missing=missing,
    )  # fmt: skip


def _baselines(treatments: Sequence[Treatment], keys: Sequence[str]) -> list[Treatment]:
    """The treatments that factors were varied round, one for each combination of crossed factors.

    A baseline's level is that of more treatments than any other level of its factor; the levels of a crossed
    factor are alike in this.
    """
    usual = {}
    for key in keys:
        often = Counter(item.levels[key] for item in treatments)
        usual[key] = {level for level, count in often.items() if count == max(often.values())}
    return [item for item in treatments if all(item.levels[key] in usual[key] for key in keys)]
