"""Distributions: quantiles of a trial, shifts between sides, and shapes to lay over one another."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from loadcell.analysis.compare.percentiles import QUANTILES, Histogram, distribution, shifts


def histogram(median_ms: float, count: int = 100_000) -> Histogram:
    """A log-normal distribution in places 0.5 % wide."""
    chance = np.random.default_rng(round(median_ms * 1000))
    places, counts = np.unique(
        np.round(np.log(median_ms * np.exp(chance.normal(0, 0.5, count))) * 200), return_counts=True
    )
    return Histogram(np.exp(places / 200), counts)


def test_a_quantile_is_the_least_value_that_that_many_do_not_exceed() -> None:
    result = Histogram(np.array([1.0, 2.0, 5.0, 9.0]), np.array([500, 400, 90, 10]))
    assert result.total == 1000
    assert result.quantiles([0.5, 0.501, 0.9, 0.99, 0.999]) == [1.0, 2.0, 2.0, 5.0, None]


def test_an_empty_one_has_none() -> None:
    assert Histogram(np.zeros(0), np.zeros(0, dtype=np.int64)).quantiles([0.5]) == [None]


def test_shifts_find_a_slower_side_at_every_percentile() -> None:
    a = {(block, ""): histogram(4 + block / 100) for block in range(8)}
    b = {(block, ""): histogram((4 + block / 100) * 1.2) for block in range(8)}
    for paired in (True, False):
        result = shifts(a, b, paired=paired)
        assert [shift.quantile for shift in result] == list(QUANTILES)
        inside = [shift.effect for shift in result if shift.quantile <= 0.99]
        for effect in inside:
            assert effect.low is not None
            assert effect.high is not None
            assert effect.ratio == pytest.approx(1.2, abs=0.03)
            assert effect.low > 1.1


def test_only_blocks_of_both_are_paired_and_none_give_nothing() -> None:
    by_name = {(1, ""): histogram(4.0), (2, ""): histogram(4.1)}
    other = {(2, ""): histogram(5.0), (3, ""): histogram(5.1)}
    assert {shift.effect.n for shift in shifts(by_name, other, paired=True)} == {1}
    assert shifts(by_name, {(9, ""): histogram(5.0)}, paired=True) == []
    assert shifts({}, by_name, paired=False) == []


def test_a_percentile_that_one_trial_cannot_tell_is_left_out() -> None:
    by_name = {(1, ""): histogram(4.0), (2, ""): histogram(4.1, count=400)}
    assert max(shift.quantile for shift in shifts(by_name, by_name, paired=True)) == 0.95


def test_shapes_have_equal_steps_and_add_up() -> None:
    steps = distribution([histogram(4.0), histogram(8.0, count=10_000)])
    assert sum(step.share for step in steps) == pytest.approx(1)
    assert all(step.high_ms / step.low_ms == pytest.approx(2 ** (1 / 8)) for step in steps)
    assert all(item.high_ms == pytest.approx(right.low_ms) for item, right in pairwise(steps))
    assert distribution([]) == []


def test_each_trial_weighs_the_same_however_many_transactions_it_had() -> None:
    few, many = Histogram(np.array([1.5]), np.array([10])), Histogram(np.array([6.0]), np.array([1_000_000]))
    shares = {step.low_ms: step.share for step in distribution([few, many]) if step.share}
    assert list(shares.values()) == [0.5, 0.5]
