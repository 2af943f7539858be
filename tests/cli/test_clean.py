"""`loadcell clean`: what goes, what always stays, and that nothing half removed is taken for a run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.test_list import days_ago, stored
from lines import CliRunner, called
from loadcell.cli import main
from loadcell.store import clean as cleaning
from loadcell.store.find import runs_under
from loadcell.store.layout import StoreError
from loadcell.store.write import RunWriter


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Five runs of `orders`, of one to five days ago, and an old one of `reads`."""
    for day in range(1, 6):
        stored(tmp_path / "results", "orders", f"day{day}", started_utc=days_ago(day))
    stored(tmp_path / "results", "reads", "old", started_utc=days_ago(90))
    return tmp_path


def cleaned(home: Path, *words: str) -> dict[str, Any]:
    done = called(home, "clean", *words, "--json")
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def ids(rows: list[dict[str, Any]]) -> list[str]:
    return [row["id"] for row in rows]


def present(home: Path) -> list[str]:
    return [path.name for path in runs_under(home / "results")]


ALL = ["old", "day5", "day4", "day3", "day2", "day1"]


def test_without_yes_nothing_goes(home: Path) -> None:
    document = cleaned(home, "--keep", "2")
    assert document["removed"] is False
    assert ids(document["runs"]) == ["day5", "day4", "day3"]
    assert document["size_bytes"] == sum(run["size_bytes"] for run in document["runs"]) > 1000
    assert present(home) == ALL
    shown = called(home, "clean", "--keep", "2").stdout
    assert "would be removed" in shown
    assert "3 runs, " in shown
    assert "Nothing was removed: --yes removes them." in shown
    assert present(home) == ALL


@pytest.mark.parametrize(
    ("words", "remaining"),
    [
        (["--keep", "2"], ["old", "day2", "day1"]),
        (["--keep", "0"], []),
        (["orders", "--keep", "1"], ["old", "day1"]),
        (["--older-than", "60d"], ["day5", "day4", "day3", "day2", "day1"]),
        (["--older-than", "84h", "--keep", "4"], ["old", "day4", "day3", "day2", "day1"]),
        (["--keep", "0", "--label", "ci"], ALL),
        (["--keep", "0", "--status", "failed"], ALL),
    ],
)
def test_age_and_number_decide(home: Path, words: list[str], remaining: list[str]) -> None:
    assert cleaned(home, *words, "--yes")["removed"] is True
    assert present(home) == remaining


def test_a_plan_without_runs_leaves_no_directory(home: Path) -> None:
    cleaned(home, "--keep", "0", "--yes")
    assert list((home / "results").iterdir()) == []


def test_baselines_and_labelled_runs_stay(home: Path) -> None:
    assert called(home, "baseline", "set", "main", "day5").returncode == 0
    stored(home / "results", "orders", "day4", started_utc=days_ago(4), labels={"keep": "release 2"})
    document = cleaned(home, "orders", "--keep", "1", "--yes")
    assert {run["id"]: run["reason"] for run in document["retained"]} == {"day5": "baseline", "day4": "label"}
    assert ids(document["runs"]) == ["day3", "day2"]
    assert present(home) == ["old", "day5", "day4", "day1"]
    shown = called(home, "clean", "orders", "--keep", "1").stdout
    assert "stays: a baseline" in shown
    assert "stays: label keep" in shown
    assert "Nothing to remove." in shown


def test_a_run_under_way_stays(home: Path) -> None:
    path = stored(home / "results", "orders", "now", started_utc=days_ago(10), state="running")
    writer = RunWriter(path)
    try:
        [run] = cleaned(home, "--older-than", "7d", "--yes", "orders")["retained"]
        assert (run["id"], run["reason"]) == ("now", "running")
        assert not cleaning.remove(path), "nor if it was resumed after the look at its state"
    finally:
        writer.close()
    assert ids(cleaned(home, "--older-than", "7d", "--yes", "orders")["runs"]) == ["now"]


def test_an_unreadable_run_and_a_link_stay(home: Path, tmp_path: Path) -> None:
    (home / "results" / "orders" / "day5" / "run.json").write_text("{")
    away = tmp_path / "away"
    (home / "results" / "orders" / "day4").rename(away)
    (home / "results" / "orders" / "day4").symlink_to(away)
    document = cleaned(home, "orders", "--keep", "0", "--yes")
    assert {run["id"]: run["reason"] for run in document["retained"]} == {"day5": "damaged", "day4": "link"}
    assert (away / "run.json").is_file()


def test_an_import_is_as_old_as_its_import(tmp_path: Path) -> None:
    (tmp_path / "dd.txt").write_text("104857600 bytes (105 MB, 100 MiB) copied, 0.5 s, 210 MB/s\n")
    done = called(tmp_path, "import", "dd", "dd.txt", "--date", "2020-01-01")
    assert done.returncode == 0, done.stderr
    assert cleaned(tmp_path, "--older-than", "30d")["runs"] == []
    assert len(cleaned(tmp_path, "--keep", "0")["runs"]) == 1


def test_a_removal_that_was_killed_leaves_no_run_and_is_completed(home: Path) -> None:
    """The kill comes while files are being deleted: it is stopped there by a deletion that never ends."""
    code = (
        "import shutil, sys, time; from pathlib import Path; from loadcell.store import clean\n"
        "clean.shutil.rmtree = lambda path: (print('renamed', flush=True), time.sleep(60))\n"
        "clean.remove(Path(sys.argv[1]))\n"
    )
    victim = home / "results" / "orders" / "day5"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(victim)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "renamed\n"
        os.kill(process.pid, signal.SIGKILL)
    assert "day5" not in present(home)
    document = cleaned(home, "--keep", "5")
    assert [Path(remain["path"]).name for remain in document["remains"]] == [".day5.removed"]
    assert document["size_bytes"] > 1000
    cleaned(home, "--keep", "5", "--yes")
    assert not (home / "results" / "orders" / ".day5.removed").exists()
    assert present(home) == ["old", "day4", "day3", "day2", "day1"]


