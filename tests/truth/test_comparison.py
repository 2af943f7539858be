"""Comparisons of systems whose true difference is known: how often intervals cover it, how often identical
systems are called
different, how often a true difference is found. Simulated with fixed seeds, so that nothing depends on the
machine, but for the last one, which compares a server with itself."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from analysis.compare.simulated_runs import drifting, levels_of, runs_of
from loadcell.analysis.compare.compare import compare, judge
from loadcell.analysis.compare.sides import Sides
from loadcell.stats.hodges_lehmann import Array, benjamini_hochberg, of_pairs, rank_sum, signed_rank
from truth.assertions import at_least, at_most, between
from truth.loads import FULL_STRENGTH, load
from truth.reference_server import ReferenceServer

#: Simulated comparisons for each coverage: its standard error is then 0.3 %.
MANY = 5000
COMPARISONS = 200


def drift(chance: np.random.Generator, kind: str, blocks: int) -> Array:
    """Logarithms that all trials of a block share: 5 % at random, or 30 % from first to last block."""
    if kind == "a machine that warms up":
        return np.tile(np.log1p(0.15 * np.linspace(-1, 1, blocks)), (MANY, 1))
    return chance.normal(0, 0.05, (MANY, blocks))


def residual(chance: np.random.Generator, kind: str, blocks: int) -> Array:
    """Logarithms of each trial alone: about 2 %, with the median at 0."""
    shape = (MANY, blocks)
    if kind == "skewed noise":
        return -0.02 * (chance.exponential(1, shape) - math.log(2))
    logarithms = chance.normal(0, 0.02, shape)
    if kind == "disturbed trials":  # one in ten lost 30 %
        return np.where(chance.random(shape) < 0.1, logarithms + math.log(0.7), logarithms)
    return logarithms


@pytest.mark.parametrize("blocks", [8, 10, 15, 20, 30])
@pytest.mark.parametrize(
    "kind", ["random drift", "a machine that warms up", "skewed noise", "disturbed trials"]
)
def test_paired_intervals_cover_the_truth_as_often_as_they_say(kind: str, blocks: int) -> None:
    chance = np.random.default_rng(20260309 + blocks)
    true = math.log(1.05)
    shared = drift(chance, kind, blocks)
    a = shared + residual(chance, kind, blocks)
    b = shared + residual(chance, kind, blocks) + true
    _, low, high = signed_rank(b - a)
    covered = float(np.mean((low <= true) & (true <= high)))
    between(f"coverage of the paired 95% interval, {kind}, {blocks} blocks", covered, 0.93, 0.97)


def test_six_blocks_cover_what_their_extremes_do() -> None:
    """With six, the only interval there is covers 1 - 2 / 2**6 = 96.9 %."""
    chance = np.random.default_rng(6)
    shared = drift(chance, "random drift", 6)
    difference = (shared + residual(chance, "", 6)) - (shared + residual(chance, "", 6))
    _, low, high = signed_rank(difference)
    assert np.mean((low <= 0) & (high >= 0)) == pytest.approx(0.96875, abs=0.008)


@pytest.mark.parametrize("trials", [6, 8, 10, 20])
def test_unpaired_intervals_cover_the_truth_where_nothing_drifts(trials: int) -> None:
    chance = np.random.default_rng(trials)
    true = math.log(1.05)
    a, b = residual(chance, "", trials), residual(chance, "", trials) + true
    _, low, high = rank_sum(a, b)
    covered = float(np.mean((low <= true) & (true <= high)))
    between(
        f"coverage of the unpaired 95% interval without drift, {trials} trials a side", covered, 0.93, 0.97
    )


def different(chosen: Sides) -> bool:
    """Return whether throughput or one of three percentiles is called different."""
    return any(row.verdict.word in {"faster", "slower"} for row in compare(chosen, cross_checks=0).rows)


@pytest.mark.parametrize("blocks", [6, 10, 20])
def test_identical_systems_are_seldom_called_different(blocks: int) -> None:
    """A/A, 200 times: at most one in twenty, in any metric."""
    chance = np.random.default_rng(blocks)
    called = sum(different(levels_of(*drifting(chance, blocks, 1.0))) for _ in range(COMPARISONS))
    at_most(f"A/A called different, of {COMPARISONS}, {blocks} blocks", called, 0.05 * COMPARISONS)


def test_identical_systems_that_scatter_much_are_neither() -> None:
    """Noise of 10 % makes large differences by chance; the least effect does not protect here, the interval
    does.
    """
    chance = np.random.default_rng(77)
    called = sum(different(levels_of(*drifting(chance, 10, 1.0, noise=0.1))) for _ in range(COMPARISONS))
    at_most(f"A/A with 10% noise called different, of {COMPARISONS}", called, 0.05 * COMPARISONS)


def test_eight_independent_metrics_are_corrected() -> None:
    """Without a correction, one of eight would be called different in a third of all A/A comparisons."""
    chance = np.random.default_rng(8)
    raw = called = 0
    for _ in range(COMPARISONS):
        effects = [of_pairs(chance.normal(0, 0.1, 10)) for _ in range(8)]
        adjusted = benjamini_hochberg([effect.p for effect in effects])
        words = [
            judge(effect, p, higher_is_better=True).word for effect, p in zip(effects, adjusted, strict=True)
        ]
        called += bool({"faster", "slower"} & set(words))
        raw += any(effect.low is not None and not effect.low <= 1 <= (effect.high or 1) for effect in effects)
    at_most(
        f"A/A of eight unrelated metrics, any called different, of {COMPARISONS}", called, 0.05 * COMPARISONS
    )
    assert raw > 0.2 * COMPARISONS


def test_identical_runs_on_a_machine_that_does_not_drift_are_seldom_called_different() -> None:
    chance = np.random.default_rng(99)
    called = sum(different(runs_of(*drifting(chance, 10, 1.0, drift=0.0))) for _ in range(COMPARISONS))
    at_most(f"A/A of two runs without drift called different, of {COMPARISONS}", called, 0.05 * COMPARISONS)


@pytest.mark.parametrize("ratio", [1.05, 1 / 1.05])
def test_a_difference_of_five_percent_is_found_with_ten_blocks(ratio: float) -> None:
    """2 % noise, 5 % drift: found in at least 90 %, and in its own direction always."""
    chance = np.random.default_rng(10)
    words = [
        compare(levels_of(*drifting(chance, 10, ratio)), cross_checks=0).rows[0].verdict.word
        for _ in range(COMPARISONS)
    ]
    right, wrong = ("faster", "slower") if ratio > 1 else ("slower", "faster")
    least = 0.9 * COMPARISONS
    at_least(f"5% {right}, 2% noise, 5% drift, 10 blocks: found, of {COMPARISONS}", words.count(right), least)
    assert wrong not in words


def test_what_does_not_matter_is_called_the_same_given_blocks_enough() -> None:
    chance = np.random.default_rng(30)
    words = [
        compare(levels_of(*drifting(chance, 60, 1.003)), cross_checks=0).rows[0].verdict.word
        for _ in range(50)
    ]
    assert words.count("same") >= 45
    assert not {"faster", "slower"} & set(words)


def test_a_server_is_seldom_called_different_from_itself() -> None:
    """A/A for real.

    At full strength ten comparisons of eight blocks. Elsewhere three blocks, which any other process may
    disturb: so few are never called different.
    """
    comparisons, blocks = (10, 8) if FULL_STRENGTH else (1, 3)
    chance = random.Random(1)
    called = 0
    with ReferenceServer(service_us=500) as server:
        specification = server.specification("oltp_point_select", clients=2, duration_s=0.5)
        for _ in range(comparisons):
            throughputs: dict[str, list[float]] = {"a": [], "b": []}
            for _ in range(blocks):
                for arm in chance.sample("ab", 2):
                    result, _ = load(specification)
                    (transactions,) = (
                        entry for entry in result["operations"] if entry["name"] == "transaction"
                    )
                    throughputs[arm].append(transactions["succeeded"] / result["window"]["duration_ns"] * 1e9)
            called += different(levels_of(throughputs["a"], throughputs["b"]))
    if FULL_STRENGTH:
        at_most("A/A of a real server with itself called different, of 10", called, 1)
    else:
        assert called == 0
