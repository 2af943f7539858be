"""Correlation of neighbouring blocks against orders counted one by one."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest

from loadcell.stats.energy import FEWEST_BLOCKS, consecutive_alike


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
