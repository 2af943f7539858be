"""Custom metrics of tools and probes: their names, their units, and where they stand."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

import fake_runs
from ingest.made import made
from loadcell.model.panels import fact_units
from loadcell.report import brief, build, values
from loadcell.report.blocks import Table
from loadcell.report.render import markdown, terminal
from loadcell.report.texts import Texts
from loadcell.store.read import read_run

OUTPUTS = Path(__file__).parents[1] / "ingest" / "readers" / "outputs"


def tables(home: Path, language: str, tool: str, *names: str) -> dict[str, Table]:
    report = build.build(made(home, tool, *(OUTPUTS / name for name in names)), language)
    return {
        block.id: block for section in report.sections for block in section.blocks if isinstance(block, Table)
    }


def printed(home: Path, tool: str, *names: str) -> str:
    out = io.StringIO()
    console = Console(file=out, width=80, highlight=False)
    terminal.render(brief.of_run(made(home, tool, *(OUTPUTS / name for name in names)), "en"), console)
    return out.getvalue()


def test_they_are_called_what_they_are_and_one_of_a_plans_own_by_its_name() -> None:
    english, chinese = Texts("en"), Texts("zh")
    names = ("iops", "retransmits", "queue_depth", "sync_seen")
    assert [values.metric_name(name, english) for name in names] == [
        "IOPS", "Retransmits", "queue_depth", "sync_seen",
    ]  # fmt: skip
    assert values.metric_name("sync_mean_ms", english) == "Flush, mean (ms)"
    assert values.metric_name("a.job-read.mib_per_s", english) == "a.job-read: MiB/s"
    assert values.metric_name("nightly-write.sync_p99.9_ms", english) == "nightly-write: Flush, p99.9 (ms)"
    assert values.metric_name("sync_p99.9_ms", chinese) == "刷盘，p99.9（毫秒）"


@pytest.mark.parametrize(
    ("value", "repeats", "written"),
    [(12.0, (12.0,), "12"), (12.0, (11.5, 12.5), "12.00"), (4598.26, (4598.26,), "4,598")],
)
def test_what_is_counted_is_whole(value: float, repeats: tuple[float, ...], written: str) -> None:
    assert values.counted_value(value, repeats) == written


def test_a_few_stand_beside_throughput_under_their_names(tmp_path: Path) -> None:
    tables_by_id = tables(tmp_path, "zh", "iperf3", "iperf3.json")
    headings = [column.title for column in tables_by_id["table-results"].columns]
    assert {"Mbit/秒", "重传次数", "压测端 CPU，%"} <= set(headings)
    assert "table-own-figures" not in tables_by_id


def test_many_have_a_table_of_their_own(tmp_path: Path) -> None:
    tables_by_id = tables(tmp_path, "en", "fio", "fio.json")
    assert not any("Flush" in column.title for column in tables_by_id["table-results"].columns)
    table = tables_by_id["table-own-figures"]
    name = [column.title for column in table.columns].index("Metric")
    assert {"MiB/s", "Flush, mean (ms)", "Flush, p99 (ms)"} <= {row[name].text for row in table.rows}


@pytest.mark.parametrize(("count", "is_by_treatment"), [(5, True), (8, True), (9, False)])
def test_some_have_a_column_each_beside_the_treatments(
    tmp_path: Path, count: int, is_by_treatment: bool
) -> None:
    run = fake_runs.write_run(tmp_path, fake_runs.two_treatments())
    for path in sorted((run / "trials").glob("*/trial.json")):
        trial = json.loads(path.read_text())
        figures = {f"seen_{number}": float(number + len(trial["treatment"])) for number in range(count)}
        trial["totals"]["figures"] = figures
        path.write_text(json.dumps(trial))
    blocks = [block for section in build.build(read_run(run), "en").sections for block in section.blocks]
    (table,) = (block for block in blocks if isinstance(block, Table) and block.id == "table-own-figures")
    treatments = {trial.treatment for trial in read_run(run).trials}
    titles = [column.title for column in table.columns]
    assert len(table.rows) == len(treatments) * (1 if is_by_treatment else count)
    assert ("seen_4" in titles) is is_by_treatment
    if is_by_treatment:
        column = titles.index("seen_4")
        assert sorted(row[column].text for row in table.rows) == sorted(
            str(4 + len(name)) for name in treatments
        )


def test_what_was_asked_for_stands_in_the_terminals_table_where_throughput_says_something_else(
    tmp_path: Path,
) -> None:
    head, row = printed(tmp_path / "a", "sysbench", "sysbench-memory.txt").splitlines()[3:6:2]
    assert head.split()[1:3] == ["op/s", "MiB/s"]
    assert row.split()[1:3] == ["3,551,209", "3,468"]
    assert printed(tmp_path / "b", "mbw", "mbw.txt").count("MiB/s") == 1


def test_findings_call_them_by_the_same_names(tmp_path: Path) -> None:
    assert "Mbit/s: " in printed(tmp_path / "a", "iperf3", "iperf3.json")
    text = markdown.render(
        build.build(made(tmp_path / "b", "sysbench", OUTPUTS / "sysbench-memory.txt"), "en")
    )
    assert "mib_per_s" not in text


def test_throughputs_of_unlike_units_have_each_its_own(tmp_path: Path) -> None:
    names = ("netperf-stream.txt", "netperf-rr.txt")
    text = printed(tmp_path / "terminal", "netperf", *names)
    assert "per second" in text
    assert "1,122 MiB" in text
    assert "35,345 tx" in text
    results = tables(tmp_path / "page", "zh", "netperf", *names)["table-results"]
    assert results.rows[0][2].text == "1,122 MiB"
    assert "操作/秒" not in (results.note or "")
    page = build.build(made(tmp_path / "chart", "netperf", *(OUTPUTS / name for name in names)), "en")
    over_time = json.dumps([chart.spec for chart in page.charts() if chart.id == "chart-series"])
    assert "Load: throughput per second, in the unit of the trial" in over_time
    assert "operations/s" not in over_time


def test_no_data_that_failed_is_counted_where_data_are_moved(tmp_path: Path) -> None:
    text = markdown.render(build.build(made(tmp_path, "dd", OUTPUTS / "dd.txt"), "en"))
    assert "Failed MiB" not in text


def test_names_that_end_differently_stay_distinct_where_they_are_cut() -> None:
    assert terminal.distinct(["my_result_100000, 8", "my_result_110000, 8"], 12) == [
        "…t_100000, 8",
        "…t_110000, 8",
    ]
    assert terminal.distinct(["short", "a longer one"], 8) == ["short", "a longer one"]


def test_a_single_execution_has_no_range(tmp_path: Path) -> None:
    row = next(line for line in printed(tmp_path, "iperf3", "iperf3.json").splitlines() if "1/1" in line)
    assert "–" not in row, "there is no column for it"


def test_a_load_of_one_is_one_client() -> None:
    text = Texts("en")("found.saturation.falls", line="Saturation", low="1", high="4")
    assert "at 1 client, the lowest" in text


def test_a_line_by_itself_is_named_where_the_title_does_not_say_what_it_is(tmp_path: Path) -> None:
    table = tmp_path / "result.csv"
    rows = (f"7,{number * 10},{5 + number % 7},4,NEW_ORDER,0,0,0\n" for number in range(1, 1_001))
    table.write_text("run,elapsed,latency,dblatency,ttype,rbk,dskipped,error\n" + "".join(rows))
    report = build.build(made(tmp_path, "benchmarksql", table), "en")
    (chart,) = [candidate for candidate in report.charts() if candidate.id == "chart-series"]
    throughput, response = chart.spec["vconcat"]
    assert '"legend": null' in json.dumps(throughput)
    assert '"legend": null' not in json.dumps(response)


def test_a_source_of_single_moments_has_no_panel(tmp_path: Path) -> None:
    stored = made(tmp_path, "auto", OUTPUTS / "sysbench-oltp.txt")
    once = "t_s,utc,cpu_user_percent,cpu_system_percent\n1.0,2026-01-01T00:00:01Z,5,5\n"
    for trial in stored.trials:
        (stored.directory(trial.name) / "host.csv").write_text(once)
    (chart,) = [
        candidate
        for candidate in build.build(read_run(stored.path), "en").charts()
        if candidate.id == "chart-series"
    ]
    assert {source for sources in chart.series.values() for source in sources} == {"load"}


def test_what_was_measured_once_has_neither_a_column_of_repeats_nor_a_chart_of_one_point(
    tmp_path: Path,
) -> None:
    report = build.build(made(tmp_path, "iperf3", OUTPUTS / "iperf3.json"), "en")
    results = next(
        block for section in report.sections for block in section.blocks if isinstance(block, Table)
    )
    assert "Repeats" not in [column.title for column in results.columns]
    assert {chart.id for chart in report.charts()}.isdisjoint({"chart-throughput", "chart-latency"})


@pytest.mark.parametrize(
    ("tool", "name", "column"),
    [
        ("sysbench", "sysbench-oltp.txt", "response_p95_ms"),
        ("pgbench", "pgbench.txt", "response_mean_ms"),
    ],
)
def test_times_of_intervals_are_shown_by_whatever_the_tool_prints_of_them(
    tmp_path: Path, tool: str, name: str, column: str
) -> None:
    report = build.build(made(tmp_path, tool, OUTPUTS / name), "en")
    chart = next(candidate for candidate in report.charts() if candidate.id == "chart-series")
    assert column in next(iter(chart.series.values()))["load"]


def test_a_size_is_written_as_one() -> None:
    assert values.plain("size_bytes", 134_217_728, fact_units(), Texts("en")) == "128 MiB"
