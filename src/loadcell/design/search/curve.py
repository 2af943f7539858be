"""A curve through throughputs at several levels, to foretell where it is highest.

Gunther's Universal Scalability Law (Guerrilla Capacity Planning, 2007), `X(N) = l N / (1 + s (N-1) + k N
(N-1))`, turned over, is linear in what is not known:

    1/X = a / N + b + c N        a = (1-s)/l,  b = (s-k)/l,  c = k/l

with its highest point at `N* = sqrt(a / c) = sqrt((1-s) / k)`. So it is fitted by linear least squares, each
point weighted by X so that relative errors count alike.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

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
