"""The ratio of two systems and its interval: compared with published tables, scipy, and what symmetry
demands.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from loadcell.stats import hodges_lehmann
from loadcell.stats.hodges_lehmann import of_pairs, of_samples, rank_sum, signed_rank, trimmed_t, yuen
from loadcell.stats.repeats import FEWEST_FOR_INTERVAL

LOGS = st.lists(st.integers(-3000, 3000).map(lambda n: n / 10_000), min_size=6, max_size=24)


@pytest.mark.parametrize(
    ("n", "cut"), [(6, 1), (7, 3), (8, 4), (9, 6), (10, 9), (12, 14), (15, 26), (20, 53), (25, 90), (50, 435)]
)
def test_signed_rank_cuts_are_the_published_ones(n: int, cut: int) -> None:
    """One more than the critical values of Wilcoxon and Wilcox (1964), two-sided 5 %; 1 where
    there is none.
    """
    assert hodges_lehmann._signed_rank_cut(n) == cut


@pytest.mark.parametrize(
    ("n", "m", "cut"), [(4, 4, 1), (5, 5, 3), (6, 6, 6), (6, 8, 9), (8, 8, 14), (10, 10, 24), (20, 20, 128)]
)
def test_rank_sum_cuts_are_the_published_ones(n: int, m: int, cut: int) -> None:
    """One more than the critical values of Mann and Whitney's U, two-sided 5 %."""
    assert hodges_lehmann._rank_sum_cut(n, m) == hodges_lehmann._rank_sum_cut(m, n) == cut


def test_many_values_go_by_the_normal_distribution_without_a_jump() -> None:
    exact, normal = hodges_lehmann._signed_rank_cut(50), hodges_lehmann._signed_rank_cut(51)
    assert exact < normal < exact * 1.06
    assert (
        hodges_lehmann._rank_sum_cut(40, 40)
        < hodges_lehmann._rank_sum_cut(41, 41)
        < hodges_lehmann._rank_sum_cut(40, 40) * 1.07
    )


@pytest.mark.parametrize("n", [6, 9, 10, 17])
def test_the_paired_interval_holds_what_wilcoxons_test_does_not_refuse(n: int) -> None:
    values = np.random.default_rng(n).normal(0.03, 0.02, n)
    _, low, high = (item[0] for item in signed_rank(values[None, :]))
    for inside, outside in ((low + 1e-9, low - 1e-9), (high - 1e-9, high + 1e-9)):
        assert stats.wilcoxon(values - inside, method="exact").pvalue > 0.05
        assert stats.wilcoxon(values - outside, method="exact").pvalue <= 0.05


@pytest.mark.parametrize(("n", "m"), [(6, 6), (6, 11), (10, 10)])
def test_the_unpaired_interval_holds_what_mann_and_whitneys_test_does_not_refuse(n: int, m: int) -> None:
    chance = np.random.default_rng(n * m)
    a, b = chance.normal(0, 0.02, n), chance.normal(0.03, 0.02, m)
    _, low, high = (item[0] for item in rank_sum(a[None, :], b[None, :]))
    for inside, outside in ((low + 1e-9, low - 1e-9), (high - 1e-9, high + 1e-9)):
        assert stats.mannwhitneyu(a + inside, b, method="exact").pvalue > 0.05
        assert stats.mannwhitneyu(a + outside, b, method="exact").pvalue <= 0.05


def test_p_values_are_students_for_few_values_and_yuens_for_more() -> None:
    chance = np.random.default_rng(3)
    few_a, few_b = chance.normal(0, 1, 10), chance.normal(0.4, 2, 10)
    assert trimmed_t(few_b[None, :])[0] == pytest.approx(stats.ttest_1samp(few_b, 0).pvalue)
    assert yuen(few_a[None, :], few_b[None, :])[0] == pytest.approx(
        stats.ttest_ind(few_a, few_b, equal_var=False).pvalue
    )
    a, b = chance.normal(0, 1, 20), chance.normal(0.4, 2, 20)
    one_in_twenty = stats.ttest_ind(a, b, equal_var=False, trim=0.05).pvalue
    assert yuen(a[None, :], b[None, :])[0] == pytest.approx(one_in_twenty)


def test_one_wild_block_among_many_does_not_decide() -> None:
    calm = np.random.default_rng(5).normal(math.log(1.05), 0.02, 20)
    wild = calm.copy()
    wild[3] = math.log(0.4)
    before, after = of_pairs(calm), of_pairs(wild)
    assert after.ratio == pytest.approx(before.ratio, abs=0.01)
    assert after.low is not None
    assert after.low > 1
    assert after.p is not None
    assert after.p < 0.001


@settings(deadline=None)
@given(LOGS, LOGS)
def test_turning_the_sides_round_turns_the_ratio_round(first: list[float], other: list[float]) -> None:
    a, b = np.array(first), np.array(other)
    n = min(a.size, b.size)
    for there, back in (
        (of_samples(a, b), of_samples(b, a)),
        (of_pairs(b[:n] - a[:n]), of_pairs(a[:n] - b[:n])),
    ):
        assert there.ratio == pytest.approx(1 / back.ratio)
        assert there.low is not None
        assert back.high is not None
        assert there.low == pytest.approx(1 / back.high)
        assert there.p == pytest.approx(back.p, abs=1e-9)
        assert there.low <= there.ratio * (1 + 1e-12)


@settings(deadline=None)
@given(LOGS, st.floats(0.1, 10))
def test_a_faster_machine_changes_nothing(first: list[float], faster: float) -> None:
    a = np.array(first)
    before = of_samples(a, a[::-1] + 0.05)
    after = of_samples(a + math.log(faster), a[::-1] + 0.05 + math.log(faster))
    assert (before.ratio, before.low, before.high) == pytest.approx((after.ratio, after.low, after.high))


@pytest.mark.parametrize("n", range(1, FEWEST_FOR_INTERVAL))
def test_few_values_give_a_ratio_and_nothing_more(n: int) -> None:
    values = np.linspace(0.01, 0.05, n)
    for item in (of_pairs(values), of_samples(np.zeros(9), values)):
        assert item.descriptive_only
        assert (item.low, item.high, item.p, item.n) == (None, None, None, n)
        assert item.ratio == pytest.approx(math.exp(0.03 if n > 1 else 0.01))


def test_no_values_are_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="no values"):
        of_pairs(np.array([]))
    with pytest.raises(ValueError, match="no values"):
        of_samples(np.array([0.1]), np.array([]))


def test_without_any_scatter_a_difference_is_certain_and_none_is_none() -> None:
    same, other = of_pairs(np.zeros(8)), of_pairs(np.full(8, math.log(1.1)))
    assert (same.ratio, same.low, same.high, same.p) == (1, 1, 1, 1)
    assert (other.ratio, other.low, other.high) == pytest.approx((1.1, 1.1, 1.1))
    assert other.p == 0
    assert of_samples(np.zeros(6), np.zeros(6)).p == 1


def test_thousands_of_values_are_joined_with_their_neighbours() -> None:
    chance = np.random.default_rng(11)
    effect = of_pairs(chance.normal(math.log(1.01), 0.05, 10_000))
    assert effect.n == 10_000
    assert effect.low is not None
    assert effect.high is not None
    assert effect.low < 1.01 < effect.high
    assert effect.high - effect.low < 0.004
