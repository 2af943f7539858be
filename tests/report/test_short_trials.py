"""Pictures over time of trials of a second and less: fractions of a second, samples that are alone, pieces of
intervals.
"""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import fake_runs
from browser import Browser
from frame_values import frame_of_rows, values
from loadcell.model.panels import all_panels
from loadcell.report import write
from loadcell.report.blocks import Chart
from loadcell.report.charts import series, style, timeline
from loadcell.report.context import ReportContext
from loadcell.report.palette import sized
from loadcell.report.texts import Texts
from loadcell.store.frames import Frame
from loadcell.store.read import read_run

#: Of the views over time that the page shows.
TITLES = "[...document.querySelectorAll('#chart-series .role-title-text text')].map(one => one.textContent)"


def shortened(home: Path, sampled: dict[str, int], repeats: int = 1) -> Path:
    """A run of trials of a second in intervals of 0.1 s, with some samples of each monitor left of the
    first of them.
    """
    run = fake_runs.write_run(home, fake_runs.Shape(factors={}, repeats=repeats))
    trial, *_ = sorted((run / "trials").iterdir())
    for file in trial.glob("*.csv"):
        with file.open(newline="") as lines:
            head, *rows = list(csv.reader(lines))
        instants = sorted({float(row[head.index("t_s")]) for row in rows})
        last = instants[sampled[file.stem] - 1] if file.stem in sampled else instants[-1]
        remaining = [row for row in rows if float(row[head.index("t_s")]) <= last]
        for row in remaining:
            for column in ("t_s", "duration_s"):
                if column in head and row[head.index(column)]:
                    row[head.index(column)] = str(float(row[head.index(column)]) / 10)
        with file.open("w", newline="") as lines:
            csv.writer(lines).writerows([head, *remaining])
    return run


def drawn(run: Path, lang: str = "en") -> Chart:
    """Its picture over time."""
    chart = series.draw(ReportContext.of(read_run(run), lang))
    assert chart is not None
    return chart


def titles(chart: Chart) -> list[str]:
    """Its panels."""
    return [view["title"] for view in chart.spec["vconcat"]]


def test_neighbouring_points_of_a_short_trial_stand_beside_each_other(tmp_path: Path) -> None:
    chart = drawn(shortened(tmp_path, {}))
    times = chart.series[chart.chosen[0]]["load"]["t"]
    assert len(set(times)) == len(times)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_what_was_sampled_once_has_no_empty_panel_and_the_caption_says_why(tmp_path: Path, lang: str) -> None:
    context = ReportContext.of(read_run(shortened(tmp_path, {"host": 1, "processes": 1})), lang)
    chart = series.draw(context)
    assert chart is not None
    assert context.texts("axis.host-cpu") not in titles(chart)
    assert context.texts("axis.target-cpu") not in titles(chart)
    assert context.texts("caption.series.short") in chart.captions
    drawing = series.draw(
        ReportContext.of(read_run(shortened(tmp_path / "two", {"host": 2, "processes": 2})), lang)
    )
    assert drawing is not None
    assert context.texts("axis.host-cpu") in titles(drawing)
    assert context.texts("caption.series.short") not in drawing.captions


def of_trial(chart: Chart, trial: str) -> list[dict[str, Any]]:
    """The views of a trial that the reader has chosen."""
    views: list[dict[str, Any]] = sized(replace(chart, chosen=[trial]), 900)["vconcat"]
    return views


def written(view: dict[str, Any]) -> bool:
    """Return True if the axis of time stands below it."""
    axes = [x["axis"]["labels"] for layer in view["layer"] if "axis" in (x := layer["encoding"].get("x", {}))]
    assert len({*axes}) == 1
    return bool(axes[0])


def test_views_that_a_trial_has_no_samples_for_are_left_out_of_its_picture(tmp_path: Path) -> None:
    """100 clients make their requests in a fifth of a second, 1500 in three: of the first no monitor has seen
    anything.
    """
    chart = drawn(shortened(tmp_path / "some", {"host": 1, "processes": 1}, repeats=2))
    names = [trial for trial, _ in chart.choices]
    first, second = (of_trial(chart, name) for name in sorted(names))
    assert [view["title"] for view in second] == titles(chart)
    shown = [view["title"] for view in first]
    assert "Host: CPU (% of all cores)" not in shown, "a point of areas above one another tells nothing"
    assert "Target: CPU (100% = one core)" in shown, "and of a line it does"
    chart.series[sorted(names)[0]].pop("target")
    (*before, last) = of_trial(chart, sorted(names)[0])
    assert "Target" not in str([view["title"] for view in (*before, last)])
    assert written(last)
    assert not any(map(written, before))
    caption = Texts("en")("caption.series.left-out")
    assert caption in chart.captions
    assert caption not in drawn(shortened(tmp_path / "none", {}, repeats=2)).captions


