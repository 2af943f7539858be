"""`loadcell list`: runs by plan, label, state and age; runs of one plan with main metric and change."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.shell_completion import ShellComplete

import fake_runs
from lines import called
from loadcell.cli import main


def stored(results: Path, plan: str, name: str, **record: Any) -> Path:
    """A simulated run of a plan with these keys in its record."""
    path = fake_runs.write_run(results / plan / name)
    document = json.loads((path / "run.json").read_text())
    document |= {"plan_name": plan, **record}
    (path / "run.json").write_text(json.dumps(document))
    return path


def days_ago(days: float) -> str:
    return f"{datetime.now(UTC) - timedelta(days=days):%Y-%m-%dT%H:%M:%S.000000Z}"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of two plans: three runs of `orders`, one of `reads`."""
    home = tmp_path_factory.mktemp("home")
    results = home / "results"
    main_branch = {"labels": {"branch": "main"}}
    stored(results, "orders", "first", started_utc=days_ago(40), **main_branch)
    stored(results, "orders", "second", started_utc=days_ago(20), state="interrupted", labels={"keep": ""})
    commit = {"commit": "3f2a9c1d2e4b5f60718293a4b5c6d7e8f9012345", "branch": "main", "dirty": True}
    stored(results, "orders", "third", started_utc=days_ago(1), checkout=commit, **main_branch)
    stored(results, "reads", "other", started_utc=days_ago(3))
    return home


def rows(home: Path, *words: str) -> list[dict[str, Any]]:
    done = called(home, "list", *words, "--json")
    assert done.returncode == 0, done.stderr
    result: list[dict[str, Any]] = json.loads(done.stdout)
    return result


def names(home: Path, *words: str) -> list[str]:
    return [row["id"] for row in rows(home, *words)]


def test_all_runs_are_listed_by_their_start(home: Path) -> None:
    assert names(home) == ["first", "second", "other", "third"]
    assert names(home, "results") == names(home, "--results", "results") == names(home)
    assert "metric" not in rows(home)[0]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["orders"], ["first", "second", "third"]),
        (["ORDERS", "--last", "2"], ["second", "third"]),
        (["some/where/orders.yaml"], ["first", "second", "third"]),
        (["--last", "1"], ["third"]),
        (["--label", "branch=main"], ["first", "third"]),
        (["--label", "branch"], ["first", "third"]),
        (["--label", "branch=main", "--label", "keep"], []),
        (["--label", "branch=mai"], []),
        (["--status", "interrupted"], ["second"]),
        (["--status", "interrupted", "--status", "finished"], ["first", "second", "other", "third"]),
        (["--older-than", "30d"], ["first"]),
        (["--since", "7d"], ["other", "third"]),
        (["--since", "30d", "--older-than", "48h"], ["second", "other"]),
        (["orders", "--label", "branch=main", "--last", "1"], ["third"]),
    ],
)
def test_conditions_have_to_hold_together(home: Path, words: list[str], expected: list[str]) -> None:
    assert names(home, *words) == expected


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("brnch=main", "No run has the label brnch; did you mean branch?"),
        ("branch=mian", "No run has the label branch=mian; did you mean branch=main?"),
        ("branch=x", "No run has the label branch=x; there are branch=main."),
        ("team", "No run has the label team; there are branch and keep."),
    ],
)
def test_a_label_that_no_run_has_is_named_with_the_nearest(home: Path, label: str, expected: str) -> None:
    shown = " ".join(called(home, "list", "--label", label).stdout.split())
    assert shown == f"No run meets these conditions. {expected}"
    both = called(home, "list", "--label", "branch=main", "--label", "keep").stdout
    assert both.strip() == "No run meets these conditions.", "each is the label of a run"
    assert "是否指 branch？" in called(home, "list", "--label", "brnch", "--lang", "zh").stdout


def test_runs_of_a_plan_have_their_main_metric_and_change(home: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    stored(results, "orders", "before", started_utc=days_ago(2))
    after = stored(results, "orders", "after", started_utc=days_ago(1))
    for file in after.glob("trials/*/trial.json"):
        trial = json.loads(file.read_text())
        if trial.get("totals"):
            trial["totals"]["throughput_per_s"] *= 1.25
            file.write_text(json.dumps(trial))
    first, second = rows(tmp_path, "orders")
    assert (first["metric"], first["change"]) == ("throughput", None)
    assert second["value"] == pytest.approx(first["value"] * 1.25)
    assert second["change"] == pytest.approx(0.25)
    [latest] = rows(tmp_path, "orders", "--last", "1")
    assert latest["change"] == pytest.approx(0.25), "the run before is read, and not listed"
    assert "+25" in called(tmp_path, "list", "orders").stdout


def test_a_change_of_the_plan_is_no_change_of_the_metric(tmp_path: Path) -> None:
    results = tmp_path / "results"
    stored(results, "orders", "before", started_utc=days_ago(2))
    after = stored(results, "orders", "after", started_utc=days_ago(1))
    record = json.loads((after / "run.json").read_text())
    for treatment in record["treatments"]:
        treatment["settings"].setdefault("load", {})["duration"] = "1h"
    (after / "run.json").write_text(json.dumps(record))
    assert [row["change"] for row in rows(tmp_path, "orders")] == [None, None]


def test_labels_and_commit_are_shown(home: Path) -> None:
    shown = called(home, "list", "orders").stdout
    assert "branch=main 3f2a9c1d2e-dirty" in " ".join(shown.split())
    assert max(len(line) for line in shown.splitlines()) <= 80
    shown = called(home, "list").stdout
    assert "keep" in shown
    assert max(len(line) for line in shown.splitlines()) <= 80
    [row] = rows(home, "orders", "--last", "1")
    assert row["labels"] == {"branch": "main"}
    assert row["checkout"]["dirty"] is True


def test_an_unreadable_run_is_listed_as_such(tmp_path: Path) -> None:
    path = stored(tmp_path / "results", "orders", "damaged", started_utc=days_ago(1))
    (path / "run.json").write_text("{")
    [row] = rows(tmp_path, "--status", "unreadable")
    assert row["state"] == "unreadable"
    assert called(tmp_path, "list").returncode == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["order"], "no run of a plan 'order' in results; did you mean orders?"),
        (["nothing-like-it"], "there are runs of orders"),
        (["--results", "nowhere"], "nowhere"),
        (["--older-than", "30"], "30"),
        (["--since", "yesterday"], "yesterday"),
        (["--status", "great"], "great"),
        (["--last", "0"], "0"),
    ],
)
def test_mistakes_are_reported(home: Path, words: list[str], message: str) -> None:
    done = called(home, "list", *words)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())


def test_an_empty_selection_is_reported(home: Path) -> None:
    done = called(home, "list", "--older-than", "900d")
    assert done.returncode == 0
    assert done.stdout == "No run meets these conditions.\n"


def completed(*words: str) -> list[str]:
    completions = ShellComplete(main, {}, "loadcell", "_LOADCELL_COMPLETE").get_completions(
        list(words[:-1]), words[-1]
    )
    return [item.value for item in completions]


def test_a_shell_completes_plans_labels_and_states(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    assert completed("list", "o") == ["orders"]
    assert completed("list", "--label", "br") == ["branch="]
    assert completed("list", "--label", "branch=") == ["branch=main"]
    assert completed("run", "--label", "k") == ["keep="]
    assert completed("clean", "--status", "inter") == ["interrupted"]
