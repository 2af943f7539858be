"""Differences of runs in labels, stated facts, git checkouts and files; they precede all others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import fake_runs
from lines import called
from loadcell.analysis.compare.provenance import differences
from loadcell.model.run_record import Checkout, Execution, PlanFile, RunRecord


def paths(before: RunRecord, after: RunRecord) -> list[tuple[str, str, Any, Any]]:
    return of_sides([before], [after])


def of_sides(before: Sequence[RunRecord], after: Sequence[RunRecord]) -> list[tuple[str, str, Any, Any]]:
    return [(item.kind, item.path, item.before, item.after) for item in differences(before, after)]


def file(name: str, sha256: str) -> PlanFile:
    return PlanFile(name, f"/{name}", 1, "2026-11-26T02:00:00.000000Z", sha256)


ONE = RunRecord(
    labels={"branch": "main", "ci": "7"},
    about={"firmware": "1"},
    checkout=Checkout("a" * 40, "main"),
    files=(file("schema.sql", "aa"), file("orders.csv", "bb")),
)


def test_equal_runs_differ_in_nothing() -> None:
    assert paths(ONE, ONE) == []


def test_every_kind_is_found() -> None:
    other = RunRecord(
        labels={"branch": "fix", "keep": ""},
        about={"firmware": "2"},
        checkout=Checkout("b" * 40, "fix", dirty=True),
        files=(file("schema.sql", "aa"), file("orders.csv", "cc")),
    )
    assert paths(ONE, other) == [
        ("labels", "labels.branch", "main", "fix"),
        ("labels", "labels.ci", "7", None),
        ("labels", "labels.keep", None, ""),
        ("about", "about.firmware", "1", "2"),
        ("source", "git.commit", "a" * 10, "b" * 10 + "-dirty"),
        ("source", "git.branch", "main", "fix"),
        ("files", "orders.csv (SHA-256)", "bb", "cc"),
    ]


def test_what_an_older_version_did_not_record_is_no_difference() -> None:
    assert paths(RunRecord(), ONE) == []
    assert paths(ONE, RunRecord()) == []
    assert of_sides([RunRecord(), ONE], [ONE]) == []


def test_no_labels_are_a_difference_where_they_were_recorded() -> None:
    without = replace(ONE, labels={}, about={})
    assert paths(without, ONE) == [
        ("labels", "labels.branch", None, "main"),
        ("labels", "labels.ci", None, "7"),
        ("about", "about.firmware", None, "1"),
    ]


def test_runs_of_one_side_may_differ() -> None:
    builds = [replace(ONE, labels={"ci": number}) for number in "1234"]
    assert of_sides(builds[:2], builds[1::-1]) == []
    assert of_sides(builds[:2], builds[2:]) == [("labels", "labels.ci", ("1", "2"), ("3", "4"))]


def test_the_checkouts_of_a_resumed_run_all_count() -> None:
    resumed = replace(ONE, executions=(Execution(), Execution(checkout=Checkout("b" * 40, "main"))))
    assert paths(ONE, resumed) == [("source", "git.commit", "a" * 10, ("a" * 10, "b" * 10))]


def test_a_change_in_the_tree_is_a_difference() -> None:
    dirty = replace(ONE, checkout=Checkout("a" * 40, "main", dirty=True))
    assert paths(ONE, dirty) == [("source", "git.commit", "a" * 10, "a" * 10 + "-dirty")]


def stored(path: Path, **record: Any) -> Path:
    run = fake_runs.write_run(path)
    document = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**document, **record}))
    return run


def test_compare_names_them_first(tmp_path: Path) -> None:
    commits = [{"commit": digit * 40, "branch": "main", "dirty": False} for digit in "ab"]
    stored(tmp_path / "one", labels={"build": "1"}, about={"QoS": "none"}, checkout=commits[0])
    stored(tmp_path / "two", labels={"build": "2"}, about={"QoS": "20000 IOPS"}, checkout=commits[1])
    text = " ".join(called(tmp_path, "compare", "one", "two").stdout.split())
    labels = text.index("labels.build: 1 → 2")
    about = text.index("about.QoS: none → 20000 IOPS")
    commit = text.index(f"git.commit: {'a' * 10} → {'b' * 10}")
    assert labels < about < commit < text.index("hroughput")
    document = json.loads(called(tmp_path, "compare", "one", "two", "--json").stdout)
    assert [difference["kind"] for difference in document["differences"]] == ["labels", "about", "source"]
    chinese = called(tmp_path, "compare", "one", "two", "--lang", "zh").stdout
    assert "标签有 1 处不同" in "".join(chinese.split("\n"))


def test_compare_names_the_values_of_all_runs(tmp_path: Path) -> None:
    names = ["one", "two", "three", "four", "five"]
    for number, name in enumerate(names, 1):
        stored(tmp_path / name, labels={"ci": str(number), "side": "a" if number < 3 else "b"})
    text = " ".join(called(tmp_path, "compare", *names).stdout.split())
    assert "labels.ci: 1 → 2, 3, 4, 5" in text
    assert "labels.side: a → b" in text
    text = " ".join(called(tmp_path, "compare", *names[2:], "--against", *names[:2]).stdout.split())
    assert "labels.ci: 1, 2 → 3, 4, 5" in text
    assert "labels.side: a → b" in text
    done = called(tmp_path, "compare", *names[2:], "--against", *names[:2], "--json", "--lang", "zh")
    rows = json.loads(done.stdout)["differences"]
    assert [(row["side"], row["path"], row["before"], row["after"]) for row in rows] == [
        ("side=b", "labels.ci", ["1", "2"], ["3", "4", "5"]),
        ("side=b", "labels.side", "a", "b"),
    ]
    page = called(tmp_path, "compare", *names, "--format", "md").stdout
    assert "not set" not in page


def test_history_has_labels_and_commits_of_its_runs(tmp_path: Path) -> None:
    for number in range(2):
        checkout = {"commit": str(number) * 40, "branch": "main", "dirty": False}
        stored(tmp_path / "results" / "orders" / f"r{number}", plan_name="orders", labels={"ci": "7"},
               checkout=checkout)  # fmt: skip
    document = json.loads(called(tmp_path, "history", "orders", "--json").stdout)
    assert [run["labels"] for run in document["runs"]] == [{"ci": "7"}] * 2
    assert [run["checkout"]["commit"][0] for run in document["runs"]] == ["0", "1"]
    assert called(tmp_path, "history", "orders", "--out", "page.html").returncode == 0
    assert "ci=7 1111111111" in (tmp_path / "page.html").read_text()