def test_other_things_in_the_results_directory_stay(home: Path) -> None:
    results = home / "results"
    for name in ("logs", ".cache", "src/.old.removed", "orders/.day4.removed"):
        (results / name).mkdir(parents=True)
    for name in ("src/.old.removed/mine.txt", "orders/.day4.removed/mine.txt"):
        (results / name).write_text("mine")
    assert cleaned(home, "reads", "--keep", "0", "--yes")["remains"] == []
    assert not (results / "reads").exists()
    done = called(home, "clean", "orders", "--keep", "3", "--yes")
    assert done.returncode == 1
    assert ".day4.removed" in "".join(done.stdout.split())
    assert (results / "logs").is_dir()
    assert (results / ".cache").is_dir()
    assert (results / "src/.old.removed/mine.txt").is_file()
    assert (results / "orders/.day4.removed/mine.txt").is_file()
    assert "day4" in present(home)


def test_a_removal_deletes_the_record_last(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(cleaning.shutil, "rmtree", stopped)
    (home / "results/orders/day5/trials").mkdir(exist_ok=True)
    with pytest.raises(StoreError):
        cleaning.remove(home / "results/orders/day5")
    assert cleaning.remains(home / "results") == [home / "results/orders/.day5.removed"]


def test_a_run_that_cannot_be_removed_does_not_stop_the_others(home: Path) -> None:
    (home / "results" / "orders" / ".day4.removed").write_text("a file where a directory was expected")
    shown = called(home, "clean", "orders", "--keep", "2", "--yes")
    assert shown.returncode == 1
    rows = {line.split()[0]: line for line in shown.stdout.splitlines() if line.startswith("day")}
    assert list(rows) == ["day5", "day4", "day3"]
    assert "removed" in rows["day5"]
    assert "removed" in rows["day3"]
    assert "failed" in rows["day4"]
    assert "cannot be removed" in " ".join(shown.stdout.split())
    assert "2 runs, " in shown.stdout
    assert "Check the owner of it" in shown.stdout
    assert present(home) == ["old", "day4", "day2", "day1"]
    stored(home / "results", "orders", "day3", started_utc=days_ago(3))
    done = called(home, "clean", "orders", "--keep", "2", "--yes", "--json")
    assert done.returncode == 1
    document = json.loads(done.stdout)
    assert (ids(document["failed"]), ids(document["runs"])) == (["day4"], ["day3"])
    assert "Not a directory" in document["failed"][0]["reason"]
    assert document["size_bytes"] == document["runs"][0]["size_bytes"]


def test_remains_that_cannot_be_removed_do_not_stop_the_others(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (".a.removed", ".b.removed"):
        (home / "results" / "orders" / "day5" / "trials").mkdir(exist_ok=True)
        (home / "results" / "orders" / "day5").rename(home / "results" / "orders" / name)
        stored(home / "results", "orders", "day5", started_utc=days_ago(5))

    def rmtree(path: Path) -> None:
        if path.parent.name == ".a.removed":
            raise PermissionError(1, "Operation not permitted")
        subprocess.run(["rm", "-r", str(path)], check=True)

    monkeypatch.setattr(cleaning.shutil, "rmtree", rmtree)
    monkeypatch.chdir(home)
    result = CliRunner().invoke(main, ["clean", "--keep", "5", "--yes", "--json"])
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert [Path(remain["path"]).name for remain in document["failed_remains"]] == [".a.removed"]
    assert [Path(remain["path"]).name for remain in document["remains"]] == [".b.removed"]


def test_failed_and_killed_runs_push_no_result_out(home: Path) -> None:
    """The latest are counted among finished runs; what is newer than the oldest of them stays, too."""
    for day, state in ((1, "failed"), (2, "failed"), (4, "interrupted")):
        stored(home / "results", "orders", f"day{day}", started_utc=days_ago(day), state=state)
    assert ids(cleaned(home, "orders", "--keep", "1")["runs"]) == ["day5", "day4"]
    assert ids(cleaned(home, "orders", "--keep", "2")["runs"]) == []
    assert ids(cleaned(home, "orders", "--keep", "1", "--status", "failed")["runs"]) == ["day2"]


def test_runs_with_the_label_are_counted(home: Path) -> None:
    for day in (1, 3, 5):
        labels = {"branch": "main"}
        stored(home / "results", "orders", f"day{day}", started_utc=days_ago(day), labels=labels)
    assert ids(cleaned(home, "orders", "--keep", "2", "--label", "branch=main")["runs"]) == ["day5"]


def test_damaged_baselines_stop_it(home: Path) -> None:
    (home / "results" / "baselines.json").write_text("{")
    done = called(home, "clean", "--keep", "0", "--yes")
    assert done.returncode != 0
    assert "baselines.json" in done.stderr
    assert present(home) == ALL


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give --older-than AGE (such as 30d), --keep N, or both"),
        (["--yes"], "give --older-than AGE"),
        (["--older-than", "30"], "30"),
        (["--keep", "-1"], "-1"),
        (["orders", "--keep", "1", "--results", "nowhere"], "nowhere"),
    ],
)
def test_mistakes_are_reported(home: Path, words: list[str], message: str) -> None:
    done = called(home, "clean", *words)
    assert done.returncode != 0
    assert message in " ".join(done.stderr.split())
    assert present(home) == ALL
