"""Tables of one's own: dates of rows, cells that are no values, and columns that nothing asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result

from lines import CliRunner
from loadcell.cli import main
from loadcell.store.read import StoredRun, read_run

TABLE = """when,clients,tps,p99,note,region
2024-03-02T10:00:00Z,4,100,12.5,first,eu
2024-03-01T10:00:00Z,8,180,n/a,second,eu
2024-03-03T10:00:00+08:00,16,n/a,20,third,us
"""
COLUMNS = ("throughput=tps", "clients=clients", "latency.p99=p99")


def call(home: Path, *columns: str, text: str = TABLE, options: tuple[str, ...] = ()) -> Result:
    file = home / "own.csv"
    file.write_text(text)
    mapping = [word for column in columns for word in ("--column", column)]
    return CliRunner().invoke(
        main, ["import", "--no-report", "csv", str(file), *mapping, *options, "--results", str(home / "out")]
    )


def only_run(home: Path) -> StoredRun:
    (path,) = [file.parent for file in (home / "out").rglob("run.json")]
    return read_run(path)


def test_columns_that_are_not_used_are_named(tmp_path: Path) -> None:
    result = call(tmp_path, *COLUMNS)
    assert result.exit_code == 0, result.output
    assert "unused columns when, note and region" in result.output
    assert only_run(tmp_path).run.imported[0].unused == ("when", "note", "region")


def test_a_table_whose_columns_are_all_used_has_no_such_note(tmp_path: Path) -> None:
    result = call(tmp_path, "throughput=tps", text="tps\n10\n")
    assert "not used" not in result.output
    assert only_run(tmp_path).run.imported[0].unused is None


def test_json_names_unused_columns_and_counts_missing_cells(tmp_path: Path) -> None:
    (file,) = json.loads(call(tmp_path, *COLUMNS, options=("--json",)).stdout)["imported"]
    assert (file["unused"], file["missing"], file["unread"]) == (["when", "note", "region"], 1, 1)


def test_a_cell_that_is_no_number_costs_its_value_and_not_the_row(tmp_path: Path) -> None:
    result = call(tmp_path, *COLUMNS)
    assert "1 cell has no usable value and is treated as missing ('p99: n/a')" in result.output
    assert "1 line was not understood" in result.output
    trials = only_run(tmp_path).trials
    assert [trial.totals.throughput_per_s for trial in trials if trial.totals] == [100, 180]
    assert [trial.totals.response is None for trial in trials if trial.totals] == [False, True]


def test_the_notes_are_in_chinese_as_well(tmp_path: Path) -> None:
    output = call(tmp_path, *COLUMNS, options=("--lang", "zh")).output
    assert "有 1 个单元格没有可用的值，按缺失处理" in output
    assert "未使用的列 when、note 和 region" in output


def test_a_column_dates_the_trials_and_the_earliest_dates_the_run(tmp_path: Path) -> None:
    result = call(tmp_path, *COLUMNS, "date=when")
    assert result.exit_code == 0, result.output
    run = only_run(tmp_path)
    assert [trial.started_utc for trial in run.trials] == [
        "2024-03-02T10:00:00.000000Z",
        "2024-03-01T10:00:00.000000Z",
    ]
    assert run.run.started_utc == "2024-03-01T10:00:00.000000Z"
    assert run.run.imported[0].unused == ("note", "region")


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("date=note", "the column 'note' has no date such as 2026-06-28"),
        ("latency.p99=region", "the column 'region' has no number, but 'eu'"),
        ("dates=when", "did you mean date?"),
    ],
)
def test_a_column_without_any_usable_value_is_refused(tmp_path: Path, column: str, message: str) -> None:
    result = call(tmp_path, "throughput=tps", column)
    assert result.exit_code != 0
    assert message in result.output


def test_values_below_zero_are_missing(tmp_path: Path) -> None:
    result = call(tmp_path, "throughput=tps", "failed=bad", "cpu=cpu", text="tps,bad,cpu\n10,-1,-3\n11,2,4\n")
    assert "1 cell has no usable value and is treated as missing" in result.output
    (first, second) = only_run(tmp_path).trials
    assert first.totals is not None
    assert second.totals is not None
    assert (first.totals.errors, second.totals.errors) == (0, 2)
    assert first.totals.figures["cpu"] == -3
