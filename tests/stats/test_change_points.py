"""Change points: the statistic by its definition, and what each way of judging finds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from loadcell.stats import change_points
from loadcell.stats.change_points import by_permutation, by_t_test, by_windows
from loadcell.stats.energy import Array, best_split, highest, statistics


def slowly(before: Array, after: Array) -> float:
    """The statistic, pair by pair, as Matteson and James write it."""
    n, m = before.size, after.size
    across = sum(abs(x - y) for x in before for y in after) / (n * m)

    def within(values: Array) -> float:
        pairs = list(itertools.combinations(values, 2))
        return sum(abs(x - y) for x, y in pairs) / len(pairs) if pairs else 0.0

    return float(n * m / (n + m) * (2 * across - within(before) - within(after)))


def test_the_statistic_is_the_definition_for_every_split() -> None:
    series = np.random.default_rng(1).normal(0, 1, 9)
    row = statistics(series)
    for i in range(1, 9):
        for k in range(i + 1, 10):
            assert row[i, k] == pytest.approx(slowly(series[:i], series[i:k])), (i, k)


def test_many_series_at_once_are_each_as_alone() -> None:
    series = np.random.default_rng(2).normal(0, 1, (5, 12))
    alone = [split.q for row in series if (split := best_split(row))]
    assert highest(series).tolist() == pytest.approx(alone)


def test_the_best_split_leaves_the_end_free_and_room_on_either_side() -> None:
    series = np.array([0.0] * 6 + [10.0] * 6 + [0.0] * 2)
    assert (split := best_split(series)) is not None
    assert split.at == 6
    assert best_split(np.array([0.0, 0.0, 0.0, 0.0, 9.0]), least=3) is None
    assert best_split(np.full(8, 4.0)) is None
    assert best_split(np.array([1.0])) is None


STEPS = np.concatenate([np.full(10, 100.0), np.full(10, 90.0), np.full(10, 110.0)])


@pytest.mark.parametrize("find", [by_t_test, by_permutation, by_windows])
def test_two_changes_are_found_with_the_levels_beside_them(find: object) -> None:
    series = STEPS + np.random.default_rng(3).normal(0, 1, 30)
    result = find(series.tolist())  # type: ignore[operator]
    assert [point.at for point in result] == [10, 20]
    assert result[0].change == pytest.approx(-0.10, abs=0.01)
    assert result[1].change == pytest.approx(110 / 90 - 1, abs=0.015)
    assert all(point.p <= 0.01 for point in result)


@pytest.mark.parametrize("find", [by_t_test, by_permutation, by_windows])
@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0], [5.0] * 20, [0.0] * 20])
def test_nothing_to_find_is_found_in_short_or_constant_series(find: object, values: list[float]) -> None:
    assert find(values) == ()  # type: ignore[operator]


def test_a_change_without_any_scatter_is_certain() -> None:
    (point,) = by_t_test([4.0] * 5 + [0.0] * 5, least=3)
    assert (point.at, point.p, point.change) == (5, 0.0, -1.0)
    assert point.magnitude == float("inf")


def test_a_single_odd_value_is_no_change() -> None:
    series = np.random.default_rng(4).normal(100, 1, 30)
    series[14] = 60
    assert by_t_test(series.tolist(), least=3) == ()
    assert by_permutation(series.tolist(), least=3) == ()


@pytest.mark.parametrize("least", [1, 3])
def test_noise_alone_is_rarely_a_change(least: int) -> None:
    """The level is 1 % a series; 500 series are within chance of it."""
    chance = np.random.default_rng(5)
    for size in (8, 20, 50):
        seen = sum(bool(by_t_test(chance.normal(100, 2, size).tolist(), least=least)) for _ in range(500))
        assert seen <= 12, size


def test_permutation_keeps_its_level_whatever_the_distribution() -> None:
    chance = np.random.default_rng(6)
    seen = sum(
        bool(by_permutation((100 + 5 * chance.standard_t(2, 16)).tolist(), level=0.05, permutations=199))
        for _ in range(200)
    )
    assert seen <= 20


def test_permutation_reaches_every_level_that_is_asked_for() -> None:
    """999 shuffles could not tell p below 0.001, and so never find a change at a sixteenth of 1 %."""
    series = [100.0 + n % 3 for n in range(20)] + [50.0 + n % 3 for n in range(20)]
    assert [point.at for point in by_permutation(series, level=0.01 / 16)] == [20]


def test_permutation_gives_the_same_answer_each_time() -> None:
    series = (STEPS + np.random.default_rng(7).normal(0, 4, 30)).tolist()
    assert by_permutation(series) == by_permutation(series)


def test_students_test_is_scipys() -> None:
    from scipy.stats import ttest_ind

    chance = np.random.default_rng(8)
    result, after = chance.normal(0, 1, 7), chance.normal(0.5, 1, 11)
    assert change_points.student(result, after) == pytest.approx(float(ttest_ind(result, after).pvalue))
    assert change_points.student(result[:1], after[:1]) == 1.0
