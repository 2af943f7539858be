"""Searches whose trials scatter: how often the answer is wrong by more than a step, how often the report says
so, and how far its value is off. Simulated with fixed seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

import numpy as np
import pytest

from loadcell.design.search import Answer, Question, Seen, answer, decide
from loadcell.design.search.decide import distinguishable, halving
from loadcell.design.search.model import Table
from truth.assertions import at_least, at_most, between
from truth.loads import simulations

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


def repeated(truth: Sequence[float], repeats: int, seed: int) -> Table:
    """A table of repeats of each level, which scatter by 3 %."""
    chance, levels = np.random.default_rng(seed), range(len(truth))
    question = Question("maximum", CLIENTS[: len(truth)], repeats, 10, 0.0)
    seen = [
        Seen(level, "confirm", truth[level] * float(np.exp(chance.normal(0, 0.03))), True)
        for _ in range(repeats)
        for level in levels
    ]
    return Table(question, seen)


@pytest.mark.parametrize(("levels", "repeats"), [(2, 3), (3, 5), (3, 9), (6, 3)])
def test_the_highest_level_is_seldom_taken_for_a_lower_one(levels: int, repeats: int) -> None:
    """All are alike, so the first is a highest one. By medians of 9 repeats 8 % of searches were wrong."""
    wrong = 0
    for seed in range(runs := simulations(2000)):
        table = repeated([1000.0] * levels, repeats, seed)
        wrong += any(distinguishable(table, 0, other) for other in range(1, levels))
    title = f"{levels} levels alike, {repeats} repeats: the first distinguished from a higher one"
    at_most(title, wrong / runs, 0.055, runs)


def test_a_level_that_is_lower_is_distinguished() -> None:
    """By 6 % at 3 % noise."""
    runs = simulations(1000)
    seen = sum(distinguishable(repeated([940.0, 1000.0, 1000.0], 5, seed), 0, 1) for seed in range(runs))
    at_least("3 levels, 5 repeats, one 6% lower at 3% noise: distinguished", seen / runs, 0.78, runs)


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
