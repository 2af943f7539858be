"""Differences of runs in labels, stated facts, git checkouts and files; they precede all others."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import fake_runs
from lines import called
from loadcell.analysis.compare.provenance import differences
from loadcell.model.run_record import Checkout, PlanFile, RunRecord


def paths(before: RunRecord, after: RunRecord) -> list[tuple[str, str, Any, Any]]:
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
    assert paths(RunRecord(), replace(ONE, labels=None, about=None)) == []


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
