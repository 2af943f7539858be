"""What is said of steadiness, over many simulated trials with a known answer; seeds are fixed."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from analysis.made import dipping, noise, throughput, warming
from loadcell.stats import dips
from loadcell.stats.batch_means import mean_of
from loadcell.stats.steady_state import judge
from truth.figures import at_least, at_most, between

SEEDS = 200


@pytest.mark.parametrize("length", [120, 600])
@pytest.mark.parametrize("alike", [0.0, 0.5, 0.8])
def test_trials_at_rest_are_not_called_unsteady(length: int, alike: float) -> None:
    """At most 5 % of trials at rest, whose seconds depend on each other or not."""
    states = Counter(
        judge(1000 * (1 + noise(np.random.default_rng(seed), length, alike))).steady for seed in range(SEEDS)
    )
    what = f"{length} s at rest, neighbours correlated by {alike}: called unsteady"
    at_most(what, states[False] / SEEDS, 0.05)


@pytest.mark.parametrize("alike", [0.0, 0.5, 0.8])
def test_the_interval_of_a_trials_own_mean_covers_it(alike: float) -> None:
    """Batch means alone would cover 85 % at a correlation of 0.8."""
    covered = 0
    for seed in range(SEEDS):
        found = mean_of(1000 * (1 + noise(np.random.default_rng(1000 + seed), 120, alike)))
        assert found is not None
        covered += abs(found.mean - 1000) <= found.half_width
    at_least(f"95% interval of a trial's own mean, correlated by {alike}: covers", covered / SEEDS, 0.93)


def test_a_fall_of_a_tenth_over_ten_minutes_is_seen() -> None:
    fall = 1 - 0.1 * np.arange(600) / 600
    seen = sum(
        judge(throughput(np.random.default_rng(seed), 600) * fall).steady is False for seed in range(100)
    )
    at_least("a fall of 10% over 10 minutes: seen", seen / 100, 0.95)


def test_warm_up_ends_where_its_formula_says() -> None:
    """From half the level with a time constant of 10 s, 2 % are left after 32 s: the median cut is near it."""
    found = [judge(warming(np.random.default_rng(seed), 300, 0.5, 10)) for seed in range(100)]
    between("warm-up of 32 s: median cut, s", float(np.median([one.settled_after for one in found])), 25, 45)
    at_most(
        "warm-up of 32 s in 300: called never settled", sum(one.steady is False for one in found) / 100, 0.05
    )


def test_the_period_of_dips_is_found() -> None:
    right = 0
    for seed in range(50):
        found = dips.find(dipping(np.random.default_rng(seed), 3600, period=300, length=20, depth=0.4))
        right += found is not None and found.period is not None and abs(found.period - 300) <= 1
    at_least("dips of 40% every 300 s: period found within 1 s", right / 50, 0.95)
