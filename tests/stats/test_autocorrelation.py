"""The lag-1 estimate against processes of known correlation, and the test of blocks against all their
orders.
"""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest

from loadcell.stats.autocorrelation import (
    FEWEST_BLOCKS,
    HIGHEST,
    LINE,
    MEAN,
    consecutive_alike,
    effective_count,
    lag_1,
    of_stretches,
)


def first_order(count: int, n: int, correlation: float) -> np.ndarray:
    """`count` stationary first-order processes (count, n)."""
    values = np.random.default_rng(3).normal(size=(count, n))
    values[:, 1:] *= np.sqrt(1 - correlation**2)
    for at in range(1, n):
        values[:, at] += correlation * values[:, at - 1]
    return values


def about(series: np.ndarray, terms: int) -> np.ndarray:
    """Residuals of each series about its mean, or its straight line."""
    design = np.vander(np.arange(series.shape[1]), terms)
    return np.asarray(series - (design @ np.linalg.pinv(design) @ series.T).T)


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.6])
@pytest.mark.parametrize("terms", [MEAN, LINE])
def test_the_corrected_estimate_is_right_on_average(terms: int, correlation: float) -> None:
    """The uncorrected estimate from 60 values about a line is 0.03 to 0.08 too low."""
    estimates = [lag_1(residuals, terms) for residuals in about(first_order(3000, 60, correlation), terms)]
    assert np.mean([estimate.corrected for estimate in estimates]) == pytest.approx(correlation, abs=0.015)
    assert np.mean([estimate.measured for estimate in estimates]) < correlation - 0.015


def test_a_line_needs_a_larger_correction_than_a_mean() -> None:
    """White noise: each fitted term takes 1 / n from the estimate."""
    residuals = about(first_order(1, 60, 0.0), LINE)[0]
    about_line, about_mean = lag_1(residuals, LINE), lag_1(residuals, MEAN)
    difference = about_line.corrected - about_mean.corrected
    assert difference == pytest.approx((1 + about_line.measured) / 60)


def test_stretches_with_a_mean_each_give_the_correlation_within_them() -> None:
    """Three stretches of 40 values: steps between them are no correlation, and each has its own bias."""
    series = first_order(2000, 120, 0.4)
    series[:, 40:80] += 5
    stretches = [np.split(values, 3) for values in series]
    corrected = [of_stretches([part - part.mean() for part in parts]).corrected for parts in stretches]
    assert np.mean(corrected) == pytest.approx(0.4, abs=0.015)


def test_the_estimate_stays_within_its_bounds() -> None:
    assert lag_1(np.zeros(9)) == of_stretches([np.zeros(3), np.zeros(2)])
    assert lag_1(np.zeros(9)).corrected == 0.0
    ramp = lag_1(np.linspace(-1, 1, 9), LINE)
    assert ramp.measured < ramp.corrected == HIGHEST
    alternating = lag_1(np.tile([1.0, -1.0], 6))
    assert -1 <= alternating.corrected < -0.9
    assert alternating.positive == 0.0


def test_correlated_values_count_as_fewer() -> None:
    """The mean of a first-order process scatters as that of this number of independent values."""
    means = first_order(4000, 300, 0.5).mean(axis=1)
    assert means.var() == pytest.approx(1 / effective_count(300, 0.5), rel=0.1)
    assert effective_count(300, 0.0) == 300


def column(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)[:, None]


def counted(values: tuple[float, ...]) -> float:
    """Share of all orders whose lag-1 products add up to as much (Wald and Wolfowitz 1943)."""

    def products(order: tuple[float, ...]) -> float:
        return sum(before * after for before, after in pairwise(order))

    orders = list(permutations(values))
    return sum(products(order) >= products(values) for order in orders) / len(orders)


@pytest.mark.parametrize(
    "values", [(-2, -1, 0, 1, 2), (2, -1, 1, -2, 0), (-3, -1, 0, 0, 1, 3), (3, 1, -4, 1, -1, 0)]
)
def test_it_is_the_share_of_orders_that_are_as_alike(values: tuple[float, ...]) -> None:
    """A ramp of five, whose products add up to 4: 2 of 120 orders reach that."""
    assert consecutive_alike(column(*values)) == pytest.approx(counted(values), abs=0.03)


def test_a_ramp_is_alike_and_what_alternates_is_not() -> None:
    ramp, alternating = np.linspace(-1, 1, 12), np.tile([1.0, -1.0], 6)
    alike, apart = consecutive_alike(column(*ramp)), consecutive_alike(column(*alternating))
    assert alike is not None
    assert apart is not None
    assert alike < 0.01
    assert apart > 0.99


def test_what_blocks_share_does_not_count_as_a_correlation_of_blocks() -> None:
    """Ten treatments that all move with their block are one series, not ten that agree."""
    shared = np.random.default_rng(7).normal(0, 1, 8)
    single = consecutive_alike(column(*shared))
    assert consecutive_alike(np.tile(shared[:, None], 10)) == pytest.approx(single)


def test_too_few_blocks_or_no_deviation_tell_nothing() -> None:
    assert consecutive_alike(column(*range(FEWEST_BLOCKS - 1))) is None
    assert consecutive_alike(np.zeros((9, 3))) is None
