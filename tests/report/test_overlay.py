"""Repeats of a treatment, and any trials, on one time axis."""

from __future__ import annotations

from collections.abc import Callable

from loadcell.report import build
from loadcell.report.blocks import Chart
from loadcell.report.charts import overlay
from loadcell.store.read import StoredRun

Stored = Callable[[str], StoredRun]


def charts_of(stored: StoredRun) -> dict[str, Chart]:
    return {chart.id: chart for chart in build.build(stored).charts()}


def test_the_repeats_of_the_best_treatment_are_shown_at_first(stored: Stored) -> None:
    drawn = charts_of(stored("two"))["chart-overlay"]
    assert {label: len(names) for label, names in drawn.repeats.items()} == {
        "clients = 4": 2,
        "clients = 16": 2,
    }
    assert list(drawn.chosen) == list(drawn.repeats["clients = 16"])
    assert {name.rsplit("-", 1)[1] for name in drawn.chosen} == {"r1", "r2"}


def test_every_trial_over_time_can_be_chosen(stored: Stored) -> None:
    charts = charts_of(stored("sweep"))
    drawn, single = charts["chart-overlay"], charts["chart-series"]
    assert {name for name, _ in drawn.choices} == {name for name, _ in single.choices}
    assert drawn.shares == single.id
    assert drawn.series == {}, "the page holds the samples once"


def test_rows_are_the_samples_of_each_chosen_trial(stored: Stored) -> None:
    charts = charts_of(stored("two"))
    drawn, single = charts["chart-overlay"], charts["chart-series"]
    rows = overlay.rows(drawn, single)
    labels = dict(drawn.choices)
    for name in drawn.chosen:
        load = single.series[name]["load"]
        of_trial = [row for row in rows if row["trial"] == labels[name]]
        assert [row["t"] for row in of_trial] == load["t"]
        assert [row["throughput_per_s"] for row in of_trial] == load["throughput_per_s"]
    assert len(rows) == sum(len(single.series[name]["load"]["t"]) for name in drawn.chosen)


def test_labels_begin_with_the_trial_and_its_repeat(stored: Stored) -> None:
    """A legend cuts long labels, and those of repeats differ in nothing else."""
    labels = [label for _, label in charts_of(stored("two factors"))["chart-overlay"].choices]
    assert labels[0].startswith("1 (r1): ")
    assert len(set(labels)) == len(labels)


def test_a_run_without_intervals_has_no_such_chart(stored: Stored) -> None:
    assert "chart-overlay" not in charts_of(stored("one repeat, no series"))
