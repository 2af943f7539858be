"""Where a warm-up ends."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.made import throughput, warming
from loadcell.stats import steady_state


def test_the_formula_on_a_series_one_can_follow() -> None:
    """Three low values, then a level: cutting three leaves no scatter at all."""
    assert steady_state.mser(np.array([0.0, 5.0, 8.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0])) == 3


@pytest.mark.parametrize(("tau", "low", "high"), [(10, 20, 80), (30, 70, 150)])
def test_a_warm_up_is_cut_where_it_no_longer_matters(tau: float, low: int, high: int) -> None:
    """From half the level: within 2 % of it after 3.2 time constants."""
    cut = steady_state.cut(warming(np.random.default_rng(3), 300, 0.5, tau))
    assert cut is not None
    assert cut.settled
    assert low <= cut.values <= high
    assert cut.difference < -0.05


def test_a_warm_up_that_takes_all_the_time_never_settles() -> None:
    cut = steady_state.cut(warming(np.random.default_rng(4), 300, 0.5, 300))
    assert cut is not None
    assert not cut.settled


def test_a_steady_series_has_none() -> None:
    cut = steady_state.cut(throughput(np.random.default_rng(5), 300))
    assert cut == steady_state.Cut(0, settled=True, difference=0.0)


def test_a_constant_series_has_none() -> None:
    assert steady_state.cut(np.full(60, 5.0)) == steady_state.Cut(0, settled=True, difference=0.0)
    assert steady_state.cut(np.zeros(60)) == steady_state.Cut(0, settled=True, difference=0.0)


def test_below_forty_values_nothing_is_reported() -> None:
    assert steady_state.cut(np.arange(39.0)) is None
