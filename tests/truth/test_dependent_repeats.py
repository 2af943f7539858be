"""The warning on intervals of medians whose repeats depend on each other: simulated with fixed seeds."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.made import noise
from analysis.runs import findings_by_code, run_of
from loadcell.analysis.analyse import analyse
from loadcell.stats.energy import consecutive_alike
from loadcell.stats.repeats import interval
from truth.assertions import at_least, at_most

RUNS = 400


@pytest.mark.parametrize("blocks", [6, 10, 20])
@pytest.mark.parametrize("treatments", [1, 8])
def test_independent_blocks_are_seldom_called_dependent(blocks: int, treatments: int) -> None:
    """Blocks differ by 3 %, trials of a block by 1 %."""
    called = 0
    for seed in range(RUNS):
        chance = np.random.default_rng(seed)
        values = chance.normal(0, 0.03, (blocks, 1)) + chance.normal(0, 0.01, (blocks, treatments))
        p = consecutive_alike(values - values.mean(axis=0))
        called += p is not None and p < 0.05
    at_most(f"{blocks} independent blocks of {treatments}: called dependent", called / RUNS, 0.08)


@pytest.mark.parametrize(("alike", "least"), [(0.5, 0.55), (0.8, 0.8)])
def test_correlated_blocks_lose_their_tick(alike: float, least: float) -> None:
    """With 20 blocks: intervals that cover 83 and 62 % had a tick in every run."""
    called = covered = 0
    for seed in range(RUNS):
        chance = np.random.default_rng(seed)
        values = noise(chance, 20, alike, 0.03)[:, None] + chance.normal(0, 0.01, (20, 4))
        p = consecutive_alike(values - values.mean(axis=0))
        called += p is not None and p < 0.05
        reach = interval([float(np.exp(value)) for value in values[:, 0]])
        assert reach is not None
        covered += reach.low <= 1 <= reach.high
    assert covered / RUNS < 0.9
    at_least(f"20 blocks correlated by {alike}: called dependent", called / RUNS, least)


def test_the_report_has_no_tick_where_repeats_swing() -> None:
    """A swing of 10 % over ten blocks that ends where it began is no trend."""
    swing = [100 * (1 + 0.05 * float(np.sin(2 * np.pi * block / 10))) for block in range(10)]
    still = [100.0, 101.0, 99.0, 100.5, 98.8, 101.2, 99.1, 100.9, 99.4, 100.2]
    for values, code in ((swing, "found.intervals.dependent"), (still, "found.intervals")):
        messages = findings_by_code(analyse(*run_of({"1": values, "2": [2 * value for value in values]})))
        assert {"found.intervals", "found.intervals.dependent"} & messages.keys() == {code}
