"""Pivot tables of runs with two factors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from loadcell.report.blocks import Table
from loadcell.report.build import build
from loadcell.store.read import read_run


def tables(path: Path) -> dict[str, Table]:
    sections = build(read_run(path)).sections
    return {block.id: block for section in sections for block in section.blocks if isinstance(block, Table)}


def test_two_factors_have_a_pivot_table(runs: Callable[[str], Path]) -> None:
    by_id = tables(runs("two factors"))
    results, pivot = by_id["table-results"], by_id["table-pivot"]
    first, second = (column.title for column in results.columns[1:3])
    medians = {
        frozenset((f"{first} = {row[1].text}", f"{second} = {row[2].text}")): row[3].text
        for row in results.rows
    }
    down, *across = (column.title for column in pivot.columns)
    assert down in (first, second)
    shown = {
        frozenset((f"{down} = {row[0].text}", title)): cell.text
        for row in pivot.rows
        for title, cell in zip(across, row[1:], strict=True)
    }
    assert shown == medians
    assert len(pivot.rows) >= len(across) >= 2
    assert [column.title for column in by_id["table-pivot-p99"].columns] == [down, *across]


def test_one_factor_and_three_have_none(runs: Callable[[str], Path]) -> None:
    assert not {"table-pivot", "table-pivot-p99"} & {*tables(runs("sweep")), *tables(runs("numbered"))}
