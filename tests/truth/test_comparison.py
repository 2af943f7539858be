"""Comparisons of systems whose true difference is known: how often intervals cover it, how often identical
systems are called
different, how often a true difference is found. Simulated with fixed seeds, so that nothing depends on the
machine, but for the last one, which compares a server with itself."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from analysis.compare.simulated_runs import drifting, levels_of, run_of, runs_of
from loadcell.analysis.compare import sides
from loadcell.analysis.compare.compare import OVERALL, compare
from loadcell.analysis.compare.metrics import judge, named
from loadcell.analysis.compare.sides import Sides
from loadcell.analysis.compare.trust import FEWEST_TO_SEE, trust_of_pairs
from loadcell.design.order import balanced
from loadcell.stats import two_samples
from loadcell.stats.multiple_testing import benjamini_hochberg
from loadcell.stats.two_samples import Array, of_pairs, signed_rank
from truth.assertions import at_least, at_most, between, often, seldom
from truth.loads import FULL_STRENGTH, load, simulations
from truth.reference_server import ReferenceServer

#: Simulated comparisons for each coverage: its standard error is then 0.3 %.
MANY = 5000
COMPARISONS = simulations(200)


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
    low, high = two_samples.means_of_samples(a, b).interval(0.05)
    covered = float(np.mean((low <= true) & (true <= high)))
    between(
        f"coverage of the unpaired 95% interval without drift, {trials} trials a side", covered, 0.93, 0.97
    )


@pytest.mark.parametrize("trials", [6, 9, 10, 12, 15, 20])
@pytest.mark.parametrize("kind", ["", "disturbed trials"])
@pytest.mark.parametrize("wider", [1, 5])
def test_unpaired_intervals_cover_the_truth_where_sides_scatter_differently(
    wider: int, kind: str, trials: int
) -> None:
    """One side scatters by 1 %, the other by up to five times as much; ranks covered 83 to 93 %."""
    chance = np.random.default_rng(trials + 100 * wider)
    scatters = ((0.01, 0.01 * wider), (0.01 * wider, 0.01))
    for scatter_a, scatter_b in scatters[:wider]:
        a, b = (
            0.5 * scatter / 0.01 * residual(chance, "", trials)
            + np.where(chance.random((MANY, trials)) < 0.1 * bool(kind), math.log(0.7), 0.0)
            for scatter in (scatter_a, scatter_b)
        )
        low, high = two_samples.means_of_samples(a, b).interval(0.05)
        covered = float(np.mean((low <= 0) & (high >= 0)))
        between(
            f"coverage of the unpaired 95% interval, scatter {scatter_a:g} and {scatter_b:g}, "
            f"{kind or 'no disturbance'}, {trials} trials a side",
            covered, 0.93, 0.97 if trials >= 10 else 0.995,
        )  # fmt: skip


def first_order(chance: np.random.Generator, rows: int, values: int, r: float) -> Array:
    """Series of which each value is `r` times the one before, and chance."""
    series = chance.normal(0, 1, (rows, values))
    series[:, 1:] *= math.sqrt(1 - r * r)
    for position in range(1, values):
        series[:, position] += r * series[:, position - 1]
    return 0.02 * series


def in_balanced_order(series: Array) -> Array:
    """Differences within the blocks of two treatments that a run would plan."""
    rows, trials = series.shape
    pairs = series.reshape(rows, trials // 2, 2)
    first = np.array(
        [[pair[0] for pair in balanced((1, -1), trials // 2, "blocks", seed)] for seed in range(rows)]
    )
    differences: Array = first * (pairs[:, :, 1] - pairs[:, :, 0])
    return differences


@pytest.mark.parametrize("blocks", [8, 10, 20])
@pytest.mark.parametrize("slope", [0.002, 0.01])
def test_intervals_cover_while_the_machine_slows_down_from_trial_to_trial(slope: float, blocks: int) -> None:
    """Balanced blocks keep the coverage that trials in the plan's order lose (53 to 56 %)."""
    chance = np.random.default_rng(blocks)
    series = chance.normal(0, 0.02, (MANY, 2 * blocks)) - slope * np.arange(2 * blocks)
    _, low, high = signed_rank(in_balanced_order(series))
    covered = float(np.mean((low <= 0) & (high >= 0)))
    title = f"coverage of the paired 95% interval, {slope:.1%} slower a trial, {blocks} blocks"
    between(title, covered, 0.93, 0.97 if blocks >= 10 else 0.99)


