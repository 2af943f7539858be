"""Error rates of statements on several treatments: the highest, the place of the peak, drift.

Every run is simulated, with a fixed seed, so that the truth is known.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from analysis.made import noise
from loadcell.analysis import saturation, tukey
from loadcell.analysis import usl as law
from loadcell.analysis.drift import of_blocks, of_fit
from loadcell.analysis.findings import WIDE_SPREAD
from loadcell.analysis.layout import Layout
from loadcell.analysis.recommend import best_of
from loadcell.analysis.sweep import speed_of, sweeps
from loadcell.analysis.treatments import Treatment
from loadcell.analysis.tukey import TukeyTest
from loadcell.stats import additive, distributions
from loadcell.stats.repeats import interval, scatter_widely, summarise
from stats.simulated import factorial, sweep
from truth.assertions import at_least, at_most, between
from truth.loads import simulations

RUNS = simulations(200)
#: Simulated experiments of several factors.
EXPERIMENTS = 100


def identical(count: int, repeats: int, *, noise: float, drift: float, seed: int) -> list[Treatment]:
    """Treatments of one throughput; blocks differ by `drift` and trials by `noise` (shares)."""
    return list(
        sweep(dict.fromkeys(range(1, count + 1), 1000.0), repeats, noise=noise, drift=drift, seed=seed)
    )


def alike(count: int, repeats: int, *, noise: float, drift: float, seed: int) -> TukeyTest:
    """Tukey's test of such treatments."""
    chance = np.random.default_rng(seed)
    values = chance.normal(0, noise, (count, repeats)) + chance.normal(0, drift, repeats)
    row, block = np.indices(values.shape)
    fitted = additive.fit(values.ravel(), row.ravel(), block.ravel())
    return TukeyTest(fitted)


@pytest.mark.parametrize(("count", "repeats"), [(2, 10), (4, 6), (8, 10), (16, 10), (32, 20)])
@pytest.mark.parametrize("drift", [0.0, 0.05])
def test_identical_treatments_are_seldom_called_different(count: int, repeats: int, drift: float) -> None:
    false = 0
    for seed in range(runs := simulations(1000)):
        result = alike(count, repeats, noise=0.03, drift=drift, seed=seed)
        top = int(result.fitted.rows.argmax())
        false += any(result.differ(row, top) for row in range(count))
    title = f"{count} identical treatments, {repeats} repeats, blocks {drift:.0%} apart: one called different"
    at_most(title, false / runs, 0.065, runs)


def scattered(chance: np.random.Generator, kind: str, count: int, repeats: int) -> np.ndarray:
    """Logarithms of identical treatments (count, repeats), of unlike scatter or not normally distributed."""
    values = chance.normal(0, 0.03, (count, repeats))
    if kind == "scatter of 1 to 5%":
        values *= np.linspace(1 / 3, 5 / 3, count)[:, None]
    elif kind == "one scatters five times as much":
        values[0] *= 5
    elif kind == "one trial in ten loses 30%":
        values += np.where(chance.random(values.shape) < 0.1, np.log(0.7), 0.0)
    elif kind == "skewed noise":
        values = -0.03 * (chance.exponential(1, values.shape) - np.log(2))
    else:
        in_order = 0.03 * noise(chance, values.size, 0.6, 1.0).reshape(repeats, count)
        values = np.stack([chance.permutation(block) for block in in_order], axis=1)
    return values


KINDS = (
    "scatter of 1 to 5%", "one scatters five times as much", "one trial in ten loses 30%", "skewed noise",
    "trials correlated by 0.6 with the one before",
)  # fmt: skip


@pytest.mark.parametrize(("count", "repeats"), [(2, 10), (4, 6), (8, 5), (16, 10), (32, 20)])
@pytest.mark.parametrize("kind", KINDS)
def test_identical_treatments_of_other_noise_are_seldom_called_different(
    kind: str, count: int, repeats: int
) -> None:
    """By the pooled scatter 14 to 29 % of 16 and 32 that scatter differently would be."""
    title = f"{count} identical treatments, {repeats} repeats, {kind}: one called different"
    runs = simulations(500)
    at_most(title, _called_different(kind, count, repeats, runs), 0.065, runs)


