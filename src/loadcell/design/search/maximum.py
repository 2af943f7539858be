"""Search for the level with the highest value: a bracket from below, then refinement towards the maximum.

The bracket rises by `STRIDE` a step until the value has clearly fallen: the highest point then lies between
the neighbours of the best level (Kiefer 1953, for curves that rise and then fall). Inside, the next level is
the one at which the Universal Scalability Law through all points is highest; where that was measured already,
or the law does not fit, the golden section of the wider side. It ends when both neighbours of the best level
are measured, or do not differ significantly from it.

The highest level that meets every bound is found from the same bracket, by bisection.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from loadcell.design.search.model import Probe, Question, Table

#: the curve has three unknowns: fewer levels than this would say nothing of how well it fits
FEWEST_LEVELS = 4


@dataclass(frozen=True)
class Curve:
    """`peak` is where it is highest, infinite when it never falls; `misfit` how far points lie from it: the
    root of
    the mean square of their relative errors, each unknown counted off but one."""

    peak: float
    misfit: float


def through(points: Mapping[float, float]) -> Curve | None:
    """The curve through throughputs by level (a positive number); None when there are too few, or it is not a
    curve that rises and falls.
    """
    usable = {n: x for n, x in points.items() if n > 0 and x > 0}
    if len(usable) < FEWEST_LEVELS:
        return None
    scale = math.exp(sum(map(math.log, usable)) / len(usable))  # keeps the equations well conditioned
    rows = [((x * scale / n, x, x * n / scale), 1.0) for n, x in usable.items()]
    coefficients = _least_squares(rows)
    if coefficients is None:
        return None
    a, b, c = coefficients
    if a <= 0:
        return None
    peak = math.inf if c <= 0 else scale * math.sqrt(a / c)
    errors = [sum(k * f for k, f in zip((a, b, c), row, strict=True)) - 1 for row, _ in rows]
    return Curve(peak, math.sqrt(sum(error**2 for error in errors) / (len(errors) - 2)))


def _least_squares(rows: list[tuple[tuple[float, float, float], float]]) -> tuple[float, float, float] | None:
    """Three unknowns by the normal equations and Cramer's rule; None when the points do not tell
    them apart.
    """
    m = [[sum(row[i] * row[j] for row, _ in rows) for j in range(3)] for i in range(3)]
    y = [sum(row[i] * wanted for row, wanted in rows) for i in range(3)]
    determinant = _determinant(m)
    if abs(determinant) < 1e-12 * m[0][0] * m[1][1] * m[2][2]:
        return None
    solution = []
    for k in range(3):
        replaced = [[y[i] if j == k else m[i][j] for j in range(3)] for i in range(3)]
        solution.append(_determinant(replaced) / determinant)
    return solution[0], solution[1], solution[2]


def _determinant(m: list[list[float]]) -> float:
    return (
        m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1])
        - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
        + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
    )


#: Each step of the bracket is about this many times the previous one: four trials span 32 levels, five a
#: range of 1 to 256.
STRIDE = 4.0
#: Levels nearer to each other than this factor are near: a step of the bracket that would end so near the top
#: goes to the top, and what lies between two equal ones is not looked at.
NEAR = 1.5
#: This many levels have to be equal before a curve is called level.
FEWEST_LEVEL = 3
#: A fall of this share ends the bracket. Smaller ones may be noise, and the highest point may still lie
#: beyond.
CLEAR_FALL = 0.05
#: Levels with at least this share of the best value tell where the top is better than those far below it,
#: once there are enough.
SHOULDER = 0.5
#: The golden section: what of an interval lies nearer to its better end.
GOLDEN = (3 - math.sqrt(5)) / 2
#: The curve fits when its points lie no further from it than this share of the tolerance (the root of their
#: mean square).
FITS_WITHIN = 0.5


def climb(question: Question, table: Table) -> Probe | None:
    """The next step of a bracket from below; None once it is closed, or has come to the top."""
    if not table.levels:
        return Probe(0, "bracket", "lowest")
    highest = table.levels[-1]
    if highest == question.top or not table.met(highest):
        return None
    best = table.best()
    if question.kind == "maximum" and best is not None:
        top, here = table.value(best), table.value(highest)
        if top is None or here is None or here < (1 - CLEAR_FALL) * top:
            return None
    return Probe(above(question, highest), "bracket", "higher")


def above(question: Question, level: int) -> int:
    """One step of the bracket up from a level."""
    if question.values[0] > 0:
        wanted = question.values[level] * STRIDE
        if wanted * NEAR >= question.values[question.top]:
            return question.top
        return question.nearest(math.log(wanted), level + 1, question.top)
    return min(question.top, max(level + 1, (level + 1) * int(STRIDE)))


def probe(question: Question, table: Table) -> Probe | None:
    """The next level to look at; None if only repeats can refine the answer."""
    step = climb(question, table)
    best = table.best()
    if step is not None or best is None:
        return step
    low, high = _reach(question, table, best)
    foretold = peak(question, table)
    if foretold is not None and low <= foretold <= high and foretold not in table.by_level:
        return Probe(foretold, "refine", "model")
    if foretold in (None, question.top) and _level_top(question, table):
        return _edge(question, table)
    if foretold is not None and foretold == best and best in (0, question.top) and _believed(table):
        return None  # the curve has its highest point at the end, or beyond
    return _section(question, table, best, fits=foretold is not None)


def peak(question: Question, table: Table) -> int | None:
    """The level where the curve through all points is highest; None where none fits."""
    points = {
        question.values[level]: value for level in table.levels if (value := table.value(level)) is not None
    }
    near = {n: value for n, value in points.items() if value >= SHOULDER * max(points.values())}
    top = through(near if len(near) > FEWEST_LEVELS else points)
    if top is None or top.misfit > FITS_WITHIN * question.tolerance:
        return None
    if top.peak >= question.values[question.top]:
        return question.top
    return question.nearest(math.log(top.peak), 0, question.top)


def candidate(question: Question, table: Table) -> int | None:
    """The level to confirm: the top of the curve where it is near the best level measured, else that level
    itself.

    Where throughput levels off and never falls, it is the lowest of the levels that do not differ
    significantly from the best.
    """
    best = table.best()
    if best is None:
        return None
    low, high = _reach(question, table, best)
    foretold = peak(question, table)
    if foretold in (None, question.top) and _level_top(question, table):
        return next(level for level in table.levels if _alike(question, table, level, best))
    if foretold is not None and low <= foretold <= high and _believed(table):
        return foretold
    return best


def _believed(table: Table) -> bool:
    """True if there are more points than the curve has unknowns and one to spare: that it fits then means
    something.
    """
    return len(table.levels) > FEWEST_LEVELS


def plateau(question: Question, table: Table, level: int) -> tuple[int, int]:
    """The lowest and highest level round this one that were measured and lie within the tolerance of it."""
    where = table.levels.index(level)
    low = high = where
    while low > 0 and _alike(question, table, table.levels[low - 1], level):
        low -= 1
    while high + 1 < len(table.levels) and _alike(question, table, table.levels[high + 1], level):
        high += 1
    return table.levels[low], table.levels[high]


def reach(question: Question, table: Table, best: int) -> tuple[int | None, int | None]:
    """The nearest measured levels on either side that are clearly worse than the best; None where there is
    none.
    """
    worse = [level for level in table.levels if not _alike(question, table, level, best)]
    below = [level for level in worse if level < best]
    over = [level for level in worse if level > best]
    return (below[-1] if below else None), (over[0] if over else None)


def _reach(question: Question, table: Table, best: int) -> tuple[int, int]:
    low, high = reach(question, table, best)
    return (0 if low is None else low), (question.top if high is None else high)


def _alike(question: Question, table: Table, level: int, best: int) -> bool:
    """True if a level's value is not below the best one's by more than the tolerance."""
    here, there = table.value(level), table.value(best)
    return here is not None and there is not None and here >= (1 - question.tolerance) * there


def _level_top(question: Question, table: Table) -> bool:
    """True if the curve is level at its end: at least three levels up to the highest, some way apart, as good
    as the best.
    """
    best = table.best()
    if best is None or table.levels[-1] != question.top:
        return False
    level = 0
    for candidate_level in reversed(table.levels):
        if not _alike(question, table, candidate_level, best):
            break
        level += 1
    return level >= FEWEST_LEVEL and _apart(question, table.levels[-level], question.top)


def _edge(question: Question, table: Table) -> Probe | None:
    """Halve what lies below a level top: where does it begin?"""
    best = table.best()
    assert best is not None
    first = next(level for level in table.levels if _alike(question, table, level, best))
    below = [level for level in table.levels if level < first]
    if not below or first - below[-1] < 2:
        return None
    middle = (question.position(below[-1]) + question.position(first)) / 2
    return Probe(question.nearest(middle, below[-1] + 1, first - 1), "refine", "edge")


def _section(question: Question, table: Table, best: int, *, fits: bool) -> Probe | None:
    """The golden section of the wider gap beside the best level; None when neither is worth a trial.

    Nor is a gap to a near level that does not differ significantly from the best: between two
    equal points a factor f apart, the law is higher by `(sqrt(f) + 1/sqrt(f)) / 2 - 1` at most, which is 2 %
    at f = 1.5.
    """
    where = table.levels.index(best)
    neighbours = [table.levels[i] for i in (where - 1, where + 1) if 0 <= i < len(table.levels)]
    sides = [
        other
        for other in neighbours
        if abs(other - best) > 1
        and (not fits or not _alike(question, table, other, best) or _apart(question, *sorted((best, other))))
    ]
    if not sides:
        return None
    far = max(sides, key=lambda level: abs(question.position(level) - question.position(best)))
    at = question.position(best) + GOLDEN * (question.position(far) - question.position(best))
    low, high = sorted((best, far))
    return Probe(question.nearest(at, low + 1, high - 1), "refine", "section")


def _apart(question: Question, low: int, high: int) -> bool:
    """True if two levels are so far apart that a curve may well rise and fall between them."""
    if question.values[0] <= 0:
        return high - low > 1
    return question.values[high] > NEAR * question.values[low]


def bound_probe(question: Question, table: Table) -> Probe | None:
    """The next level to look at for the highest level that meets every bound: a bracket from below, then
    bisection; None when the highest that meets the bounds and the lowest that does not are neighbours.

    It takes a target to be worse the more is asked of it. Where trials contradict that, the lowest level that
    misses counts: what lies above it is not looked at.
    """
    step = climb(question, table)
    if step is not None:
        return step
    low, high = bound_ends(table)
    if low is None or high is None or high - low < 2:
        return None
    middle = (question.position(low) + question.position(high)) / 2
    return Probe(question.nearest(middle, low + 1, high - 1), "refine", "section")


def bound_ends(table: Table) -> tuple[int | None, int | None]:
    """The highest level that meets the bounds below the lowest that misses them, and that one; None for what
    there is not.
    """
    missed = [level for level in table.levels if not table.met(level)]
    high = missed[0] if missed else None
    met = [level for level in table.levels if table.met(level) and (high is None or level < high)]
    return (met[-1] if met else None), high


def bound_candidate(table: Table) -> int | None:
    """The level to confirm."""
    return bound_ends(table)[0]
