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
    result, seen = search(question(), curve)
    by_grid = max(GRID, key=curve)
    assert result.level is not None
    assert abs(GRID[result.level] - by_grid) <= 5, "within one step"
    assert len(visited(question(), seen, "bracket", "refine")) <= 10
    assert result.settled
    assert result.plateau is not None
    low, high = result.plateau
    assert GRID[low] <= by_grid <= GRID[high]


#: With noise no method distinguishes levels that differ by less. So: how often the answer is within one step
#: of the true level, and how often its true throughput is within 2 % of the highest; beside it, two passes
#: over the whole grid (64 trials). shape, noise of a trial -> least share within a step, least share of
#: throughput within 2 %
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
    matches = [GRID[search(question(), curve, noise=noise, seed=seed)[0].level or 0] for seed in range(100)]
    near = sum(abs(level - best) <= 5 for level in matches) / 100
    as_good = sum(curve(level) >= 0.98 * curve(best) for level in matches) / 100
    assert (near, as_good) >= NOISY[shape, noise], (near, as_good)
    assert as_good >= NOISY[shape, noise][1]


WIDE = steps(1, 512, 1.05)


@pytest.mark.parametrize("noise", [0.0, 0.005])
def test_where_throughput_levels_off_it_finds_where(noise: float) -> None:
    asked = question(WIDE)
    result, _ = search(asked, lambda n: 100.0 * min(n, 37), noise=noise)
    assert result.level is not None
    assert 34 <= WIDE[result.level] <= 40
    assert result.plateau is not None
    assert WIDE[result.plateau[1]] == 512
    assert sum(result.values) / len(result.values) == pytest.approx(3700, rel=0.03)


def test_a_curve_that_still_rises_at_the_end_is_reported_to() -> None:
    result, _ = search(question(), lambda n: n)
    assert result.level is not None
    assert (GRID[result.level], result.edge) == (160, "highest")
    assert result.recovered is None, "there is nothing above to come down from"


def test_a_curve_that_falls_from_the_start_is_reported_to() -> None:
    result, seen = search(question(), lambda n: 100 / n)
    assert (result.level, result.edge) == (0, "lowest")
    assert visited(question(), seen, "bracket") == [5, 20], "what is clearly worse is not gone beyond"


def test_a_flat_curve_is_its_lowest_level_and_all_of_them_are_alike() -> None:
    result, _ = search(question(WIDE), lambda _: 500.0)
    assert result.level == 0
    assert result.plateau == (0, len(WIDE) - 1)


def test_one_and_two_levels_are_searched_too() -> None:
    assert search(question([8.0]), lambda n: n)[0].level == 0
    assert search(question([8.0, 16.0]), lambda n: n)[0].level == 1
    assert search(question([8.0, 16.0]), lambda n: 1 / n)[0].level == 0


def test_levels_at_and_below_zero_are_searched_evenly() -> None:
    levels = [float(n) for n in range(-10, 31)]
    result, _ = search(question(levels), lambda n: 1000 - (n - 12) ** 2)
    assert levels[result.level or 0] == 12


def test_a_bound_cuts_the_curve() -> None:
    result, _ = search(question(), usl(0.02, 120), meets=lambda n: n <= 60)
    assert result.level is not None
    assert result.missed is not None
    assert (GRID[result.level], GRID[result.missed]) == (60, 65)


def test_a_level_that_gave_nothing_is_tried_once_more() -> None:
    def once(before: list[Seen], seen: Seen) -> Seen:
        first = GRID[seen.level] == 80 and all(item.level != seen.level for item in before)
        return Seen(seen.level, seen.stage, None, None) if first else seen

    result, seen = search(question(), usl(0.02, 120), tell=once)
    assert visited(question(), seen, "bracket")[:5] == [5, 20, 80, 80, 160]
    assert result.level is not None
    assert GRID[result.level] == 120


def test_a_level_that_never_gives_anything_counts_as_too_high() -> None:
    result, _ = search(
        question(),
        lambda n: n,
        tell=lambda _, seen: Seen(seen.level, seen.stage, None, None) if GRID[seen.level] > 100 else seen,
    )
    assert result.level is not None
    assert GRID[result.level] == 100
    assert result.lost
    assert all(GRID[level] > 100 for level in result.lost)


def test_when_nothing_ever_ends_well_it_says_so_soon() -> None:
    result, seen = search(
        question(), lambda n: n, tell=lambda _, seen: Seen(seen.level, seen.stage, None, None)
    )
    assert (result.level, result.nothing, len(seen)) == (None, "nothing-measured", 2)


def test_repeats_that_contradict_move_the_candidate() -> None:
    """The search saw 20 far better than it is; repeats bring that to light."""

    def flattered(_: list[Seen], seen: Seen) -> Seen:
        lucky = GRID[seen.level] == 20 and seen.stage == "bracket"
        return Seen(seen.level, seen.stage, 31.0, True) if lucky else seen

    result, _ = search(question(), lambda n: min(n, 50 - n), tell=flattered)
    assert result.level is not None
    assert GRID[result.level] == 25


def test_the_value_is_that_of_trials_that_did_not_choose_the_level() -> None:
    def flattered(_: list[Seen], seen: Seen) -> Seen:
        return Seen(seen.level, seen.stage, (seen.value or 0) * (1.2 if seen.stage != "confirm" else 1), True)

    result, _ = search(question(), usl(0.02, 120), tell=flattered)
    assert result.level is not None
    true = usl(0.02, 120)(GRID[result.level])
    assert result.values[:3] == pytest.approx((true, true, true))
    assert result.plateau == result.alike, "repeats without noise distinguish levels"


def test_a_level_that_repeats_chose_is_repeated_once_more() -> None:
    chosen = 0
    for seed in range(20):
        result, seen = search(question(), SHAPES["very flat"], noise=0.1, seed=seed)
        repeats = [item for item in seen if item.stage == "confirm" and item.level == result.level]
        assert len(repeats) in (3, 6)
        if len(repeats) == 6:
            chosen += 1
            assert list(result.values[:3]) == [item.value for item in repeats[3:]]
    assert chosen


def test_an_overload_it_does_not_come_back_from_is_reported() -> None:
    def metastable(before: list[Seen], seen: Seen) -> Seen:
        broken = any(item.stage == "overload" for item in before) and seen.stage == "after"
        return Seen(seen.level, seen.stage, (seen.value or 0) / 3, True) if broken else seen

    result, seen = search(question(), usl(0.02, 120), tell=metastable)
    assert result.recovered is False
    assert visited(question(), seen, "overload", "after") == [160, 120, 160, 120], "tried twice"
    assert search(question(), usl(0.02, 120))[0].recovered is True


def test_what_comes_next_follows_from_what_was_seen_alone() -> None:
    """Whatever was seen, in however many executions: the next trial is the same."""
    asked = question()
    _, seen = search(asked, usl(0.02, 120), noise=0.02, seed=4)
    for count, item in enumerate(seen):
        probe = decide(asked, list(seen[:count]))
        assert probe is not None
        assert (probe.level, probe.stage) == (item.level, item.stage)
        answer(asked, seen[:count])  # what it would say if it ended now never fails
