"""SQL over the files of one run or many, in place, through DuckDB: views `trials`, `intervals`, `samples`,
`events`, and of trials with faults `timeline` and `slow`.

Nothing that comes from outside is ever put together into SQL text: paths and frames are handed over as
values, and the connection can read the runs' own files and nothing else, and write nothing at all.
"""

from __future__ import annotations

import csv
import io
import json
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from loadcell.model import resource_metrics
from loadcell.model.json import document
from loadcell.model.latency import Latency
from loadcell.model.message import Count, ForeignText, MessageCode, Seconds
from loadcell.model.panels import Row
from loadcell.model.trial_record import Counts, Totals, TrialRecord
from loadcell.store import layout
from loadcell.store.layout import (
    EVENT_COLUMNS,
    FRONT,
    UNDECLARED_TEXT,
    ColumnType,
    StoreError,
    column_types,
    header_of,
    sql_types,
    text_columns,
)
from loadcell.store.read import StoredRun, front, read_run

QUERY_NOT_SELECT = MessageCode("query.not-select")
QUERY_FAILED = MessageCode("query.failed", error=ForeignText, views=list)

QUERY_UNQUOTED = MessageCode("query.unquoted", error=ForeignText, names=list)
QUERY_TOO_LONG = MessageCode("query.too-long", limit_s=Seconds)
QUERY_TOO_LARGE = MessageCode("query.too-large", count=Count)

#: A query that takes longer is stopped; with its results it may take that much memory.
LONGEST_S = 120.0
_MEMORY = "2GB"
#: Values that an answer may have: about 600 MB as Python holds them.
MOST_VALUES = 10_000_000
_BLOCK_ROWS = 10_000

VIEWS = ("trials", "intervals", "samples", "events", "timeline", "slow")


