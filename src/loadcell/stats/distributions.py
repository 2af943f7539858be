"""Tails and quantiles of distributions; a lazy module, which most commands do without.

The two for several comparisons at once are integrals over a standard normal variable and over the estimate s
of the standard deviation, by Gauss-Legendre quadrature. Both are checked against published tables and against
scipy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import numpy.typing as npt

from loadcell.stats import special
from loadcell.stats.special import chi_squared_tail, normal_cdf, student_cdf, student_quantile

__all__ = [
    "chi_squared_tail",
    "dunnett_quantile",
    "f_tail",
    "range_quantile",
    "student_cdf",
    "student_quantile",
    "t_quantile",
]

_Array = npt.NDArray[np.float64]
#: Nodes of the quadrature by degrees of freedom, then by the largest count of means that these suffice for:
#: twice as many change no 95 % quantile of up to 1000 means by a share of 1e-6. With one or two degrees of
#: freedom s is often near 0, where the largest of many means falls steeply.
_NODES = (
    (1, ((3, 64), (16, 128), (50, 256), (math.inf, 512))),
    (2, ((16, 64), (math.inf, 256))),
    (math.inf, ((20, 64), (math.inf, 128))),
)
#: Where a standard normal variable is as good as never, and the probability that is left out of s at either
#: end.
_FARTHEST, _LEFT_OUT = 8.0, 1e-10
#: Precision of a quantile, as a share of it, and of the probability there.
_PRECISION = 1e-9
#: A share of the probability that no digit of a quantile depends on.
_NEGLIGIBLE = 1e-18


def f_tail(f: float, above: int, below: int) -> float:
    """The probability that a ratio of two mean squares with these degrees of freedom is `f` or more by
    chance.
    """
    return special.f_tail(f, above, below) if f > 0 else 1.0


@cache
def t_quantile(share: float, freedom: float) -> float:
    """Two-sided quantile of Student's t with `freedom` degrees of freedom, for probability `share`."""
    return float(student_quantile(freedom, (1 + share) / 2))


@cache
def range_quantile(share: float, count: int, freedom: int) -> float:
    """Quantile of the studentised range of `count` means (2 or more), in standard errors of one mean.

    Tukey (1953); `count` normal variables lie within w of each other with the probability
    `count` ∫ phi(z) (Phi(z) - Phi(z - w))^(count - 1) dz.
    """

    nodes = _nodes(count, freedom)
    z, weights = _normal_nodes(nodes)
    below = normal_cdf(z)
    # of many means, the largest is rarely below the average: half of the nodes and more count for nothing
    counting = weights * below ** (count - 1) > _NEGLIGIBLE
    z, weights, below = z[counting], count * weights[counting], below[counting]

    def within(w: _Array) -> _Array:
        return np.asarray((below - normal_cdf(z - w[:, None])) ** (count - 1) @ weights)

    return _quantile(within, share, freedom, nodes)


@cache
def dunnett_quantile(share: float, count: int, freedom: int) -> float:
    """Two-sided quantile of the largest of `count` Student's t that share one baseline, in standard errors of
    a difference.

    Dunnett (1955), for as many values of the baseline as of each other treatment (correlation 1/2), where the
    differences lie within c with the probability ∫ phi(z) (Phi(z + c √2) - Phi(z - c √2))^count dz.
    More values of the baseline lower the correlation and raise the true quantile, so that this one is
    slightly too liberal: 2.652 for 8 comparisons and many degrees of freedom, instead of 2.711 at correlation
    1/4 and 2.727 at 0.
    """

    nodes = _nodes(count, freedom)
    z, weights = _normal_nodes(nodes)

    def within(c: _Array) -> _Array:
        reach = math.sqrt(2) * c[:, None]
        return np.asarray((normal_cdf(z + reach) - normal_cdf(z - reach)) ** count @ weights)

    return _quantile(within, share, freedom, nodes)


def _nodes(count: int, freedom: int) -> int:
    """Number of nodes for `count` means and `freedom` degrees of freedom."""
    by_count = next(by_count for most, by_count in _NODES if freedom <= most)
    return next(nodes for most, nodes in by_count if count <= most)


def _quantile(within: Callable[[_Array], _Array], share: float, freedom: int, nodes: int) -> float:
    """The value that s times a variable stays within with a probability of `share`.

    Found by the Illinois method, a regula falsi that halves the value at the end that stays (Dowell and
    Jarratt 1971), on the logarithm of the tail, which is less curved than the tail: some eight integrals,
    where halving the interval takes thirty.
    """
    s, weights = _deviation_nodes(freedom, nodes)

    def excess(value: float) -> float:
        tail = max(1 - float(weights @ within(value * s)), _NEGLIGIBLE)
        return math.log((1 - share) / tail)

    low, high = 0.0, 1.0
    below, above = math.log(1 - share), excess(high)
    while above < 0:
        low, high, below = high, 2 * high, above
        above = excess(high)
    moved = 0  # the end that moved last: -1 the lower, 1 the upper
    while high - low > _PRECISION * high:
        middle = (low * above - high * below) / (above - below)
        at_middle = excess(middle)
        if abs(at_middle) < _PRECISION:
            return middle
        if at_middle < 0:
            low, below, above, moved = middle, at_middle, above / 2 if moved < 0 else above, -1
        else:
            high, above, below, moved = middle, at_middle, below / 2 if moved > 0 else below, 1
    return (low + high) / 2


@cache
def _legendre(count: int) -> tuple[_Array, _Array]:
    """Nodes and weights of Gauss and Legendre's quadrature from -1 to 1."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return nodes, weights


def _normal_nodes(count: int) -> tuple[_Array, _Array]:
    """Nodes z, and weights that make a sum the mean over a standard normal variable."""
    nodes, weights = _legendre(count)
    z = _FARTHEST * nodes
    return z, _FARTHEST * weights * np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)


def _deviation_nodes(freedom: int, count: int) -> tuple[_Array, _Array]:
    """The same over s = sqrt(chi² / freedom)."""
    low, high = (
        math.sqrt(special.chi_squared_quantile(tail, freedom) / freedom)
        for tail in (1 - _LEFT_OUT, _LEFT_OUT)
    )
    nodes, weights = _legendre(count)
    s = (high + low) / 2 + (high - low) / 2 * nodes
    half = freedom / 2
    log_density = (
        math.log(2) + half * math.log(half) - math.lgamma(half) + (freedom - 1) * np.log(s) - half * s**2
    )
    return s, (high - low) / 2 * weights * np.exp(log_density)
