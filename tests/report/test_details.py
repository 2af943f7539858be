"""Contents of a report's tables and sentences, down to a digit and a line break."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fake_runs
from loadcell.model import numbers
from loadcell.model.message import Message
from loadcell.report.blocks import Chart, Section, Table
from loadcell.report.build import build
from loadcell.report.charts import percentiles, style, treatments
from loadcell.report.context import ReportContext
from loadcell.report.render import html, markdown
from loadcell.report.render.html import NO_BREAK, coded, counted, headed
from loadcell.report.sections import check_evidence, method
from loadcell.report.sections.environment import summarised
from loadcell.report.texts import Texts
from loadcell.store.read import StoredRun, read_run

Stored = Callable[[str], StoredRun]


@pytest.mark.parametrize(
    ("title", "page"),
    [
        ("吞吐量（/秒）", '吞吐量<span class="unit">（/秒）</span>'),
        ("Throughput (/s)", 'Throughput <span class="unit">(/s)</span>'),
        ("<b> (ms)", '&lt;b&gt; <span class="unit">(ms)</span>'),
        ("其中：连接 / 接收", "其中：连接 / 接收"),
        ("Clients (a long remark)", "Clients (a long remark)"),
    ],
)
def test_the_unit_of_a_heading_is_not_broken_into_lines(title: str, page: str) -> None:
    assert str(headed(title)) == page


@pytest.mark.parametrize("figure", ["5.97 ms", "1,234 µs", "<0.1 s", "2 min 5 s", "1.06 MiB"])
def test_a_number_and_its_unit_stay_on_one_line(figure: str) -> None:
    assert NO_BREAK in str(coded([(figure, True)]))
    assert NO_BREAK not in str(coded([(figure, False)]))


@pytest.mark.parametrize("figure", ["rate = 5", "20% and more", "clients = 4", "reads"])
def test_other_values_are_broken_where_they_have_to_be(figure: str) -> None:
    assert NO_BREAK not in str(coded([(figure, True)]))


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.9285, "0.928"), (0.1, "0.1"), (2.0, "2"), (100.0, "100"), (1234.5, "1,234"), (0.0, "0")],
)
def test_evidence_has_no_more_digits_than_it_needs(value: float, text: str) -> None:
    assert numbers.short(value) == text


def test_evidence_of_a_check_has_few_digits() -> None:
    text = check_evidence.written("other", {"cores": {"rustc (16004)": 0.92853}, "limit": 0.1}, Texts("en"))
    assert text == "cores: rustc (16004) 0.929, limit: 0.1"


def test_levels_on_an_axis_are_written_with_all_of_their_digits(stored: Stored) -> None:
    """Without a precision, Vega writes ticks at 1, 8 and 32 as 1, 8 and 30."""
    charts = {chart.id: chart for chart in build(stored("two")).charts()}
    for name in ("chart-throughput", "chart-latency"):
        spec = json.dumps(charts[name].spec)
        assert f'"format": "{style.LEVEL}"' in spec
        assert '"format": "~r"' not in spec


def options(requests: dict[str, Any]) -> dict[str, Any]:
    return {"version": "1.1", "method": "GET", "path": "/", "requests": requests, "streams": 1}


def test_where_requests_are_listed_they_are_named_and_not_the_one_there_would_be() -> None:
    text = method.described("http", options({"get": {"share": 80}, "set": {"share": 20}}))
    assert text == "http: requests get, set, version 1.1, streams 1"
    assert "method GET, path /" in method.described("http", options({}))


@pytest.mark.parametrize("count", [1, "1"])
def test_one_is_not_many_however_it_is_written(count: int | str) -> None:
    text = Texts("en")("found.saturation.level", line="x", low=count, last="32")
    assert "from 1 client to 32" in text


def of_memory(home: Path) -> StoredRun:
    """Runs under valgrind have no throughput, and are read for what was lost."""
    run = fake_runs.write_run(home, fake_runs.Shape(factors={}, repeats=1))
    for file in run.glob("trials/*/trial.json"):
        document = json.loads(file.read_text())
        document["memory"] = {"lost": {}, "errors": 0, "record_count": 0, "records": []}
        for kind in ("definite", "indirect", "possible"):
            document["memory"]["lost"][kind] = {"bytes": 0, "blocks": 0}
        file.write_text(json.dumps(document))
    return read_run(run)


def table(sections: list[Section], name: str) -> Table:
    return next(
        block
        for section in sections
        for block in section.blocks
        if isinstance(block, Table) and block.id == name
    )


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_without_any_throughput_a_result_table_has_no_columns_of_dashes(tmp_path: Path, lang: str) -> None:
    stored = of_memory(tmp_path)
    context = ReportContext.of(stored, lang)
    results = table(list(build(stored, lang).sections), "table-results")
    titles = {column.title for column in results.columns}
    assert not {context.texts(f"column.{name}") for name in ("throughput", "interval", "repeats")} & titles
    assert not results.note


def test_a_run_without_throughput_is_not_asked_for_a_steady_state(tmp_path: Path) -> None:
    context = ReportContext.of(of_memory(tmp_path), "en")
    codes = {finding.message.code for finding in context.findings}
    assert not any(key.startswith("found.steady") for key in codes)


@pytest.mark.parametrize(
    ("text", "page"),
    [("5 次正常、1 次超时", "5_次正常、1_次超时"), ("5 ok, 1 timed out", "5_ok, 1_timed out")],
)
def test_a_number_stays_with_what_it_counts(text: str, page: str) -> None:
    assert counted(text) == page.replace("_", NO_BREAK)


def of_an_embedded_store(home: Path, times: float) -> StoredRun:
    """A run whose response times are a multiple of those of a database."""
    run = fake_runs.write_run(home, fake_runs.two_treatments())
    for file in run.glob("trials/*/trial.json"):
        document = json.loads(file.read_text())
        response = document["totals"]["response"]
        response |= {key: value * times for key, value in response.items() if key.endswith("_ms")}
        file.write_text(json.dumps(document))
    return read_run(run)


@pytest.mark.parametrize(("lang", "micro", "milli"), [("en", "(µs)", "(ms)"), ("zh", "（微秒）", "（毫秒）")])
def test_times_of_an_embedded_store_are_read_in_microseconds(
    tmp_path: Path, lang: str, micro: str, milli: str
) -> None:
    def titles(stored: StoredRun) -> tuple[str, str, str]:
        report = build(stored, lang)
        results = table(list(report.sections), "table-results")
        specs = json.dumps([chart.spec for chart in report.charts()], ensure_ascii=False)
        p50 = next(n for n, column in enumerate(results.columns) if column.title.lower().startswith("p50"))
        return results.columns[p50].title, results.rows[0][p50].text, specs

    for times, unit in ((1, milli), (1e-2, micro)):
        report = build(of_an_embedded_store(tmp_path / f"pages-{times}", times), lang)
        for page in (html.render(report), markdown.render(report)):
            sentences = (
                page.partition("<script")[0].replace(NO_BREAK, " ").replace("**", "").replace("</b>", "")
            )
            # CPU time of monitors is no response time
            sentences = re.sub(r"[\d.]+ ms of CPU time|CPU [\d.]+ ms", "", sentences)
            assert (" ms" in sentences) == (unit == milli)
    usual, usual_p50, usual_specs = titles(of_an_embedded_store(tmp_path / "usual", 1))
    short, short_p50, short_specs = titles(of_an_embedded_store(tmp_path / "short", 1e-3))
    assert (milli in usual, micro in short) == (True, True)
    assert usual_p50 == short_p50
    assert micro in short_specs
    assert micro not in usual_specs


def test_a_rare_wait_for_a_lock_leaves_microseconds(tmp_path: Path) -> None:
    """p50 0.0022 ms, and p99 1.3 ms with some number of files: three zeros in front of every figure of the
    table.
    """

    def written(home: Path, p99_ms: float) -> Texts:
        stored = of_an_embedded_store(home, 1e-4)
        for file in home.glob("trials/*/trial.json"):
            document = json.loads(file.read_text())
            document["totals"]["response"]["p99_ms"] = p99_ms
            file.write_text(json.dumps(document))
        return ReportContext.of(read_run(stored.path), "en").texts

    assert written(tmp_path / "lock", 1.3).micro
    assert not written(tmp_path / "disk", 13.0).micro


def test_sentences_and_tables_are_in_one_unit() -> None:
    """`half of the operations took 61.7 µs, 0.106 ms (p99)`, over a table with 106."""
    finding = Message("found.throughput", {"throughput_per_s": 126_699.0, "p50_ms": 0.0617, "p99_ms": 0.106})
    assert "61.7 µs (p50) and 106 µs (p99)" in Texts("en", micro=True).message(finding)
    assert "0.106 ms (p99)" in Texts("en").message(finding)
    long = Message("found.throughput", {"throughput_per_s": 1.0, "p50_ms": 0.0617, "p99_ms": 1.3})
    assert "1.30 ms (p99)" in Texts("en", micro=True).message(long)


def test_without_response_times_there_is_no_unit_to_choose(stored: Stored) -> None:
    assert not ReportContext.of(stored("nothing measured"), "en").texts.micro


def test_of_a_part_its_factors_and_what_another_distribution_would_need_are_not_said() -> None:
    options = {"reads": "20%", "keys": 1000, "distribution": "uniform", "hot_data": "20%", "deviation": "10%"}
    assert method.described("kv", options, {"reads"}) == "kv: keys 1000, distribution uniform"
    hot = method.described("kv", {**options, "distribution": "hotspot"}, {"reads"})
    assert hot == "kv: keys 1000, distribution hotspot, hot_data 20%"


def test_a_store_reports_either_way_if_writes_are_on_disk() -> None:
    options = {"engine": "lmdb", "sync": False, "files": 1, "keep_data": False}
    assert method.described("store", options) == "store: engine lmdb, sync false, files 1"
    assert "sync true" in method.described("store", {**options, "sync": True})


def test_of_many_values_some_are_listed_and_the_others_counted() -> None:
    texts = Texts("en")
    paths = [f"/data/{number}" for number in range(10)]
    assert summarised("data.path", [*paths], texts) == (
        "differs between treatments: /data/0, /data/1, /data/2, /data/3, and 6 more"
    )
    assert summarised("data.free_bytes", [78920000000, 78920000001], texts) == "73.5 GiB"
    assert summarised("database.keys", [100000, 200000], texts) == "100,000 – 200,000"


def test_lines_that_are_far_apart_are_read_on_a_logarithmic_axis(tmp_path: Path) -> None:
    """Gets many times as fast as sets: whether more threads write more could not be seen."""
    shape = fake_runs.Shape(
        factors={"load.clients": [1, 2, 4], "workload.kv.reads": ["100%", "0%"]}, repeats=2, monitors=False,
        intervals=False,
    )  # fmt: skip
    run = fake_runs.write_run(tmp_path, shape)
    for slower, logarithmic in ((1, False), (40, True)):
        for file in run.glob("trials/*/trial.json"):
            document = json.loads(file.read_text())
            if document["levels"]["workload.kv.reads"] == "0%":
                document["totals"]["throughput_per_s"] /= slower
            file.write_text(json.dumps(document))
        context = ReportContext.of(read_run(run), "en")
        chart = treatments.throughput(context)
        assert chart is not None
        assert (
            '"type": "log"' in json.dumps([layer["encoding"]["y"] for layer in layers(chart)])
        ) == logarithmic
        assert (context.texts("caption.logarithmic") in chart.captions) == logarithmic


def layers(chart: Chart) -> list[dict[str, Any]]:
    return [layer for layer in chart.spec["layer"] if "y" in layer["encoding"]]


def test_lines_of_percentiles_differ_from_the_best_in_one_factor(tmp_path: Path) -> None:
    """1, 2 and 4 threads that read beside 8 and 16 that write would show nothing of either."""
    shape = fake_runs.Shape(
        factors={"load.clients": [1, 2, 4, 8, 16], "workload.kv.reads": ["100%", "0%"]}, repeats=1,
        monitors=False,
        intervals=False,
    )  # fmt: skip
    treatments = ReportContext.of(read_run(fake_runs.write_run(tmp_path, shape)), "en").analysis.treatments
    best = next(
        treatment
        for treatment in treatments
        if treatment.levels == {"load.clients": "4", "workload.kv.reads": "100%"}
    )
    shown = [tuple(treatment.levels.values()) for treatment in percentiles.chosen(treatments, best)]
    assert shown == [(clients, "100%") for clients in ("1", "2", "4", "8", "16")]
    assert len(percentiles.chosen(treatments, None)) == 5


def test_a_factor_stays_on_one_line_with_its_level_in_a_table() -> None:
    """`reads`, `=` and `100%` stood below one another on a telephone."""
    assert counted("files = 4, reads = 100%") == "files_=_4, reads_=_100%".replace("_", NO_BREAK)


def test_one_trial_alone_makes_no_picture_of_throughput(tmp_path: Path) -> None:
    once = read_run(fake_runs.write_run(tmp_path / "once", fake_runs.Shape(factors={}, repeats=1)))
    twice = read_run(fake_runs.write_run(tmp_path / "twice", fake_runs.Shape(factors={}, repeats=2)))
    assert "curves" not in {section.id for section in build(once).sections}
    assert "curves" in {section.id for section in build(twice).sections}
