"""The ratio of two systems and its interval: compared with published tables, scipy, and what symmetry
demands.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from loadcell.stats import two_samples
from loadcell.stats.repeats import FEWEST_FOR_INTERVAL
from loadcell.stats.two_samples import Pairs, Samples, of_pairs, of_samples, signed_rank, signed_rank_p

LOGS = st.lists(st.integers(-3000, 3000).map(lambda n: n / 10_000), min_size=6, max_size=24)


@pytest.mark.parametrize(
    ("n", "cut"), [(6, 1), (7, 3), (8, 4), (9, 6), (10, 9), (12, 14), (15, 26), (20, 53), (25, 90), (50, 435)]
)
def test_signed_rank_cuts_are_the_published_ones(n: int, cut: int) -> None:
    """One more than the critical values of Wilcoxon and Wilcox (1964), two-sided 5 %; 1 where
    there is none.
    """
    assert two_samples._signed_rank_cut(n) == cut


def test_many_values_go_by_the_normal_distribution_without_a_jump() -> None:
    exact, normal = two_samples._signed_rank_cut(50), two_samples._signed_rank_cut(51)
    assert exact < normal < exact * 1.06


@pytest.mark.parametrize("n", [6, 9, 10, 17])
def test_the_paired_interval_holds_what_wilcoxons_test_does_not_refuse(n: int) -> None:
    values = np.random.default_rng(n).normal(0.03, 0.02, n)
    _, low, high = (item[0] for item in signed_rank(values[None, :]))
    for inside, outside in ((low + 1e-9, low - 1e-9), (high - 1e-9, high + 1e-9)):
        assert scipy.stats.wilcoxon(values - inside, method="exact").pvalue > 0.05
        assert scipy.stats.wilcoxon(values - outside, method="exact").pvalue <= 0.05


@pytest.mark.parametrize("n", [6, 9, 10, 17, 50])
def test_p_of_pairs_is_wilcoxons(n: int) -> None:
    for centre in (0.0, 0.01, 0.02):
        values = np.random.default_rng(n).normal(centre, 0.02, n)
        expected = scipy.stats.wilcoxon(values, method="exact").pvalue
        assert signed_rank_p(values[None, :])[0] == pytest.approx(expected)


@pytest.mark.parametrize("outside", [0.05, 0.01, 0.002])
def test_an_interval_leaves_out_no_difference_exactly_where_p_says_so(outside: float) -> None:
    values = np.random.default_rng(7).normal(0.02, 0.02, (500, 12))
    _, low, high = signed_rank(values, outside)
    assert (((low > 0) | (high < 0)) == (signed_rank_p(values) <= outside)).all()


def test_samples_are_compared_by_welchs_test_and_more_by_yuens() -> None:
    chance = np.random.default_rng(3)
    few_a, few_b = chance.normal(0, 1, 9), chance.normal(0.4, 2, 9)
    pairs = two_samples.means_of_pairs(few_b[None, :])
    assert pairs.p[0] == pytest.approx(scipy.stats.ttest_1samp(few_b, 0).pvalue)
    welch = scipy.stats.ttest_ind(few_b, few_a, equal_var=False)
    samples = two_samples.means_of_samples(few_a[None, :], few_b[None, :])
    assert samples.p[0] == pytest.approx(welch.pvalue)
    ends = welch.confidence_interval(0.95)
    assert [end[0] for end in samples.interval(0.05)] == pytest.approx([ends.low, ends.high])
    a, b = chance.normal(0, 1, 20), chance.normal(0.4, 2, 20)
    a_fifth = scipy.stats.ttest_ind(a, b, equal_var=False, trim=0.2).pvalue
    assert two_samples.means_of_samples(a[None, :], b[None, :]).p[0] == pytest.approx(a_fifth)


def test_so_few_pairs_that_ranks_cannot_outlive_the_correction_are_judged_by_students_test() -> None:
    values = np.random.default_rng(9).normal(0.1, 0.02, 6)
    assert Pairs(values).effect(1).p == pytest.approx(2 / 2**6)
    assert Pairs(values).effect(4).p == pytest.approx(scipy.stats.ttest_1samp(values, 0).pvalue)
    wide, wider = Pairs(values).effect(4), Pairs(values).effect(4, 0.01)
    ends = scipy.stats.ttest_1samp(values, 0).confidence_interval(0.99)
    assert wider.coverage == 0.99
    assert wider.low is not None
    assert wider.high is not None
    assert wide.low is not None
    assert math.log(wider.low) == pytest.approx(min(ends.low, values.min()))
    assert math.log(wider.high) == pytest.approx(max(ends.high, values.max()))
    assert wider.low < wide.low


def test_three_runs_a_side_have_an_interval_and_three_trials_none() -> None:
    a, b = np.array([0.0, 0.01, -0.01]), np.array([0.05, 0.06, 0.04])
    assert Samples(a, b).effect().low is None
    runs = Samples(a, b, fewest=3).effect()
    assert runs.low is not None
    assert 1 < runs.low < runs.ratio == pytest.approx(math.exp(0.05))


def test_neighbouring_pairs_that_are_alike_are_noticed() -> None:
    rising = of_pairs(np.linspace(-0.02, 0.02, 20))
    assert rising.alike is not None
    assert rising.alike > 0.7
    turning = of_pairs(np.array([0.01, -0.01] * 10))
    assert turning.alike is not None
    assert turning.alike < 0.1


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
