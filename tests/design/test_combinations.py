"""Designs, whatever the factors: every combination once, and what each design promises."""

from __future__ import annotations

import math
import time

from hypothesis import given, settings
from hypothesis import strategies as st

from loadcell.plan.factors import Factor, Level
from loadcell.plan.problems import Mark
from loadcell.plan.treatment import Combinations

HERE = Mark("plan.yaml", 1, 1)


@st.composite
def factors(draw: st.DrawFn) -> list[Factor]:
    results = []
    for index in range(draw(st.integers(0, 4))):
        levels = tuple(Level(str(n), {}, HERE) for n in range(draw(st.integers(1, 5))))
        baseline = draw(st.integers(0, len(levels) - 1))
        results.append(Factor(f"f{index}", levels, HERE, crossed=draw(st.booleans()), baseline=baseline))
    return results


@given(factors())
@settings(deadline=None)
def test_full_holds_every_combination_once(some: list[Factor]) -> None:
    every = list(Combinations(some, "full"))
    assert len(every) == len(set(every)) == math.prod(len(factor.levels) for factor in some)
    assert every == sorted(every)
    assert all(0 <= level < len(f.levels) for item in every for level, f in zip(item, some, strict=True))


@given(factors())
@settings(deadline=None)
def test_one_at_a_time_varies_one_uncrossed_factor_at_most(some: list[Factor]) -> None:
    combinations = Combinations(some, "one-at-a-time")
    every = list(combinations)
    assert len(every) == len(set(every)) == len(combinations)
    for item in every:
        changed = [f for level, f in zip(item, some, strict=True) if not f.crossed and level != f.baseline]
        assert len(changed) <= 1
    crossed = math.prod(len(f.levels) for f in some if f.crossed)
    assert len(every) == crossed * (1 + sum(len(f.levels) - 1 for f in some if not f.crossed))


def test_counting_needs_no_building() -> None:
    levels = tuple(Level(str(n), {}, HERE) for n in range(1000))
    started = time.monotonic()
    assert Combinations([Factor(f"f{n}", levels, HERE) for n in range(20)], "full").total == 1000**20
    assert time.monotonic() - started < 1
