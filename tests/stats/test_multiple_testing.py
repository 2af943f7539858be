"""Many comparisons: the corrections of Benjamini and Hochberg (as scipy has it) and of Holm."""

from __future__ import annotations

import pytest
import scipy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loadcell.stats.multiple_testing import benjamini_hochberg, holm, miss_rate_of_chosen


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_it_is_scipys(p_values: list[float]) -> None:
    assert benjamini_hochberg(p_values) == pytest.approx(list(scipy.stats.false_discovery_control(p_values)))


def test_what_has_no_p_value_is_not_counted() -> None:
    assert benjamini_hochberg([None, 0.01, None, 0.04]) == [
        None,
        pytest.approx(0.02),
        None,
        pytest.approx(0.04),
    ]
    assert benjamini_hochberg([]) == []
    assert benjamini_hochberg([None]) == [None]


def test_holm_multiplies_by_what_remains_and_never_falls() -> None:
    assert holm([0.01, None, 0.04, 0.02]) == [
        pytest.approx(0.03),
        None,
        pytest.approx(0.04),
        pytest.approx(0.04),
    ]
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([None]) == [None]


def test_intervals_chosen_among_many_are_wider() -> None:
    assert miss_rate_of_chosen([0.01, 0.2, None, 0.3, 0.9]) == pytest.approx(0.05 / 4)
    assert miss_rate_of_chosen([0.01, 0.02]) == pytest.approx(0.05)
    assert miss_rate_of_chosen([0.3, None]) == miss_rate_of_chosen([]) == 0.05
