"""The median of repeats and the interval that needs no assumption on the distribution."""

from __future__ import annotations

import itertools
import math
import random
from statistics import median

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loadcell.stats.repeats import FEWEST_FOR_INTERVAL, coverages, interval, summarise

VALUES = st.lists(st.integers(1, 10**9), min_size=1, max_size=20)


@pytest.mark.parametrize(
    ("n", "j", "expected"),
    [(2, 1, 0.5), (5, 1, 0.9375), (6, 1, 0.96875), (10, 2, 1 - 2 * 11 / 1024), (20, 6, 0.9586105346679688)],
)
def test_coverage_is_the_published_one(n: int, j: int, expected: float) -> None:
    assert dict(coverages(n))[j] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n", range(13))
def test_coverage_agrees_with_counting_every_case(n: int) -> None:
    """Each value falls below or above the true median like a coin: count the outcomes that enclose it."""
    assert list(coverages(n)) == [
        (j, sum(j <= sum(below) <= n - j for below in itertools.product((0, 1), repeat=n)) / 2**n)
        for j in range(n // 2, 0, -1)
    ]


@pytest.mark.parametrize("n", [100, 333, 1023, 1024])
def test_coverage_is_exactly_that_of_the_tails(n: int) -> None:
    """The formula as books print it: 1 - 2 P(B <= j - 1)."""
    for j, covered in coverages(n):
        outside = 2 * sum(math.comb(n, below) for below in range(j))
        assert covered == (2**n - outside) / 2**n


def test_below_six_repeats_there_is_no_interval() -> None:
    assert all(interval(list(range(n))) is None for n in range(FEWEST_FOR_INTERVAL))
    assert interval([5, 1, 4, 2, 3]) is None


def test_the_interval_lies_between_order_statistics() -> None:
    """The extremes of six cover 96.875 % and the next pair 78.125 %: 95 % lies 5/14 on the way."""
    span = interval([6, 1, 5, 2, 4, 3])
    assert span is not None
    assert (span.low, span.high) == pytest.approx((1 + 5 / 14, 6 - 5 / 14))
    assert span.coverage == 0.95


def test_each_further_repeat_narrows_it() -> None:
    """Medians of normal samples: 8 repeats must not give wider intervals than 6 do."""
    chance = random.Random(7)
    widths = []
    for n in (6, 7, 8, 9, 12, 20):
        spans = [interval([chance.gauss(0, 1) for _ in range(n)]) for _ in range(2000)]
        widths.append(sum(span.high - span.low for span in spans if span is not None) / 2000)
    assert widths == sorted(widths, reverse=True)


@pytest.mark.parametrize("n", [6, 8, 9, 15])
def test_the_interval_covers_as_often_as_it_says(n: int) -> None:
    """Coverage over 3000 samples from a skewed distribution whose median is known."""
    chance = random.Random(20260309)
    true_median = 1.0  # of exp(N(0, 1))
    covered, result = 0, 0.0
    for _ in range(3000):
        span = interval([chance.lognormvariate(0, 1) for _ in range(n)])
        assert span is not None
        covered += span.low <= true_median <= span.high
        result = span.coverage
    assert covered / 3000 == pytest.approx(result, abs=0.012)


def test_thousands_of_repeats_have_an_interval_too() -> None:
    """2**1024 is beyond a float; the normal approximation of the ranks is n/2 - sqrt(n)."""
    for n in (1023, 1024, 5000, 100_000):
        span = interval(list(range(n)))
        assert span is not None
        assert span.low == pytest.approx(n / 2 - 0.98 * n**0.5 - 0.5, abs=1)
        assert span.high == pytest.approx(n / 2 + 0.98 * n**0.5 - 0.5, abs=1)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(VALUES)
def test_interval_encloses_the_median_and_lies_inside_the_extremes(values: list[int]) -> None:
    summary = summarise(values)
    assert summary.median == median(values)
    assert (summary.low, summary.high) == (min(values), max(values))
    assert summary.descriptive_only == (len(values) < FEWEST_FOR_INTERVAL)
    if summary.interval is not None:
        assert min(values) <= summary.interval.low <= summary.median <= summary.interval.high <= max(values)
        assert summary.interval.coverage >= 0.95


def test_spread_is_the_coefficient_of_variation() -> None:
    assert summarise([90, 100, 110]).spread == pytest.approx(0.1)
    assert summarise([100]).spread is None
    assert summarise([0, 0]).spread is None


def test_missing_values_are_left_out_and_none_at_all_is_reported() -> None:
    assert summarise([None, 3.0, None]).values == (3.0,)
    nothing = summarise([None])
    assert nothing.median is None
    assert nothing.descriptive_only