@pytest.mark.parametrize(("count", "repeats"), [(3, 3), (4, 3), (6, 3), (16, 3), (5, 4)])
@pytest.mark.parametrize("kind", KINDS[:-1])
def test_identical_treatments_in_few_independent_blocks_are_seldom_called_different(
    kind: str, count: int, repeats: int
) -> None:
    """By Games and Howell's test where Levene's sees that scatter differs, 8 to 11 % would be."""
    title = f"{count} identical treatments, {repeats} repeats, {kind}: one called different"
    runs = simulations(1500)
    at_most(title, _called_different(kind, count, repeats, runs), 0.05, runs)


def _called_different(kind: str, count: int, repeats: int, runs: int) -> float:
    """Share of runs in which one of identical treatments is called different from the highest."""
    false = 0
    for seed in range(runs):
        chance = np.random.default_rng(seed)
        values = scattered(chance, kind, count, repeats) + chance.normal(0, 0.05, repeats)
        row, block = np.indices(values.shape)
        test = TukeyTest(additive.fit(values.ravel(), row.ravel(), block.ravel()))
        top = int(test.fitted.rows.argmax())
        false += any(test.differ(row, top) for row in range(count))
    return false / runs


def _layout(rows: int, blocks: int, *without: tuple[int, int]) -> np.ndarray:
    """Every row in every block but for these cells."""
    cells = np.ones((rows, blocks), dtype=bool)
    for cell in without:
        cells[cell] = False
    return cells


