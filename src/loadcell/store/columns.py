"""Types of the columns of frames, of CSV files and of the views of `loadcell query`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final, Literal

from loadcell.model.trial_record import TrialRecord

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
_SAMPLER_TEXT = frozenset({"utc"})
#: Text columns of intervals, and of samples of runs that recorded no `text_columns`.
UNDECLARED_TEXT = frozenset({
    "utc", "phase", "operation", "kind", "name", "role", "device", "interface", "wait_event_type", "wait_event",
    "backend_type", "object", "context", "query_id", "query",
})  # fmt: skip
_SQL_TYPES: Mapping[ColumnType, str] = {"text": "VARCHAR", "integer": "BIGINT", "number": "DOUBLE"}


def text_columns(trial: TrialRecord, file: str) -> frozenset[str]:
    """Columns of a trial's CSV file that hold text, as the monitor that wrote it declared them."""
    for monitor in trial.monitors.values():
        declared = monitor.text_columns or {}
        if file in declared:
            return _SAMPLER_TEXT | frozenset(declared[file])
    return UNDECLARED_TEXT


def column_types(header: Sequence[str], text: Collection[str]) -> dict[str, ColumnType]:
    """Types of the columns of CSV files whose columns `text` hold text."""
    return {name: "text" if name in text else "integer" if name in _INTEGERS else "number" for name in header}


def sql_types(types: Mapping[str, ColumnType]) -> dict[str, str]:
    """DuckDB's types of columns."""
    return {name: _SQL_TYPES[kind] for name, kind in types.items()}


def header_of(content: bytes) -> list[str]:
    """Names of the columns in the first line of CSV text."""
    return content.partition(b"\n")[0].decode("utf-8", "replace").split(",")
