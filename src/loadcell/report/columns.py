"""Optional columns of a table: a column without any value is left out."""

from __future__ import annotations

from collections.abc import Sequence

from loadcell.report.blocks import Cell, Column

Rows = Sequence[Sequence[Cell]]


def known(columns: Sequence[Column], rows: Rows) -> tuple[Sequence[Column], Rows]:
    """The columns without each `spare` one that has no value: a value is what a cell is sorted by."""
    indices = [
        index
        for index, column in enumerate(columns)
        if not column.spare or any(row[index].sort is not None for row in rows)
    ]
    return [columns[index] for index in indices], [[row[index] for index in indices] for row in rows]
