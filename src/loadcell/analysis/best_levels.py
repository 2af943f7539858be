"""The best level of each factor: usable ones only, then by errors, tail, maximum, variation and GC pauses.

Criteria come one after the other, as in a list that is sorted by several keys: each keeps the levels that do
not differ significantly from its best one (`tukey`, with the levels of other factors and the repeats as
blocks), and the next one chooses among these. A difference must also be large enough to matter. Levels that
remain after all criteria are not distinguishable, which is a result, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

import numpy as np

from loadcell.analysis.compare.metrics import LEAST_TAIL_EFFECT
from loadcell.analysis.recommend import is_choice
from loadcell.analysis.treatments import Treatment, short_keys
from loadcell.analysis.trials import Trial, coefficient_of_variation
from loadcell.analysis.tukey import TukeyTest
from loadcell.model import gc_pauses
from loadcell.model.json import JsonObject
from loadcell.model.message import Labels
from loadcell.stats import additive

#: A level of which a larger share of requests fails is unusable.
MOST_FAILED = 0.05
#: Shares of failed requests that differ by less do not matter.
LEAST_FAILED = 0.001
#: Shares of time in pauses of the garbage collector that differ by less do not matter; smaller ones are
#: those of single pauses.
LEAST_GC, SINGLE_PAUSE = 0.005, 0.001
#: Coefficients of variation that differ by a smaller ratio do not matter.
LEAST_VARIATION = 1.1
#: Statuses of trials that the target or the load broke. Others without a result show nothing of a level.
_BROKEN = ("failed", "timed-out")
#: Paths of settings that a recommendation leaves alone: the work, and the load.
_GIVEN = ("workload.", "workloads.", "load.")
CRITERION_NAMES = Labels("best-level.criterion", ("errors", "p99", "max", "variation", "gc"))


@dataclass(frozen=True)
class Criterion:
    """A metric of which less is better. `read` has its value in a trial (None without one), `shift` what is
    added before the logarithm, so that none is that of 0. Differences below `least_ratio` or
    `least_difference` do not matter.
    """

    name: str
    read: Callable[[Trial], float | None]
    shift: Callable[[Trial], float] = lambda _: 0.0
    least_ratio: float = 1.0
    least_difference: float = 0.0

    def logarithm(self, trial: Trial) -> float | None:
        """Logarithm of a trial's value; None without a value above 0."""
        value = self.read(trial)
        if value is None or not math.isfinite(shifted := value + self.shift(trial)) or shifted <= 0:
            return None
        return math.log(shifted)

    def matters(self, best: float, other: float) -> bool:
        """True if a difference between two levels is large enough."""
        return other - best >= self.least_difference and other >= best * self.least_ratio


def failed_share(trial: Trial) -> float | None:
    """Share of a trial's requests that failed; None without any."""
    return trial.failed / trial.attempted if trial.attempted else None


def _half_a_failure(trial: Trial) -> float:
    return 0.5 / trial.attempted if trial.attempted else 0.0


def _response(key: str) -> Callable[[Trial], float | None]:
    return lambda trial: (trial.response or {}).get(key)


def _variation(trial: Trial) -> float | None:
    return coefficient_of_variation(trial.response)


def _pause_share(trial: Trial) -> float | None:
    return trial.figures.get(gc_pauses.SHARE)


_TAIL_RATIO = 1 + LEAST_TAIL_EFFECT
ERRORS = Criterion("errors", failed_share, _half_a_failure, least_difference=LEAST_FAILED)
TAIL = Criterion("p99", _response("p99_ms"), least_ratio=_TAIL_RATIO)
MAXIMUM = Criterion("max", _response("max_ms"), least_ratio=_TAIL_RATIO)
VARIATION = Criterion("variation", _variation, least_ratio=LEAST_VARIATION)
GC = Criterion("gc", _pause_share, lambda _: SINGLE_PAUSE, least_difference=LEAST_GC)
#: All criteria, the foremost first.
CRITERIA = (
    ERRORS,
    TAIL,
    MAXIMUM,
    VARIATION,
    GC,
)


@dataclass(frozen=True, eq=False)
class Level:
    """A level of a factor, over the levels of all others. `values` are the settings that make it;
    `unusable` of its `treatments` have a trial without a result, or with too many failures.
    """

    label: str
    values: JsonObject
    trials: tuple[Trial, ...]
    treatments: int
    unusable: int

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

    def value(self, criterion: Criterion) -> float | None:
        """Median over the trials that count; None if one lacks it."""
        values = [criterion.read(trial) for trial in self.counting]
        present = [value for value in values if value is not None]
        return median(present) if present and len(present) == len(values) else None


@dataclass(frozen=True, eq=False)
class Step:
    """A criterion that excluded levels: those which are significantly worse than the best one."""

    criterion: Criterion
    best: Level
    excluded: tuple[Level, ...]


