"""Loads data files in the worker: the contract is the engine's (`loadcell/_engine.pyi`).

SQL files are executed statement by statement, so that an error has its line. Their contents are sent as they
are: nothing in them is a reference to a secret.
"""

from __future__ import annotations

import csv
import json
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from loadcell.model.json import JsonObject
from loadcell.model.message import Bytes, ForeignText, MessageCode, MessageError
from loadcell.plan.problems import nearest
from loadcell.workloads.sql import text as sql_text
from loadcell.workloads.sql.stores import Column, PostgresStore, Rows, StatementError, Store, opened

SQL_FILE_REFUSED = MessageCode("sql.file-refused", path=str, said=ForeignText)
SQL_FILE_REFUSED_AT = MessageCode("sql.file-refused-at", path=str, line=str, said=ForeignText)
SQL_FILE_UNCLOSED = MessageCode("sql.file-unclosed", path=str, line=str)
SQL_FILE_ENCODING = MessageCode("sql.file-encoding", path=str, byte=str)
SQL_FILE_GONE = MessageCode("sql.file-gone", path=str, reason=ForeignText)
SQL_FILE_LARGE = MessageCode("sql.file-large", path=str, most_bytes=Bytes)
SQL_FILE_COMMAND = MessageCode("sql.file-command", path=str, line=str, command=ForeignText)
SQL_FILE_OUTSIDE = MessageCode("sql.file-outside", path=str, line=str, statement=ForeignText)
SQL_FILE_NO_TABLE = MessageCode("sql.file-no-table", path=str, table=str, tables=list)
SQL_FILE_NO_TABLE_NEAR = MessageCode("sql.file-no-table-near", path=str, table=str, near=str)
SQL_FILE_NO_TABLES = MessageCode("sql.file-no-tables", path=str, table=str)
SQL_FILE_NO_COLUMN = MessageCode("sql.file-no-column", path=str, table=str, column=str, columns=list)
SQL_FILE_NO_COLUMN_NEAR = MessageCode("sql.file-no-column-near", path=str, table=str, column=str, near=str)
SQL_FILE_COLUMNS_MISSING = MessageCode("sql.file-columns-missing", path=str, table=str, columns=list)
SQL_FILE_PARQUET = MessageCode("sql.file-parquet", path=str, said=ForeignText)
SQL_BEFORE_TREATMENT = MessageCode("sql.before-treatment", statement=ForeignText, said=ForeignText)
SQL_STOPPED = MessageCode("sql.stopped")

#: An SQL file is in memory as a whole.
_LARGEST_SQL = 512 << 20
_COPY_STDIN = re.compile(r"copy\b.*\bfrom\s+stdin\b", re.IGNORECASE | re.DOTALL)
#: Commands of psql in the output of pg_dump that mean nothing here.
_HARMLESS = ("\\restrict", "\\unrestrict")
#: Statements on what is no part of a data set.
_OF_SERVER = re.compile(
    r"(create|drop|alter)\s+(database|role|user|tablespace|system)\b|use\b|rename\s+user\b", re.IGNORECASE
)
_OF_SCHEMAS = re.compile(r"(create|drop|alter)\s+schema\b", re.IGNORECASE)
#: The beginning of a statement that names what it changes, up to what may have qualified names anyway.
_CHANGES = re.compile(
    r"(?:create|drop|alter|truncate|insert|update|delete|replace|rename|load|copy|merge)\b"
    r"(?:(?!\b(?:as|select|set|where|values|using|execute|check)\b)[^('])*",
    re.IGNORECASE,
)
_QUALIFIED = re.compile(r"[\w\"`]\s*\.\s*[\w\"`]")
_SHOWN = 60


class LoadError(MessageError):
    """A data file cannot be loaded."""


def stop() -> None:
    """End the loading: called by a signal, while the session may wait for the server."""
    raise LoadError(SQL_STOPPED())


def prepare(spec: str, say: Callable[[str], None]) -> str:
    """Load the files that `spec` describes, and execute the statements behind them."""
    order = json.loads(spec)
    [section] = order["workload"].values()
    rows = 0
    with opened(order["target"]) as store:
        for file in section["files"]:
            path = Path(file["path"])
            try:
                rows += _LOADERS[file["kind"]](store, path, file)
            except OSError as error:
                raise LoadError(SQL_FILE_GONE(path=path, reason=error.strerror or str(error))) from error
            say(json.dumps({"type": "progress", "done_rows": rows, "total_rows": 0}))
        for statement in section["before_treatment"]:
            try:
                store.execute(statement)
            except StatementError as error:
                message = SQL_BEFORE_TREATMENT(statement=_shown(statement), said=error.output)
                raise LoadError(message) from error
        store.analyze()
    return json.dumps({"rows": rows, "duration_s": 0.0})


