"""When imported runs were measured, what they are ordered by, and where they are written."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import Result

from lines import CliRunner
from loadcell.cli import main
from loadcell.ingest import dating
from loadcell.ingest.base import ImportProblemError
from loadcell.store.find import find_run, runs_under
from loadcell.store.read import StoredRun, read_run

OUTPUTS = Path(__file__).parent / "readers" / "outputs"
WRK, IPERF3 = OUTPUTS / "wrk.txt", OUTPUTS / "iperf3.json"
NOW_S = datetime(2026, 11, 1, tzinfo=UTC).timestamp()


def call(*arguments: str | Path, stdin: str | None = None) -> Result:
    result = CliRunner().invoke(main, ["import", "--no-report", *map(str, arguments)], input=stdin)
    assert result.exit_code == 0, result.output
    return result


def written(home: Path, name: str, when: datetime, text: str | None = None) -> Path:
    file = home / name
    file.write_text(WRK.read_text() if text is None else text)
    os.utime(file, (when.timestamp(), when.timestamp()))
    return file


def only_run(home: Path) -> StoredRun:
    (path,) = [run.parent for run in home.rglob("run.json")]
    return read_run(path)


def test_without_times_in_the_text_the_file_dates_the_run(tmp_path: Path) -> None:
    file = written(tmp_path, "wrk.txt", datetime(2023, 5, 4, 3, 2, 1, tzinfo=UTC))
    result = call("wrk", file, "--results", tmp_path / "r")
    assert "dated 2023-05-04 03:02:01 UTC, the time of writing of the file" in result.output
    run = only_run(tmp_path / "r")
    assert run.path.name.startswith("20230504T030201Z-")
    assert run.run.started_utc == run.trials[0].started_utc == "2023-05-04T03:02:01.000000Z"
    assert run.run.imported_utc is not None
    assert run.run.imported_utc > "2026"
    assert [(file.dated, file.measured_utc) for file in run.run.imported] == [("file", run.run.started_utc)]


def test_times_in_the_text_come_before_the_time_of_the_file(tmp_path: Path) -> None:
    document = json.loads(IPERF3.read_text())
    document["start"]["timestamp"]["timesecs"] = datetime(2021, 2, 3, 4, 5, 6, tzinfo=UTC).timestamp()
    file = written(tmp_path, "iperf3.json", datetime(2023, 5, 4, tzinfo=UTC), json.dumps(document))
    assert "measured 2021-02-03 04:05:06 UTC, by its text" in call(
        "auto", file, "--results", tmp_path / "r"
    ).output  # fmt: skip
    (trial,) = only_run(tmp_path / "r").trials
    assert trial.started_utc == "2021-02-03T04:05:06.000000Z"
    assert trial.measure is not None
    assert trial.ended_utc is not None
    assert trial.ended_utc > trial.started_utc


def test_the_users_date_comes_first_and_executions_keep_their_distance(tmp_path: Path) -> None:
    document = json.loads(IPERF3.read_text())
    texts = []
    for minute in (5, 7):
        document["start"]["timestamp"]["timesecs"] = datetime(2021, 2, 3, 4, minute, tzinfo=UTC).timestamp()
        texts.append(json.dumps(document))
    file = written(tmp_path, "iperf3.json", datetime(2023, 5, 4, tzinfo=UTC), "\n".join(texts))
    call("auto", file, "--results", tmp_path / "r", "--date", "2020-01-01T08:00+08:00")
    run = only_run(tmp_path / "r")
    assert [trial.started_utc for trial in run.trials] == [
        "2020-01-01T00:00:00.000000Z",
        "2020-01-01T00:02:00.000000Z",
    ]
    assert "2020-01-01T00:00:0" in (run.path / "trials" / run.trials[0].name / "intervals.csv").read_text()


def test_standard_input_has_no_time_but_that_of_the_import(tmp_path: Path) -> None:
    result = call("wrk", "-", "--results", tmp_path / "r", stdin=WRK.read_text())
    assert "the time of this import" in result.output
    run = only_run(tmp_path / "r")
    assert [file.dated for file in run.run.imported] == ["import"]
    assert run.run.started_utc is not None
    assert run.run.imported_utc is not None
    assert abs(
        datetime.fromisoformat(run.run.started_utc) - datetime.fromisoformat(run.run.imported_utc)
    ).total_seconds() < 3600  # fmt: skip


def test_a_file_from_the_future_is_dated_by_the_import(tmp_path: Path) -> None:
    file = written(tmp_path, "wrk.txt", datetime(2199, 1, 1, tzinfo=UTC))
    call("wrk", file, "--results", tmp_path / "r")
    assert [item.dated for item in only_run(tmp_path / "r").run.imported] == ["import"]


@pytest.mark.parametrize("text", ["yesterday", "2026-13-01", "1900-01-01", ""])
def test_a_date_that_is_none_is_refused_with_the_forms_there_are(text: str) -> None:
    with pytest.raises(ImportProblemError, match="2026-06-28T10:00"):
        dating.parse(text, NOW_S)


def test_a_date_in_the_future_is_refused() -> None:
    with pytest.raises(ImportProblemError, match="later than now"):
        dating.parse("2026-12-01", NOW_S)
    assert dating.parse("2026-10-31T00:00Z", NOW_S) == NOW_S - 86_400


def test_an_old_file_imported_late_is_not_the_last_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    new = written(tmp_path, "new.txt", datetime(2024, 1, 1, tzinfo=UTC))
    old = written(tmp_path, "old.txt", datetime(2022, 1, 1, tzinfo=UTC))
    assert "`last`" not in call("wrk", new).output
    assert "`last` stays results/wrk/20240101T000000Z-" in call("wrk", old).output
    call("wrk", old, "--out", "named", "--date", "2023-01-01T00:00Z")
    Path("named").rename("results/named")
    assert find_run("last").name.startswith("20240101")
    assert [read_run(run).run.started_utc[:4] for run in runs_under(Path("results"))] == [
        "2022", "2023", "2024",
    ]  # fmt: skip
    listed = CliRunner().invoke(main, ["history", "wrk", "--json"])
    assert [run["started_utc"][:4] for run in json.loads(listed.output)["runs"]] == ["2022", "2023", "2024"]


def test_out_is_the_directory_of_the_run_as_for_all_commands(tmp_path: Path) -> None:
    call("wrk", WRK, "--out", tmp_path / "mine")
    assert (tmp_path / "mine" / "run.json").is_file()
    again = CliRunner().invoke(
        main, ["import", "--no-report", "wrk", str(WRK), "--out", str(tmp_path / "mine")]
    )
    assert again.exit_code == 2
    assert f"--results {tmp_path / 'mine'}" in again.output
    both = CliRunner().invoke(
        main, ["import", "--no-report", "wrk", str(WRK), "--out", "a", "--results", "b"]
    )
    assert both.exit_code == 2
    assert "exclude each other" in both.output
