"""The best level of each factor: usable ones only, then by errors, tail, maximum, variation and GC pauses.

Criteria come one after the other, as in a list that is sorted by several keys: each keeps the levels that do
not differ significantly from its best one (`tukey`, with the levels of other factors and the repeats as
blocks), and the next one chooses among these. The best one is that of the lowest fitted effect, since the
test compares these, and the difference of the effects must be large enough to matter. Levels that remain
after all criteria are not distinguishable, which is a result, too.

Levels are compared only in combinations of the other factors in which every usable level has values and a
usable treatment: a level whose slowest combination has none, or only its survivors, would seem faster than
the others. Failed requests are counted in all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

import numpy as np

from loadcell.analysis.level_criteria import CRITERIA, TAIL, Criterion, failed_share, failed_share_of
from loadcell.analysis.recommend import is_choice
from loadcell.analysis.treatments import Treatment, short_keys
from loadcell.analysis.trials import Trial
from loadcell.analysis.tukey import TukeyTest
from loadcell.model.json import JsonObject
from loadcell.stats import additive

#: A level of which a larger share of requests fails is unusable.
MOST_FAILED = 0.05
#: Statuses of trials that the target or the load broke. Others without a result show nothing of a level.
_BROKEN = ("failed", "timed-out")
#: Paths of settings that a recommendation leaves alone: the work, and the load.
_GIVEN = ("workload.", "workloads.", "load.")

#: Levels of all other factors.
Combination = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Level:
    """A level of a factor, over the levels of all others. `values` are the settings that make it;
    `unusable` of its `treatments` have a trial without a result, or with too many failures. `by_combination`
    has the trials whose values count, by the levels of the other factors; `sound` are those with a
    usable treatment.
    """

    label: str
    values: JsonObject
    trials: tuple[Trial, ...]
    treatments: int
    unusable: int
    by_combination: Mapping[Combination, tuple[Trial, ...]]
    sound: frozenset[Combination]

    @cached_property
    def counting(self) -> tuple[Trial, ...]:
        """Trials whose values count."""
        return tuple(trial for trial in self.trials if trial.counts)

    @cached_property
    def broken(self) -> tuple[Trial, ...]:
        """Trials that ended without a result."""
        return tuple(trial for trial in self.trials if trial.status in _BROKEN)

    @property
    def usable(self) -> bool:
        """True if most of its treatments are."""
        return bool(self.counting) and 2 * self.unusable < self.treatments

    @property
    def has_few_requests(self) -> bool:
        """True if a trial has too few requests for a p99."""
        return any("p99_ms" in trial.left_out for trial in self.counting)

    @property
    def lacks_tail(self) -> bool:
        """True if a trial has response times, but its tool reports no p99."""
        return any(
            trial.response and TAIL.read(trial) is None and "p99_ms" not in trial.left_out
            for trial in self.counting
        )

    def combinations(self, criterion: Criterion) -> frozenset[Combination]:
        """Combinations in which every trial that counts has a value. Those of unusable treatments hold only
        for failures, and for a level that is not compared.
        """
        every = criterion.counts_failures or not self.usable
        return frozenset(
            combination
            for combination, trials in self.by_combination.items()
            if trials
            and (every or combination in self.sound)
            and all(criterion.read(trial) is not None for trial in trials)
        )

    def value(self, criterion: Criterion, combinations: Iterable[Combination]) -> float | None:
        """Value over these combinations; None if one lacks values."""
        compared = [self.by_combination.get(combination, ()) for combination in combinations]
        values = [[criterion.read(trial) for trial in trials] for trials in compared]
        if not values or any(not row or None in row for row in values):
            return None
        if criterion.counts_failures:
            return failed_share_of([trial for trials in compared for trial in trials])
        medians = [median(value for value in row if value is not None) for row in values]
        return criterion.average(medians)


@dataclass(frozen=True, eq=False)
class Comparison:
    """The combinations of the other factors in which a criterion compares levels: those for which every
    usable level has values, apart from levels without any. `complete` is true if there are none of these.
    """

    criterion: Criterion
    combinations: frozenset[Combination]
    complete: bool

    @property
    def decides(self) -> bool:
        """True if levels can be compared."""
        return self.complete and bool(self.combinations)

    def value(self, level: Level) -> float | None:
        """Value of a level; None if it lacks one in a combination."""
        return level.value(self.criterion, self.combinations)

    def trials(self, level: Level) -> tuple[Trial, ...]:
        """Trials of a level that are compared."""
        return tuple(
            trial
            for combination, trials in level.by_combination.items()
            if combination in self.combinations
            for trial in trials
        )


@dataclass(frozen=True, eq=False)
class Step:
    """A criterion that excluded levels: those which are significantly worse than the best one."""

    criterion: Criterion
    best: Level
    excluded: tuple[Level, ...]


@dataclass(frozen=True, eq=False)
class Choice:
    """The best level of a factor. `remaining` are those that no criterion excludes, by number of unusable
    treatments and then by p99; none where no level is usable. `averaged` names the other factors, of whose
    levels `combinations` were tried. `repeated` is false if nothing can be distinguished, as without repeats
    and other factors; `repeats` is the largest number of trials of a treatment that count.
    """

    key: str
    name: str
    levels: tuple[Level, ...]
    steps: tuple[Step, ...]
    remaining: tuple[Level, ...]
    averaged: tuple[str, ...]
    combinations: tuple[Combination, ...]
    comparisons: tuple[Comparison, ...]
    repeated: bool
    repeats: int

    @property
    def best(self) -> Level | None:
        """The only level left; None where several or none are."""
        return self.remaining[0] if len(self.remaining) == 1 else None

    @property
    def ranked(self) -> tuple[Level, ...]:
        """Usable levels, the best first: those that remain, then those that the last criterion excluded."""
        tail = next(item for item in self.comparisons if item.criterion is TAIL)
        excluded = (
            sorted(step.excluded, key=lambda level: tail.value(level) or math.inf)
            for step in reversed(self.steps)
        )
        return (*self.remaining, *(level for levels in excluded for level in levels))

    def value(self, level: Level, criterion: Criterion) -> float | None:
        """Value of a level in the combinations that are compared."""
        return next(item.value(level) for item in self.comparisons if item.criterion is criterion)

    def has_lowest_tail(self, level: Level, levels: Iterable[Level]) -> bool:
        """True if no other of these levels has a lower p99."""
        value = self.value(level, TAIL)
        others = (self.value(other, TAIL) for other in levels)
        return value is not None and all(other is None or value <= other for other in others)

    @property
    def unusable(self) -> tuple[Level, ...]:
        """Levels with treatments that are not usable."""
        return tuple(level for level in self.levels if level.unusable)


def choices(treatments: Sequence[Treatment], most_failed: float = MOST_FAILED) -> tuple[Choice, ...]:
    """The choice for each factor with several levels that were tried, in the order of the plan.

    None for factors that set the work, the load or faults: these are not chosen.
    """
    tried = [item for item in treatments if any(trial.status != "not-run" for trial in item.trials)]
    if not tried or not is_choice(tried):
        return ()
    names = short_keys(list(tried[0].levels))
    selected = (
        _choice(key, names, tried, most_failed) for key in names if not _is_given(key, _paths(key, tried))
    )
    return tuple(choice for choice in selected if len(choice.levels) > 1)


def _choice(key: str, names: dict[str, str], treatments: Sequence[Treatment], most_failed: float) -> Choice:
    grouped: dict[str, list[Treatment]] = {}
    for treatment in treatments:
        grouped.setdefault(treatment.levels[key], []).append(treatment)
    blocks = _Blocks(key, treatments)
    paths = _paths(key, treatments)
    levels = tuple(_level(label, key, same, paths, most_failed) for label, same in grouped.items())
    comparisons = tuple(_comparison(levels, criterion) for criterion in CRITERIA)
    remaining, steps, repeated = [level for level in levels if level.usable], [], False
    for comparison in comparisons:
        if len(remaining) < 2 or not comparison.decides or not _has_logarithms(remaining, comparison):
            continue
        judged = _Judged(blocks, remaining, comparison)
        repeated = repeated or judged.test.least_difference is not None
        if excluded := tuple(level for row, level in enumerate(remaining) if judged.is_worse(row)):
            steps.append(Step(comparison.criterion, remaining[judged.best], excluded))
            remaining = [level for level in remaining if level not in excluded]
    tail = next(item for item in comparisons if item.criterion is TAIL)
    remaining.sort(key=lambda level: (level.unusable, tail.value(level) or math.inf))
    return Choice(
        key=key,
        name=names[key],
        levels=levels,
        steps=tuple(steps),
        remaining=tuple(remaining),
        averaged=tuple(name for other, name in names.items() if other != key and _varies(other, treatments)),
        combinations=tuple(dict.fromkeys(_combination(key, item) for item in treatments)),
        comparisons=comparisons,
        repeated=repeated,
        repeats=max(sum(trial.counts for trial in item.trials) for item in treatments),
    )


def _combination(key: str, treatment: Treatment) -> Combination:
    return tuple(level for name, level in treatment.levels.items() if name != key)


def _comparison(levels: Sequence[Level], criterion: Criterion) -> Comparison:
    """Combinations in which a criterion compares levels; without a usable level, what all levels have."""
    compared = [level for level in levels if level.usable] or levels
    valued = [results for level in compared if (results := level.combinations(criterion))]
    common = frozenset.intersection(*valued) if valued else frozenset[Combination]()
    return Comparison(criterion, common, len(valued) == len(compared))


def _paths(key: str, treatments: Sequence[Treatment]) -> frozenset[str]:
    """Paths of the settings by which the levels of a factor differ, all other factors alike."""
    first: dict[Combination, JsonObject] = {}
    paths: set[str] = set()
    for item in treatments:
        other = first.setdefault(_combination(key, item), item.values)
        paths.update(path for path in {*other, *item.values} if other.get(path) != item.values.get(path))
    return frozenset(paths)


def _is_given(key: str, paths: frozenset[str]) -> bool:
    """True if a factor sets nothing but work and load."""
    return all(path.startswith(_GIVEN) for path in paths or {key})


def _has_logarithms(levels: Iterable[Level], comparison: Comparison) -> bool:
    return all(
        comparison.criterion.logarithm(trial) is not None
        for level in levels
        for trial in comparison.trials(level)
    )


def _varies(key: str, treatments: Iterable[Treatment]) -> bool:
    return len({treatment.levels[key] for treatment in treatments}) > 1


def _level(
    label: str, key: str, treatments: Sequence[Treatment], paths: frozenset[str], most_failed: float
) -> Level:
    """A level of these treatments; its settings are those of `paths`."""
    first = treatments[0].values
    values = {path: value for path, value in first.items() if path in paths}
    unusable = sum(not is_usable(treatment, most_failed) for treatment in treatments)
    trials = tuple(trial for item in treatments for trial in item.trials)
    by_combination: dict[Combination, tuple[Trial, ...]] = {}
    for item in treatments:
        counting = tuple(trial for trial in item.trials if trial.counts)
        by_combination[_combination(key, item)] = by_combination.get(_combination(key, item), ()) + counting
    broken = {_combination(key, item) for item in treatments if not is_usable(item, most_failed)}
    return Level(
        label,
        values,
        trials,
        len(treatments),
        unusable,
        by_combination,
        frozenset(by_combination.keys() - broken),
    )


def is_usable(treatment: Treatment, most_failed: float = MOST_FAILED) -> bool:
    """True if no trial of a treatment broke or has too many failures."""
    return not any(
        trial.status in _BROKEN or (trial.counts and (failed_share(trial) or 0.0) > most_failed)
        for trial in treatment.trials
    )


def combined(
    choices: Iterable[Choice], treatments: Iterable[Treatment], fixed_levels: Mapping[str, str] | None = None
) -> Treatment | None:
    """The treatment of the best levels of all factors, whatever the others are; None where none was run.
    `fixed_levels` by the key of their factor replace the best ones.
    """
    best = {choice.key: choice.remaining[0].label for choice in choices if choice.remaining}
    wanted = {**best, **(fixed_levels or {})}
    alike = (item for item in treatments if all(item.levels[key] == level for key, level in wanted.items()))
    return next(alike, None)


class _Blocks:
    """Blocks of the trials of one factor: equal levels of all other factors, in one block of the run."""

    def __init__(self, key: str, treatments: Iterable[Treatment]) -> None:
        self._held = {
            trial.name: (trial.block, *_combination(key, treatment))
            for treatment in treatments
            for trial in treatment.trials
        }

    def fit(
        self,
        levels: Sequence[Level],
        comparison: Comparison,
        logarithm: Callable[[Trial], float | None],
    ) -> additive.Additive:
        """Levels as rows, whose effects are means of logarithms without those of the blocks."""
        numbers: dict[tuple[object, ...], int] = {}
        values, rows, blocks = [], [], []
        for row, level in enumerate(levels):
            for trial in comparison.trials(level):
                if (value := logarithm(trial)) is not None:
                    values.append(value)
                    rows.append(row)
                    blocks.append(numbers.setdefault(self._held[trial.name], len(numbers)))
        return additive.fit(np.array(values), np.array(rows, dtype=np.int64), additive.numbered(blocks))


class _Judged:
    """Levels as rows of the test of a criterion; `best` has the lowest fitted effect."""

    def __init__(self, blocks: _Blocks, levels: Sequence[Level], comparison: Comparison) -> None:
        self._levels, self._comparison, criterion = levels, comparison, comparison.criterion
        self.test = TukeyTest(blocks.fit(levels, comparison, criterion.logarithm))
        self._effects = np.exp(self.test.fitted.rows)
        self._numerators = None
        if criterion.numerator is not None:
            numerators = blocks.fit(levels, comparison, criterion.logarithm_of_numerator)
            self._numerators = np.exp(numerators.rows)
        self.best = int(np.argmin(self._effects))

    def is_worse(self, row: int) -> bool:
        """True if a level is significantly worse than the best one, and by enough to matter."""
        return row != self.best and self._matters(row) and self.test.differ(self.best, row) is True

    def _matters(self, row: int) -> bool:
        criterion = self._comparison.criterion
        if criterion.counts_failures:
            best, other = (self._comparison.value(self._levels[index]) for index in (self.best, row))
            return best is not None and other is not None and criterion.matters(best, other)
        if not criterion.matters(float(self._effects[self.best]), float(self._effects[row])):
            return False
        # a ratio may be larger only by its denominator
        numerators = self._numerators
        return numerators is None or bool(numerators[row] >= criterion.least_ratio * numerators[self.best])
