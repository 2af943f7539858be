"""Declarations of sample tables, and what the built-in monitors declare."""

from __future__ import annotations

import pytest

from loadcell.model.panels import SampleTable
from loadcell.parts import installed


def test_a_table_knows_its_file_and_the_units_of_its_columns() -> None:
    table = SampleTable(
        "server-io", ("kind", "reads", "read_ms", "read_bytes_per_s", "busy_percent", "names_s"),
        text=frozenset({"kind", "names_s"}),
    )  # fmt: skip
    assert table.file == "server-io.csv"
    assert [table.unit(column) for column in table.columns] == [None, None, "ms", "B/s", "%", None]


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
