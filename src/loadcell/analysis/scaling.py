"""Times by the size of the data: alternatives over a numeric factor, crossover points, and speed-ups.

A size is a numeric factor with three or more levels above 0, the largest at least ten times the smallest.
The alternatives are the levels of the factor with the most levels besides it. Between two sizes a time
is taken as a power of the size, a straight line on logarithmic axes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from loadcell.analysis.finding import Concern, Finding, FindingCode, Subject
from loadcell.analysis.treatments import Treatment, short_keys
from loadcell.model import numbers
from loadcell.model.python_metrics import CALL_TIME
from loadcell.stats.repeats import Repeats

FEWEST_SIZES, LEAST_RANGE = 3, 10.0

FASTEST = FindingCode(
    "found.scaling.fastest", Subject.RECOMMENDATION, "good", (Concern.ANSWER, 30),
    where=str, level=str, first=str, last=str, size=str,
)  # fmt: skip
BY_SIZE = FindingCode(
    "found.scaling.by-size", Subject.RECOMMENDATION, "good", (Concern.ANSWER, 30),
    where=str, size=str, levels=list,
)  # fmt: skip


@dataclass(frozen=True)
class Point:
    """Time of a call (ms) at a size, None where no trial succeeded; statuses count its trials."""

    size: float
    label: str
    time: Repeats | None
    statuses: Mapping[str, int]

    @property
    def median_ms(self) -> float | None:
        """Median over the repeats, above 0."""
        median = None if self.time is None else self.time.median
        return median if median is not None and median > 0 else None


@dataclass(frozen=True)
class Alternative:
    """One level, and its points by rising size."""

    level: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Crossover:
    """From `size` on, `faster` takes less time than `slower`; `is_certain` if the intervals of the median lie
    apart at the sizes before and after.
    """

    faster: str
    slower: str
    size: float
    is_certain: bool


@dataclass(frozen=True)
class Scaling:
    """The alternatives under equal levels of all other factors, which `where` names."""

    where: str
    size_factor: str
    factor: str
    alternatives: tuple[Alternative, ...]

    def crossovers(self) -> list[Crossover]:
        """Sizes at which the order of two alternatives changes, by size."""
        crossovers = [
            crossover
            for first, second in combinations(self.alternatives, 2)
            for crossover in _crossovers(first, second)
        ]
        return sorted(crossovers, key=lambda crossover: crossover.size)

    def fastest(self) -> list[tuple[Point, Alternative]]:
        """The alternative with the shortest time at each size that any has one of."""
        best = []
        for index, point in enumerate(self.alternatives[0].points):
            timed = [
                (time_ms, alternative)
                for alternative in self.alternatives
                if (time_ms := alternative.points[index].median_ms) is not None
            ]
            if timed:
                best.append((point, min(timed, key=lambda item: item[0])[1]))
        return best


def scalings(treatments: Sequence[Treatment]) -> tuple[Scaling, ...]:
    """All of a run, in the plan's order; none without a size, alternatives, or times of calls."""
    if not any(CALL_TIME in treatment.figures for treatment in treatments):
        return ()
    keys = list(treatments[0].levels)
    if any(list(treatment.levels) != keys for treatment in treatments):
        return ()
    size_key = next((key for key in reversed(keys) if _is_size(treatments, key)), None)
    others = [key for key in keys if key != size_key]
    if size_key is None or not others:
        return ()
    factor = max(others, key=lambda key: len(_levels(treatments, key)))
    held = [key for key in others if key != factor]
    short = short_keys(keys)
    groups: dict[tuple[str, ...], list[Treatment]] = {}
    for treatment in treatments:
        groups.setdefault(tuple(treatment.levels[key] for key in held), []).append(treatment)
    return tuple(
        Scaling(
            ", ".join(f"{short[key]} = {level}" for key, level in zip(held, levels, strict=True)),
            short[size_key],
            short[factor],
            _alternatives(group, factor, size_key),
        )
        for levels, group in groups.items()
    )