@dataclass(frozen=True, eq=False)
class Choice:
    """The best level of a factor. `remaining` are those that no criterion excludes, the one with the lowest
    p99 first; none where no level is usable. `averaged` names the other factors. `repeated` is false without
    repeats, from which nothing can be distinguished.
    """

    key: str
    name: str
    levels: tuple[Level, ...]
    steps: tuple[Step, ...]
    remaining: tuple[Level, ...]
    averaged: tuple[str, ...]
    repeated: bool

    @property
    def best(self) -> Level | None:
        """The only level left; None where several or none are."""
        return self.remaining[0] if len(self.remaining) == 1 else None

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
    levels = tuple(_level(label, same, paths, most_failed) for label, same in grouped.items())
    remaining, steps, repeated = [level for level in levels if level.usable], [], False
    for criterion in CRITERIA:
        values = [level.value(criterion) for level in remaining]
        if len(remaining) < 2 or None in values or not _has_logarithms(remaining, criterion):
            continue
        test = blocks.test(remaining, criterion)
        repeated = repeated or test.least_difference is not None
        best = min(remaining, key=lambda level: (level.value(criterion) or 0.0, levels.index(level)))
        excluded = tuple(level for level in remaining if _worse(test, remaining, best, level, criterion))
        if excluded:
            steps.append(Step(criterion, best, excluded))
            remaining = [level for level in remaining if level not in excluded]
    remaining.sort(key=lambda level: level.value(TAIL) or math.inf)
    others = tuple(name for other, name in names.items() if other != key and _varies(other, treatments))
    return Choice(key, names[key], levels, tuple(steps), tuple(remaining), others, repeated)


def _paths(key: str, treatments: Sequence[Treatment]) -> frozenset[str]:
    """Paths of the settings by which the levels of a factor differ, all other factors alike."""
    first: dict[tuple[str, ...], JsonObject] = {}
    paths: set[str] = set()
    for item in treatments:
        held = tuple(level for name, level in item.levels.items() if name != key)
        other = first.setdefault(held, item.values)
        paths.update(path for path in {*other, *item.values} if other.get(path) != item.values.get(path))
    return frozenset(paths)


def _is_given(key: str, paths: frozenset[str]) -> bool:
    """True if a factor sets nothing but work and load."""
    return all(path.startswith(_GIVEN) for path in paths or {key})


def _has_logarithms(levels: Iterable[Level], criterion: Criterion) -> bool:
    return all(criterion.logarithm(trial) is not None for level in levels for trial in level.counting)


def _varies(key: str, treatments: Iterable[Treatment]) -> bool:
    return len({treatment.levels[key] for treatment in treatments}) > 1


def _level(label: str, treatments: Sequence[Treatment], paths: frozenset[str], most_failed: float) -> Level:
    """A level of these treatments; its settings are those of `paths`."""
    first = treatments[0].values
    values = {path: value for path, value in first.items() if path in paths}
    unusable = sum(not is_usable(treatment, most_failed) for treatment in treatments)
    trials = tuple(trial for item in treatments for trial in item.trials)
    return Level(label, values, trials, len(treatments), unusable)


def is_usable(treatment: Treatment, most_failed: float = MOST_FAILED) -> bool:
    """True if no trial of a treatment broke or has too many failures."""
    return not any(
        trial.status in _BROKEN or (trial.counts and (failed_share(trial) or 0.0) > most_failed)
        for trial in treatment.trials
    )


def combined(choices: Iterable[Choice], treatments: Iterable[Treatment]) -> Treatment | None:
    """The treatment of the best levels of all factors, whatever the others are; None where none was run."""
    wanted = {choice.key: choice.remaining[0].label for choice in choices if choice.remaining}
    alike = (item for item in treatments if all(item.levels[key] == level for key, level in wanted.items()))
    return next(alike, None)


def _worse(test: TukeyTest, levels: Sequence[Level], best: Level, level: Level, criterion: Criterion) -> bool:
    here, there = best.value(criterion), level.value(criterion)
    if here is None or there is None or not criterion.matters(here, there):
        return False
    return test.differ(levels.index(best), levels.index(level)) is True


class _Blocks:
    """Blocks of the trials of one factor: equal levels of all other factors, in one block of the run."""

    def __init__(self, key: str, treatments: Iterable[Treatment]) -> None:
        self._held = {
            trial.name: (trial.block, *(level for name, level in treatment.levels.items() if name != key))
            for treatment in treatments
            for trial in treatment.trials
        }

    def test(self, levels: Sequence[Level], criterion: Criterion) -> TukeyTest:
        """Tukey's test of all pairs of levels."""
        numbers: dict[tuple[object, ...], int] = {}
        values, rows, blocks = [], [], []
        for row, level in enumerate(levels):
            for trial in level.counting:
                if (value := criterion.logarithm(trial)) is not None:
                    values.append(value)
                    rows.append(row)
                    blocks.append(numbers.setdefault(self._held[trial.name], len(numbers)))
        return TukeyTest(
            additive.fit(np.array(values), np.array(rows, dtype=np.int64), additive.numbered(blocks))
        )
