"""The judgement on one trial."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.made import dipping, noise, throughput, warming
from loadcell.stats.steady_state import judge


def test_a_level_with_scatter_is_steady() -> None:
    judgement = judge(throughput(np.random.default_rng(1), 300))
    assert judgement.steady
    assert judgement.settled_after == 0
    assert judgement.within is not None
    assert judgement.within.mean == pytest.approx(1000, rel=0.01)


def test_a_warm_up_is_reported_and_not_in_the_mean() -> None:
    judgement = judge(warming(np.random.default_rng(2), 300, 0.5, 10))
    assert judgement.steady
    assert 20 <= judgement.settled_after <= 80
    assert judgement.within is not None
    assert judgement.within.mean == pytest.approx(1000, rel=0.01)


def test_a_series_that_climbs_to_the_end_never_settles() -> None:
    judgement = judge(warming(np.random.default_rng(3), 300, 0.5, 300))
    assert judgement.steady is False


def test_a_slow_fall_is_a_trend() -> None:
    series = throughput(np.random.default_rng(4), 3600) * (1 - 0.08 * np.arange(3600) / 3600)
    judgement = judge(series)
    assert judgement.steady is False
    assert judgement.trend is not None
    assert judgement.trend.change == pytest.approx(-0.08, abs=0.02)


def test_periodic_dips_are_no_reason_to_call_a_trial_unsteady() -> None:
    judgement = judge(dipping(np.random.default_rng(5), 3600, period=300, length=20, depth=0.4))
    assert judgement.steady
    assert judgement.dips is not None
    assert judgement.dips.period == pytest.approx(300, abs=1)


def test_dips_do_not_hide_a_trend() -> None:
    series = dipping(np.random.default_rng(6), 3600, period=300, length=20, depth=0.4)
    judgement = judge(series * (1 - 0.1 * np.arange(3600) / 3600))
    assert judgement.state in {"trend", "never-settled"}
    assert judgement.dips is not None
    assert judgement.dips.period == pytest.approx(300, abs=1)


def test_short_or_slowly_swinging_series_cannot_be_judged() -> None:
    assert judge(throughput(np.random.default_rng(7), 30)).state == "too-short"
    assert judge(np.array([])).state == "too-short"
    swinging = judge(1000 * (1 + noise(np.random.default_rng(8), 80, alike=0.97)))
    assert swinging.steady is None


@pytest.mark.parametrize("series", [np.zeros(100), np.full(100, 3.0)])
def test_nothing_at_all_and_nothing_but_a_level_are_steady(series: np.ndarray) -> None:
    assert judge(series).state == "steady"
