"""Exponent of growth: least squares of logarithms, with Student's interval (Draper and Smith, 1998, 1.4)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from loadcell.stats.special import student_quantile

#: Fewer points have no interval.
FEWEST: Final = 3


@dataclass(frozen=True)
class Exponent:
    """The exponent of values in their sizes: 1 is proportional, 0 independent; with its interval."""

    value: float
    low: float
    high: float


def exponent(
    sizes: Sequence[float], values: Sequence[float], coverage: float = 0.95, resolution: float = 0.0
) -> Exponent | None:
    """The exponent of positive values in positive sizes; None of fewer than three points or two sizes.

    Values that are rounded to multiples of `resolution` have at least the variance of that (a uniform
    distribution), also where they are equal.
    """
    if len(sizes) < FEWEST or len(set(sizes)) < 2:
        return None
    x, y = np.log(np.asarray(sizes, float)), np.log(np.asarray(values, float))
    x, y = x - x.mean(), y - y.mean()
    spread = float(x @ x)
    slope = float(x @ y) / spread
    freedom = len(sizes) - 2
    residual = y - slope * x
    rounding = float(np.mean((resolution / np.asarray(values, float)) ** 2)) / 12
    variance = max(float(residual @ residual) / freedom, rounding)
    error = math.sqrt(variance / spread)
    half = student_quantile(freedom, 0.5 + coverage / 2) * error
    return Exponent(slope, slope - half, slope + half)
