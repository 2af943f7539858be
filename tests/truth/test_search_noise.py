"""Searches whose trials scatter: how often the answer is wrong by more than a step, how often the report says
so, and how far its value is off. Simulated with fixed seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

import numpy as np
import pytest

from loadcell.design.search import Answer, Question, Seen, answer, decide, halving
from truth.assertions import at_least, at_most, between

CLIENTS = tuple(float(n) for n in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256))
RATES = tuple(float(f"{100 * 1.02**step:.4g}") for step in range(120))
SEARCHES = 60
#: Contention and crosstalk of the Universal Scalability Law: a top at 40, 95 and 22 clients.
LAWS = {"round": (0.03, 0.0006), "flat": (0.1, 0.0001), "sharp": (0.0, 0.002)}


def throughputs(law: str) -> list[float]:
    sigma, kappa = LAWS[law]
    return [1000 * n / (1 + sigma * (n - 1) + kappa * n * (n - 1)) for n in CLIENTS]


def search(question: Question, truth: Sequence[float], noise: float, limit: float | None = None) -> Answer:
    """Search to the end; with a limit, a level meets the bounds if its noisy value does not exceed it."""
    chance = np.random.default_rng(question.seed)
    seen: list[Seen] = []
    while (probe := decide(question, seen)) is not None:
        value = truth[probe.level] * float(np.exp(chance.normal(0, noise)))
        seen.append(Seen(probe.level, probe.stage, value, limit is None or value <= limit))
    return answer(question, seen)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("noise", [0.05, 0.1])
def test_a_maximum_that_noise_hides_is_reported_with_the_levels_it_may_be_at(law: str, noise: float) -> None:
    """With the search's trial in the value and without the noise in the range: the value was 3 to 5 % too
    high at 10 % noise, and the range held the top in 36 to 78 %."""
    truth = throughputs(law)
    best = int(np.argmax(truth))
    holds, off = [], []
    for seed in range(SEARCHES):
        outcome = search(Question("maximum", CLIENTS, 3, 10, 0.02, seed=seed), truth, noise)
        assert outcome.level is not None
        assert outcome.alike is not None
        low, high = outcome.alike
        holds.append(low <= best <= high)
        off.append(median(outcome.values) / truth[outcome.level] - 1)
    title = f"search with {100 * noise:.0f}% noise, {law} top:"
    at_least(f"{title} range of levels holds the top", float(np.mean(holds)), 0.95)
    between(f"{title} mean error of the value", float(np.mean(off)), -0.025, 0.025)


@pytest.mark.parametrize("noise", [0.05, 0.2])
def test_a_limit_that_noise_hides_is_not_placed_between_two_levels(noise: float) -> None:
    """Response times of M/M/1 with 500/s: the limit of 5 ms is at 400/s. Where the answer is more than a step
    beside it, trials of the same level disagree, and the report says so."""
    truth = [1 / (1 - min(0.999, rate / 500)) for rate in RATES]
    limit = max(level for level, value in enumerate(truth) if value <= 5)
    unsaid, holds = 0, []
    for seed in range(SEARCHES):
        question = Question("bound", RATES, 3, 10, 0.0, seed=seed)
        outcome = search(replace(question, trials=halving(question)), truth, noise, limit=5)
        assert outcome.level is not None
        assert outcome.limits is not None
        low, high = outcome.limits
        holds.append((low or 0) <= limit < (len(RATES) if high is None else high))
        placed = outcome.settled and (low, high) == (outcome.level, outcome.missed)
        unsaid += placed and abs(outcome.level - limit) > 1
    title = f"search for a limit with {100 * noise:.0f}% noise:"
    at_most(f"{title} wrong by more than a step, and unsaid, of {SEARCHES}", unsaid, 0.02 * SEARCHES)
    at_least(f"{title} range holds the limit", float(np.mean(holds)), 0.85)
