"""`loadcell import`: outputs of other tools as runs: what a newcomer types, what comes out, and what is
refused.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import Result

from ingest.made import made
from lines import CliRunner
from loadcell.cli import main
from loadcell.cli.import_ import TOOLS
from loadcell.ingest.readers import all_readers, names
from loadcell.store.read import StoredRun, read_run

OUTPUTS = Path(__file__).parent / "readers" / "outputs"
DATA = Path(__file__).parent / "storages.csv"


def call(home: Path, *arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["import", "--no-report", *map(str, arguments), "--results", str(home)])


def test_json_says_where_the_run_is_and_what_was_read(tmp_path: Path) -> None:
    result = call(tmp_path, "auto", OUTPUTS / "wrk.txt", "--json", "--report")
    assert result.exit_code == 0, result.output
    document = json.loads(result.output)
    assert (Path(document["run"]) / "report.html").is_file()
    assert document["imported"][0]["tool"] == "wrk"


def imported(home: Path) -> StoredRun:
    (path,) = [run.parent for run in home.rglob("run.json")]
    return read_run(path)


def test_the_command_knows_every_reader() -> None:
    assert set(TOOLS) == {*names(), "auto", "csv"}
    assert set(all_readers()) == set(names())


def test_without_a_report_the_command_that_writes_it_is_named(tmp_path: Path) -> None:
    output = call(tmp_path, "auto", OUTPUTS / "wrk.txt").stdout
    run = imported(tmp_path).path
    assert f"loadcell report {run}" in output.replace("\n      ", " ")
    assert not list(run.glob("report*"))


def test_files_of_one_name_are_named_once_in_the_title(tmp_path: Path) -> None:
    copies = [tmp_path / name / "wrk.txt" for name in ("one", "two")]
    for copy in copies:
        copy.parent.mkdir()
        copy.write_bytes((OUTPUTS / "wrk.txt").read_bytes())
    result = call(tmp_path, "auto", *copies)
    assert result.exit_code == 0, result.output
    assert imported(tmp_path).run.title == "wrk: wrk.txt"


def test_two_executions_of_a_shell_loop_are_two_levels_of_clients(tmp_path: Path) -> None:
    result = call(tmp_path, "sysbench", OUTPUTS / "sysbench-oltp.txt", "--report")
    assert result.exit_code == 0, result.output
    assert "158.1" in result.output
    run = imported(tmp_path)
    assert [factor.key for factor in run.run.factors] == ["load.clients"]
    assert [trial.totals.throughput_per_s for trial in run.trials] == [158.13, 270.83]
    assert (run.path / "sources" / "01-sysbench-oltp.txt").read_bytes() == (
        OUTPUTS / "sysbench-oltp.txt"
    ).read_bytes()
    assert len(run.intervals()) == 6
    assert {"report.html", "report.md"} <= {path.name for path in run.path.iterdir()}


def test_the_same_file_twice_is_a_repeat_and_by_file_a_factor(tmp_path: Path) -> None:
    copy = tmp_path / "again.txt"
    shutil.copyfile(OUTPUTS / "sysbench-cpu.txt", copy)
    alike = made(tmp_path / "a", "sysbench", OUTPUTS / "sysbench-cpu.txt", copy)
    assert [trial.repeat for trial in alike.trials] == [1, 2]
    (factor,) = made(tmp_path / "b", "sysbench", OUTPUTS / "sysbench-cpu.txt", copy, by_file=True).run.factors
    assert [level.label for level in factor.levels] == ["sysbench-cpu", "again"]


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("sysbench-memory.txt", "sysbench"),
        ("pgbench.txt", "pgbench"),
        ("pgbench_log.txt", "pgbench-log"),
        ("ab.txt", "ab"),
        ("wrk.txt", "wrk"),
        ("redis-benchmark.csv", "redis-benchmark"),
        ("redis-benchmark.txt", "redis-benchmark"),
        ("fio.json", "fio"),
        ("iperf3.json", "iperf3"),
        ("mbw.txt", "mbw"),
        ("dd.txt", "dd"),
        ("stress-ng.txt", "stress-ng"),
    ],
)
def test_an_output_that_nobody_named_is_recognised(tmp_path: Path, name: str, tool: str) -> None:
    (source,) = made(tmp_path, "auto", OUTPUTS / name).run.imported
    assert source.tool == tool
    assert source.unread == 0


def test_a_table_with_a_mapping_says_what_the_run_would_have(tmp_path: Path) -> None:
    """A report's table of pgbench on three storages: the report's statement on each, and how little five
    levels carry.
    """
    columns = ["throughput=tps", "clients=clients", "factor=storage", "latency.mean=latency_mean_ms"]
    options = [word for column in columns for word in ("--column", column)]
    result = call(tmp_path, "csv", DATA, *options, "--unit", "transaction", "--report")
    assert result.exit_code == 0, result.output
    run = imported(tmp_path)
    assert len(run.trials) == 15
    text = (run.path / "report.md").read_text()
    page = (run.path / "report.html").read_text()
    # of means, as the table has no percentiles: there is nothing to choose
    assert "Response time vs. clients" in page
    assert '"name": "percentile"' not in page
    assert '"name":"percentile"' not in page
    assert (
        "Saturation at storage = curve and storage = curve-striped: 128 clients gave the highest"
        " throughput of the loads tested" in text
    )
    assert "Saturation at storage = ceph: 64 clients" in text


def test_lines_that_were_not_understood_are_counted_and_shown(tmp_path: Path) -> None:
    text = tmp_path / "result.txt"
    text.write_text("===== 1 thread =====\n" + (OUTPUTS / "sysbench-cpu.txt").read_text() + "real\t0m1.0s\n")
    result = call(tmp_path / "out", "sysbench", text)
    assert result.exit_code == 0
    assert "2 lines were not understood, among them '===== 1 thread ====='" in result.output
    text.write_text("===== 1 thread =====\n" + (OUTPUTS / "sysbench-cpu.txt").read_text())
    second = call(tmp_path / "out", "sysbench", text)
    assert "1 line was not understood ('===== 1 thread =====')" in second.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["wrk", OUTPUTS / "ab.txt"], "is not the output of wrk"),
        (["auto", DATA], "not the output of a supported tool"),
        (["auto", "/does/not/exist"], "cannot be read: No such file"),
        (
            ["csv", DATA, "--column", "throughput=speed"],
            "has no column 'speed': its first line names 'storage', 'clients'",
        ),
        (["csv", DATA], "no column is mapped to throughput"),
        (["csv", DATA, "--column", "speed=tps"], "no column is mapped to throughput"),
    ],
)
def test_what_cannot_be_imported_is_reported_and_leaves_no_run(
    tmp_path: Path, arguments: list[str | Path], words: str
) -> None:
    result = call(tmp_path / "out", *arguments)
    assert result.exit_code != 0
    assert words in result.output
    assert "Traceback" not in result.output
    assert not (tmp_path / "out").exists()


def test_executions_that_never_ended_are_no_run(tmp_path: Path) -> None:
    text = tmp_path / "cut.txt"
    text.write_text("".join((OUTPUTS / "sysbench-oltp.txt").read_text().splitlines(keepends=True)[:8]))
    result = call(tmp_path / "out", "sysbench", text)
    assert result.exit_code != 0
    assert "there is no measurement in" in result.output


def test_json_that_was_cut_is_refused_with_the_place(tmp_path: Path) -> None:
    text = tmp_path / "fio.json"
    text.write_text((OUTPUTS / "fio.json").read_text()[:3000])
    result = call(tmp_path / "out", "fio", text)
    assert result.exit_code != 0
    assert "no complete JSON" in result.output


def test_percentiles_of_a_tool_that_does_not_say_of_how_many_stand_as_printed(tmp_path: Path) -> None:
    """redis-benchmark's table tells percentiles and no count: none of them is left out for want of
    transactions.
    """
    result = call(tmp_path, "auto", OUTPUTS / "redis-benchmark.csv")
    assert "8.81" in result.output
    assert "No p99" not in result.output
    assert imported(tmp_path).trials[0].totals.response.count is None


def test_where_a_tool_tells_no_percentile_its_mean_is_shown(tmp_path: Path) -> None:
    result = call(tmp_path, "auto", OUTPUTS / "pgbench.txt", "--report")
    assert "mean ms" in result.output
    assert "8.23" in result.output
    assert "p50 ms" not in result.output
    page = (imported(tmp_path).path / "report.html").read_text()
    assert "Mean response time at that load" in page


def test_beside_the_mean_of_sysbench_stands_its_p95(tmp_path: Path) -> None:
    result = call(tmp_path, "sysbench", OUTPUTS / "sysbench-oltp.txt", "--report")
    assert "mean ms" in result.output
    assert "p95 ms" in result.output
    # advice for a plan is none for outputs that were read
    assert "repeats:" not in (imported(tmp_path).path / "report.html").read_text().partition("<script")[0]


def test_of_samples_alone_the_terminal_shows_no_table_of_a_load(tmp_path: Path) -> None:
    result = call(tmp_path, "auto", OUTPUTS / "jstat-gcutil.txt")
    assert "5 samples of jstat" in result.output
    assert "Errors" not in result.output


def test_a_treatment_without_levels_is_named_in_the_readers_language(tmp_path: Path) -> None:
    result = call(tmp_path, "auto", OUTPUTS / "wrk.txt", "--lang", "zh")
    assert "全部" in result.output
    assert "all" not in result.output.partition("\n\n")[2].partition("\n\n")[0]
