"""Special functions of statistics: the normal, chi-squared, F and Student's t distributions.

Arguments are floats or arrays, and results are of the same kind. Incomplete integrals are continued fractions
(DLMF 8.17.22 and 8.9.2), evaluated backwards from a term that no digit of the result depends on. Tests
compare all of them with scipy, which as a dependency would be a quarter of an installation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[np.float64]

_erfc: Callable[[Any], Any] = np.frompyfunc(math.erfc, 1, 1)
_lgamma: Callable[[Any], Any] = np.frompyfunc(math.lgamma, 1, 1)
_normal_quantile: Callable[[Any], Any] = np.frompyfunc(NormalDist().inv_cdf, 1, 1)

#: Where a standard normal variable is as good as never, and nodes of its table by unit.
_FARTHEST, _NODES_BY_UNIT = 10, 1024
#: From here on Stirling's series to the fifth power is exact to 1e-16.
_STIRLING_FROM = 100.0
#: Terms of a continued fraction: a number, and a multiple of the root of the larger parameter, with which the
#: terms needed grow (Press et al., *Numerical Recipes*, 6.2 and 6.4).
_TERMS, _TERMS_BY_ROOT = 40, 6
#: Degrees of freedom beyond which Student's t is as good as normal; infinity counts as this.
_MOST_FREEDOM = 1e7
#: Newton's steps of a quantile at most, and the relative step after which the next would be below 1e-14.
_MOST_STEPS, _LAST_STEP = 30, 1e-8


def normal_cdf(z: _Array) -> _Array:
    """Probability that a standard normal variable is at most `z`.

    A cubic between two nodes of a table, through their values and derivatives: a relative error of 1e-11 at
    8 standard deviations, 1e-15 near 0. One call of `math.erfc` per value would take ten times as long.
    """
    table, densities = _normal_table()
    position = (np.clip(z, -_FARTHEST, _FARTHEST) + _FARTHEST) * _NODES_BY_UNIT
    index = np.minimum(position.astype(np.intp), table.size - 2)
    t = position - index
    low, high = table[index], table[index + 1]
    slope, next_slope = densities[index] / _NODES_BY_UNIT, densities[index + 1] / _NODES_BY_UNIT
    rise = high - low
    below: _Array = low + t * (
        slope + t * (3 * rise - 2 * slope - next_slope + t * (slope + next_slope - 2 * rise))
    )
    return below


@cache
def _normal_table() -> tuple[_Array, _Array]:
    """Distribution and density of a standard normal variable at the nodes."""
    z = np.linspace(-_FARTHEST, _FARTHEST, 2 * _FARTHEST * _NODES_BY_UNIT + 1)
    below = np.asarray(_erfc(-z / math.sqrt(2)), float) / 2
    return below, np.exp(-z * z / 2) / math.sqrt(2 * math.pi)


def student_cdf(freedom: Any, t: Any) -> Any:
    """Probability that Student's t with `freedom` degrees of freedom is at most `t`."""
    freedom, t = np.broadcast_arrays(np.asarray(freedom, float), np.asarray(t, float))
    tail = _student_tail(np.minimum(freedom, _MOST_FREEDOM), np.abs(t))
    return _plain(np.where(t > 0, 1 - tail, tail))


def student_quantile(freedom: Any, share: Any) -> Any:
    """The value that Student's t is at most with probability `share`, strictly between 0 and 1."""
    freedom, share = np.broadcast_arrays(np.asarray(freedom, float), np.asarray(share, float))
    freedom, tail = np.minimum(freedom, _MOST_FREEDOM), np.minimum(share, 1 - share)
    t = _student_start(freedom, tail)
    log_scale = _log_beta(freedom / 2, np.full_like(freedom, 0.5)) + np.log(freedom) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(_MOST_STEPS):
            beyond = _student_tail(freedom, t)
            density = np.exp(-log_scale - (freedom + 1) / 2 * np.log1p(t * t / freedom))
            # Newton's method for the logarithm of the tail over that of t, which is nearly straight far out.
            step = np.where(t > 0, np.log(beyond / tail) * beyond / (t * density), 0.0)
            t = t * np.exp(step)
            if not np.any(np.abs(step) > _LAST_STEP):
                break
    return _plain(np.where(share > 0.5, t, -t))


def f_tail(f: float, above: float, below: float) -> float:
    """Probability that F with these degrees of freedom is more than `f`."""
    total = below + above * f
    half = np.asarray(below / 2), np.asarray(above / 2)
    return float(_beta_integral(*half, np.asarray(below / total), np.asarray(above * f / total)))


def chi_squared_tail(value: float, freedom: float) -> float:
    """Probability that chi squared with `freedom` degrees of freedom is more than `value`."""
    return _gamma_tail(freedom / 2, value / 2)


