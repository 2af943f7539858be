"""Where a series changed: E-divisive, with three answers to the question whether a change could be chance.

E-divisive (Matteson and James 2014) splits a series where the two sides are most unlike (`energy`), asks
whether that could be chance, and continues within the parts.

- `by_t_test`: Student's test of the two sides. As the place was chosen by looking at every place, its p is
  multiplied by how many there were (Bonferroni). Sharp for few values; takes the values to be about normal.
- `by_permutation`: the original's. Values are shuffled within the parts found so far; the split is real when
  few shuffles can be split as well. No assumption on the distribution, but few values have few orders: below
  about ten nothing can be found at a level of 1 %.
- `by_windows`: Fleming et al. (2023), *Hunter: Using Change Point Detection to Hunt for Performance
  Regressions*, which is Apache Otava's: Student's test, uncorrected, in sliding windows; a generous level
  first, then points that do not stand out from their final neighbours are removed again. Finds the many small
  changes of a long series; its level is nominal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np

from loadcell.stats import distributions
from loadcell.stats.energy import Array, Split, best_split, highest

#: Chance of seeing a change in a series without one.
LEVEL = 0.01
PERMUTATIONS = 999
#: The shuffles are the same each time: the same history gives the same answer.
SEED = 20_140_101
#: Values of one batch of shuffled distances: what fits into a processor's cache.
_BATCH = 100_000

#: A test of two stretches of values: how likely chance alone makes them differ so.
Test = Callable[[Array, Array], float]


@dataclass(frozen=True)
class ChangePoint:
    """The series changed at `at`, the first value of the new stretch.

    `before` and `after` are the means of the stretches on either side, up to the next change; `p` is how
    likely chance alone makes such a split.
    """

    at: int
    p: float
    before: float
    after: float

    @property
    def change(self) -> float:
        """The new mean relative to the old one: -0.05 is 5 % less; infinite after a mean of 0."""
        if self.before == 0:
            return math.inf if self.after else 0.0
        return self.after / self.before - 1

    @property
    def magnitude(self) -> float:
        """The change, seen from the smaller of the two means."""
        low, high = sorted((abs(self.before), abs(self.after)))
        return high / low - 1 if low else (math.inf if high else 0.0)


@dataclass(frozen=True)
class _Part:
    """A stretch between two changes: where it begins, and its values."""

    begin: int
    values: Array


#: Judges a split of a part, all parts at hand: how likely chance alone makes it.
_Judge = Callable[[Sequence[_Part], _Part, Split], float]


def by_t_test(values: Sequence[float], level: float = LEVEL, least: int = 1) -> tuple[ChangePoint, ...]:
    """Every change, in order of place, with at least `least` values between two of them."""
    return tuple(_divide(_array(values), level, least, partial(_corrected, least=least)))


def by_permutation(
    values: Sequence[float],
    level: float = LEVEL,
    least: int = 1,
    permutations: int = PERMUTATIONS,
    seed: int = SEED,
) -> tuple[ChangePoint, ...]:
    """The same. Shuffling ends early once it is clear that a split is not significant."""
    judge = partial(
        _shuffled, level=level, least=least, permutations=permutations, chance=np.random.default_rng(seed)
    )
    return tuple(_divide(_array(values), level, least, judge))


def student(before: Array, after: Array) -> float:
    """Student's two-sided test of equal means, variances taken as equal; 1 when there is nothing
    to judge by.
    """
    freedom = before.size + after.size - 2
    if freedom <= 0:
        return 1.0
    pooled = (before.size * before.var() + after.size * after.var()) / freedom
    difference = abs(before.mean() - after.mean())
    if pooled == 0:
        return 0.0 if difference else 1.0
    t = difference / math.sqrt(pooled * (1 / before.size + 1 / after.size))
    return float(2 * distributions.stdtr(freedom, -t))


def by_windows(
    values: Sequence[float],
    level: float = LEVEL,
    window: int = 50,
    least_change: float = 0.0,
    test: Test = student,
) -> tuple[ChangePoint, ...]:
    """Every change larger than `least_change` (a share), in order of place.

    `window` is in values, 2 or more.
    """
    series = _array(values)
    generous = level * 10 if level < 0.05 else level * 2 if level < 0.5 else level
    weak: list[int] = []
    begin = 0
    while begin < series.size:
        part = series[begin : begin + window]
        inside = [
            begin + point.at
            for point in _divide(part, generous, 1, lambda _, part, split: test(*_sides(part, split)))
        ]
        weak = sorted({*weak, *inside})
        begin = max(inside[-1] if inside else 0, begin + window // 2)
    points = _described(weak, series, test)
    while points:
        weakest = max(points, key=lambda point: point.p)
        if weakest.p < level:
            weakest = min(points, key=lambda point: point.magnitude)
            if weakest.magnitude > least_change:
                break
        points = _described([point.at for point in points if point is not weakest], series, test)
    return tuple(points)


def _divide(series: Array, level: float, least: int, judge: _Judge) -> list[ChangePoint]:
    """E-divisive: of all parts the most unlike split, for as long as it is not chance."""
    gains: dict[int, float] = {}
    while True:
        parts = _parts(series, gains)
        splits = [(part, split) for part in parts if (split := best_split(part.values, least)) is not None]
        if not splits:
            break
        part, split = max(splits, key=lambda candidate: candidate[1].q)
        p = judge(parts, part, split)
        if p > level:
            break
        gains[part.begin + split.at] = p
    return [replace(point, p=gains[point.at]) for point in _described(gains, series)]


def _array(values: Sequence[float]) -> Array:
    return np.asarray(values, dtype=np.float64)


def _parts(series: Array, changes: Sequence[int] | dict[int, float]) -> list[_Part]:
    ends = [0, *sorted(changes), series.size]
    return [_Part(begin, series[begin:end]) for begin, end in pairwise(ends)]


def _sides(part: _Part, split: Split) -> tuple[Array, Array]:
    return part.values[: split.at], part.values[split.at :]


def _corrected(parts: Sequence[_Part], part: _Part, split: Split, *, least: int) -> float:
    """Student's p, times the places there were to choose from in all parts."""
    places = sum(max(0, segment.values.size - 2 * least + 1) for segment in parts)
    return min(1.0, student(*_sides(part, split)) * places)


