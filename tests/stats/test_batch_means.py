"""Precision of a mean within one trial."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.made import noise
from loadcell.stats.steady_state import batch_means, mean_of


def test_batches_are_whole_and_take_the_end() -> None:
    assert batch_means(np.arange(7.0), 3).tolist() == [2.0, 5.0]


def test_independent_values_are_all_worth_one() -> None:
    mean = mean_of(10 + noise(np.random.default_rng(1), 3600))
    assert mean is not None
    assert mean.effective == pytest.approx(3600, rel=0.25)
    assert mean.half_width == pytest.approx(1.96 * 0.05 / 60, rel=0.25)


def test_values_that_depend_on_their_neighbours_are_worth_fewer() -> None:
    """A first-order process of correlation 0.8: (1 - 0.8) / (1 + 0.8) of them."""
    mean = mean_of(10 + noise(np.random.default_rng(2), 3600, alike=0.8))
    assert mean is not None
    assert mean.effective == pytest.approx(400, rel=0.3)


def test_of_a_constant_there_is_no_doubt() -> None:
    mean = mean_of(np.full(40, 7.0))
    assert mean is not None
    assert (mean.mean, mean.half_width, mean.error_share) == (7.0, 0.0, 0.0)


def test_of_batches_that_are_all_alike_no_value_is_worth_less() -> None:
    """A constant rate, counted in seconds: one transaction more in every second one, and as many in every
    batch.
    """
    mean = mean_of(np.tile([999.0, 1001.0], 1800))
    assert mean is not None
    assert mean.mean == 1000
    assert mean.effective == 3600


def test_of_nothing_there_is_no_share() -> None:
    mean = mean_of(np.zeros(40))
    assert mean is not None
    assert mean.error_share is None


def test_fifteen_values_are_too_few() -> None:
    assert mean_of(np.arange(15.0)) is None
