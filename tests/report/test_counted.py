"""Loads that end by a number of requests: what the report says of their length, and of queries that are the
requests themselves.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fake_runs import two_treatments, write_run
from loadcell.report.build import build
from loadcell.report.render.html import render
from loadcell.store.read import read_run
from report.test_page import Page


def page(home: Path, load: dict[str, object], lang: str = "en") -> str:
    """A run with these settings of its loads, whose unit of work is a query."""
    path = write_run(home / "run", two_treatments())
    run = json.loads((path / "run.json").read_text())
    for treatment in run["treatments"]:
        treatment.setdefault("settings", {})["load"] = load
    (path / "run.json").write_text(json.dumps(run))
    for file in path.glob("trials/*/trial.json"):
        document = json.loads(file.read_text())
        document["unit"] = "request"
        document["totals"]["queries_per_s"] = document["totals"]["throughput_per_s"]
        file.write_text(json.dumps(document))
    return Page(render(build(read_run(path), lang))).text


@pytest.mark.parametrize(
    ("lang", "key", "ending", "method"),
    [
        (
            "en", "requests_per_client",
            "Each trial measured 1,000 requests per client.",
            "Measured 1,000 requests per client",
        ),
        ("zh", "requests", "每次试验测量 1,000 个请求。", "测量时长 完成 1,000 个请求"),
    ],
)  # fmt: skip
def test_the_report_names_what_ended_each_trial(
    tmp_path: Path, lang: str, key: str, ending: str, method: str
) -> None:
    text = page(tmp_path, {key: 1000, "warmup": "500ms"}, lang)
    assert ending in text
    assert method in text
    assert ("Warm-up 500ms" if lang == "en" else "预热 500ms") in text
    assert "a measurement of" not in text


def test_what_differs_between_treatments_is_not_said_of_all(tmp_path: Path) -> None:
    assert "until" not in page(tmp_path, {"requests": None, "warmup": "5s"})


def test_queries_have_no_column_where_each_is_the_unit_of_work(tmp_path: Path) -> None:
    assert "Queries/s" not in page(tmp_path, {})
    path = write_run(tmp_path / "other", two_treatments())
    assert "Queries/s" in Page(render(build(read_run(path), "en"))).text


def test_the_design_is_in_the_readers_language(tmp_path: Path) -> None:
    assert "试验设计 全因素：各因素取值的所有组合" in page(tmp_path, {}, "zh")