#: Which rows are in which blocks where some trials are missing, or were never planned.
INCOMPLETE = {
    "halves": _layout(3, 6, (0, 3), (0, 4), (0, 5), (1, 0), (1, 1), (1, 2)),
    "failures": _layout(4, 5, (0, 0), (0, 3), (1, 1), (1, 4), (2, 2), (2, 4), (3, 2)),
    "search": _layout(8, 5, *((row, block) for row in (0, 1, 5, 6, 7) for block in range(1, 5))),
    "apart": _layout(
        4, 6, *((row, block) for row in range(4) for block in range(6) if row // 2 != block // 3)
    ),
}


@pytest.mark.parametrize("layout", INCOMPLETE)
def test_identical_treatments_in_incomplete_blocks_are_seldom_called_different(layout: str) -> None:
    """By numbers of values alone 7 to 10 % would be called different, and 62 % of those that share no
    block.
    """
    cells = INCOMPLETE[layout]
    row, block = np.nonzero(cells)
    chance = np.random.default_rng(17)
    false = 0
    for _ in range(runs := simulations(2000)):
        values = chance.normal(0, 0.03, len(row)) + chance.normal(0, 0.2, cells.shape[1])[block]
        test = TukeyTest(additive.fit(values, row, block))
        false += any(test.differ(first, other) for first in range(len(cells)) for other in range(first))
    title = f"identical treatments in incomplete blocks ({layout}): two called different"
    at_most(title, false / runs, 0.0625, runs)


def test_the_best_of_identical_treatments_is_tied_with_all_others() -> None:
    best = best_of(identical(8, 10, noise=0.03, drift=0.05, seed=1), Layout())
    assert best is not None
    assert len(best.tied) == 7


def test_a_true_difference_of_two_treatments_is_found() -> None:
    apart = 0
    for seed in range(RUNS):
        runs = list(sweep({1: 1000.0, 2: 1050.0}, 10, noise=0.03, drift=0.05, seed=seed))
        apart += tukey.of(runs, speed_of).differ(*runs) is True
    at_least("two treatments 5% apart, 10 blocks, 3% noise: significant", apart / RUNS, 0.85, RUNS)


@pytest.mark.parametrize(
    ("count", "repeats", "least"),
    [(3, 3, 0.35), (8, 3, 0.35), (5, 4, 0.5), (3, 5, 0.55), (8, 5, 0.6), (8, 10, 0.7)],
)
def test_a_true_difference_of_several_treatments_is_found(count: int, repeats: int, least: float) -> None:
    """One is higher than the others by what Tukey's test alone finds in three of four tables."""
    freedom = (count - 1) * (repeats - 1)
    least_difference = distributions.range_quantile(0.95, count, freedom) / math.sqrt(2)
    higher = 0.03 * math.sqrt(2 / repeats) * (least_difference + 0.7)
    chance, differ = np.random.default_rng(41), 0
    for _ in range(runs := simulations(1000)):
        values = chance.normal(0, 0.03, (count, repeats))
        values[0] += higher
        row, block = np.indices(values.shape)
        differ += TukeyTest(additive.fit(values.ravel(), row.ravel(), block.ravel())).differ(0, 1) is True
    title = f"{count} treatments, {repeats} blocks, one {higher:.0%} higher, 3% noise: significant"
    at_least(title, differ / runs, least, runs)


def closed_network(loads: tuple[int, ...], demands: tuple[float, ...]) -> list[float]:
    """Throughput (per second) of a closed network of queues with these service demands (s) at each load.

    Exact mean value analysis (Reiser and Lavenberg 1980).
    """
    queue = np.zeros(len(demands))
    result = {}
    for clients in range(1, max(loads) + 1):
        response = np.array(demands) * (1 + queue)
        speed = clients / response.sum()
        queue = speed * response
        result[clients] = float(speed)
    return [result[load] for load in loads]


POWERS = (1, 2, 4, 8, 16, 32, 64, 128)


@pytest.mark.parametrize("demands", [(0.005, 0.003, 0.002), (0.005, 0.005), (0.01, 0.001)])
@pytest.mark.parametrize("noise", [0.01, 0.03])
def test_a_closed_network_has_no_peak(demands: tuple[float, ...], noise: float) -> None:
    truth = dict(zip(POWERS, closed_network(POWERS, demands), strict=True))
    claimed = between_loads = 0
    for seed in range(50):
        (line,) = sweeps(sweep(truth, 5, noise=noise, drift=0.03, seed=seed))
        claimed += law.judge(line, seed).identified
        mark = saturation.judge(line, seed).peak
        between_loads += mark.last is not None and mark.last < len(POWERS) - 1
    name = f"closed network of {len(demands)} queues, {noise:.0%} noise"
    at_most(f"{name}: a peak claimed", claimed / 50, 0.05)
    at_most(f"{name}: a highest load named", between_loads / 50, 0.06)


@pytest.mark.parametrize("count", [8, 32])
def test_a_plateau_has_no_peak_between_two_loads(count: int) -> None:
    false = 0
    for seed in range(30):
        (line,) = sweeps(identical(count, 5, noise=0.02, drift=0.03, seed=seed))
        mark = saturation.judge(line, seed).peak
        false += (mark.first, mark.last) != (0, count - 1)
    at_most(f"plateau of {count} loads: a peak named between two of them", false / 30, 0.1)


@pytest.mark.parametrize(("count", "repeats"), [(3, 5), (8, 10), (2, 10)])
def test_a_quiet_machine_is_seldom_called_drifting(count: int, repeats: int) -> None:
    seen = 0
    for seed in range(RUNS):
        result = of_blocks(identical(count, repeats, noise=0.05, drift=0.0, seed=seed))
        seen += result is not None and result.notable
    at_most(f"{count} treatments, {repeats} blocks alike, 5% noise: drift reported", seen / RUNS, 0.025, RUNS)


#: Simulated runs of incomplete blocks.
DRIFT_RUNS = simulations(10_000)


def _drift_seen(layout: str, drift: float) -> float:
    """Share of runs with these trials alone in which drift is reported; treatments differ up to twofold."""
    cells = INCOMPLETE[layout]
    row, block = np.nonzero(cells)
    chance, seen = np.random.default_rng(23), 0
    for _ in range(DRIFT_RUNS):
        values = np.log(np.linspace(1, 2, len(cells)))[row] + chance.normal(0, 0.03, len(row))
        values += chance.normal(0, drift, cells.shape[1])[block]
        result = of_fit(additive.fit(values, row, block), range(cells.shape[1]))
        seen += result is not None and result.notable
    return seen / DRIFT_RUNS


@pytest.mark.parametrize("layout", INCOMPLETE)
def test_a_quiet_machine_is_seldom_called_drifting_where_blocks_lack_trials(layout: str) -> None:
    """By the squares of block effects, as if blocks were whole, 1.2 to 1.8 % would be where failures, halves
    or a search leave them incomplete.
    """
    seen = _drift_seen(layout, 0.0)
    at_most(f"incomplete blocks alike ({layout}), 3% noise: drift reported", seen, 0.0125, DRIFT_RUNS)


def test_drift_is_seen_where_blocks_lack_trials() -> None:
    """Three treatments in each of five blocks, five others in the first alone."""
    seen = _drift_seen("search", 0.06)
    at_least("5 incomplete blocks 6% apart, 3% noise: drift reported", seen, 0.65, DRIFT_RUNS)


@pytest.mark.parametrize("repeats", [3, 5, 10])
def test_repeats_that_scatter_little_are_seldom_called_wide(repeats: int) -> None:
    """The wildest of 16 treatments that scatter by 3 % exceeded 5 % in 65 % of runs of three repeats."""
    chance, wide = np.random.default_rng(7), 0
    for _ in range(500):
        runs = [summarise((100 + chance.normal(0, 3, repeats)).tolist()) for _ in range(16)]
        wide += scatter_widely(runs, WIDE_SPREAD)
    at_most(f"16 treatments, {repeats} repeats, 3% noise: a wide spread reported", wide / 500, 0.05)


def test_repeats_that_scatter_widely_are_called_so() -> None:
    chance, wide = np.random.default_rng(8), 0
    for _ in range(500):
        runs = [summarise((100 + chance.normal(0, share, 5)).tolist()) for share in [3] * 15 + [20]]
        wide += scatter_widely(runs, WIDE_SPREAD)
    at_least("16 treatments, 5 repeats, one with 20% noise: a wide spread reported", wide / 500, 0.85)


@pytest.mark.parametrize("noise_share", [0.01, 0.05])
def test_the_knee_of_the_sharpest_curve_is_found(noise_share: float) -> None:
    """Throughput in proportion up to 16 clients, then level: cut at its maximum the curve had no knee."""
    at = between_marks = 0
    for seed in range(40):
        truth = {load: 100.0 * min(load, 16) for load in POWERS}
        (line,) = sweeps(sweep(truth, 5, noise=noise_share, drift=0.03, seed=seed))
        judgement = saturation.judge(line, seed)
        assert judgement.knee is not None
        reach = judgement.reach(judgement.knee)
        at += judgement.load(judgement.knee) == 16
        between_marks += reach is not None and reach[0] <= 16 <= reach[1]
    at_least(f"a sharp bend, {noise_share:.0%} noise: knee found there", at / 40, 0.95)
    assert between_marks >= 38


def test_a_machine_that_drifts_is_seen() -> None:
    seen = 0
    for seed in range(RUNS):
        result = of_blocks(identical(4, 8, noise=0.03, drift=0.06, seed=seed))
        seen += result is not None and result.notable
    at_least("4 treatments, 8 blocks 6% apart, 3% noise: drift reported", seen / RUNS, 0.9, RUNS)


@pytest.mark.parametrize("repeats", [6, 8, 10, 15, 20])
def test_the_interval_of_a_median_covers_it(repeats: int) -> None:
    chance = np.random.default_rng(31)
    held = 0
    for _ in range(4000):
        values = interval((100 + chance.normal(0, 3, repeats)).tolist())
        assert values is not None
        held += values.low <= 100 <= values.high
    between(f"median of {repeats} repeats: in its interval", held / 4000, 0.93, 0.97)


def test_one_at_a_time_seldom_shows_an_effect_that_is_none() -> None:
    factors = {"a": (1, 2, 3), "b": (1, 2, 3), "c": (1, 2, 3), "d": (1, 2, 3)}
    false = 0
    for seed in range(EXPERIMENTS):
        analysis = factorial(
            factors, lambda levels: 1000.0, 8, noise=0.05, drift=0.05, seed=seed, design="one-at-a-time",
            only=lambda levels: sum(level != 1 for level in levels.values()) <= 1,
        )  # fmt: skip
        assert analysis.effects is not None
        false += any(change.ratio.is_significant for change in analysis.effects.changes)
    at_most("one factor at a time, 8 levels without effect: one called an effect", false / EXPERIMENTS, 0.06)


def test_the_lowest_to_the_highest_level_lies_in_its_interval() -> None:
    """Five levels without any effect: the interval of the two farthest apart must hold 1."""
    held = 0
    for seed in range(EXPERIMENTS):
        analysis = factorial(
            {"a": (1, 2, 3, 4, 5), "b": ("x", "y")}, lambda levels: 1000.0, 6, noise=0.03, seed=seed
        )
        assert analysis.effects is not None
        (main,) = (item for item in analysis.effects.mains if item.key == "a")
        held += main.change.ratio.is_significant is False
    at_least("lowest to highest of five levels alike: 1 in the interval", held / EXPERIMENTS, 0.93)
