"""Precision of the response time of one open-loop trial: the queue M/M/1, simulated with fixed seeds."""

from __future__ import annotations

import numpy as np
import pytest

from loadcell.analysis.series import Timeline, judge_response
from loadcell.stats.energy import Array
from loadcell.stats.steady_state import mean_of
from truth.assertions import at_least, at_most

TRIALS, SECONDS, WARMUP_S = 100, 60, 30


def queue(
    chance: np.random.Generator, rate_per_s: float, utilisation: float, slower: float = 0.0
) -> Timeline:
    """One trial of Poisson arrivals at one server with exponential service times; these grow by the share
    `slower` over the measurement. Lindley's recursion (1952) as a running maximum.
    """
    count = int(rate_per_s * (SECONDS + WARMUP_S) * 1.2)
    arrivals = np.cumsum(chance.exponential(1 / rate_per_s, count))
    growth = 1 + slower * np.clip((arrivals - WARMUP_S) / SECONDS, 0, 1)
    served = np.cumsum(chance.exponential(utilisation / rate_per_s, count) * growth)
    departures = np.maximum.accumulate(arrivals - np.concatenate([[0], served[:-1]])) + served
    second = np.floor(departures).astype(int) - WARMUP_S
    measured = (second >= 0) & (second < SECONDS)
    answered = np.bincount(second[measured], minlength=SECONDS)
    total_s = np.bincount(second[measured], weights=(departures - arrivals)[measured], minlength=SECONDS)
    response_ms: Array = 1e3 * total_s / np.maximum(answered, 1)
    return Timeline("1", 1.0, answered.astype(float), response_ms)


@pytest.mark.parametrize(("rate_per_s", "utilisation"), [(200, 0.5), (200, 0.8), (1000, 0.9), (1000, 0.95)])
def test_the_mean_response_time_is_as_well_known_as_reported(rate_per_s: float, utilisation: float) -> None:
    """Throughput was reported as known to 1 to 2 %, and nothing was said of the response time."""
    true_ms = 1e3 * utilisation / (rate_per_s * (1 - utilisation))
    covered, unsteady, ratio = 0, 0, []
    for seed in range(TRIALS):
        line = queue(np.random.default_rng(seed), rate_per_s, utilisation)
        response = judge_response(line)
        assert response is not None
        within, throughput = response.steadiness.within, mean_of(line.throughput)
        assert within is not None
        assert throughput is not None
        covered += abs(within.mean - true_ms) <= within.half_width
        unsteady += response.steadiness.steady is False
        ratio.append((within.error_share or 0.0) / (throughput.error_share or 1.0))
    title = f"M/M/1, {rate_per_s:g}/s at {100 * utilisation:g}%:"
    at_least(f"{title} the error of the mean response time covers it", covered / TRIALS, 0.78)
    at_least(f"{title} that error by the error of throughput", float(np.median(ratio)), 2)
    at_most(f"{title} called unsteady", unsteady / TRIALS, 0.05)


def test_a_target_that_slows_down_is_seen_where_throughput_is_the_offered_load() -> None:
    """Service times grow by 60 % over the measurement, from half to 80 % of the capacity."""
    seen = blind = 0
    for seed in range(TRIALS):
        line = queue(np.random.default_rng(seed), 200, 0.5, slower=0.6)
        response = judge_response(line)
        assert response is not None
        seen += response.steadiness.steady is not True
        blind += (
            judge_response(Timeline("1", 1.0, line.throughput, line.throughput)).steadiness.steady is True
        )  # type: ignore[union-attr]
    at_least("M/M/1 that slows down by 60%: seen by response time", seen / TRIALS, 0.8)
    at_least("M/M/1 that slows down by 60%: throughput looks steady", blind / TRIALS, 0.9)
