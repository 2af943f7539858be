"""Trends of throughput: rise or fall from a run's first trial to its last, and by how much of the first."""

from __future__ import annotations

import pytest

from analysis.runs import analysis_of
from loadcell.analysis import drift
from loadcell.analysis.drift import of_the_first
from loadcell.stats.repeats import scatter_widely, summarise

#: What a trial of the first block gives for each that one of the last does.
FALLING = [200.0, 181.0, 160.0, 139.0, 121.0, 100.0]


def test_a_throughput_that_halves_is_reported_to_fall_by_half_and_one_that_doubles_to_double() -> None:
    for values, key, share in ((FALLING, "found.run-fell", 0.5), (FALLING[::-1], "found.run-rose", 1.0)):
        analysis = analysis_of({"1": values, "2": [value * 3 for value in values]})
        (result,) = drift.trend_findings(analysis.treatments)
        assert result.message.code == key
        assert result.message.arguments["change_share"] == pytest.approx(share, rel=0.1)


def test_nothing_falls_by_more_than_all_there_was() -> None:
    assert of_the_first(-2.5, 0.1) == pytest.approx((0.1 - 2.25) / 2.25)
    assert of_the_first(2.5, 0.1) == pytest.approx((2.25 - 0.1) / 0.1)


def test_blocks_alike_are_no_trend() -> None:
    assert (
        drift.trend_findings(analysis_of({"1": [100.0, 101, 99, 100], "2": [50.0, 51, 49, 50]}).treatments)
        == ()
    )


def test_the_spread_is_wide_on_the_whole_or_where_one_treatment_is_wild() -> None:
    quiet, loud, wild = ([100 - share, 100.0, 100 + share] for share in (2, 6, 20))
    for values, expected in (
        ([quiet] * 16, False),
        ([*[quiet] * 15, loud], False),  # as the wildest of 16 may well be
        ([*[quiet] * 15, wild], True),
        ([loud], True),
        ([loud] * 16, True),
        ([[100.0]], False),
    ):
        assert scatter_widely([summarise(item) for item in values], 0.05) is expected