@pytest.mark.parametrize("blocks", [8, 10, 15, 20, 30])
@pytest.mark.parametrize("r", [0.3, 0.6, 0.9])
def test_intervals_cover_where_trials_depend_on_those_before(r: float, blocks: int) -> None:
    """Dependence of neighbouring trials hits both sides of a shuffled block, in either order, alike."""
    chance = np.random.default_rng(blocks)
    difference = in_balanced_order(first_order(chance, MANY, 2 * blocks, r))
    _, low, high = signed_rank(difference)
    covered = float(np.mean((low <= 0) & (high >= 0)))
    between(
        f"coverage of the paired 95% interval, correlation {r} of neighbouring trials, {blocks} blocks",
        covered, 0.93, 0.97,
    )  # fmt: skip


@pytest.mark.parametrize("blocks", [10, 15, 20, 30])
@pytest.mark.parametrize("r", [0.0, 0.3, 0.5, 0.7])
def test_differences_that_depend_on_the_block_before_have_no_tick(r: float, blocks: int) -> None:
    """Drift that hits one side alone narrows intervals too much: they cover, or have no tick."""
    runs = simulations(1200)
    effects = [
        of_pairs(item) for item in first_order(np.random.default_rng(blocks), runs, blocks + 50, r)[:, 50:]
    ]
    covered = [(effect.low or 1) <= 1 <= (effect.high or 1) for effect in effects]
    trust = [trust_of_pairs(blocks, effect.alike or 0.0) for effect in effects]
    if r:
        ticked = [code.severity == "good" for code in trust]
        unharmed = np.mean(np.array(covered) | ~np.array(ticked))
        title = f"correlation {r} of neighbouring blocks, {blocks} blocks"
        at_least(f"paired 95% intervals that cover or have no tick, {title}", float(unharmed), 0.93, runs)
    else:
        cautioned = np.mean([code.severity == "caution" for code in trust])
        at_most(f"independent blocks called alike, {blocks} blocks", float(cautioned), 0.08, runs)
        if blocks >= FEWEST_TO_SEE:
            assert np.mean([code.severity == "good" for code in trust]) > 0.6


def different(chosen: Sides) -> bool:
    """Return whether throughput or one of three percentiles is called different."""
    return any(row.verdict.word in {"faster", "slower"} for row in compare(chosen, cross_checks=0).rows)


@pytest.mark.parametrize("blocks", [6, 10, 20])
def test_identical_systems_are_seldom_called_different(blocks: int) -> None:
    """A/A, often: at most one in twenty, in any metric."""
    chance = np.random.default_rng(blocks)
    called = sum(different(levels_of(*drifting(chance, blocks, 1.0))) for _ in range(COMPARISONS))
    seldom(f"A/A called different, {blocks} blocks", called, 0.05, COMPARISONS)


def test_identical_systems_that_scatter_much_are_neither() -> None:
    """Noise of 10 % makes large differences by chance; the least effect does not protect here, the interval
    does.
    """
    chance = np.random.default_rng(77)
    called = sum(different(levels_of(*drifting(chance, 10, 1.0, noise=0.1))) for _ in range(COMPARISONS))
    seldom("A/A with 10% noise called different", called, 0.05, COMPARISONS)


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
    seldom("A/A of eight unrelated metrics, any called different", called, 0.05, COMPARISONS)
    assert raw > 0.2 * COMPARISONS


