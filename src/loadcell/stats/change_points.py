"""Where a series changed: E-divisive, with three answers to the question whether a change could be chance.

E-divisive (Matteson and James 2014) splits a series where the two sides are most unlike (`energy`), asks
whether that could be chance, and continues within the parts.

- `by_t_test`: Student's test of the most unlike two sides, and of the most unlike stretch beside what came
  before it, which finds a level that came back. Each has half the level. As places and stretches were chosen
  by looking at all of them, p is multiplied by how many there were (Bonferroni). Sharp for few values; takes
  the values to be about normal. Values that depend on their predecessors count as fewer (`student`).
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

from loadcell.stats import autocorrelation, distributions
from loadcell.stats.energy import Array, Split, best_halves, best_split, highest

#: Chance of seeing a change in a series without one.
LEVEL = 0.01
PERMUTATIONS = 999
#: The shuffles are the same each time: the same history gives the same answer.
SEED = 20_140_101
#: The estimate counts from this many of its standard errors on: lower, and it costs short series their power;
#: higher, and dependent values show changes that are none.
_NOTABLE_CORRELATION = 0.85
_HIGHEST_CORRELATION = 0.9
#: Mass of the places in a change's range. The range is to hold the true place with `PLACE_COVERAGE` also
#: where values have heavy tails or depend on their predecessors, which the law of the places leaves out.
_MASS, PLACE_COVERAGE = 0.97, 0.9
#: Values of one batch of shuffled distances: what fits into a processor's cache.
_BATCH = 100_000

#: A test of two stretches of values: how likely chance alone makes them differ so.
Test = Callable[[Array, Array], float]


@dataclass(frozen=True)
class ChangePoint:
    """The series changed at `at`, the first value of the new stretch.

    `before` and `after` are the means of the stretches on either side, up to the next change; `p` is how
    likely chance alone makes such a split. With `PLACE_COVERAGE`, the first value of the new stretch is one
    of `earliest` to `latest`.
    """

    at: int
    p: float
    before: float
    after: float
    earliest: int
    latest: int

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


@dataclass(frozen=True)
class _Place:
    """A place in the series where it may have changed: index of the first value after it, and its p."""

    at: int
    p: float


#: The next place to split at, of all parts, with at least some values on either side; None if there is none.
_Judge = Callable[[Sequence[_Part], int], _Place | None]


def by_t_test(values: Sequence[float], level: float = LEVEL, least: int = 1) -> tuple[ChangePoint, ...]:
    """Every change, in order of place, with at least `least` values between two of them.

    Values are taken as independent first; if those between the changes are not, the changes are sought again
    with what their correlation leaves of the evidence.
    """
    series = _array(values)
    changes = _divide(series, level, least, _by_student)
    if series.size and (dependence := correlation(series, [point.at for point in changes])):
        changes = _divide(series, level, least, partial(_by_student, dependence=dependence))
    return _located(changes, series, least)


def by_permutation(
    values: Sequence[float],
    level: float = LEVEL,
    least: int = 1,
    permutations: int = PERMUTATIONS,
    seed: int = SEED,
) -> tuple[ChangePoint, ...]:
    """The same. Shuffling ends early once it is clear that a split is not significant."""
    permutations = max(permutations, math.ceil(1 / level))  # fewer cannot reach the level
    judge = partial(_by_shuffling, level=level, permutations=permutations, chance=np.random.default_rng(seed))
    series = _array(values)
    return _located(_divide(series, level, least, judge), series, least)


def student(before: Array, after: Array, correlation: float = 0.0) -> float:
    """Student's two-sided test of equal means, variances taken as equal; 1 when there is nothing
    to judge by.

    `correlation` of neighbouring values (first order, 0 to 1) widens the standard error of a mean by
    sqrt((1 + r) / (1 - r)) and reduces the degrees of freedom likewise (Bayley and Hammersley 1946).
    """
    count = before.size + after.size
    if count <= 2:
        return 1.0
    inflation = (1 + correlation) / (1 - correlation)
    freedom = max(1.0, count / inflation - 2)
    pooled = (before.size * before.var() + after.size * after.var()) / (count - 2)
    difference = abs(before.mean() - after.mean())
    if pooled == 0:
        return 0.0 if difference else 1.0
    t = difference / math.sqrt(pooled * inflation * (1 / before.size + 1 / after.size))
    return float(2 * distributions.student_cdf(freedom, -t))


def correlation(series: Array, changes: Sequence[int]) -> float:
    """Correlation of neighbouring values about the means of their stretches, 0 to 0.9; 0 if maybe chance."""
    return _correlation(series, changes, _NOTABLE_CORRELATION / math.sqrt(series.size))


def _correlation(series: Array, changes: Sequence[int], least: float) -> float:
    """The same, but 0 only if the estimate is below `least` before its bias is removed, or negative after
    that.
    """
    residuals = [part.values - part.values.mean() for part in _parts(series, changes)]
    estimate = autocorrelation.of_stretches(residuals)
    return 0.0 if estimate.measured < least else min(_HIGHEST_CORRELATION, estimate.positive)


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
        inside = [begin + point.at for point in _divide(part, generous, 1, partial(_by_test, test=test))]
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
    return _located(points, series, 1)


def _divide(series: Array, level: float, least: int, judge: _Judge) -> list[ChangePoint]:
    """E-divisive: split the parts, the judged best place first, for as long as it is not chance."""
    gains: dict[int, float] = {}
    while (best := judge(_parts(series, gains), least)) is not None and best.p <= level:
        gains[best.at] = best.p
    return [replace(point, p=gains[point.at]) for point in _described(gains, series)]


def _most_unlike(parts: Sequence[_Part], least: int) -> tuple[_Part, Split] | None:
    """The part with the most unlike split, of all parts."""
    splits = [(part, split) for part in parts if (split := best_split(part.values, least)) is not None]
    return max(splits, key=lambda candidate: candidate[1].q) if splits else None


def _array(values: Sequence[float]) -> Array:
    return np.asarray(values, dtype=np.float64)


def _parts(series: Array, changes: Sequence[int] | dict[int, float]) -> list[_Part]:
    ends = [0, *sorted(changes), series.size]
    return [_Part(begin, series[begin:end]) for begin, end in pairwise(ends)]


def _by_student(parts: Sequence[_Part], least: int, *, dependence: float = 0.0) -> _Place | None:
    """The place with the smallest p of Student's test, corrected for the choices there were in all parts.

    A split in two was chosen among its places, a stretch among all pairs of its two ends; each has half the
    level.
    """
    places = [max(0, part.values.size - 2 * least + 1) for part in parts]
    splits = 2 * sum(places)
    stretches = sum(count * (count + 1) for count in places)
    candidates = []
    for part in parts:
        for split, choices in zip(best_halves(part.values, least), (splits, stretches), strict=False):
            before, after = part.values[: split.at], part.values[split.at : split.end]
            p = student(before, after, dependence) * choices
            candidates.append(_Place(part.begin + split.at, min(1.0, p)))
    return min(candidates, key=lambda candidate: candidate.p, default=None)


def _by_test(parts: Sequence[_Part], least: int, *, test: Test) -> _Place | None:
    """The most unlike split, and its p by a test of the two sides."""
    if (most := _most_unlike(parts, least)) is None:
        return None
    part, split = most
    return _Place(part.begin + split.at, test(part.values[: split.at], part.values[split.at :]))


def _by_shuffling(
    parts: Sequence[_Part], least: int, *, level: float, permutations: int, chance: np.random.Generator
) -> _Place | None:
    """The most unlike split; its p is the share of shuffles whose best split is at least as good.

    The series itself counts as one of them. Once too many reach it for the level to be reached, the remaining
    ones cannot change the answer (Besag and Clifford 1991).
    """
    if (most := _most_unlike(parts, least)) is None:
        return None
    part, split = most
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
    return _Place(part.begin + split.at, (1 + reached) / (done + 1))


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
            earliest=at,
            latest=at,
        )
        for at, (earlier, later) in zip(sorted(changes), pairwise(parts), strict=True)
    ]


def _located(points: Sequence[ChangePoint], series: Array, least: int) -> tuple[ChangePoint, ...]:
    """The changes with the ranges of their places, each within the stretches on either side of it."""
    begins = [0, *(point.at for point in points)]
    ends = [*(point.at for point in points[1:]), series.size]
    dependence = _correlation(series, begins[1:], -1.0) if points else 0.0
    located = []
    for point, begin, end in zip(points, begins, ends, strict=False):
        earliest, latest = _range_of_places(series[begin:end], least, dependence)
        located.append(
            replace(
                point,
                earliest=min(point.at, begin + earliest),
                latest=max(point.at, begin + latest),
            )
        )
    return tuple(located)


def _range_of_places(values: Array, least: int, correlation: float) -> tuple[int, int]:
    """The first and the last of the likeliest places of one change, which together have `_MASS`.

    A place k has the posterior probability (k (n - k))^(-1/2) RSS(k)^(-(n - 2) / 2) times a constant, where
    all places, means and logarithms of the variance are alike before (Smith 1975). Correlated values count as
    fewer (`student`).
    """
    count = values.size
    places = np.arange(least, count - least + 1)
    centred = values - values.mean()
    sums = np.cumsum(centred)[places - 1]
    # The squares about one mean, less what two means explain of them.
    within = np.maximum(0.0, centred @ centred - sums**2 * count / (places * (count - places)))
    smallest = within.min()
    if smallest <= 1e-12 * float(centred @ centred):
        exact = places[within <= 1e-12 * float(centred @ centred)]
        return int(exact[0]), int(exact[-1])
    exponent = (count - 2) / 2 * (1 - correlation) / (1 + correlation)
    logs = -np.log(places * (count - places)) / 2 - exponent * np.log(within / smallest)
    mass = np.exp(logs - logs.max())
    order = np.argsort(-mass)
    enough = int(np.searchsorted(np.cumsum(mass[order]), _MASS * mass.sum())) + 1
    likeliest = places[order[:enough]]
    return int(likeliest.min()), int(likeliest.max())
