"""`loadcell history PLAN`, over runs that a model wrote."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import Result
from rich.cells import cell_len

import fake_runs
from lines import CliRunner
from loadcell.analysis import history as run_history
from loadcell.analysis.history import Options
from loadcell.cli import main
from loadcell.cli.history import METHODS, METRICS

PLAN = "postgres-concurrency"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fourteen runs, the last six of them 15 % slower, with another kernel and less shared memory."""
    home = tmp_path_factory.mktemp("history") / "results"
    shape = fake_runs.Shape(factors={"load.clients": [4, 16]}, repeats=2)
    fake_runs.write_history(
        home, [1.0] * 8 + [0.85] * 6, shape, kernel="6.1.0-31-amd64", settings={"shared_buffers": "64MB"}
    )
    return home


def called(results: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["history", *arguments, "--results", str(results)])


def test_the_change_is_reported_with_its_runs_and_what_else_changed(results: Path) -> None:
    done = called(results, PLAN)
    assert done.exit_code == 0, done.output
    text = " ".join(done.stdout.split())
    assert "From run 0007 to run 0008 (2026-03-17) the throughput fell by" in text
    assert "2 of 2 treatments changed there" in text
    assert "settings.shared_buffers from 128MB to 64MB" in text
    assert "kernel from 6.1.0-28-amd64 to 6.1.0-31-amd64" in text
    assert max(cell_len(line) for line in done.stdout.splitlines()) <= 80


def test_runs_in_the_working_directory_are_proposed(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = next((results / PLAN).iterdir())
    shutil.copytree(run, tmp_path / "by-hand-1")
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        done = CliRunner().invoke(main, ["history", PLAN])
        assert done.exit_code == 2
        assert "The working directory has runs of" in done.output
        (tmp_path / "results").mkdir(exist_ok=True)
    assert CliRunner().invoke(main, ["history", PLAN, "--results", "."]).exit_code == 0
    assert "`--results .`" not in CliRunner().invoke(main, ["history", "other"]).output


def test_a_directory_that_a_user_named_is_listed_by_its_name(results: Path, tmp_path: Path) -> None:
    runs = sorted((results / PLAN).iterdir())
    for number, run in enumerate(runs[:2], 1):
        shutil.copytree(run, tmp_path / f"before-tuning-{number}")
    shutil.copytree(runs[2], tmp_path / runs[2].name)
    rows = json.loads(CliRunner().invoke(main, ["list", str(tmp_path), "--json"]).stdout)
    assert [row["id"] for row in rows] == ["before-tuning-1", "before-tuning-2", "0002"]


def test_the_plan_may_be_named_by_its_file_and_the_answer_be_chinese(results: Path) -> None:
    done = called(results, f"plans/{PLAN}.yaml", "--lang", "zh")
    assert done.exit_code == 0, done.output
    assert "从运行 0007 到运行 0008" in done.stdout
    assert max(cell_len(line) for line in done.stdout.splitlines()) <= 80


@pytest.mark.parametrize("method", METHODS)
def test_json_is_the_whole_of_it(results: Path, method: str) -> None:
    done = called(results, PLAN, "--json", "--test", method, "--level", "5%")
    document = json.loads(done.stdout)
    assert len(document["runs"]) == 14
    (change,) = document["changes"]
    assert (change["last_before"][-4:], change["first_after"][-4:]) == ("0007", "0008")
    assert {item["treatment"] for item in change["treatments"]} == {"clients=4", "clients=16"}
    assert all(-0.2 < item["change"] < -0.1 for item in change["treatments"])
    assert {item["path"] for item in change["differences"]} == {"settings.shared_buffers", "kernel"}


@pytest.mark.parametrize(("lang", "word"), [("en", "Other differences"), ("zh", "两次运行之间的其他差异")])
def test_the_page_carries_everything(results: Path, tmp_path: Path, lang: str, word: str) -> None:
    done = called(results, PLAN, "--out", str(tmp_path / "h.html"), "--lang", lang)
    assert done.exit_code == 0, done.output
    page = (tmp_path / "h.html").read_text(encoding="utf-8")
    assert word in page
    assert "chart-history" in page
    assert "6.1.0-31-amd64" in page
    assert "http://" not in page.split("<script")[0]


def test_a_directory_gets_the_page_under_its_name(results: Path, tmp_path: Path) -> None:
    assert called(results, PLAN, "--out", str(tmp_path)).exit_code == 0
    assert (tmp_path / "history.html").is_file()


def test_only_the_latest_runs(results: Path) -> None:
    done = called(results, PLAN, "--last", "4")
    assert "Only 4 runs have usable data" in " ".join(done.stdout.split())
    assert json.loads(called(results, PLAN, "--last", "6", "--json").stdout)["changes"] == []


def test_other_metrics_than_throughput(results: Path) -> None:
    done = called(results, PLAN, "--metric", "p99")
    assert "the p99 response time rose by" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["postgres-concurency"], "Did you mean postgres-concurrency?"),
        ([PLAN, "--level", "2"], "write it as 2%"),
        ([PLAN, "--least-change", "300%"], "at most 100%"),
        ([PLAN, "--out", "x.pdf"], "does not end in .html"),
        ([PLAN, "--last", "0"], "Invalid value for '--last'"),
        ([PLAN, "--metric", "speed"], "Invalid value for '--metric'"),
    ],
)
def test_mistakes_are_one_message(results: Path, arguments: list[str], message: str) -> None:
    done = called(results, *arguments)
    assert done.exit_code != 0
    assert message in " ".join(done.output.split())
    assert "Traceback" not in done.output


def test_no_results_directory_and_an_empty_one(tmp_path: Path) -> None:
    assert "there is no directory" in called(tmp_path / "gone", PLAN).output
    assert "creates one" in called(tmp_path, PLAN).output


def test_of_many_plans_some_are_listed_and_the_list_is_marked_as_cut(tmp_path: Path) -> None:
    runs = fake_runs.write_history(tmp_path, [1.0] * 10)
    for number, run in enumerate(runs):
        document = json.loads((run / "run.json").read_text())
        (run / "run.json").write_text(json.dumps({**document, "plan_name": f"plan-{number}"}))
    text = " ".join(called(tmp_path, "NOSUCH").output.split())
    assert "The plans with runs are: plan-0, " in text
    assert "plan-7, …" in text
    assert "plan-8" not in text


def test_a_run_that_cannot_be_read_is_left_out_and_named(tmp_path: Path) -> None:
    first, *_ = fake_runs.write_history(tmp_path, [1.0] * 3)
    (first / "run.json").write_text("{")
    done = called(tmp_path, PLAN)
    assert done.exit_code == 0
    assert "is not complete JSON" in " ".join(done.stdout.split())
    assert len(json.loads(called(tmp_path, PLAN, "--json").stdout)["runs"]) == 2


def test_names_on_the_command_line_are_the_analysis_own() -> None:
    assert tuple(run_history.METRICS) == METRICS
    assert Options().method in METHODS


def test_help_needs_nothing_of_the_analysis() -> None:
    code = (
        "import sys; from loadcell.cli import main; main(['history', '--help'], standalone_mode=False);"
        "assert not {'numpy', 'scipy', 'duckdb', 'altair'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
