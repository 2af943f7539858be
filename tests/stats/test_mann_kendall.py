"""The test of Mann and Kendall against published and simulated values."""

from __future__ import annotations

import random

import pytest

from loadcell.stats.trend import trend


def test_a_line_has_its_slope_and_a_hand_computed_statistic() -> None:
    result = trend([1, 2, 3, 4, 5, 6, 7, 8], [0, 2, 4, 6, 8, 10, 12, 14])
    assert result.slope == pytest.approx(0.5)
    assert result.z == pytest.approx(27 / (8 * 7 * 21 / 18) ** 0.5)
    assert result.rises(0.001)
    assert not trend([8, 7, 6, 5, 4, 3, 2, 1]).rises(0.5)


def test_ties_reduce_the_variance_and_constant_values_have_no_trend() -> None:
    # S = 5, variance = (4 * 3 * 13 - 2 * 1 * 9) / 18
    assert trend([1, 2, 2, 3]).z == pytest.approx(4 / ((156 - 18) / 18) ** 0.5)
    assert trend([5] * 20).z == 0
    assert trend([1, 2]).z == 0


def test_noise_rises_as_often_as_the_level_allows() -> None:
    chance = random.Random(3)
    rising = sum(trend([chance.gauss(0, 1) for _ in range(20)]).rises(0.05) for _ in range(2_000))
    assert 0.03 < rising / 2_000 < 0.07


def test_of_many_values_an_even_selection_counts() -> None:
    assert trend([index + (index % 7) for index in range(50_000)]).slope == pytest.approx(1, abs=0.01)
