"""SQL over the files of one run or many, in place, through DuckDB: views `trials`, `intervals`, `samples`, `events`.

Nothing that comes from outside is ever put together into SQL text: paths and frames are handed over as values,
and the connection can read the runs' own files and nothing else, and write nothing at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loadcell.store import layout
from loadcell.store.errors import StoreError
from loadcell.store.messages import QUERY_FAILED, QUERY_NOT_SELECT
from loadcell.store.read import StoredRun, column_types, read_run

if TYPE_CHECKING:
    import duckdb
    import polars as pl

VIEWS = ("trials", "intervals", "samples", "events")


@dataclass(frozen=True)
class Answer:
    """What a query gave: column names and rows of plain values."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


def query(paths: Sequence[Path], sql: str) -> Answer:
    """Run one SELECT over these runs. Raises StoreError, with DuckDB's own words, when it is none or does not work."""
    import duckdb

    runs = [read_run(path) for path in paths]
    try:
        with _connect(runs, sql) as connection:
            result = connection.sql(_the_select(connection, sql))
            if result is None:
                return Answer((), [])
            return Answer(tuple(result.columns), result.fetchall())
    except duckdb.Error as error:
        raise StoreError(QUERY_FAILED(said=error, views=list(VIEWS))) from None


def _the_select(connection: duckdb.DuckDBPyConnection, sql: str) -> str:
    """The text, when it is one statement that only reads."""
    import duckdb

    statements = connection.extract_statements(sql)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise StoreError(QUERY_NOT_SELECT())
    return sql


def _connect(runs: list[StoredRun], sql: str) -> duckdb.DuckDBPyConnection:
    """A connection with the views `sql` mentions, locked so that it reads their files and does nothing else."""
    import duckdb

    connection = duckdb.connect(":memory:", config={"autoinstall_known_extensions": False})
    named = sql.casefold()
    _register(connection, "trials", trials_frame(runs))
    readable: list[Path] = []
    if "intervals" in named:
        readable += _csv_view(connection, "intervals", runs, lambda trial: _intervals_file(trial))
    if "samples" in named:
        readable += _csv_view(connection, "samples", runs, layout.sample_files)
    if "events" in named:
        _register(connection, "events", _events_frame(runs))
    connection.execute("SET allowed_paths = ?", [[str(path) for path in readable]])
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


