"""Runs of which the truth is known, compared with runs: the run is the unit, as identical ones differ."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from analysis.compare.simulated_runs import run_of
from loadcell.analysis.compare import sides
from loadcell.analysis.compare.compare import Row, compare
from loadcell.analysis.compare.metrics import named
from loadcell.analysis.compare.sides import RunGroup
from truth.assertions import between, often, seldom
from truth.loads import simulations

COMPARISONS = simulations(300)


def compared(chance: np.random.Generator, runs: int, ratio: float, spread: float, trials: int = 4) -> Row:
    """Two sides of `runs` runs each, whose true speeds differ by `spread`; 2 % noise of each trial."""
    groups = []
    for label, speed in (("before", 1.0), ("after", ratio)):
        of_runs = [
            1000 * speed * np.exp(chance.normal(0, spread) + chance.normal(0, 0.02, trials))
            for _ in range(runs)
        ]
        groups.append(RunGroup(label, [run_of({"base": list(values)}) for values in of_runs]))
    (row,) = compare(sides.run_groups(groups), named(["throughput"]), cross_checks=0).rows
    return row


@pytest.mark.parametrize("spread", [0.01, 0.02])
def test_one_run_a_side_is_never_called_different(spread: float) -> None:
    """From trials alone 14 to 49 % were: nothing in one run tells how much the next would differ."""
    chance = np.random.default_rng(1)
    rows = [compared(chance, 1, 1.0, spread, trials=8) for _ in range(simulations(200))]
    assert {(row.verdict.word, row.verdict.reason) for row in rows} == {("insufficient", "one-run")}
    assert all(row.effect is not None and row.effect.low is not None for row in rows)


@pytest.mark.parametrize("runs", [3, 5, 10])
@pytest.mark.parametrize("spread", [0.01, 0.02])
def test_identical_systems_are_seldom_called_different(spread: float, runs: int) -> None:
    chance = np.random.default_rng(runs)
    rows = [compared(chance, runs, 1.0, spread) for _ in range(COMPARISONS)]
    called = sum(row.verdict.word in {"faster", "slower"} for row in rows)
    covered = sum(
        row.effect is not None and (row.effect.low or 1) <= 1 <= (row.effect.high or 1) for row in rows
    )
    title = f"{runs} runs a side that differ by {spread:.0%}"
    seldom(f"{title}: identical systems called different", called, 0.05, COMPARISONS)
    most = 0.985 if runs < 10 else 0.97
    between(f"{title}: coverage of the 95% interval", covered / COMPARISONS, 0.93, most, COMPARISONS)


def test_a_difference_of_five_percent_is_found_with_three_runs_a_side() -> None:
    chance = np.random.default_rng(5)
    rows = [compared(chance, 3, 1.05, 0.01) for _ in range(COMPARISONS)]
    words = [row.verdict.word for row in rows]
    often("5% faster, 3 runs a side that differ by 1%: found", words.count("faster"), 0.75, COMPARISONS)
    assert "slower" not in words


def test_trials_one_after_the_other_are_never_called_different() -> None:
    """Eight trials of A, then eight of B, identical, on a machine that slows down by 1 % a trial: the ratio
    is -8 %, and no interval knows.
    """
    chance = np.random.default_rng(6)
    machine = 1000 * 0.99 ** np.arange(16)
    for _ in range(50):
        values = machine * np.exp(chance.normal(0, 0.005, 16))
        run, records = run_of({"a": list(values[:8]), "b": list(values[8:])})
        rows = compare(sides.levels(replace(run, order="as-written"), records), cross_checks=0).rows
        assert {(row.verdict.word, row.verdict.reason) for row in rows} == {("insufficient", "order")}
