"""Steadiness of trials, as report, terminal and JSON say it, of hours written by a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

import fake_runs
from loadcell.analysis import steadiness
from loadcell.report import brief
from loadcell.report.blocks import Table, unfolded
from loadcell.report.build import build
from loadcell.report.charts import series
from loadcell.report.context import ReportContext
from loadcell.report.render import terminal
from loadcell.store.read import StoredRun, read_run

Stored = Callable[[str], StoredRun]


def text(stored: StoredRun, lang: str = "en") -> str:
    out = StringIO()
    terminal.render(brief.of_run(stored, lang), Console(file=out, width=80))
    return " ".join(out.getvalue().split())


def test_checkpoints_every_five_minutes_are_said_with_what_came_with_them(stored: Stored) -> None:
    output = text(stored("an hour"))
    assert "Throughput dipped every 5 min" in output
    assert "checkpoints (at 11 of 11 dips), disk writes of the host" in output
    assert "2 of 2 assessable trials reached a steady state" in output


def test_and_in_chinese(stored: Stored) -> None:
    output = text(stored("an hour"), "zh").replace(" ", "")
    assert "吞吐量每隔5min出现一次下跌" in output
    assert "检查点（11次下跌中有11次）" in output


def test_a_trial_that_fades_has_no_steady_state(tmp_path: Path) -> None:
    shape = fake_runs.Shape(factors={}, repeats=2, seconds=900, fades=0.2, monitors=False)
    output = text(read_run(fake_runs.write_run(tmp_path / "run", shape)))
    assert "No steady state" in output
    assert "Steady state:" not in output


def test_trials_that_fall_and_rise_are_counted_apart(tmp_path: Path) -> None:
    shape = fake_runs.Shape(factors={}, repeats=3, seconds=900, fades=0.2, monitors=False)
    context = ReportContext.of(read_run(fake_runs.write_run(tmp_path / "run", shape)), "en")
    first, *others = context.steadiness
    trend = first.steadiness.trend
    assert trend is not None
    rising = replace(first.steadiness, state="trend", trend=replace(trend, change=0.9))
    falling = [
        replace(item, steadiness=replace(item.steadiness, state="trend", trend=trend)) for item in others
    ]
    judged = [replace(first, steadiness=rising), *falling]
    stated = steadiness.findings(judged, context.analysis.treatments)
    [finding] = [finding for finding in stated if finding.code is steadiness.DRIFTED]
    sentence = context.texts.message(finding.message)
    assert "of 3 assessable trials, throughput fell throughout 2 and rose throughout 1" in sentence
    assert "was +90.0% of the mean in 001-" in sentence


def test_an_unfinished_warm_up_is_reported_with_a_remedy(tmp_path: Path) -> None:
    """The model nears its level with a time constant of 1.5 s, inside the measurement without a warm-up."""
    shape = fake_runs.Shape(factors={}, repeats=1, warmup_s=0, seconds=120, monitors=False)
    steadiness_of_trials = ReportContext.of(
        read_run(fake_runs.write_run(tmp_path / "run", shape)), "en"
    ).steadiness
    assert steadiness_of_trials[0].steadiness.settled_after <= 15
    assert steadiness_of_trials[0].steadiness.steady


def test_no_trial_that_is_too_short_is_reported_to_swing_slowly(stored: Stored) -> None:
    """A trial of a number of requests has no fixed time: one in thirty may be long enough to be judged,
    and swing.
    """
    context = ReportContext.of(stored("two"), "en")
    short = context.steadiness
    swinging = replace(short[0], steadiness=replace(short[0].steadiness, state="too-dependent"))
    treatments = context.analysis.treatments
    (finding,) = steadiness.findings((swinging, *short[1:]), treatments)
    assert finding.message.code == "found.steady.too-short.some"
    assert finding.message.arguments == {"count": len(short), "short": len(short) - 1, "others": 1}
    (finding,) = steadiness.findings([swinging], treatments)
    assert finding.message.code == "found.steady.unclear"


def test_short_trials_are_not_judged_and_nothing_is_read_for_them(stored: Stored) -> None:
    context = ReportContext.of(stored("two"), "en")
    assert {trial.steadiness.state for trial in context.steadiness} == {"too-short"}
    assert "found.steady.too-short" in {finding.message.code for finding in context.findings}
    assert "table-steady" not in str(build(stored("two")))


def test_an_hour_is_read_in_minutes_with_bands_of_at_most_500_points(stored: Stored) -> None:
    chart = next(chart for chart in build(stored("an hour")).charts() if chart.id == "chart-series")
    for sources in chart.series.values():
        for source, columns in sources.items():
            assert len(columns["t"]) <= series.MOST_POINTS, source
        load = sources["load"]
        assert all(
            low <= middle <= high
            for low, middle, high in zip(
                load["throughput_per_s_lowest"],
                load["throughput_per_s"],
                load["throughput_per_s_highest"],
                strict=True,
            )
        )  # fmt: skip
    bottom = chart.spec["vconcat"][-1]["layer"][1]["encoding"]["x"]
    assert bottom["title"] == "Minutes from the start of the measurement"
    assert bottom["axis"]["values"] == list(range(0, 3601, 300))


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_table_has_a_row_a_trial(stored: Stored, lang: str) -> None:
    section = next(
        candidate for candidate in build(stored("an hour"), lang).sections if candidate.id == "series"
    )
    (table,) = [block for block in unfolded(section.blocks) if isinstance(block, Table)]
    assert [row[1].tone for row in table.rows] == ["good", "good"]
    assert all("45%" in row[-1].text for row in table.rows)


def test_a_trial_whose_intervals_are_gone_is_left_out(tmp_path: Path) -> None:
    shape = fake_runs.Shape(factors={}, repeats=1, seconds=120, monitors=False)
    run = fake_runs.write_run(tmp_path / "run", shape)
    next(run.glob("trials/*/intervals.csv")).unlink()
    assert ReportContext.of(read_run(run), "en").steadiness == ()
