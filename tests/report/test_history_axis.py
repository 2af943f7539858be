"""The axis of a history's chart: dates where they change, times of day between."""

from __future__ import annotations

from loadcell.report.charts.history import tick_labels


def test_runs_of_one_day_have_their_time_as_label() -> None:
    starts = [f"2026-03-09T0{hour}:30:00Z" for hour in range(6)] + ["2026-03-10T01:00:00Z"]
    assert tick_labels(starts, 1) == ["03-09", "01:30", "02:30", "03:30", "04:30", "05:30", "03-10"]
    assert tick_labels(starts, 3) == ["03-09", "", "", "03:30", "", "", "03-10"]
    assert tick_labels(["", ""], 1) == ["", ""]