@dataclass(frozen=True)
class Answer:
    """Result of a query: column names and rows of plain values."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


def query(paths: Sequence[Path], sql: str) -> Answer:
    """Run one SELECT over these runs.

    Raises StoreError, with DuckDB's own words, when it is none or does not work.
    """
    runs = [read_run(path) for path in paths]
    try:
        with _connect(runs, sql) as connection:
            limit = threading.Timer(LONGEST_S, connection.interrupt)
            limit.start()
            try:
                return _answer(connection.execute(_the_select(connection, sql)))
            finally:
                limit.cancel()
    except duckdb.InterruptException:
        raise StoreError(QUERY_TOO_LONG(limit_s=LONGEST_S)) from None
    except duckdb.Error as error:
        if dotted := _unquoted(sql):
            raise StoreError(QUERY_UNQUOTED(error=error, names=dotted)) from None
        raise StoreError(QUERY_FAILED(error=error, views=list(VIEWS))) from None


def _unquoted(sql: str) -> list[str]:
    """Metrics with a dot in their name that a query has without double quotes, as they are to be written."""
    keys = (metric.key for metric in resource_metrics.METRICS)
    return [f'"{key}"' for key in keys if re.search(rf'(?<![\w."]){re.escape(key)}(?![\w."])', sql)]


def _answer(result: duckdb.DuckDBPyConnection) -> Answer:
    """The rows of a result as long as they are few enough to be held. Raises StoreError."""
    columns = tuple(str(column[0]) for column in result.description or ())
    most = max(1, MOST_VALUES // max(1, len(columns)))
    rows: list[tuple[Any, ...]] = []
    while block := result.fetchmany(_BLOCK_ROWS):
        rows += block
        if len(rows) > most:
            raise StoreError(QUERY_TOO_LARGE(count=most))
    return Answer(columns, rows)


def _the_select(connection: duckdb.DuckDBPyConnection, sql: str) -> str:
    """The text, when it is one statement that only reads."""
    statements = connection.extract_statements(sql)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise StoreError(QUERY_NOT_SELECT())
    return sql


def _connect(runs: list[StoredRun], sql: str) -> duckdb.DuckDBPyConnection:
    """A connection with the views that `sql` names, locked so that it reads their files and nothing else."""
    connection = duckdb.connect(":memory:", config={"autoinstall_known_extensions": False})
    named = sql.casefold()
    trials = trial_rows(runs)
    _create_table(connection, "trials", trial_types(trials), trials)
    readable: list[Path] = []
    if "intervals" in named:
        readable += _csv_view(connection, "intervals", runs, _file_of(layout.INTERVALS, "load"))
    if "samples" in named:
        readable += _csv_view(connection, "samples", runs, layout.sample_files)
    for view, (file, columns) in _TIMELINES.items():
        if view in named:
            readable += _csv_view(
                connection, view, runs, _file_of(file, view), columns, layout.TIMELINE_WORDS
            )
    if "events" in named:
        types: dict[str, ColumnType] = {"run": "text", **FRONT, **EVENT_COLUMNS}
        rows = [dict(zip(types, (run.id, *row), strict=True)) for run in runs for row in run.event_rows()]
        _create_table(connection, "events", types, rows)
    connection.execute("SET allowed_paths = ?", [[str(path) for path in readable]])
    connection.execute("SET enable_external_access = false")
    connection.execute(f"SET memory_limit = '{_MEMORY}'")
    connection.execute("SET lock_configuration = true")
    return connection


def _create_table(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    types: Mapping[str, ColumnType],
    rows: Sequence[Mapping[str, object]],
) -> None:
    """A table of rows, handed over as JSON: names of columns may be any text, and rows may lack some."""
    connection.execute(
        f"CREATE TABLE {name} AS SELECT unnest(from_json($rows, $types), max_depth := 2)",
        {"rows": json.dumps(rows), "types": json.dumps([sql_types(types)])},
    )


#: Views of trials with faults: the file of each, and its columns.
_TIMELINES = {
    "timeline": (layout.TIMELINE, layout.TIMELINE_COLUMNS),
    "slow": (layout.SLOW, layout.SLOW_COLUMNS),
}


def _file_of(file: str, source: str) -> Callable[[TrialRecord], Mapping[str, str]]:
    """Gives the file of a trial, under the name of its source, if the trial has it."""
    return lambda trial: {source: file} if file in (trial.files or {}) else {}


def _csv_view(
    connection: duckdb.DuckDBPyConnection,
    view: str,
    runs: Sequence[StoredRun],
    files_of: Callable[[TrialRecord], Mapping[str, str]],
    columns_without_files: Sequence[str] = layout.INTERVAL_COLUMNS,
    words: frozenset[str] | None = None,
) -> list[Path]:
    """Make a view over one CSV file of every trial; returns the files it reads in place.

    Complete files are read by DuckDB when the query runs; cut ones are read here, up to their last whole
    line. `words` are its columns of text; without them each trial's record has these.
    """
    files: list[Row] = []
    cut_rows: list[Row] = []
    header: dict[str, None] = {}
    text: set[str] = set()
    for run in runs:
        for trial in run.trials:
            for monitor, name in files_of(trial).items():
                text |= text_columns(trial, name) if words is None else words
                path = run.directory(trial.name) / name
                columns = {
                    "run": run.id,
                    **({"monitor": monitor} if view == "samples" else {}),
                    **front(trial),
                }
                if _is_complete(path, (trial.files or {}).get(name)):
                    with path.open("rb") as file:
                        header |= dict.fromkeys(header_of(file.readline()))
                    files.append({"file": str(path), **columns})
                elif content := run.complete_lines(path, trial):
                    header |= dict.fromkeys(header_of(content))
                    cut_rows += ({**columns, **row} for row in _csv_rows(content))
    front_types: dict[str, ColumnType] = {
        "run": "text", **({"monitor": "text"} if view == "samples" else {}), **FRONT
    }  # fmt: skip
    types = column_types(list(header) or columns_without_files, text or words or UNDECLARED_TEXT)
    _create_table(connection, f"{view}_cut", front_types | types, cut_rows)
    if files:
        _create_table(connection, f"{view}_files", {"file": "text", **front_types}, files)
        connection.execute(
            f"CREATE VIEW {view} AS SELECT f.* EXCLUDE (file), r.* EXCLUDE (filename) "  # noqa: S608 - literals
            f"FROM {_read([str(file['file']) for file in files], sql_types(types))} r "
            f"JOIN {view}_files f ON r.filename = f.file UNION ALL BY NAME FROM {view}_cut"
        )
    else:
        connection.execute(f"CREATE VIEW {view} AS FROM {view}_cut")
    return [Path(str(file["file"])) for file in files]


def _read(files: Sequence[str], types: Mapping[str, str]) -> str:
    """The table function that reads CSV files, for a view, which takes no parameters.

    A relation of DuckDB's Python library would look into all files three times as often.
    """
    columns = {name.casefold(): f"{_literal(name)}: {_literal(kind)}" for name, kind in types.items()}
    return (
        f"read_csv([{', '.join(map(_literal, files))}], header = true, delim = ',', quote = '\"', "
        f"escape = '\"', union_by_name = true, filename = true, types = {{{', '.join(columns.values())}}})"
    )


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _csv_rows(content: bytes) -> Iterator[dict[str, str | None]]:
    """Rows of CSV text; an empty field is a missing value."""
    for row in csv.DictReader(io.StringIO(content.decode("utf-8", "replace"), newline="")):
        yield {name: row[name] or None for name in header_of(content)}


def _is_complete(path: Path, size: int | None) -> bool:
    try:
        return size is not None and path.stat().st_size == size
    except OSError:
        return False


#: The column of a trial's whole record.
DOCUMENT = "document"
_TOTALS = ("throughput_per_s", "queries_per_s", "errors", "error_rate")
_COUNTS = ("attempted", "succeeded", "failed", "in_flight", "retried")
_QUANTILES = ("mean", "min", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max")
_LATENCIES = [f"{kind}_{name}_ms" for kind in ("response", "service") for name in _QUANTILES]


def trial_rows(runs: Iterable[StoredRun]) -> list[Row]:
    """A row a finished trial: identity, status, common metrics, a column for each factor, and the record as
    JSON.
    """
    rows = []
    for run in runs:
        for trial in run.trials:
            totals, used = trial.totals or Totals(Counts(*[None] * 6)), trial.resources
            rows.append({
                "run": run.id, "plan": run.run.plan_name, **front(trial),
                "status": str(trial.status),
                **{key: getattr(trial, key) for key in ("reason", "started_utc", "ended_utc")},
                **{f"{_FACTOR}{key}": level for key, level in trial.levels.items()},
                "measured_s": trial.measure.duration_s if trial.measure else None,
                **{key: getattr(totals, key) for key in _TOTALS},
                **{key: getattr(totals.transactions, key) for key in _COUNTS},
                **_latency("response", totals.response), **_latency("service", totals.service),
                "client_busy_max": trial.client.busy_max if trial.client else None,
                **{metric.key: used and metric.value(used) for metric in resource_metrics.METRICS},
                **{key: value for key, value in totals.figures.items() if key not in _FIXED},
                DOCUMENT: json.dumps(document(trial), ensure_ascii=False),
            })  # fmt: skip
    return rows


def _latency(kind: str, latency: Latency | None) -> dict[str, float | None]:
    values = latency.values() if latency else {}
    return {f"{kind}_{name}_ms": values.get(f"{name}_ms") for name in _QUANTILES}


_FACTOR = "factor."


def trial_types(rows: Sequence[Row]) -> dict[str, ColumnType]:
    """Types of the columns of `trials`; those of factors are texts, as their levels differ in type."""
    names = dict.fromkeys(name for row in rows for name in row)
    types = _fixed_types([name for name in names if name.startswith(_FACTOR)])
    return {**types, **{name: "number" for name in names if name not in types}}


def _fixed_types(factors: Iterable[str]) -> dict[str, ColumnType]:
    """Types of the columns without those of metrics of workload, tool and monitors."""
    return {
        "run": "text",
        "plan": "text",
        **FRONT,
        "status": "text",
        "reason": "text",
        "started_utc": "text",
        "ended_utc": "text",
        **dict.fromkeys(factors, "text"),
        "measured_s": "number",
        **dict.fromkeys(_TOTALS, "number"),
        "errors": "integer",
        **dict.fromkeys(_COUNTS, "integer"),
        **dict.fromkeys(_LATENCIES, "number"),
        "client_busy_max": "number",
        **dict.fromkeys((metric.key for metric in resource_metrics.METRICS), "number"),
        DOCUMENT: "text",
    }


#: Columns that a metric of a workload, a tool or a monitor cannot replace.
_FIXED = frozenset(_fixed_types(()))
