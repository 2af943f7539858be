"""The sections on saturation, on effects, and on what to choose: there when there is something to say, in
both languages.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import fake_runs
from loadcell.analysis.analyse import analyse
from loadcell.analysis.saturation import Mark, Saturation
from loadcell.report.blocks import Chart, Report, Section, Sentences, Table
from loadcell.report.build import build
from loadcell.report.context import ReportContext
from loadcell.report.palette import sized
from loadcell.report.pictures import VEGA_LITE, paint
from loadcell.report.render import html, markdown
from loadcell.report.sections.saturation import marks
from loadcell.report.texts import LANGUAGES, Texts
from loadcell.store.read import StoredRun, read_run

CLIENTS = [1, 2, 4, 8, 16, 32, 64, 128, 256]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Callable[[fake_runs.Shape], StoredRun]:
    home = tmp_path_factory.mktemp("runs")
    written: list[Path] = []

    def write(shape: fake_runs.Shape) -> StoredRun:
        written.append(home / str(len(written)))
        return read_run(fake_runs.write_run(written[-1], shape))

    return write


Write = Callable[[fake_runs.Shape], StoredRun]


def section(report: Report, name: str) -> Section | None:
    return next((candidate for candidate in report.sections if candidate.id == name), None)


def sentences(report: Report, name: str) -> list[str]:
    wanted = section(report, name)
    assert wanted is not None
    texts = Texts(report.language)
    return [
        texts.message(finding.message)
        for block in wanted.blocks
        if isinstance(block, Sentences)
        for finding in block.findings
    ]


def cells(report: Report, name: str, table: str) -> list[list[str]]:
    wanted = section(report, name)
    assert wanted is not None
    (block,) = (block for block in wanted.blocks if isinstance(block, Table) and block.id == table)
    return [[cell.text for cell in row] for row in block.rows]


def plain(factors: dict[str, list[object]], repeats: int = 4) -> fake_runs.Shape:
    return fake_runs.Shape(factors=factors, repeats=repeats, intervals=False, monitors=False)


def test_a_sweep_shows_its_law_with_a_band_and_its_marks(run: Write) -> None:
    """The model of these runs has N* = sqrt(0.98 / 0.0001) = 99."""
    report = build(run(plain({"load.clients": list(CLIENTS)})))
    assert any("throughput peaks near " in sentence for sentence in sentences(report, "summary"))
    (chart,) = (chart for chart in report.charts() if chart.id == "chart-saturation")
    assert {row["mark"] for row in chart.data["marks"]} == {
        "highest tested",
        "USL peak",
        "saturation",
        "knee",
        "best power",
    }
    assert all(
        row["low"] <= row["value"] * 1.01 and row["value"] <= row["high"] * 1.01
        for row in chart.data["curve"]
    )
    assert len(chart.data["points"]) == 36
    assert len(chart.spec["vconcat"]) == 3
    (row,) = cells(report, "saturation", "table-law")
    assert row[4].startswith(("9", "10")), row
    assert "not identified" not in row


def test_a_mark_that_can_be_one_level_alone_has_no_brackets(run: Write) -> None:
    report = build(run(plain({"load.clients": list(CLIENTS)})))
    (row,) = cells(report, "saturation", "table-saturation")
    for text in row:
        low, _, high = text.partition("(")[2].rstrip(")").partition(" – ")
        assert not low or low != high, row
    assert all(text.partition(" ")[0].isdigit() for text in row[1:]), row


def test_each_line_of_a_second_factor_has_its_row(run: Write) -> None:
    report = build(run(plain({"storage": ["local", "remote"], "load.clients": list(CLIENTS)})))
    assert [row[0] for row in cells(report, "saturation", "table-saturation")] == [
        "storage = local",
        "storage = remote",
    ]
    assert section(report, "effects") is not None


@pytest.mark.parametrize(
    ("peak", "highest", "between"),
    [
        (Mark(2, 2, 2), "64", "32 – 128"),
        (Mark(2, 1, 3), "64 (32 – 128)", "16 – 256"),
        (Mark(2, 0, 3), "64 (16 – 128)", "below 256"),
        (Mark(2, 1, 4), "64 (32 – 256)", "16 or more"),
        (Mark(2, 0, 4), "64 (16 – 256)", "not identified"),
        (Mark(2), "64", "32 – 128"),
    ],
)
def test_where_a_peak_may_lie_is_open_to_a_side_where_no_load_was_tried(
    run: Write, peak: Mark, highest: str, between: str
) -> None:
    """And a level that could be no other has no brackets."""
    context = ReportContext.of(run(plain({"load.clients": [16, 32, 64, 128, 256]})), "en")
    (line,) = context.analysis.saturation
    assert isinstance(line, Saturation)
    ((_, at, lies, *_),) = marks([replace(line, peak=peak)], context).rows
    assert (at.text, lies.text) == (highest, between)


def test_five_loads_support_marks_but_no_law(run: Write) -> None:
    report = build(run(plain({"load.clients": [16, 32, 64, 128, 256]})))
    saturation = section(report, "saturation")
    assert saturation is not None
    tables = {block.id for block in saturation.blocks if isinstance(block, Table)}
    assert tables == {"table-saturation"}, (
        "a table of nothing but `not identified` says less than the sentence above it"
    )
    (chart,) = (chart for chart in report.charts() if chart.id == "chart-saturation")
    assert not any(row["fitted"] for row in chart.data["curve"])
    assert "USL peak" not in {row["mark"] for row in chart.data["marks"]}


def test_a_factorial_shows_effects_shares_and_the_interaction(run: Write) -> None:
    report = build(
        run(plain({"storage": ["a", "b"], "protocol": ["x", "y"], "load.clients": [8, 32]}, repeats=3))
    )
    shares = {row[0]: row[1:] for row in cells(report, "effects", "table-variation")}
    assert shares["clients"][1] == "yes"
    assert {"repeats of one treatment", "three or more factors"} <= set(shares)
    charts = {chart.id for chart in report.charts()}
    assert {"chart-effects", "chart-interaction"} <= charts
    assert "chart-saturation" not in charts, "two loads have no curve"


def test_one_factor_has_no_section_on_effects(run: Write) -> None:
    assert section(build(run(plain({"load.clients": [1, 2, 4]}))), "effects") is None


def test_a_recommendation_says_what_it_buys_and_what_it_risks(run: Write) -> None:
    report = build(run(plain({"load.clients": list(CLIENTS)})))
    recommended = "Recommended among the treatments measured: clients = "
    assert any(recommended in sentence for sentence in sentences(report, "summary"))
    texts = sentences(report, "recommendation")
    assert "the median throughput of clients = 1" in texts[0]
    assert any(sentence.startswith("Risk: ") for sentence in texts)


BAD = {
    "one repeat": plain({"storage": ["a", "b"], "load.clients": list(CLIENTS)}, repeats=1),
    "one level": plain({"load.clients": [8]}),
    "two levels": plain({"load.clients": [8, 16]}),
    "all failed": fake_runs.Shape(
        factors={"storage": ["a", "b"], "load.clients": [1, 2, 4]}, repeats=1,
        fates={n: fake_runs.Fate("failed", "no server there") for n in range(1, 7)},
    ),
    "one treatment failed": fake_runs.Shape(
        factors={"storage": ["a", "b"], "load.clients": [1, 2, 4]}, repeats=1, monitors=False,
        intervals=False,
        fates={3: fake_runs.Fate("failed", "no server there")},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("language", LANGUAGES)
def test_bad_runs_have_sentences_and_whole_pages(run: Write, name: str, language: str) -> None:
    report = build(run(BAD[name]), language)
    page, text = html.render(report), markdown.render(report)
    for output in (page, text):
        assert "NaN" not in output.split("<script")[0]
    json.dumps([chart.data for chart in report.charts()], allow_nan=False)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_picture_can_be_painted(run: Write, language: str) -> None:
    report = build(
        run(plain({"storage": ["a", "b"], "load.clients": [1, 2, 4, 8, 16, 32]}, repeats=2)), language
    )
    drawn: list[Chart] = [
        chart
        for chart in report.charts()
        if chart.id in {"chart-saturation", "chart-effects", "chart-interaction"}
    ]
    assert len(drawn) == 3
    for chart in drawn:
        picture = paint({**sized(chart, 860), "datasets": chart.data}, VEGA_LITE)
        assert picture.count("<path") > 10
        assert chart.title not in picture


def test_the_analysis_is_plain_json(run: Write) -> None:
    stored = run(plain({"storage": ["a", "b"], "load.clients": list(CLIENTS)}))
    document = analyse(stored.run, stored.trials).document()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert [line["usl"]["identified"] for line in document["saturation"]] == [True, True]
    assert document["effects"]["main"][0]["factor"] == "load.clients"
    assert document["recommendation"]["treatment"] in {entry["id"] for entry in document["treatments"]}
