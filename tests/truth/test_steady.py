"""What is said of steadiness, over many simulated trials with a known answer; seeds are fixed."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from analysis.made import noise, throughput, warming
from loadcell.analysis.steady import judge
from loadcell.analysis.within import mean_of

SEEDS = 200


@pytest.mark.parametrize("length", [120, 600])
@pytest.mark.parametrize("alike", [0.0, 0.5, 0.8])
def test_trials_at_rest_are_not_called_unsteady(length: int, alike: float) -> None:
    """At most 5 % of trials at rest, whose seconds depend on each other or not."""
    states = Counter(
        judge(1000 * (1 + noise(np.random.default_rng(seed), length, alike))).steady for seed in range(SEEDS)
    )
    assert states[False] <= 0.05 * SEEDS


@pytest.mark.parametrize("alike", [0.0, 0.5, 0.8])
def test_the_interval_of_a_trials_own_mean_covers_it(alike: float) -> None:
    """In 93 % of trials or more; batch means alone would reach 85 % at a correlation of 0.8."""
    covered = 0
    for seed in range(SEEDS):
        found = mean_of(1000 * (1 + noise(np.random.default_rng(1000 + seed), 120, alike)))
        assert found is not None
        covered += abs(found.mean - 1000) <= found.half_width
    assert covered >= 0.93 * SEEDS


def test_a_fall_of_a_tenth_over_ten_minutes_is_seen() -> None:
    fall = 1 - 0.1 * np.arange(600) / 600
    seen = sum(
        judge(throughput(np.random.default_rng(seed), 600) * fall).steady is False for seed in range(100)
    )
    assert seen >= 95


def test_warm_up_ends_where_its_formula_says() -> None:
    """From half the level with a time constant of 10 s, 2 % are left after 32 s: the median cut is near it."""
    cuts = []
    for seed in range(100):
        found = judge(warming(np.random.default_rng(seed), 300, 0.5, 10))
        assert found.steady is not False
        cuts.append(found.settled_after)
    assert 25 <= np.median(cuts) <= 45
