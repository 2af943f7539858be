"""Frames from plain values, and plain values of frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loadcell.store.frames import Frame, Text, number_column, plain_values
from loadcell.store.layout import ColumnType


def frame_of(columns: dict[str, Sequence[Any]]) -> Frame:
    """A frame of these columns; one with a text in it is a column of texts."""
    return Frame(
        {
            name: Text.of(values)
            if any(isinstance(value, str) for value in values)
            else number_column(values)
            for name, values in columns.items()
        }
    )


def frame_of_rows(types: dict[str, ColumnType], rows: Sequence[Sequence[Any]]) -> Frame:
    """A frame of rows with the values of these columns."""
    return Frame.from_rows(types, rows)


def values(frame: Frame, name: str) -> list[Any]:
    """Plain values of a column; None where missing."""
    return plain_values(frame.columns[name])


def columns_of(frame: Frame) -> dict[str, list[Any]]:
    """Plain values of all columns."""
    return {name: plain_values(column) for name, column in frame.columns.items()}


def rows_of(frame: Frame) -> list[dict[str, Any]]:
    """Plain values row by row."""
    return [dict(zip(frame.columns, row, strict=True)) for row in frame.rows(*frame.columns)]
