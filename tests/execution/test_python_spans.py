"""Calls of marked functions and steps of a trial on the curve of the memory, in real interpreters."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from execution.live import loadcell
from loadcell.report.build import build
from loadcell.report.texts import Texts
from loadcell.store.read import read_run

HELPERS = """
import time
def block(size): return b"x" * size
def often(): return None
def grows(kept=[]):
    while True: kept.append(block(10_000_000))
class Store:
    @classmethod
    def made(cls): return cls()
    @staticmethod
    def size(): return 3
    def pause(self): time.sleep(0.01)
"""
FUNCTIONS = """
import helpers
from helpers import Store, block, grows, often
def build(state):
    blocks = [block(10_000_000) for _ in range(3)]
    Store.made().pause()
    return len(blocks) + Store.size()
def frequent():
    for _ in range(1_000):
        often()
def prepare(): return block(1_000)
"""
SPANS = [
    "functions:build",
    "helpers:block",
    "helpers:Store.made",
    "helpers:Store.size",
    "helpers:Store.pause",
]
PLAN = {
    "target": {"host": {}},
    "workload": {"python": {"call": "functions:build"}},
    "load": {"warmup": "100ms", "duration": "300ms", "interval": "100ms"},
    "repeats": 1,
    "order": "as-written",
    "monitors": [],
}
LEVELS: dict[str, dict[str, Any]] = {
    "build": {"setup": "functions:prepare", "spans": SPANS, "verify": {}},
    "frequent": {"call": "functions:frequent", "spans": ["helpers:often"]},
    "grows": {"call": "helpers:grows", "memory": "200MB", "spans": ["helpers:block"]},
    "missing": {"spans": ["helpers:absent"]},
    "class": {"spans": ["helpers:Store"]},
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("spans")
    (home / "helpers.py").write_text(HELPERS)
    (home / "functions.py").write_text(FUNCTIONS)
    factor = {
        name: {f"workload.python.{option}": value for option, value in options.items()}
        for name, options in LEVELS.items()
    }
    (home / "plan.json").write_text(json.dumps({**PLAN, "factors": {"level": factor}}))
    loadcell(home, "run", "plan.json", "--out", "run", "--no-report")
    return home / "run"


def spans(run: Path, level: str) -> dict[str, list[tuple[int, int | None]]]:
    """Begin and end of each by name, in nanoseconds."""
    [directory] = (run / "trials").glob(f"*-level={level}-*")
    by_name: dict[str, list[tuple[int, int | None]]] = {}
    for row in csv.DictReader((directory / "python-spans.csv").read_text().splitlines()):
        end = int(row["end_mono_ns"]) if row["end_mono_ns"] else None
        by_name.setdefault(row["name"], []).append((int(row["begin_mono_ns"]), end))
    return by_name


def inside(inner: tuple[int, int | None], outer: tuple[int, int | None]) -> bool:
    assert inner[1] is not None
    assert outer[1] is not None
    return outer[0] <= inner[0] <= inner[1] <= outer[1]


def test_functions_are_marked_wherever_they_were_imported(run: Path) -> None:
    marked = spans(run, "build")
    assert {*SPANS, "setup", "warmup", "measure", "result"} == set(marked)
    [setup], [result] = marked["setup"], marked["result"]
    assert inside(marked["helpers:block"][0], setup)  # not marked as a call that is measured
    assert sum(inside(block, result) for block in marked["helpers:block"]) == 3
    calls = marked["functions:build"]
    pauses = [next(pause for pause in marked["helpers:Store.pause"] if inside(pause, call)) for call in calls]
    assert len(calls) > 3
    assert all(end is not None and end - begin > 9_000_000 for begin, end in pauses)
    [warmup], [measure] = marked["warmup"], marked["measure"]
    assert warmup[1] == measure[0]
    assert (measure[1] or 0) - measure[0] == 300_000_000


def test_after_200_calls_a_function_is_as_it_was(run: Path) -> None:
    assert len(spans(run, "frequent")["helpers:often"]) == 200
    [record] = [trial for trial in read_run(run).trials if trial.levels["level"] == "frequent"]
    assert record.totals is not None
    assert record.totals.figures["python.call_time"] < 0.3  # 1,000 marks take 10 ms and more


def test_a_trial_that_reached_its_limit_has_its_spans(run: Path) -> None:
    [record] = [trial for trial in read_run(run).trials if trial.levels["level"] == "grows"]
    assert record.status == "failed"
    assert len(spans(run, "grows")["helpers:block"]) > 10


def test_size_of_the_result_is_recorded(run: Path) -> None:
    figures = {trial.levels["level"]: trial.totals for trial in read_run(run).trials}
    assert figures["build"] is not None
    assert figures["build"].figures["python.result_size"] == (6).__sizeof__()
    assert figures["frequent"] is not None
    assert "python.result_size" not in figures["frequent"].figures


def test_what_cannot_be_marked_is_the_reason_of_a_trial(run: Path) -> None:
    reasons = {trial.levels["level"]: str(trial.reason) for trial in read_run(run).trials}
    assert "marking the functions of `spans` raised AttributeError" in reasons["missing"]
    assert "helpers:Store is no function: type" in reasons["class"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_report_draws_the_curve_with_its_spans(run: Path, language: str) -> None:
    texts = Texts(language)
    [section] = [section for section in build(read_run(run), language).sections if section.id == "resident"]
    [chart] = section.blocks
    rows = chart.data["spans1"] + chart.data["spans0"]  # type: ignore[union-attr]
    names = {row["name"] for row in rows}
    assert {"block", "Store.pause", texts("resident.step.setup"), texts("resident.step.measure")} <= names


def test_a_name_without_module_is_a_mistake_of_the_plan(tmp_path: Path) -> None:
    workload = {"python": {"call": "functions:build", "spans": ["block"]}}
    (tmp_path / "plan.json").write_text(json.dumps({**PLAN, "workload": workload}))
    done = loadcell(tmp_path, "check", "plan.json")
    assert done.returncode == 2
    assert "workload.python.spans" in done.stderr + done.stdout