def test_the_page_leaves_out_the_same_views(browser: Browser, tmp_path: Path) -> None:
    run = shortened(tmp_path / "run", {"host": 1, "processes": 1}, repeats=2)
    write(read_run(run).path, "en", ("html",), tmp_path / "page.html")
    chart = drawn(run)
    browser.open(tmp_path / "page.html")
    for name, _ in sorted(chart.choices):
        browser.ask(
            "(() => { const select = document.querySelector('select[data-chart=chart-series]');"
            f"select.value = {name!r}; select.dispatchEvent(new Event('change')); }})()"
        )
        wanted = [view["title"] for view in of_trial(chart, name)]
        browser.wait_for(f"JSON.stringify({TITLES}) === JSON.stringify({json.dumps(wanted)})")


def test_the_warm_up_is_named_at_the_foot_where_the_line_is_not(tmp_path: Path) -> None:
    (label,) = (
        layer
        for layer in drawn(shortened(tmp_path, {})).spec["vconcat"][0]["layer"]
        if layer["mark"]["type"] == "text"
    )
    assert (label["encoding"]["y"]["value"], label["mark"]["baseline"]) == (style.PANEL, "bottom")


def test_samples_of_a_trial_that_never_measured_are_not_drawn(tmp_path: Path) -> None:
    """Its monitors sampled while the clients tried to connect; samples have times from the measurement on."""
    run = fake_runs.write_run(tmp_path / "run", fake_runs.Shape(factors={}, repeats=1))
    for file in run.glob("trials/*/*.csv"):
        with file.open(newline="") as lines:
            head, *rows = list(csv.reader(lines))
        for row in rows:
            row[head.index("t_s")] = ""
        with file.open("w", newline="") as lines:
            csv.writer(lines).writerows([head, *rows])
    assert series.draw(ReportContext.of(read_run(run), "en")) is None


def frame(rows: list[tuple[str, float, float, int]]) -> Frame:
    return frame_of_rows(
        {"trial": "text", "t_s": "number", "duration_s": "number", "failed": "integer"}, rows
    )


def test_the_piece_that_a_warm_up_ends_with_is_not_drawn_as_a_fall() -> None:
    rows = [("a", -1.02, 1.0, 0), ("a", -0.02, 0.02, 0), ("a", 0.0, 0.57, 0), ("b", 0.0, 0.1, 0)]
    assert values(timeline.without_pieces(frame(rows)), "duration_s") == [1.0, 0.57, 0.1]


def test_a_piece_with_errors_stays() -> None:
    rows = [("a", 0.0, 1.0, 0), ("a", 1.0, 0.02, 3)]
    assert len(timeline.without_pieces(frame(rows))) == 2


def test_a_piece_with_errors_is_no_fall_where_others_have_them_too() -> None:
    rows = [
        ("a", -1.02, 1.0, 900),
        ("a", -0.02, 0.02, 4),
        ("a", 0.0, 1.0, 900),
        ("b", 0.0, 0.02, 3),
        ("b", 0.1, 1, 0),
    ]
    assert values(timeline.without_pieces(frame(rows)), "failed") == [900, 900, 3, 0]


def test_failures_are_those_of_a_second_however_long_an_interval_is() -> None:
    rows = [("a", 0.0, 1.0, 40), ("a", 1.0, 0.1, 4), ("a", 1.1, 0.0, 0)]
    assert values(series._failing(frame(rows)), series.FAILED) == pytest.approx([40.0, 40.0, None])


def test_one_sample_of_a_trial_is_a_point_where_others_have_lines() -> None:
    assert timeline.alone(frame([("a", 0.5, 1, 0), ("b", 0.5, 1, 0), ("b", 1.5, 1, 0)]))
    assert not timeline.alone(frame([("b", 0.5, 1, 0), ("b", 1.5, 1, 0)]))


@pytest.mark.parametrize(("gap", "digits"), [(1.0, 1), (10.0, 1), (0.1, 2), (0.025, 3), (0.0001, 3)])
def test_times_get_the_digits_that_distinguish_them(gap: float, digits: int) -> None:
    assert timeline.digits(frame([("a", n * gap, gap, 0) for n in range(5)])) == digits


def test_a_backlog_of_nothing_lies_on_the_axis() -> None:
    panel = next(panel for panel in all_panels() if panel.title == "axis.backlog")
    assert panel.least > 0


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_percentiles_of_intervals_with_too_few_transactions_are_not_drawn(tmp_path: Path, lang: str) -> None:
    run = fake_runs.write_run(tmp_path, fake_runs.Shape(factors={}, repeats=1))
    (file,) = run.glob("trials/*/intervals.csv")
    with file.open(newline="") as lines:
        head, *rows = list(csv.reader(lines))
    succeeded = head.index("succeeded")
    for row in rows:
        row[succeeded] = "50"
    with file.open("w", newline="") as lines:
        csv.writer(lines).writerows([head, *rows])
    context = ReportContext.of(read_run(run), lang)
    chart = series.draw(context)
    assert chart is not None
    points = chart.series[chart.chosen[0]]["load"]
    assert not any(points.get("response_p99_ms", ()))
    assert any(points["response_p50_ms"])
    assert context.texts("caption.series.few") in chart.captions
    drawing = drawn(fake_runs.write_run(tmp_path / "many", fake_runs.Shape(factors={}, repeats=1)), lang)
    assert any(drawing.series[drawing.chosen[0]]["load"]["response_p99_ms"])
    assert context.texts("caption.series.few") not in drawing.captions
