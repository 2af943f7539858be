"""The plans of libraries for tables: all give the same results, and one is run for real."""

from __future__ import annotations

import importlib
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from execution.live import loadcell
from loadcell.analysis import same_results
from loadcell.model.json import read
from loadcell.model.result_summary import ColumnSummary, ResultSummary
from loadcell.workloads.python_runner import harness

PLANS = Path(__file__).parents[2] / "plans" / "frames"
LIBRARIES = ("vectorised", "pandas-arrow", "polars", "polars-lazy", "duckdb", "pyarrow")
LOOPS = ("loop", "iterrows", "itertuples", "apply")


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    sys.path.insert(0, str(PLANS))
    try:
        yield importlib.import_module
    finally:
        sys.path.remove(str(PLANS))
        for name in ("columns", "queries"):
            sys.modules.pop(name, None)


class Order:
    """The part of an order that a comparison reads."""

    verify = True

    def __init__(self, *, ordered: bool) -> None:
        self.ordered = ordered


def summary(result: object, *, ordered: bool) -> ResultSummary:
    described = harness.describe(result, Order(ordered=ordered))  # type: ignore[arg-type]
    columns = tuple(read(ColumnSummary, json.dumps(column)) for column in described["columns"])  # type: ignore[attr-defined]
    return ResultSummary("", 1e-9, str(described["name"]), described["kind"], columns)  # type: ignore[arg-type]


@pytest.mark.parametrize("operation", ["sum", "mean", "concat"])
def test_all_ways_give_the_same_columns(modules: Any, operation: str) -> None:
    columns = modules("columns")
    data = columns.make(300, operation)
    first, *others = (
        summary(columns.prepare(data, library, operation)(), ordered=True) for library in (*LIBRARIES, *LOOPS)
    )
    assert first.kind == ("value" if operation == "mean" else "column")
    assert [first.equals(other) for other in others] == [True] * len(others)


QUESTIONS = (
    "group-q1",
    "group-q2",
    "group-q3",
    "group-q4",
    "group-q5",
    "join-small",
    "join-medium",
    "filter",
)


@pytest.mark.parametrize("question", QUESTIONS)
def test_all_libraries_answer_a_question_alike(
    modules: Any, question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = modules("queries")
    data = queries.make(20_000, question)
    for most in (1_000_000, 10):  # also by sums alone
        monkeypatch.setattr(harness, "_MOST_ROWS", most)
        first, *others = (
            summary(queries.prepare(data, library, question)(), ordered=False)
            for library in ("pandas", *LIBRARIES[1:])
        )
        assert first.kind == "table"
        assert first.columns[0].values > 50
        assert [first.equals(other) for other in others] == [True] * len(others)


def test_the_plan_runs_and_names_the_fastest(tmp_path: Path) -> None:
    plan = (PLANS.parent / "frames.yaml").read_text()
    levels = (
        "[loop, iterrows, itertuples, apply, vectorised, pandas-arrow, polars, polars-lazy, duckdb, pyarrow]"
    )
    assert levels in plan
    plan = plan.replace(levels, "[loop, vectorised, polars]")
    plan = plan.replace("[1000, 10000, 100000, 1000000, 10000000]", "[100, 1000, 10000]")
    (tmp_path / "plan.yaml").write_text(plan.replace("concat: {", "#").replace("mean: {", "#"))
    settings = ("repeats=1", "load.warmup=0s", "load.duration=200ms", "monitors=[]")
    words = [word for setting in settings for word in ("--set", setting)]
    shutil.copytree(PLANS, tmp_path / "frames")
    done = loadcell(tmp_path, "run", "plan.yaml", "--out", "run", *words)
    assert done.returncode == 0, done.stdout
    report = json.loads(loadcell(tmp_path, "report", "run", "--json").stdout)
    assert {trial["status"] for trial in report["trials"]} == {"ok"}
    keys = {finding["key"] for finding in report["findings"]}
    assert same_results.EQUAL.code in keys
    assert {"found.scaling.fastest", "found.scaling.by-size"} & keys
    page = (tmp_path / "run/report.html").read_text()
    assert "chart-scaling" in page
    assert "table-speedups-1" in page
