"""Verdicts on steadiness, over many simulated trials with a known answer; seeds are fixed."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from analysis.made import dipping, noise, throughput, warming
from loadcell.stats import dips
from loadcell.stats.steady_state import judge, mean_of
from truth.assertions import at_least, at_most, between

SEEDS = 200


@pytest.mark.parametrize("length", [120, 600])
@pytest.mark.parametrize("alike", [0.0, 0.5, 0.8])
def test_trials_at_rest_are_not_called_unsteady(length: int, alike: float) -> None:
    """At most 5 % of trials at rest, whose seconds depend on each other or not."""
    states = Counter(
        judge(1000 * (1 + noise(np.random.default_rng(seed), length, alike))).steady for seed in range(SEEDS)
    )
    title = f"{length} s at rest, neighbours correlated by {alike}: called unsteady"
    at_most(title, states[False] / SEEDS, 0.05)


@pytest.mark.parametrize("alike", [0.0, 0.5, 0.8])
def test_the_interval_of_a_trials_own_mean_covers_it(alike: float) -> None:
    """Batch means alone would cover 85 % at a correlation of 0.8."""
    covered = 0
    for seed in range(SEEDS):
        interval = mean_of(1000 * (1 + noise(np.random.default_rng(1000 + seed), 120, alike)))
        assert interval is not None
        covered += abs(interval.mean - 1000) <= interval.half_width
    at_least(f"95% interval of a trial's own mean, correlated by {alike}: covers", covered / SEEDS, 0.93)


def test_a_fall_of_a_tenth_over_ten_minutes_is_seen() -> None:
    fall = 1 - 0.1 * np.arange(600) / 600
    seen = sum(
        judge(throughput(np.random.default_rng(seed), 600) * fall).steady is False for seed in range(100)
    )
    at_least("a fall of 10% over 10 minutes: seen", seen / 100, 0.95)


def test_warm_up_ends_where_its_formula_says() -> None:
    """From half the level with a time constant of 10 s, 2 % remain after 32 s: the median cut is near it."""
    verdicts = [judge(warming(np.random.default_rng(seed), 300, 0.5, 10)) for seed in range(100)]
    between(
        "warm-up of 32 s: median cut, s",
        float(np.median([verdict.settled_after for verdict in verdicts])),
        25,
        45,
    )
    at_most(
        "warm-up of 32 s in 300: called never settled",
        sum(verdict.steady is False for verdict in verdicts) / 100,
        0.05,
    )


@pytest.mark.parametrize("alike", [0.0, 0.5])
@pytest.mark.parametrize(("warmup", "depth"), [(10, 0.3), (12, 0.5)])
def test_an_early_warm_up_is_cut_off_wherever_the_minimum_of_mser_lies(
    alike: float, warmup: int, depth: float
) -> None:
    """By the minimum over all places: lost in 0 to 13 %, called never settled in 2 to 11 %."""
    verdicts = []
    for seed in range(SEEDS):
        series = 1000 * (1 + noise(np.random.default_rng(seed), 120, alike))
        series[:warmup] *= 1 - depth
        verdicts.append(judge(series))
    title = f"warm-up of {warmup} s at {100 * (1 - depth):.0f}% in 120 s, correlated by {alike}:"
    lost = sum(verdict.steady is not False and not verdict.settled_after for verdict in verdicts)
    at_most(f"{title} lost", lost / SEEDS, 0.08)
    unsettled = sum(verdict.steady is False for verdict in verdicts)
    at_most(f"{title} called unsteady", unsettled / SEEDS, 0.02)


def test_the_period_of_dips_is_found() -> None:
    right = 0
    for seed in range(50):
        series = dips.find(dipping(np.random.default_rng(seed), 3600, period=300, length=20, depth=0.4))
        right += series is not None and series.period is not None and abs(series.period - 300) <= 1
    at_least("dips of 40% every 300 s: period found within 1 s", right / 50, 0.95)