def _shuffled(
    parts: Sequence[_Part], part: _Part, split: Split, *,
    level: float, least: int, permutations: int, chance: np.random.Generator,
) -> float:  # fmt: skip
    """The share of shuffles whose best split is at least as good, the series itself counted as one of them.

    Once too many reach it for the level to be reached, the remaining ones cannot change the answer (Besag and
    Clifford 1991).
    """
    del part
    enough = math.floor(level * (permutations + 1))
    able = [segment.values for segment in parts if segment.values.size >= 2 * least]
    batch = max(1, _BATCH // max(values.size for values in able) ** 2)
    done = reached = 0
    while done < permutations and reached < enough:
        size = min(batch, permutations - done)
        best = np.zeros(size)
        for values in able:
            shuffled = chance.permuted(np.broadcast_to(values, (size, values.size)), axis=1)
            best = np.maximum(best, highest(shuffled, least))
        done += size
        reached += int(np.count_nonzero(best >= split.q * (1 - 1e-12)))
    return (1 + reached) / (done + 1)


def _described(
    changes: Sequence[int] | dict[int, float], series: Array, test: Test | None = None
) -> list[ChangePoint]:
    """The changes with the means of the stretches beside them, and the p that `test` gives them."""
    parts = [part.values for part in _parts(series, changes)]
    return [
        ChangePoint(
            at,
            1.0 if test is None else test(earlier, later),
            before=float(earlier.mean()),
            after=float(later.mean()),
        )
        for at, (earlier, later) in zip(sorted(changes), pairwise(parts), strict=True)
    ]
