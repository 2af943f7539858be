"""The other methods: compared with scipy's bootstrap, the definition of Fieller's interval, and counting."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from loadcell.stats.two_samples import bootstrap, cliffs_delta, cross_check, kalibera_jones

CHANCE = np.random.default_rng(20260309)
DRIFT = 1 + 0.05 * CHANCE.normal(size=12)
A = 1000 * DRIFT * (1 + 0.02 * CHANCE.normal(size=12))
B = 1050 * DRIFT * (1 + 0.02 * CHANCE.normal(size=12))


@pytest.mark.parametrize("paired", [True, False])
def test_the_bootstrap_is_scipys(paired: bool) -> None:
    def ratio(a: np.ndarray, b: np.ndarray, axis: int = -1) -> np.ndarray:
        result: np.ndarray = np.median(b, axis=axis) / np.median(a, axis=axis)
        return result

    theirs = scipy.stats.bootstrap(
        (A, B), ratio, paired=paired, vectorized=True, method="percentile", n_resamples=20_000,
        rng=np.random.default_rng(1),
    ).confidence_interval  # fmt: skip
    middle, low, high = bootstrap(A, B, paired=paired, resamples=20_000)
    assert middle == np.median(B) / np.median(A)
    assert (low, high) == pytest.approx((theirs.low, theirs.high), abs=0.004)


def test_pairs_are_worth_much_where_blocks_drift() -> None:
    paired, unpaired = bootstrap(A, B, paired=True), bootstrap(A, B, paired=False)
    assert paired[2] - paired[1] < 0.9 * (unpaired[2] - unpaired[1])


@pytest.mark.parametrize("paired", [True, False])
def test_fiellers_ends_are_where_the_test_just_refuses(paired: bool) -> None:
    """At an end r, mean(B) - r mean(A) is exactly t standard errors from 0."""
    ratio = kalibera_jones(A, B, paired=paired)
    assert ratio is not None
    assert ratio[0] == B.mean() / A.mean()
    t = scipy.stats.t.ppf(0.975, 11 if paired else 22)
    for end in ratio[1:]:
        result = B.mean() - end * A.mean()
        variance = B.var(ddof=1) / 12 + end**2 * A.var(ddof=1) / 12
        if paired:
            variance -= 2 * end * np.cov(A, B)[0, 1] / 12
        assert abs(result) == pytest.approx(t * np.sqrt(variance), rel=1e-6)


def test_there_is_no_such_interval_where_the_first_mean_may_be_nothing() -> None:
    assert kalibera_jones(np.array([0.1, 100.0, 0.1]), np.array([1.0, 2.0, 3.0]), paired=False) is None


def test_cliffs_delta_is_what_counting_gives() -> None:
    a, b = np.array([1.0, 2.0, 3.0, 3.0]), np.array([2.0, 3.0, 4.0])
    counted = sum(int(y > x) - int(y < x) for x in a for y in b) / 12
    assert cliffs_delta(a, b) == counted
    assert cliffs_delta(a, a + 10) == 1
    assert cliffs_delta(a + 10, a) == -1
    assert cliffs_delta(a, a) == 0


def test_the_same_data_give_the_same_answer() -> None:
    assert cross_check(A, B, paired=True) == cross_check(A, B, paired=True)
