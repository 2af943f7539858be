"""Student's t and Fisher's F, which intervals of means and tests of variances need: two functions, exact to 1e-10."""

from __future__ import annotations

import math
from functools import cache

#: Steps of the continued fraction; it converges in O(sqrt(max(a, b))) of them.
_MOST_STEPS = 500
_TINY = 1e-300


def beta_share(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b), for a, b > 0 and 0 <= x <= 1.

    By its continued fraction, evaluated as Lentz does (NIST, *Digital Library of Mathematical Functions*, 8.17.22).
    """
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    if x > (a + 1) / (a + b + 2):  # where the fraction converges slowly, its mirror converges fast
        return 1 - beta_share(b, a, 1 - x)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    c, d = 1.0, 1 / _off_zero(1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, _MOST_STEPS):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _off_zero(1 + step * d)
            c = _off_zero(1 + step / c)
            fraction *= d * c
        if abs(d * c - 1) < 1e-13:
            break
    return front * fraction / a


def _off_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def f_tail(f: float, above: int, below: int) -> float:
    """The probability that a ratio of two mean squares with these degrees of freedom is `f` or more by chance."""
    return beta_share(below / 2, above / 2, below / (below + above * f)) if f > 0 else 1.0


@cache
def t_quantile(share: float, freedom: int) -> float:
    """What Student's t with `freedom` degrees of freedom stays within, to both sides, with probability `share`."""
    low, high = 0.0, 2.0
    while _t_within(high, freedom) < share:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _t_within(middle, freedom) < share else (low, middle)
    return (low + high) / 2


def _t_within(t: float, freedom: int) -> float:
    return 1 - beta_share(freedom / 2, 0.5, freedom / (freedom + t * t))
