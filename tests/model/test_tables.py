"""Declarations of sample tables, and what the built-in monitors declare."""

from __future__ import annotations

import pytest

from loadcell.model.panels import SampleTable
from loadcell.parts import installed


def test_a_table_knows_its_file() -> None:
    table = SampleTable("server-io", ("kind", "reads"), text=frozenset({"kind"}))
    assert table.file == "server-io.csv"


def test_a_text_column_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="the table server has no column nmae"):
        SampleTable("server", ("name",), text=frozenset({"nmae"}))


def test_every_monitor_declares_tables_of_different_files() -> None:
    tables = [
        table
        for monitor in installed().monitors.values()
        for table in (monitor.table, *monitor.tables.values())
    ]
    assert len({table.file for table in tables}) == len(tables)
    assert all(len(set(table.columns)) == len(table.columns) for table in tables)
