"""Histogram, cumulative distribution and heat map of response times, from logs with known counts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fake_runs
from loadcell.report import build
from loadcell.report.blocks import Chart
from loadcell.report.charts import distribution, heat_map, repeats
from loadcell.report.render import html, markdown
from loadcell.store.interval_histograms import CLASSES, IntervalHistograms, read
from loadcell.store.read import read_run
from report.histogram_logs import add_logs, write_log

#: A fast second, and one with a stall.
FAST, STALL = {1.05: 90, 2.05: 10}, {1.05: 50, 105.0: 50}


def test_classes_have_shares_and_the_share_below_them(tmp_path: Path) -> None:
    write_log(tmp_path / "latency.hlog", [FAST, STALL])
    rows = distribution.rows(read(tmp_path / "latency.hlog", "transaction/response", 10).total)
    filled = {round(row["from"], 2): (row["share"], row["below"]) for row in rows if row["share"]}
    assert filled == {
        1.0: (0.7, 0.0),
        2.0: (0.05, pytest.approx(0.7)),
        100.0: (0.25, pytest.approx(0.75)),
    }
    assert rows[-1] == {"from": pytest.approx(112.2, rel=1e-3), "share": 0.0, "below": 1.0}
    assert len(rows) == 42, "classes without requests are there too: the line falls to 0 in between"


def test_wider_classes_have_the_same_requests() -> None:
    total = np.zeros(CLASSES, dtype=np.int64)
    total[[121, 122, 125]] = [1, 2, 5]
    assert [row["share"] for row in distribution.rows(total, 2)] == [1 / 8, 2 / 8, 5 / 8, 0]


def test_cells_hold_the_requests_of_their_time(tmp_path: Path) -> None:
    write_log(tmp_path / "latency.hlog", [FAST, FAST, STALL])
    histograms = read(tmp_path / "latency.hlog", "transaction/response", 10)
    assert heat_map.cells(histograms, 1.0) == {
        "t": [0, 0, 1, 1, 2, 2],
        "low": [1, 1.995, 1, 1.995, 1, 100],
        "count": [90, 10, 90, 10, 50, 50],
    }
    joined = heat_map.cells(histograms, 2.0)
    assert (joined["t"], joined["count"]) == ([0, 0, 2, 2], [180, 20, 50, 50])


@pytest.mark.parametrize(
    ("longest_s", "interval_s", "columns", "step_s"),
    [(60, 1, 60, 1), (61, 1, 60, 2), (3600, 1, 60, 60), (5, 0.5, 60, 0.5)],
)
def test_columns_are_whole_intervals(
    longest_s: float, interval_s: float, columns: int, step_s: float
) -> None:
    assert heat_map.step(longest_s, interval_s, columns) == step_s


def test_repeats_rise_in_equal_steps() -> None:
    assert repeats.steps([30.0, 10.0, 20.0, 20.0]) == [
        {"value": 10.0, "below": 0.0},
        {"value": 10.0, "below": 0.25},
        {"value": 20.0, "below": 0.5},
        {"value": 20.0, "below": 0.75},
        {"value": 30.0, "below": 1.0},
    ]


@pytest.mark.parametrize(("count", "drawn"), [(5, False), (6, True)])
def test_the_distribution_of_repeats_takes_six_of_them(tmp_path: Path, count: int, drawn: bool) -> None:
    shape = fake_runs.Shape(repeats=count, monitors=False)
    charts = charts_of(fake_runs.write_run(tmp_path / "run", shape))
    assert ("chart-repeats" in charts) == drawn
    if drawn:
        assert len(charts["chart-repeats"].data["repeats"]) == 2 * (count + 1)


def charts_of(run: Path) -> dict[str, Chart]:
    return {chart.id: chart for chart in build.build(read_run(run)).charts()}


def test_any_number_of_treatments_stays_within_its_bound(tmp_path: Path) -> None:
    """100 treatments: the reader chooses, and the page has no more rows than it has room for."""
    run = add_logs(fake_runs.write_run(tmp_path / "run", fake_runs.two_hundred()), [FAST, STALL, FAST])
    charts = charts_of(run)
    drawn = charts["chart-distribution"]
    assert len(drawn.choices) == 100
    assert len(drawn.chosen) <= 8
    assert len(drawn.data["classes"]) <= distribution.MOST_ROWS
    heat = charts["chart-heat"]
    assert sum(len(of["heat"]["t"]) for of in heat.series.values()) <= heat_map.MOST_CELLS


def test_a_run_without_logs_has_neither_chart(tmp_path: Path) -> None:
    run = fake_runs.write_run(tmp_path / "run", fake_runs.two_treatments())
    assert not {"chart-distribution", "chart-heat"} & charts_of(run).keys()


def test_markdown_leaves_the_folded_charts_out(tmp_path: Path) -> None:
    run = add_logs(fake_runs.write_run(tmp_path / "run", fake_runs.two_treatments()), [FAST, STALL, FAST])
    report = build.build(read_run(run), "zh")
    assert "chart-distribution" not in {chart.id for chart in report.pictures()}
    assert "chart-distribution" not in markdown.render(report)
    assert "响应时间分布" in html.render(report)


def test_an_empty_interval_is_a_gap_and_no_error() -> None:
    counts = np.zeros((3, CLASSES), dtype=np.int64)
    counts[[0, 2], 120] = 4
    histograms = IntervalHistograms(np.arange(3.0), np.arange(1.0, 4.0), counts)
    assert heat_map.cells(histograms, 1.0)["t"] == [0, 2]
