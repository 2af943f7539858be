"""Types of the columns of frames, of CSV files and of the views of `loadcell query`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from loadcell.store import layout

ColumnType = Literal["text", "integer", "number"]

#: Columns in front of every frame of a run: the trial of each row.
FRONT: Final[Mapping[str, ColumnType]] = {
    "trial": "text", "number": "integer", "treatment": "text", "repeat": "integer", "block": "integer",
}  # fmt: skip
#: Columns of events: `t_s` counts from the measurement's start, `detail` is JSON.
EVENTS: Final[Mapping[str, ColumnType]] = {
    "t_s": "number", "mono_ns": "integer", "utc": "text", "event": "text", "detail": "text",
}  # fmt: skip

_INTEGERS = frozenset({"mono_ns", "pid", "started", "succeeded", "failed", "retried", "in_flight"})
_SQL_TYPES: Mapping[ColumnType, str] = {"text": "VARCHAR", "integer": "BIGINT", "number": "DOUBLE"}


def column_types(header: Sequence[str]) -> dict[str, ColumnType]:
    """Types of the columns of a trial's CSV file, the same for every trial."""
    return {
        name: "text" if name in layout.TEXT_COLUMNS else "integer" if name in _INTEGERS else "number"
        for name in header
    }


def sql_types(types: Mapping[str, ColumnType]) -> dict[str, str]:
    """DuckDB's types of columns."""
    return {name: _SQL_TYPES[kind] for name, kind in types.items()}


def header_of(content: bytes) -> list[str]:
    """Names of the columns in the first line of CSV text."""
    return content.partition(b"\n")[0].decode("utf-8", "replace").split(",")
