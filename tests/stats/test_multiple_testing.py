"""Many comparisons: the correction of Benjamini and Hochberg, as scipy has it."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats

from loadcell.stats.hodges_lehmann import benjamini_hochberg


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_it_is_scipys(p_values: list[float]) -> None:
    assert benjamini_hochberg(p_values) == pytest.approx(list(stats.false_discovery_control(p_values)))


def test_what_has_no_p_value_is_not_counted() -> None:
    assert benjamini_hochberg([None, 0.01, None, 0.04]) == [
        None,
        pytest.approx(0.02),
        None,
        pytest.approx(0.04),
    ]
    assert benjamini_hochberg([]) == []
    assert benjamini_hochberg([None]) == [None]