class _ArrowStream:
    """A frame by its Arrow stream alone: DuckDB would ask a polars frame for pyarrow, which is not needed."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)


def _register(connection: duckdb.DuckDBPyConnection, name: str, frame: pl.DataFrame) -> None:
    connection.register(name, _ArrowStream(frame))


def _intervals_file(trial: dict[str, Any]) -> dict[str, str]:
    return {"load": layout.INTERVALS} if layout.INTERVALS in (trial.get("files") or {}) else {}


def _csv_view(
    connection: duckdb.DuckDBPyConnection, view: str, runs: list[StoredRun], files_of: Any
) -> list[Path]:
    """Make a view over one CSV file of every trial; returns the files it reads in place.

    Whole files are read by DuckDB when the query runs. Cut ones are read here, up to their last whole line.
    """
    import polars as pl

    places: list[dict[str, Any]] = []
    cut: list[pl.DataFrame] = []
    header: dict[str, Any] = {}
    for run in runs:
        for trial in run.trials:
            for monitor, name in files_of(trial).items():
                path = run.directory(trial["name"]) / name
                front = {
                    "run": run.id,
                    **({"monitor": monitor} if view == "samples" else {}),
                    **_trial_front(trial),
                }
                if not _is_whole(path, trial["files"].get(name)):
                    frame = run.csv(path, trial)
                    if frame is not None:
                        cut.append(frame.select(*(pl.lit(v).alias(k) for k, v in front.items()), pl.all()))
                        header |= dict.fromkeys(frame.columns)
                    continue
                with path.open(encoding="utf-8") as file:
                    header |= dict.fromkeys(file.readline().rstrip("\n").split(","))
                places.append({"file": str(path), **front})
    front_types = {
        "run": pl.String, **({"monitor": pl.String} if view == "samples" else {}), "trial": pl.String, "number": pl.Int64, "treatment": pl.String,
        "repeat": pl.Int64, "block": pl.Int64,
    }  # fmt: skip
    types = column_types(list(header) or list(layout.INTERVAL_COLUMNS))
    cut_frame = pl.concat([pl.DataFrame(schema=front_types | types), *cut], how="diagonal_relaxed")
    _register(connection, f"{view}_cut", cut_frame)
    if places:
        _register(
            connection, f"{view}_files", pl.DataFrame(places, schema={"file": pl.String, **front_types})
        )
        read = connection.read_csv(
            [place["file"] for place in places],  # type: ignore[arg-type]  # a list is fine, the stubs lag
            header=True, delimiter=",", union_by_name=True, filename=True, dtype=_duckdb_types(types),
        )  # fmt: skip
        read.create_view(f"{view}_read")
        connection.execute(
            f"CREATE VIEW {view} AS SELECT f.* EXCLUDE (file), r.* EXCLUDE (filename) "  # noqa: S608 - our own names
            f"FROM {view}_read r JOIN {view}_files f ON r.filename = f.file UNION ALL BY NAME FROM {view}_cut"
        )
    else:
        connection.execute(f"CREATE VIEW {view} AS FROM {view}_cut")
    return [Path(place["file"]) for place in places]


def _duckdb_types(types: dict[str, Any]) -> dict[str, str]:
    return {
        name: {"String": "VARCHAR", "Int64": "BIGINT"}.get(str(kind), "DOUBLE")
        for name, kind in types.items()
    }


def _is_whole(path: Path, size: int | None) -> bool:
    try:
        return size is not None and path.stat().st_size == size
    except OSError:
        return False


def _trial_front(trial: dict[str, Any]) -> dict[str, Any]:
    return {
        "trial": trial["name"],
        **{key: trial.get(key) for key in ("number", "treatment", "repeat", "block")},
    }


def trials_frame(runs: Iterable[StoredRun]) -> pl.DataFrame:
    """A row a finished trial: who, state, the figures people ask for, a column for each factor, and all of it as JSON."""
    import polars as pl

    rows = []
    for run in runs:
        for trial in run.trials:
            totals = trial.get("totals") or {}
            transactions = totals.get("transactions") or {}
            row = {
                "run": run.id, "plan": run.run.get("plan_name"), **_trial_front(trial),
                "status": trial.get("status"), "reason": trial.get("reason"),
                "started_utc": trial.get("started_utc"), "ended_utc": trial.get("ended_utc"),
                **{f"factor.{key}": level for key, level in (trial.get("levels") or {}).items()},
                "measured_s": (trial.get("measure") or {}).get("duration_s"),
                **{key: totals.get(key) for key in ("throughput_per_s", "queries_per_s", "errors", "error_rate")},
                **{key: transactions.get(key) for key in ("attempted", "succeeded", "failed", "in_flight", "retried")},
                **_latency("response", totals.get("response")), **_latency("service", totals.get("service")),
                "client_busy_max": (trial.get("client") or {}).get("busy_max"),
                "document": json.dumps(trial, ensure_ascii=False),
            }  # fmt: skip
            rows.append(row)
    return pl.DataFrame(rows, schema=_schema(rows))


_QUANTILES = ("mean", "min", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max")


def _latency(kind: str, figures: dict[str, Any] | None) -> dict[str, Any]:
    return {f"{kind}_{name}_ms": (figures or {}).get(f"{name}_ms") for name in _QUANTILES}


def _schema(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Types by name, so that they are the same whichever trials there are."""
    import polars as pl

    names: dict[str, None] = {}
    for row in rows:
        names |= dict.fromkeys(row)
    whole = {
        "number",
        "repeat",
        "block",
        "errors",
        "attempted",
        "succeeded",
        "failed",
        "in_flight",
        "retried",
    }
    text = {"run", "plan", "trial", "treatment", "status", "reason", "started_utc", "ended_utc", "document"}
    empty = {
        "run", "plan", "trial", "number", "treatment", "repeat", "block", "status", "reason", "throughput_per_s",
    } if not rows else set()  # fmt: skip
    return {
        name: pl.Int64
        if name in whole
        else pl.String
        if name in text or name.startswith("factor.")
        else pl.Float64
        for name in [*names, *sorted(empty)]
    }


def _events_frame(runs: list[StoredRun]) -> pl.DataFrame:
    import polars as pl

    frames = [run.events().select(pl.lit(run.id).alias("run"), pl.all()) for run in runs]
    return pl.concat(frames) if frames else pl.DataFrame(schema={"run": pl.String, "event": pl.String})
