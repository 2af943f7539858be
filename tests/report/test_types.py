"""Metrics of a workload and types of transaction, in the report's tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fake_runs import Shape, two_treatments, write_run
from lines import called
from loadcell.report.blocks import Table
from loadcell.report.brief import of_run
from loadcell.report.build import build
from loadcell.report.render.markdown import render
from loadcell.store.read import read_run


def operation(kind: str, count: int, **more: float) -> dict[str, Any]:
    return {
        "kind": kind, "succeeded": count, "failed": 0, "throughput_per_s": count / 30,
        "response": {
            **more, "mean_ms": 5.0, "p50_ms": 4.0, "p90_ms": 8.0,
            "p95_ms": 9.0, "p99_ms": 12.5, "max_ms": 99.0,
        },
    }  # fmt: skip


def page(home: Path, lang: str, rolled_back: int = 7) -> str:
    """A run whose trials were of TPC-C."""
    path = write_run(home / "run", two_treatments())
    for file in path.glob("trials/*/trial.json"):
        document = json.loads(file.read_text())
        document["totals"]["figures"] = {"tpmC": 12_345.6, "tpmTotal": 27_400.0}
        document["notes"] = ["tpcc.unaudited", "of.somebody.elses"]
        document["operations"] = {
            "new_order": operation("type", 4_500),
            "payment": operation("type", 4_300),
            "new_order_rolled_back": operation("outcome", rolled_back),
            "delivery_skipped": operation("outcome", 0),
            "select": operation("read", 90_000),
        }
        file.write_text(json.dumps(document))
    return render(build(read_run(path), lang)).replace("\\", "")


def type_row(text: str, clients: str, name: str) -> list[str]:
    """The cells behind the name in the one row of a type at this number of clients."""
    table = text[text.index("Types of ") :]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    (row,) = [cells for cells in rows if cells[:2] == [clients, name]]
    return row[2:]


def test_a_table_has_a_row_for_each_type_and_each_outcome_that_came(tmp_path: Path) -> None:
    text = page(tmp_path, "en")
    for clients in ("4", "16"):
        count, *values = type_row(text, clients, "`new_order`")
        assert count == "9,000"
        assert values[-7:] == ["150.0", "5.00", "4.00", "8.00", "9.00", "12.5", "99.0"]
    assert "`new_order_rolled_back`" in text
    assert "rolled back by design" in text
    assert "delivery" not in text, "nothing was skipped"
    assert "`select`" not in text


def terminal_table(home: Path, names: list[str], lang: str = "en", treatments: int = 2) -> list[list[str]]:
    """The rows of the terminal's table of operations, of a run with these operations."""
    path = write_run(home / "run", Shape(factors={"load.clients": [2**n for n in range(treatments)]}))
    for file in path.glob("trials/*/trial.json"):
        document = json.loads(file.read_text())
        document["unit"] = "operation"
        document["operations"] = {name: {**operation("read", 90), "failed": 3} for name in names}
        file.write_text(json.dumps(document))
    sections = {section.id: section for section in of_run(read_run(path), lang).sections}
    tables = [block for block in sections["operations"].blocks if isinstance(block, Table)]
    return [[cell.text for cell in row] for table in tables for row in table.rows]


def test_a_terminal_shows_the_operations_of_few_treatments(tmp_path: Path) -> None:
    rows = terminal_table(tmp_path, ["get", "tag"])
    assert [row[-5:] for row in rows[:2]] == [
        ["get", "3.000", "4.00", "12.5", "6"],
        ["tag", "3.000", "4.00", "12.5", "6"],
    ]
    assert len(rows) == 4
    shown = called(tmp_path, "show", "run", "--lang", "zh").stdout
    assert "tag" in shown
    assert "每秒" in shown
    assert max(len(line) for line in shown.splitlines()) <= 80


@pytest.mark.parametrize(
    ("names", "treatments"), [(["get"], 2), ([f"op{n}" for n in range(13)], 2), (["get", "set"], 4)]
)
def test_a_single_operation_and_many_rows_are_left_to_the_report(
    tmp_path: Path, names: list[str], treatments: int
) -> None:
    assert terminal_table(tmp_path, names, treatments=treatments) == []


def test_where_an_operation_is_the_unit_each_verb_is_a_type(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", two_treatments())
    for file in path.glob("trials/*/trial.json"):
        document = json.loads(file.read_text())
        document["unit"] = "operation"
        document["operations"] = {
            "get": operation("read", 90, stdev_ms=2.5),
            "set": operation("write", 10),
            "missed": operation("outcome", 3),
        }
        file.write_text(json.dumps(document))
    text = render(build(read_run(path), "en")).replace("\\", "")
    assert "Types of operation" in text
    for name in ("`get`", "`set`", "`missed`"):
        for clients in ("4", "16"):
            assert type_row(text, clients, name)
    assert "missed: the key to read" in text
    assert "| mean (ms) | sd (ms) | p50 (ms) |" in text
    assert "| 5.00 | 2.50 | 4.00 | 8.00 |" in text


def test_metrics_of_the_workload_have_columns(tmp_path: Path) -> None:
    text = page(tmp_path, "en")
    assert "| tpmC | tpmTotal |" in text
    assert "| 12,346 | 27,400 |" in text
    assert "tpmC: 12,346" in text


def test_a_note_is_translated_and_an_unknown_note_is_shown_as_it_is(tmp_path: Path) -> None:
    text = page(tmp_path, "en")
    assert "not an audited TPC-C result" in text
    assert "of.somebody.elses" in text


def test_in_chinese(tmp_path: Path) -> None:
    text = page(tmp_path, "zh", rolled_back=0)
    assert "各类事务" in text
    assert "并非经过审计" in text
    assert "new_order_rolled_back" not in text, "nothing was rolled back"


@pytest.mark.parametrize(
    ("lang", "column", "note"),
    [
        ("en", "Calls/s", "a read and an update in one operation"),
        ("zh", "调用/秒", "一次操作包含一次读取和一次更新"),
    ],
)
def test_an_operation_of_two_calls_says_so(tmp_path: Path, lang: str, column: str, note: str) -> None:
    path = write_run(tmp_path / "run", two_treatments())
    for file in path.glob("trials/*/trial.json"):
        document = json.loads(file.read_text())
        document["unit"] = "operation"
        document["operations"] = {
            "READ": operation("read", 100),
            "UPDATE": operation("write", 50),
            "READ-MODIFY-WRITE": operation("type", 50),
        }
        file.write_text(json.dumps(document))
    text = render(build(read_run(path), lang)).replace("\\", "")
    assert column in text
    assert "Queries/s" not in text
    assert note in text
