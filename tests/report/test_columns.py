"""Columns of response times: only those that some row has a value for, in every format."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from rich.console import Console

from fake_runs import Shape, write_run
from loadcell.report import brief
from loadcell.report.blocks import Cell, Column, Table, without_empty
from loadcell.report.build import build
from loadcell.report.render import terminal
from loadcell.report.render.markdown import render
from loadcell.store.read import StoredRun, read_run


def write_times(path: Path, times: Mapping[str, Mapping[str, float] | None]) -> StoredRun:
    """A run of two treatments whose tool printed these response times, by treatment."""
    run = write_run(path, Shape(monitors=False, intervals=False, repeats=1))
    for file in run.glob("trials/*/trial.json"):
        record = json.loads(file.read_text(encoding="utf-8"))
        record["totals"]["response"] = times[record["treatment"]]
        file.write_text(json.dumps(record), encoding="utf-8")
    return read_run(run)


def heads(run: StoredRun) -> dict[str, list[str]]:
    """Titles of the columns, by table."""
    return {
        block.id: [column.title for column in block.columns]
        for section in build(run).sections
        for block in section.blocks
        if isinstance(block, Table)
    }


def shown(run: StoredRun) -> str:
    """The output on a terminal."""
    out = io.StringIO()
    terminal.render(brief.of_run(run, "en"), Console(file=out, width=120, highlight=False, color_system=None))
    return out.getvalue()


NOTHING = {"clients=4": None, "clients=16": None}
ONE = {"clients=4": None, "clients=16": {"count": 90, "p50_ms": 1.5, "p95_ms": 2.5}}
TABLES = ("table-results", "table-order")


def test_percentiles_that_no_tool_told_have_no_columns(tmp_path: Path) -> None:
    run = write_times(tmp_path / "run", NOTHING)
    headings = heads(run)
    assert not [
        title for name in TABLES for title in headings.get(name, ()) if "p50" in title or "p9" in title
    ]
    page = render(build(run))
    assert "p50" not in page
    assert "p99" not in page
    assert "p50" not in shown(run)
    assert "p99" not in shown(run)
    assert {"Throughput (/s)", "Errors"} <= set(headings["table-results"])


def test_one_row_with_a_value_keeps_the_column_for_all(tmp_path: Path) -> None:
    run = write_times(tmp_path / "run", ONE)
    titles = heads(run)["table-results"]
    assert [title for title in titles if title.startswith("p")] == ["p50 (ms)", "p95 (ms)"]
    assert "p50" in shown(run)
    assert "p99" not in shown(run)


@pytest.mark.parametrize(("sort", "headings"), [(None, ["name"]), (0.0, ["name", "figure"])])
def test_zero_is_a_value_and_other_columns_always_stay(sort: float | None, headings: list[str]) -> None:
    columns = [Column("name"), Column("figure", spare=True)]
    shown, rows = without_empty(columns, [[Cell("a"), Cell("–")], [Cell("b"), Cell("0", sort=sort)]])
    assert [column.title for column in shown] == headings
    assert {len(row) for row in rows} == {len(headings)}
    assert without_empty(columns, [])[0] == columns[:1]
