"""The special functions of statistics against scipy, over all arguments that an analysis has."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy

from loadcell.stats import special

FREEDOMS = [0.5, 1, 1.5, 2, 2.9, 3, 4.4, 7, 15, 40.5, 130, 199, 201, 1e3, 1e4, 1e6]
TS = [1e-12, 1e-4, 0.01, 0.3, 0.99, 1, 1.5, 2, 3.3, 7, 20, 1e3, 1e8]
TAILS = [1e-14, 1e-9, 1e-4, 0.001, 0.025, 0.1, 0.2499, 0.2501, 0.4, 0.49, 0.4999, 0.5 - 1e-9]


def test_the_normal_distribution_is_scipys() -> None:
    z = np.linspace(-12, 12, 2_001).reshape(3, -1)
    assert special.normal_cdf(z) == pytest.approx(scipy.special.ndtr(z), rel=1e-10, abs=1e-22)
    assert 1 - special.normal_cdf(z) == pytest.approx(scipy.special.ndtr(-z), abs=5e-15)


@pytest.mark.parametrize("freedom", FREEDOMS)
def test_students_distribution_is_scipys(freedom: float) -> None:
    t = np.array([*(-np.array(TS)), 0.0, *TS])
    assert special.student_cdf(freedom, t) == pytest.approx(scipy.special.stdtr(freedom, t), rel=1e-11)


@pytest.mark.parametrize("freedom", FREEDOMS)
def test_students_quantile_is_inverse_and_scipys(freedom: float) -> None:
    shares = np.array([*TAILS, 0.5, *(1 - np.array(TAILS))])
    quantiles = special.student_quantile(freedom, shares)
    assert special.student_cdf(freedom, quantiles) == pytest.approx(shares, rel=1e-11)
    assert quantiles == pytest.approx(scipy.special.stdtrit(freedom, shares), rel=1e-8)


def test_a_single_value_is_that_of_the_array() -> None:
    for freedom in FREEDOMS:
        quantile = special.student_quantile(freedom, 0.975)
        assert isinstance(quantile, float)
        assert quantile == pytest.approx(
            special.student_quantile(np.array([freedom, 3.0]), 0.975)[0], rel=1e-10
        )
    freedoms = np.array([[2.0], [9.0]])
    shares = np.array([0.1, 0.5, 0.999])
    table = special.student_quantile(freedoms, shares)
    assert table == pytest.approx(scipy.special.stdtrit(freedoms, shares), rel=1e-9)


def test_ends_and_what_is_no_number() -> None:
    assert special.student_cdf(3, np.array([-math.inf, math.inf])).tolist() == [0, 1]
    assert special.student_cdf(math.inf, -1.96) == pytest.approx(scipy.special.ndtr(-1.96), rel=1e-6)
    assert special.student_quantile(math.inf, 0.975) == pytest.approx(1.959964, abs=1e-6)
    assert np.isnan(special.student_cdf(np.array([math.nan, 2.0]), np.array([1.0, math.nan]))).all()
    assert math.isnan(special.student_quantile(math.nan, 0.975))
    assert special.f_tail(math.inf, 2, 3) == 0
    assert special.chi_squared_tail(0, 3) == 1


@pytest.mark.parametrize("above", [1, 2, 3, 8, 31, 250, 2_000])
@pytest.mark.parametrize("below", [1, 2.5, 6, 40, 300, 100_000])
def test_fishers_distribution_is_scipys(above: float, below: float) -> None:
    for f in (1e-6, 0.1, 0.7, 0.99, 1, 1.01, 1.5, 4, 30, 1e4):
        expected = float(scipy.special.fdtrc(above, below, f))
        assert special.f_tail(f, above, below) == pytest.approx(expected, rel=1e-9, abs=1e-290)


@pytest.mark.parametrize("freedom", [0.5, 1, 2, 3, 7, 20, 99, 199, 201, 1_000, 20_000, 1_000_000])
def test_chi_squared_is_scipys(freedom: float) -> None:
    for ratio in (1e-6, 0.1, 0.8, 0.99, 1, 1.01, 1.2, 3, 10):
        expected = float(scipy.special.chdtrc(freedom, freedom * ratio))
        assert special.chi_squared_tail(freedom * ratio, freedom) == pytest.approx(
            expected, rel=1e-9, abs=1e-290
        )
    for tail in (1e-10, 0.01, 0.5, 0.99, 1 - 1e-10):
        expected = float(scipy.special.chdtri(freedom, tail))
        assert special.chi_squared_quantile(tail, freedom) == pytest.approx(expected, rel=1e-6)
