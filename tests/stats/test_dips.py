"""Dips, their period, and what comes with them."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.made import dipping, noise, throughput
from loadcell.stats import dips


def test_checkpoints_every_five_minutes_of_an_hour() -> None:
    result = dips.find(dipping(np.random.default_rng(1), 3600, period=300, length=20, depth=0.4))
    assert result is not None
    assert len(result.dips) == 12
    assert result.period == pytest.approx(300, abs=1)
    assert result.length == pytest.approx(20, abs=2)
    assert result.depth == pytest.approx(0.4, abs=0.03)
    assert result.lost == pytest.approx(0.4 * 20 / 300, rel=0.1)


def test_shallow_dips_stand_out_from_means_of_several() -> None:
    series = 1000 * (1 + noise(np.random.default_rng(2), 3600, alike=0.3, sd=0.05))
    series[(np.arange(3600) - 40) % 300 < 20] *= 0.85
    result = dips.find(series)
    assert result is not None
    assert result.period == pytest.approx(300, abs=3)


def test_two_minutes_with_four_dips_are_enough() -> None:
    result = dips.find(dipping(np.random.default_rng(3), 120, period=30, length=4, depth=0.5, first=10))
    assert result is not None
    assert result.period == pytest.approx(30, abs=0.5)


def test_a_dip_that_did_not_come_leaves_the_period_as_it_is() -> None:
    series = dipping(np.random.default_rng(4), 1800, period=120, length=8, depth=0.5)
    series[640 - 5 : 640 + 15] = 1000
    result = dips.find(series)
    assert result is not None
    assert result.period == pytest.approx(120, abs=1)


def test_dips_here_and_there_have_no_period() -> None:
    series = throughput(np.random.default_rng(5), 1800)
    for begin in (100, 180, 700, 1100, 1130, 1600):
        series[begin : begin + 10] *= 0.5
    result = dips.find(series)
    assert result is not None
    assert len(result.dips) == 6
    assert result.period is None


def test_dips_thrown_at_random_are_rarely_called_periodic() -> None:
    chance, periodic = np.random.default_rng(6), 0
    for _ in range(200):
        begins = np.sort(chance.integers(1, 3580, int(chance.integers(4, 15))))
        apart = begins[np.insert(np.diff(begins) > 20, 0, True)]
        series = np.full(3600, 1000.0)
        for begin in apart:
            series[begin : begin + 15] = 600
        result = dips.find(series * (1 + noise(chance, 3600, sd=0.02)))
        periodic += result is not None and result.period is not None
    assert periodic <= 8


def test_a_low_beginning_is_warm_up_and_a_low_end_a_fall() -> None:
    series = throughput(np.random.default_rng(7), 300)
    series[:30] *= 0.5
    series[260:] *= 0.5
    assert dips.find(series) is None


def test_a_steady_series_and_an_empty_one_have_none() -> None:
    assert dips.find(throughput(np.random.default_rng(8), 600)) is None
    assert dips.find(np.zeros(600)) is None
    assert dips.find(np.full(600, 5.0)) is None
    assert dips.find(np.array([])) is None


def test_a_series_with_two_levels_has_levels_not_dips() -> None:
    series = throughput(np.random.default_rng(9), 600)
    series[200:500] *= 0.5
    assert dips.find(series) is None


def test_filled_up_a_series_is_as_if_it_had_not_dipped() -> None:
    series = dipping(np.random.default_rng(10), 1200, period=300, length=20, depth=0.6)
    result = dips.find(series)
    assert result is not None
    filled = dips.without(series, result)
    assert filled.min() > 700
    assert dips.find(filled) is None


class TestMeeting:
    def setup_method(self) -> None:
        chance = np.random.default_rng(11)
        result = dips.find(dipping(chance, 3600, period=300, length=20, depth=0.4))
        assert result is not None
        self.where = dips.mask(result, 3600, reach=2)
        self.writes = np.abs(chance.normal(20, 5, 3600))

    def test_writes_in_the_dips_meet_them(self) -> None:
        self.writes[self.where] *= 4
        meeting = dips.meets(self.where, self.writes)
        assert meeting is not None
        assert meeting.times == pytest.approx(4, rel=0.1)
        assert meeting.p < 0.05

    def test_writes_all_the_time_do_not(self) -> None:
        meeting = dips.meets(self.where, self.writes)
        assert meeting is None or meeting.times < 1.1

    def test_a_burst_somewhere_is_chance(self) -> None:
        self.writes[1000:1100] *= 50
        meeting = dips.meets(self.where, self.writes)
        assert meeting is None or meeting.p > 0.05

    def test_what_was_not_recorded_meets_nothing(self) -> None:
        assert dips.meets(self.where, np.full(3600, np.nan)) is None