def test_identical_runs_on_a_machine_that_does_not_drift_are_seldom_called_different() -> None:
    chance = np.random.default_rng(99)
    called = sum(different(runs_of(*drifting(chance, 10, 1.0, drift=0.0))) for _ in range(COMPARISONS))
    seldom("A/A of two runs without drift called different", called, 0.05, COMPARISONS)


@pytest.mark.parametrize("ratio", [1.05, 1 / 1.05])
def test_a_difference_of_five_percent_is_found_with_ten_blocks(ratio: float) -> None:
    """2 % noise, 5 % drift: found in at least 90 %, and in its own direction always."""
    chance = np.random.default_rng(10)
    words = [
        compare(levels_of(*drifting(chance, 10, ratio)), cross_checks=0).rows[0].verdict.word
        for _ in range(COMPARISONS)
    ]
    right, wrong = ("faster", "slower") if ratio > 1 else ("slower", "faster")
    often(f"5% {right}, 2% noise, 5% drift, 10 blocks: found", words.count(right), 0.9, COMPARISONS)
    assert wrong not in words


def test_a_difference_of_five_percent_is_found_although_trials_are_disturbed() -> None:
    """One trial in ten loses 30 %: a t test beside the ranks found 41 to 44 %."""
    chance = np.random.default_rng(20)
    faster = 0
    for _ in range(COMPARISONS):
        a, b = drifting(chance, 20, 1.05)
        a, b = (np.where(chance.random(20) < 0.1, 0.7 * side, side) for side in (a, b))
        faster += compare(levels_of(a, b), cross_checks=0).rows[0].verdict.word == "faster"
    often("5% faster, one trial in ten disturbed, 20 blocks: found", faster, 0.7, COMPARISONS)


def many_rows(chance: np.random.Generator, contexts: int, ratios: list[float]) -> Sides:
    """Two levels in several contexts, with the true ratio of each."""
    levels = {f"{s}-{n}": {"s": s, "load.clients": str(n)} for s in ("x", "y") for n in range(contexts)}
    figures = {
        name: list(
            1000 * (ratios[int(name[2:])] if name[0] == "y" else 1) * np.exp(chance.normal(0, 0.03, 10))
        )
        for name in levels
    }
    return sides.levels(*run_of(figures, levels=levels), factor="s")


@pytest.mark.parametrize("difference", [1.03, 1.05])
def test_intervals_of_rows_called_different_hold_the_truth(difference: float) -> None:
    """The luckiest of many rows are called: at 95 % each, 80 to 94 % of their intervals held the truth."""
    chance = np.random.default_rng(14)
    ratios = [difference] * 4 + [1.0] * 12
    missed = []
    for _ in range(runs := simulations(80)):
        comparison = compare(many_rows(chance, 16, ratios), named(["throughput"]), cross_checks=0)
        called = [
            row
            for row in comparison.rows
            if row.verdict.word in {"faster", "slower"} and row.context != OVERALL
        ]
        misses = 0
        for row in called:
            assert row.effect is not None
            assert row.effect.low is not None
            assert row.effect.high is not None
            truth = ratios[int(row.context.rsplit(" ", 1)[-1])]
            misses += not row.effect.low <= truth <= row.effect.high
        missed.append(misses / max(1, len(called)))
    title = (
        f"share of the intervals of rows called different that miss (16 rows, 4 of them {difference - 1:.0%})"
    )
    at_most(title, float(np.mean(missed)), 0.05, 4 * runs)


def test_a_gate_on_any_slower_row_seldom_fails_falsely() -> None:
    """Half of the rows are faster; the false discovery rate lets one of the others pass for slower in 12 to
    17 %.
    """
    chance = np.random.default_rng(15)
    ratios = [1.08] * 8 + [1.0] * 8
    runs = simulations(120)
    failed = [
        compare(many_rows(chance, 16, ratios), named(["throughput"]), cross_checks=0).gate_words
        for _ in range(runs)
    ]
    falsely = sum("slower" in words for words in failed)
    seldom("gates that fail on a slower row although none is", falsely, 0.05, runs)


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