def _levels(treatments: Sequence[Treatment], key: str) -> list[str]:
    return list(dict.fromkeys(treatment.levels[key] for treatment in treatments))


def _is_size(treatments: Sequence[Treatment], key: str) -> bool:
    sizes = [_number(level) for level in _levels(treatments, key)]
    usable = [size for size in sizes if size is not None and size > 0]
    return len(usable) == len(sizes) >= FEWEST_SIZES and max(usable) >= LEAST_RANGE * min(usable)


def _number(level: str) -> float | None:
    try:
        return float(level)
    except ValueError:
        return None


def _alternatives(treatments: Sequence[Treatment], factor: str, size_key: str) -> tuple[Alternative, ...]:
    sizes = sorted(_levels(treatments, size_key), key=float)
    by_levels = {(item.levels[factor], item.levels[size_key]): item for item in treatments}
    return tuple(
        Alternative(level, tuple(_point(size, by_levels.get((level, size))) for size in sizes))
        for level in _levels(treatments, factor)
    )


def _point(size: str, treatment: Treatment | None) -> Point:
    if treatment is None:
        return Point(float(size), size, None, {})
    return Point(float(size), size, treatment.figures.get(CALL_TIME), treatment.statuses)


def _crossovers(first: Alternative, second: Alternative) -> Iterator[Crossover]:
    timed = [
        (point.size, math.log(point.median_ms / other.median_ms), _apart(point, other))
        for point, other in zip(first.points, second.points, strict=True)
        if point.median_ms is not None and other.median_ms is not None
    ]
    for (size, ratio, apart), (next_size, next_ratio, next_apart) in pairwise(timed):
        if ratio * next_ratio < 0:
            share = ratio / (ratio - next_ratio)
            at = math.exp(math.log(size) + share * (math.log(next_size) - math.log(size)))
            faster, slower = (first, second) if next_ratio < 0 else (second, first)
            yield Crossover(faster.level, slower.level, at, apart and next_apart)


def _apart(first: Point, second: Point) -> bool:
    """True if the intervals of both medians do not overlap."""
    if first.time is None or second.time is None:
        return False
    interval, other = first.time.interval, second.time.interval
    if interval is None or other is None:
        return False
    return interval.high < other.low or other.high < interval.low


def speedup(baseline: Point, point: Point) -> float | None:
    """Time of the baseline over that of an alternative, at the same size."""
    if baseline.median_ms is None or point.median_ms is None:
        return None
    return baseline.median_ms / point.median_ms


def findings(lines: Sequence[Scaling]) -> Iterator[Finding]:
    """The alternative to use, by size."""
    for scaling in lines:
        best = scaling.fastest()
        if len(scaling.alternatives) < 2 or not best:
            continue
        ranges = _ranges(best)
        where = scaling.where or scaling.factor
        if len(ranges) == 1:
            first, last, level = ranges[0]
            yield FASTEST.finding(where=where, level=level, first=first, last=last, size=scaling.size_factor)
        else:
            levels = [_range_text(first, last, level) for first, last, level in ranges]
            yield BY_SIZE.finding(where=where, size=scaling.size_factor, levels=levels)


def _range_text(first: str, last: str, level: str) -> str:
    return f"{first}: {level}" if first == last else f"{first}–{last}: {level}"


def _ranges(best: Sequence[tuple[Point, Alternative]]) -> list[tuple[str, str, str]]:
    """Sizes in a row with the same fastest alternative: the first, the last, and its level."""
    ranges: list[tuple[str, str, str]] = []
    for point, alternative in best:
        size = numbers.whole(point.size) if point.size >= 1 else point.label
        if ranges and ranges[-1][2] == alternative.level:
            ranges[-1] = (ranges[-1][0], size, alternative.level)
        else:
            ranges.append((size, size, alternative.level))
    return ranges
