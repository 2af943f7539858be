"""Monotonic trends of a series."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.made import noise, throughput
from loadcell.stats import steady_state


def test_a_fall_of_a_tenth_is_found_and_measured() -> None:
    series = throughput(np.random.default_rng(1), 600) * (1 - 0.1 * np.arange(600) / 600)
    result = steady_state.find(series)
    assert result is not None
    assert result.change == pytest.approx(-0.105, abs=0.02)
    assert result.p < 1e-6


def test_a_slow_swing_is_no_trend() -> None:
    """Independent values of this size would make a trend in half of all cases."""
    seen = [
        result.p < 0.01
        for seed in range(100)
        if (result := steady_state.find(1000 * (1 + noise(np.random.default_rng(seed), 600, alike=0.95))))
    ]
    assert len(seen) == 100
    assert sum(seen) <= 5


def test_a_line_without_scatter_is_one_and_a_constant_is_none() -> None:
    line, level = steady_state.find(np.arange(10.0, 30.0)), steady_state.find(np.full(20, 3.0))
    assert line is not None
    assert level is not None
    assert line.p == 0.0
    assert (level.change, level.p) == (0.0, 1.0)


def test_few_values_or_none_above_nothing_give_no_trend() -> None:
    assert steady_state.find(np.arange(7.0)) is None
    assert steady_state.find(np.zeros(40)) is None
