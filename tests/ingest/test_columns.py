"""`import csv --column`: every numeric column can be kept, and what is no column or no number is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import Result

from lines import CliRunner
from loadcell.cli import main
from loadcell.store.read import read_run

TABLE = """storage,tps,p99 (ms),CPU %,note
a,100,5,20.5,x
a,110,5.1,21.5,
b,200,6,,y
b,210,6,41.5,y
"""
COLUMNS = ("throughput=tps", "factor=storage", "latency.p99=p99 (ms)")


def call(home: Path, *columns: str, text: str = TABLE) -> Result:
    (home / "table.csv").write_text(text)
    options = [word for column in (*COLUMNS, *columns) for word in ("--column", column)]
    command = ["import", "csv", str(home / "table.csv"), *options, "--out", str(home / "run")]
    return CliRunner().invoke(main, command)


def test_a_numeric_column_is_a_metric_of_the_trials(tmp_path: Path) -> None:
    result = call(tmp_path, "cpu_mean=CPU %")
    assert result.exit_code == 0, result.output
    run = read_run(tmp_path / "run")
    assert [dict(trial.totals.figures) for trial in run.trials] == [
        {"cpu_mean": 20.5}, {"cpu_mean": 21.5}, {}, {"cpu_mean": 41.5},
    ]  # fmt: skip
    assert "cpu_mean" in (run.path / "report.html").read_text()
    sql = "SELECT sum((document->>'$.totals.figures.cpu_mean')::DOUBLE) AS cpu FROM trials"
    assert CliRunner().invoke(main, ["query", sql, str(run.path), "--csv"]).output.split() == ["cpu", "83.5"]
    words = ["compare", str(run.path), "--factor", "storage", "--metric", "cpu_mean"]
    assert "cpu_mean" in CliRunner().invoke(main, words).output


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("label=note", "the column 'note' has no number, but 'x'"),
        ("cpu=load", "has no column 'load'"),
        ("throughputs=CPU %", "did you mean throughput?"),
        ("latency.p98=CPU %", "maps nothing"),
        ("2nd=CPU %", "maps nothing"),
        ("cpu=tps", "was given before"),
        ("throughput=CPU %", "was given before"),
    ],
)
def test_a_column_that_cannot_be_kept_is_refused(tmp_path: Path, column: str, message: str) -> None:
    result = call(tmp_path, column)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
    assert not (tmp_path / "run").exists()


def test_a_cell_of_a_metric_that_is_no_number_costs_the_metric_and_not_the_trial(tmp_path: Path) -> None:
    result = call(tmp_path, "cpu=CPU %", text=TABLE.replace("41.5", "n/a"))
    assert "1 cell has no usable value and is treated as missing ('CPU %: n/a')" in result.output
    trials = read_run(tmp_path / "run").trials
    assert [dict(trial.totals.figures) for trial in trials] == [{"cpu": 20.5}, {"cpu": 21.5}, {}, {}]