def _shown(statement: str) -> str:
    line = " ".join(statement.split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"


# -- SQL files


def _load_sql(store: Store, path: Path, file: JsonObject) -> int:  # noqa: ARG001
    if path.stat().st_size > _LARGEST_SQL:
        raise LoadError(SQL_FILE_LARGE(path=path, most_bytes=_LARGEST_SQL))
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise LoadError(SQL_FILE_ENCODING(path=path, byte=error.start)) from None
    splitter = sql_text.Splitter(text, mysql=store.is_mysql)
    while True:
        try:
            piece = splitter.next()
        except sql_text.UnclosedError as error:
            raise LoadError(SQL_FILE_UNCLOSED(path=path, line=error.line)) from None
        if piece is None:
            break
        if piece.text.startswith(_HARMLESS):
            continue
        _check_inside(store, path, piece)
        try:
            if isinstance(store, PostgresStore) and _COPY_STDIN.match(piece.text):
                splitter.take_line()
                store.copy_text(piece.text, _inline_rows(splitter))
            else:
                store.execute(piece.text)
        except StatementError as error:
            line = piece.line + (error.line or 1) - 1
            raise LoadError(SQL_FILE_REFUSED_AT(path=path, line=line, said=error.output)) from error
    store.file_ended()
    return 0


def _inline_rows(splitter: sql_text.Splitter) -> Iterator[str]:
    """Lines of rows up to that which ends them."""
    while splitter.at < len(splitter.text) and (line := splitter.take_line().rstrip("\r")) != "\\.":
        yield line


def _check_inside(store: Store, path: Path, piece: sql_text.Piece) -> None:
    """Raise LoadError for a statement that would change what is no part of the data set."""
    text = piece.text
    if text.startswith("\\"):
        raise LoadError(SQL_FILE_COMMAND(path=path, line=piece.line, command=_shown(text)))
    outside = _OF_SERVER.match(text)
    if store.is_shared and not outside:
        head = _CHANGES.match(text)
        outside = _OF_SCHEMAS.match(text) or (_QUALIFIED.search(head[0]) if head else None)
    if outside:
        raise LoadError(SQL_FILE_OUTSIDE(path=path, line=piece.line, statement=_shown(text)))


# -- files with rows


def _load_csv(store: Store, path: Path, file: JsonObject) -> int:
    return _load_rows(store, path, path, file)


def _load_parquet(store: Store, path: Path, file: JsonObject) -> int:
    """Load a Parquet file by way of a temporary CSV file."""
    import duckdb  # noqa: PLC0415 - of all loads, those of Parquet files need it

    with tempfile.TemporaryDirectory(prefix="loadcell-") as directory, duckdb.connect() as database:
        rows = Path(directory) / "rows.csv"
        try:
            relation = database.read_parquet(str(path))
            columns = [
                f'CAST("{name}" AS TINYINT) AS "{name}"'
                if store.is_mysql and kind == "BOOLEAN"
                else f'"{name}"'
                for name, kind in zip(relation.columns, map(str, relation.types), strict=True)
            ]
            relation.project(", ".join(columns)).write_csv(str(rows), sep=",", header=True)
        except duckdb.Error as error:
            message = SQL_FILE_PARQUET(path=path, said=str(error).splitlines()[0])
            raise LoadError(message) from error
        return _load_rows(store, rows, path, {**file, "delimiter": ",", "null": ""})


_LOADERS: dict[str, Callable[[Store, Path, JsonObject], int]] = {
    "sql": _load_sql,
    "csv": _load_csv,
    "parquet": _load_parquet,
}


def _load_rows(store: Store, path: Path, shown_path: Path, file: JsonObject) -> int:
    """Load a CSV file into its table; `shown_path` is the file that errors name."""
    table, delimiter = file["table"], file["delimiter"]
    columns = store.columns(table)
    if not columns:
        raise _no_table(store, shown_path, table)
    with path.open("rb") as stream:
        header = stream.readline()
    try:
        names = next(csv.reader([header.decode("utf-8-sig").rstrip("\r\n")], delimiter=delimiter), [])
    except UnicodeDecodeError as error:
        raise LoadError(SQL_FILE_ENCODING(path=shown_path, byte=error.start)) from None
    rows = Rows(path, _matched(columns, names, shown_path, table), delimiter, file["null"], header)
    try:
        return store.copy(table, rows)
    except StatementError as error:
        if error.line is None or path != shown_path:
            raise LoadError(SQL_FILE_REFUSED(path=shown_path, said=error.output)) from error
        message = SQL_FILE_REFUSED_AT(path=shown_path, line=error.line, said=error.output)
        raise LoadError(message) from error


def _no_table(store: Store, path: Path, table: str) -> LoadError:
    tables = store.tables()
    near = nearest(table, tables)
    if near:
        return LoadError(SQL_FILE_NO_TABLE_NEAR(path=path, table=table, near=near))
    if not tables:
        return LoadError(SQL_FILE_NO_TABLES(path=path, table=table))
    return LoadError(SQL_FILE_NO_TABLE(path=path, table=table, tables=tables[:20]))


def _matched(columns: list[Column], names: list[str], path: Path, table: str) -> list[Column]:
    """Columns of the table in the order of the header. Raises LoadError."""
    by_name = {column.name.lower(): column for column in columns}
    by_name |= {column.name: column for column in columns}
    matched = []
    for name in names:
        column = by_name.get(name) or by_name.get(name.strip().lower())
        if column is None:
            near = nearest(name, [column.name for column in columns])
            code = SQL_FILE_NO_COLUMN_NEAR if near else SQL_FILE_NO_COLUMN
            raise LoadError(
                code.pick(
                    path=path,
                    table=table,
                    column=name,
                    near=near or "",
                    columns=[column.name for column in columns],
                )
            )
        matched.append(column)
    missing = [column.name for column in columns if column.required and column not in matched]
    if missing:
        raise LoadError(SQL_FILE_COLUMNS_MISSING(path=path, table=table, columns=missing))
    return matched
