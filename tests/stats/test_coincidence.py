"""Events within spans, and what chance would have there."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from loadcell.stats import coincidence


def test_equal_probabilities_make_a_binomial_distribution() -> None:
    for count in range(11):
        assert coincidence.tail(count, [0.3] * 10) == pytest.approx(stats.binom.sf(count - 1, 10, 0.3))


def test_unequal_probabilities() -> None:
    assert coincidence.tail(2, [0.5, 0.1]) == pytest.approx(0.05)
    assert coincidence.tail(1, [0.5, 0.1]) == pytest.approx(0.55)
    assert coincidence.tail(0, [0.5, 0.1]) == 1


def test_the_share_of_spans_that_overlap_counts_once() -> None:
    spans = np.array([(10.0, 20.0), (15.0, 30.0), (90.0, 120.0), (-5.0, 2.0), (16.0, 17.0)])
    assert coincidence.share_covered(spans, 0.0, 100.0) == pytest.approx(0.32)
    assert coincidence.share_covered(np.zeros((0, 2)), 0.0, 100.0) == 0
    assert coincidence.share_covered(spans, 5.0, 5.0) == 1


def test_instants_are_within_any_span_that_holds_them() -> None:
    spans = np.array([(10.0, 50.0), (15.0, 16.0), (60.0, 61.0)])
    instants = np.array([9.0, 10.0, 40.0, 50.0, 55.0, 60.5, 62.0])
    assert coincidence.within(instants, spans).tolist() == [False, True, True, True, False, True, False]


def test_many_events_are_a_selection() -> None:
    exact = stats.binom.sf(599, 10_000, 0.05)
    assert coincidence.tail(600, [0.05] * 10_000) == pytest.approx(exact, abs=0.05)
    assert coincidence.tail(500, [0.05] * 10_000) > 0.3