def chi_squared_quantile(tail: float, freedom: float) -> float:
    """The value that chi squared exceeds with probability `tail`, to a relative 1e-12, by bisection."""
    low, high = 0.0, freedom
    while chi_squared_tail(high, freedom) > tail:
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if chi_squared_tail(middle, freedom) > tail:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _plain(values: _Array) -> Any:
    """The array, or a float in place of one without dimensions."""
    return values if values.ndim else float(values)


def _student_start(freedom: _Array, tail: _Array) -> _Array:
    """A first value of the quantile: the expansion of Cornish and Fisher; for few degrees of freedom a power
    of the quantile of Cauchy's distribution, since the tail falls as a power of t.
    """
    z = -np.asarray(_normal_quantile(tail), float)
    expansion = z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    cauchy = np.tan(np.pi * (0.5 - tail))
    power = np.where(tail < 0.25, np.maximum(cauchy, 0) ** (1 / np.minimum(freedom, 3)), cauchy)
    start: _Array = np.where(freedom < 3, power, expansion)
    return start


def _student_tail(freedom: _Array, t: _Array) -> _Array:
    """Probability of more than `t`, which is not negative."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        # Infinite where t is 0, and 0 where t is infinite.
        ratio = freedom / (t * t)
        near = np.where(np.isinf(ratio), 1.0, ratio / (1 + ratio))
    return _beta_integral(freedom / 2, np.full_like(near, 0.5), near, 1 / (1 + ratio)) / 2


def _beta_integral(a: _Array, b: _Array, x: _Array, y: _Array) -> _Array:
    """The regularised incomplete beta function I_x(a, b); `y` is 1 - x, without its rounding."""
    mirrored = x > (a + 1) / (a + b + 2)
    a, b, x, y = (
        np.where(mirrored, swapped, value) for value, swapped in ((a, b), (b, a), (x, y), (y, x))
    )  # fmt: skip
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        log_x = np.where(x < 0.5, np.log(x), np.log1p(-y))
        log_y = np.where(y < 0.5, np.log(y), np.log1p(-x))
        front = np.where(x > 0, np.exp(a * log_x + b * log_y - _log_beta(a, b)) / a, np.where(x == 0, 0.0, x))
        part = front * _beta_fraction(a, b, x)
    result: _Array = np.where(mirrored, 1 - part, part)
    return result


def _beta_fraction(a: Any, b: Any, x: Any) -> Any:
    terms = _terms(max(float(np.nanmax(a, initial=0.0)), float(np.nanmax(b, initial=0.0))))
    if not x.ndim:  # Python's floats are ten times as fast as arrays of one
        a, b, x = a.item(), b.item(), x.item()
    value = 1.0
    for m in range(terms, 0, -1):
        after = a + 2 * m
        odd = (a + m) * (a + b + m) * x / (after * (after + 1))
        value = 1 + m * (b - m) * x / ((after - 1) * after) / (1 - odd / value)
    return 1 / (1 - (a + b) * x / (a + 1) / value)


def _gamma_tail(a: float, x: float) -> float:
    """The regularised upper incomplete gamma function Q(a, x)."""
    if x <= 0:
        return 1.0
    if a >= _STIRLING_FROM:
        u = (x - a) / a
        log_front = a * (math.log1p(u) - u) + math.log(a / (2 * math.pi)) / 2 - float(_stirling(a))
    else:
        log_front = a * math.log(x) - x - math.lgamma(a)
    front = math.exp(log_front)
    if x > a + 1:
        value = math.inf
        for n in range(_terms(a), 0, -1):
            value = x + 2 * n + 1 - a - (n + 1) * (n + 1 - a) / value
        return front / (x + 1 - a - (1 - a) / value)
    term = total = 1 / a
    n = 1
    while term > total * 1e-17:
        term *= x / (a + n)
        total += term
        n += 1
    return 1 - front * total


def _terms(parameter: float) -> int:
    return _TERMS + round(_TERMS_BY_ROOT * math.sqrt(parameter))


def _log_beta(a: _Array, b: _Array) -> _Array:
    """The logarithm of the beta function, without the cancellation of two large gamma functions."""
    large, small = np.maximum(a, b), np.minimum(a, b)
    log_beta: _Array = np.asarray(_lgamma(small), float) - _log_gamma_ratio(large, small)
    return log_beta


def _log_gamma_ratio(large: _Array, step: _Array) -> _Array:
    """The logarithm of gamma(large + step) / gamma(large)."""
    after = large + step
    series = (
        (large - 0.5) * np.log1p(step / large)
        + step * np.log(after)
        - step
        + _stirling(after)
        - _stirling(large)
    )
    exact = np.asarray(_lgamma(after), float) - np.asarray(_lgamma(large), float)
    ratio: _Array = np.where(large >= _STIRLING_FROM, series, exact)
    return ratio


def _stirling(a: Any) -> Any:
    """The error of Stirling's formula for the logarithm of gamma(a)."""
    return 1 / (12 * a) - 1 / (360 * a**3) + 1 / (1260 * a**5)
