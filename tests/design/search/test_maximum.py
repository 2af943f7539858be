"""Finding the level with the highest throughput."""

from __future__ import annotations

import math

import pytest

from design.search.curves import GRID, Curve, question, search, steps, usl, visited
from loadcell.design.search import Seen, answer, decide

#: Shapes with one highest point; where a report saw it: at 120 clients reading and writing, at 50 only
#: reading.
SHAPES: dict[str, Curve] = {
    "scalable": usl(0.0, 120),
    "contended": usl(0.02, 120),
    "flat-topped": usl(0.1, 120),
    "very flat": usl(0.3, 120),
    "read only": usl(0.01, 50),
    "tent": lambda n: min(n, 240 - n),
    "slow fall": lambda n: n if n <= 120 else 120 - 0.3 * (n - 120),
    "saturating, then falling": lambda n: 1 - math.exp(-min(n, 120) / 35) - 0.002 * max(0, n - 120),
    "bell": lambda n: math.exp(-(math.log(n / 120) ** 2) / 2),
    "knee at 50": lambda n: n / 50 if n <= 50 else 1 - 0.001 * (n - 50),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_it_says_what_a_whole_grid_of_32_levels_says_after_at_most_10_trials(shape: str) -> None:
    curve = SHAPES[shape]
    found, seen = search(question(), curve)
    by_grid = max(GRID, key=curve)
    assert found.level is not None
    assert abs(GRID[found.level] - by_grid) <= 5, "within one step"
    assert len(visited(question(), seen, "bracket", "refine")) <= 10
    assert found.settled
    assert found.plateau is not None
    low, high = found.plateau
    assert GRID[low] <= by_grid <= GRID[high]


#: With noise no method tells levels apart that differ by less. So: how often the answer is within one step of
#: the true level, and how often its true throughput is within 2 % of the highest; beside it, two passes over
#: the whole grid (64 trials). shape, noise of a trial -> least share within a step, least share of throughput
#: within 2 %
NOISY = {
    ("scalable", 0.005): (0.99, 1.0),
    ("scalable", 0.01): (0.80, 0.97),
    ("contended", 0.005): (0.97, 1.0),
    ("contended", 0.01): (0.60, 0.96),
    ("tent", 0.02): (0.97, 0.85),
    ("slow fall", 0.005): (0.93, 0.93),
    ("bell", 0.01): (0.70, 0.96),
}


@pytest.mark.parametrize(("shape", "noise"), NOISY)
def test_with_noise_it_is_as_often_right_as_can_be(shape: str, noise: float) -> None:
    curve = SHAPES[shape]
    best = max(GRID, key=curve)
    found = [GRID[search(question(), curve, noise=noise, seed=seed)[0].level or 0] for seed in range(100)]
    near = sum(abs(level - best) <= 5 for level in found) / 100
    as_good = sum(curve(level) >= 0.98 * curve(best) for level in found) / 100
    assert (near, as_good) >= NOISY[shape, noise], (near, as_good)
    assert as_good >= NOISY[shape, noise][1]


WIDE = steps(1, 512, 1.05)


@pytest.mark.parametrize("noise", [0.0, 0.005])
def test_where_throughput_levels_off_it_finds_where(noise: float) -> None:
    asked = question(WIDE)
    found, _ = search(asked, lambda n: 100.0 * min(n, 37), noise=noise)
    assert found.level is not None
    assert 34 <= WIDE[found.level] <= 40
    assert found.plateau is not None
    assert WIDE[found.plateau[1]] == 512
    assert sum(found.values) / len(found.values) == pytest.approx(3700, rel=0.03)


def test_a_curve_that_still_rises_at_the_end_is_said_to() -> None:
    found, _ = search(question(), lambda n: n)
    assert found.level is not None
    assert (GRID[found.level], found.edge) == (160, "highest")
    assert found.recovered is None, "there is nothing above to come down from"


def test_a_curve_that_falls_from_the_start_is_said_to() -> None:
    found, seen = search(question(), lambda n: 100 / n)
    assert (found.level, found.edge) == (0, "lowest")
    assert visited(question(), seen, "bracket") == [5, 20], "what is clearly worse is not gone beyond"


def test_a_flat_curve_is_its_lowest_level_and_all_of_them_are_alike() -> None:
    found, _ = search(question(WIDE), lambda _: 500.0)
    assert found.level == 0
    assert found.plateau == (0, len(WIDE) - 1)


def test_one_and_two_levels_are_searched_too() -> None:
    assert search(question([8.0]), lambda n: n)[0].level == 0
    assert search(question([8.0, 16.0]), lambda n: n)[0].level == 1
    assert search(question([8.0, 16.0]), lambda n: 1 / n)[0].level == 0


def test_levels_at_and_below_zero_are_searched_evenly() -> None:
    levels = [float(n) for n in range(-10, 31)]
    found, _ = search(question(levels), lambda n: 1000 - (n - 12) ** 2)
    assert levels[found.level or 0] == 12


def test_a_bound_cuts_the_curve() -> None:
    found, _ = search(question(), usl(0.02, 120), meets=lambda n: n <= 60)
    assert found.level is not None
    assert found.missed is not None
    assert (GRID[found.level], GRID[found.missed]) == (60, 65)


def test_a_level_that_gave_nothing_is_tried_once_more() -> None:
    def once(before: list[Seen], seen: Seen) -> Seen:
        first = GRID[seen.level] == 80 and all(one.level != seen.level for one in before)
        return Seen(seen.level, seen.stage, None, None) if first else seen

    found, seen = search(question(), usl(0.02, 120), tell=once)
    assert visited(question(), seen, "bracket")[:5] == [5, 20, 80, 80, 160]
    assert found.level is not None
    assert GRID[found.level] == 120


def test_a_level_that_never_gives_anything_counts_as_too_high() -> None:
    found, _ = search(
        question(),
        lambda n: n,
        tell=lambda _, seen: Seen(seen.level, seen.stage, None, None) if GRID[seen.level] > 100 else seen,
    )
    assert found.level is not None
    assert GRID[found.level] == 100
    assert found.lost
    assert all(GRID[level] > 100 for level in found.lost)


def test_when_nothing_ever_ends_well_it_says_so_soon() -> None:
    found, seen = search(
        question(), lambda n: n, tell=lambda _, seen: Seen(seen.level, seen.stage, None, None)
    )
    assert (found.level, found.nothing, len(seen)) == (None, "nothing-measured", 2)


def test_repeats_that_contradict_move_the_candidate() -> None:
    """The search saw 20 far better than it is; repeats bring that to light."""

    def flattered(_: list[Seen], seen: Seen) -> Seen:
        lucky = GRID[seen.level] == 20 and seen.stage == "bracket"
        return Seen(seen.level, seen.stage, 31.0, True) if lucky else seen

    found, _ = search(question(), lambda n: min(n, 50 - n), tell=flattered)
    assert found.level is not None
    assert GRID[found.level] == 25


def test_an_overload_it_does_not_come_back_from_is_told() -> None:
    def metastable(before: list[Seen], seen: Seen) -> Seen:
        broken = any(one.stage == "overload" for one in before) and seen.stage == "after"
        return Seen(seen.level, seen.stage, (seen.value or 0) / 3, True) if broken else seen

    found, seen = search(question(), usl(0.02, 120), tell=metastable)
    assert found.recovered is False
    assert visited(question(), seen, "overload", "after") == [160, 120, 160, 120], "tried twice"
    assert search(question(), usl(0.02, 120))[0].recovered is True


def test_what_comes_next_follows_from_what_was_seen_alone() -> None:
    """Whatever was seen, in however many executions: the next trial is the same."""
    asked = question()
    _, seen = search(asked, usl(0.02, 120), noise=0.02, seed=4)
    for count, one in enumerate(seen):
        probe = decide(asked, list(seen[:count]))
        assert probe is not None
        assert (probe.level, probe.stage) == (one.level, one.stage)
        answer(asked, seen[:count])  # what it would say if it ended now never fails
