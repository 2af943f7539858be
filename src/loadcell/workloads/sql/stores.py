"""Databases that data files are loaded into: PostgreSQL by COPY, MariaDB and MySQL by LOAD DATA."""

from __future__ import annotations

import csv
import io
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadcell.model.json import JsonObject
from loadcell.model.message import Count, Message, MessageCode
from loadcell.systems.base import Secret
from loadcell.systems.mysql import connection as mysql
from loadcell.systems.mysql import driver as mysql_driver
from loadcell.systems.postgres import connection as postgres
from loadcell.systems.postgres import driver as postgres_driver
from loadcell.workloads.sql import text as sql_text

SQL_ROW_COLUMNS = MessageCode("sql.row-columns", count=Count, expected=Count)
SQL_OTHER_FILE = MessageCode("sql.other-file")
DOING_LOAD_FILES = MessageCode("doing.load-files")

_BLOCK = 1 << 18
#: Rows per INSERT, where the server takes no LOAD DATA LOCAL.
_BATCH = 1000
#: Errors of servers that take no LOAD DATA LOCAL.
_LOCAL_FILES_OFF = frozenset({1148, 3948, 4166})


class StatementError(Exception):
    """The server refuses a statement, a row or a file; `line` counts from 1 in the text or file, if known."""

    def __init__(self, output: str | Message, line: int | None = None) -> None:
        super().__init__(str(output))
        self.output = output
        self.line = line


@dataclass(frozen=True)
class Column:
    """A column of a table: `required` ones have no default and take no NULL."""

    name: str
    nullable: bool
    required: bool


@dataclass(frozen=True)
class Rows:
    """Rows of a CSV file behind its header, for these columns of a table."""

    path: Path
    columns: Sequence[Column]
    delimiter: str
    null: str
    #: the header with the end of its line
    header: bytes

    @property
    def header_lines(self) -> int:
        """Number of ends of lines in the header; 0 of a file that has nothing else."""
        return self.header.count(b"\n")


class Store(ABC):
    """A database, in one session."""

    #: whether texts have MySQL's lexical rules
    is_mysql: bool
    #: whether other schemas of the database belong to others
    is_shared: bool

    @abstractmethod
    def execute(self, statement: str) -> None:
        """Execute a statement. Raises StatementError."""

    @abstractmethod
    def file_ended(self) -> None:
        """Undo the settings that an SQL file left in the session."""

    @abstractmethod
    def tables(self) -> list[str]:
        """Names of the tables."""

    @abstractmethod
    def columns(self, table: str) -> list[Column]:
        """Columns of a table; none if there is no such table."""

    @abstractmethod
    def copy(self, table: str, rows: Rows) -> int:
        """Load the rows; returns their number. Raises StatementError."""

    @abstractmethod
    def analyze(self) -> None:
        """Collect statistics of the tables, so that nothing does so during a trial. Raises StatementError."""


class PostgresStore(Store):
    """A PostgreSQL database, or the schema of the session's search path."""

    is_mysql = False

    def __init__(self, session: Any, *, is_shared: bool) -> None:
        self._session = session
        self.is_shared = is_shared

    def execute(self, statement: str) -> None:
        with _postgres_errors(statement):
            self._session.execute(statement.encode())

    def file_ended(self) -> None:
        with _postgres_errors():
            self._session.execute("RESET ALL")

    def tables(self) -> list[str]:
        rows = self._session.execute(
            "SELECT c.oid::regclass::text FROM pg_class c WHERE c.relkind IN ('r', 'p') AND "
            "c.relnamespace = ANY (SELECT n.oid FROM pg_namespace n WHERE n.nspname = current_schema() OR "
            "(NOT %s AND n.nspname NOT LIKE 'pg\\_%%' AND n.nspname <> 'information_schema')) ORDER BY 1",
            [self.is_shared],
        )
        return [row[0] for row in rows]

    def columns(self, table: str) -> list[Column]:
        name = self._resolved(table)
        rows = self._session.execute(
            "SELECT attname, attnotnull, atthasdef OR attidentity <> '' FROM pg_attribute "
            "WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
            [name],
        )
        return [Column(row[0], not row[1], row[1] and not row[2]) for row in rows]

    def _resolved(self, table: str) -> str | None:
        """The name of a table as SQL has it; None if there is no such table."""
        quoted = '"' + table.replace('"', '""') + '"'
        with suppress(postgres_driver.Error):
            row = self._session.execute(
                "SELECT coalesce(to_regclass(%s), to_regclass(%s))::text", [quoted, table]
            ).fetchone()
            return row[0] if row else None
        return None

    def copy(self, table: str, rows: Rows) -> int:
        literal, identifier = postgres_driver.sql.Literal, postgres_driver.sql.Identifier
        statement = postgres_driver.sql.SQL(
            "COPY {} ({}) FROM STDIN WITH (FORMAT csv, DELIMITER {}, NULL {}, ENCODING 'UTF8')"
        ).format(
            postgres_driver.sql.SQL(self._resolved(table) or table),
            postgres_driver.sql.SQL(", ").join(identifier(column.name) for column in rows.columns),
            literal(rows.delimiter),
            literal(rows.null),
        )
        with _postgres_errors(first_line=1 + rows.header_lines), rows.path.open("rb") as file:
            file.seek(len(rows.header))
            cursor = self._session.cursor()
            with cursor.copy(statement) as copy:
                while block := file.read(_BLOCK):
                    copy.write(block)
            return int(cursor.rowcount)

    def copy_text(self, statement: str, lines: Iterable[str]) -> None:
        first_line = statement.count("\n") + 2
        with (
            _postgres_errors(statement, first_line),
            self._session.cursor().copy(statement.encode()) as copy,
        ):
            for line in lines:
                copy.write(line.encode() + b"\n")

    def analyze(self) -> None:
        with _postgres_errors():
            for table in self.tables():
                self._session.execute(f"VACUUM (ANALYZE) {table}")


@contextmanager
def _postgres_errors(statement: str = "", first_line: int = 1) -> Iterator[None]:
    """Raise StatementError for what the server refuses; `first_line` is that of the first row of a COPY."""
    try:
        yield
    except postgres_driver.Error as error:
        diagnosis = error.diag
        output = (diagnosis.message_primary or str(error)).strip().splitlines()[0]
        line = None
        if diagnosis.statement_position:
            line = statement[: int(diagnosis.statement_position) - 1].count("\n") + 1
        elif row := re.search(
            r"^COPY .*, line (\d+)(, column [^:]+)?", diagnosis.context or "", re.MULTILINE
        ):
            line = int(row[1]) + first_line - 1
            output += row[2] or ""
        raise StatementError(output, line) from error


class MysqlStore(Store):
    """A database of a MariaDB or MySQL server."""

    is_mysql = True
    is_shared = True

    def __init__(self, session: Any) -> None:
        self._session = session

    def execute(self, statement: str) -> None:
        with _mysql_errors():
            mysql.rows(self._session, statement)

    def file_ended(self) -> None:
        self.execute("SET SESSION foreign_key_checks = 1, unique_checks = 1, sql_mode = DEFAULT")

    def tables(self) -> list[str]:
        rows = mysql.rows(
            self._session,
            "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() "
            "AND table_type = 'BASE TABLE' AND table_name <> 'loadcell_mark' ORDER BY 1",
        )
        return [str(row[0]) for row in rows]

    def columns(self, table: str) -> list[Column]:
        rows = mysql.rows(
            self._session,
            "SELECT column_name, is_nullable = 'YES', column_default IS NOT NULL OR extra <> '' "
            "FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = %s "
            "ORDER BY ordinal_position",
            [table],
        )
        return [Column(str(row[0]), bool(row[1]), not row[1] and not row[2]) for row in rows]

    def copy(self, table: str, rows: Rows) -> int:
        try:
            return self._load_data(table, rows)
        except mysql_driver.MySQLError as error:
            if not (error.args and error.args[0] in _LOCAL_FILES_OFF):
                raise StatementError(str(error.args[-1])) from error
        return self._insert(table, rows)

    def _load_data(self, table: str, rows: Rows) -> int:
        """Load the rows by LOAD DATA LOCAL, which warns of wrong rows and inserts others in their place."""
        variables = [f"@c{number}" for number in range(len(rows.columns))]
        values = [
            f"{_quoted(column.name)} = "
            + (f"NULLIF({variable}, {_literal(rows.null)})" if column.nullable else variable)
            for column, variable in zip(rows.columns, variables, strict=True)
        ]
        # Of a row with too few columns the server does not warn: the variables are NULL.
        name, equals, last = values[-1].partition(" = ")
        values[-1] = (
            f"{name}{equals}IF({variables[-1]} IS NULL, NULLIF(@short := @short + 1, @short), {last})"
        )
        end = "\\r\\n" if rows.header.endswith(b"\r\n") else "\\n"
        path = str(rows.path)
        statement = (
            f"LOAD DATA LOCAL INFILE {_literal(path)} INTO TABLE {_quoted(table)} CHARACTER SET utf8mb4 "
            f"FIELDS TERMINATED BY {_literal(rows.delimiter)} OPTIONALLY ENCLOSED BY '\"' ESCAPED BY '' "
            f"LINES TERMINATED BY '{end}' IGNORE {rows.header_lines} LINES ({', '.join(variables)}) "
            f"SET {', '.join(values)}"
        )
        with _permitted_file(self._session, path), self._session.cursor() as cursor:
            cursor.execute("SET @short = 0")
            loaded = int(cursor.execute(statement))
            cursor.execute("SHOW WARNINGS")
            warnings = [row for row in cursor.fetchall() if row[0] != "Note"]
            cursor.execute("SELECT @short")
            [(short,)] = cursor.fetchall()
        if short:
            for _ in _parsed(rows):  # raises the error of the first such row; others have NULL there
                pass
        if warnings:
            row_number = re.search(r"\b(?:at )?row (\d+)", str(warnings[0][2]), re.IGNORECASE)
            line = int(row_number[1]) + rows.header_lines if row_number else None
            raise StatementError(str(warnings[0][2]), line)
        return loaded

    def _insert(self, table: str, rows: Rows) -> int:
        names = ", ".join(_quoted(column.name) for column in rows.columns)
        places = ", ".join(["%s"] * len(rows.columns))
        statement = f"INSERT INTO {_quoted(table)} ({names}) VALUES ({places})"  # noqa: S608
        count = 0
        with self._session.cursor() as cursor:
            batch: list[list[str | None]] = []
            first = 0
            for line, row in _parsed(rows):
                first = first or line
                batch.append(
                    [
                        None if value == rows.null and column.nullable else value
                        for value, column in zip(row, rows.columns, strict=True)
                    ]
                )
                if len(batch) == _BATCH:
                    count += _insert_batch(cursor, statement, batch, first)
                    batch, first = [], 0
            if batch:
                count += _insert_batch(cursor, statement, batch, first)
        return count

    def analyze(self) -> None:
        for table in self.tables():
            self.execute(f"ANALYZE TABLE {_quoted(table)}")


def _parsed(rows: Rows) -> Iterator[tuple[int, list[str]]]:
    """Rows of a CSV file with their lines. Raises StatementError for one with too few or too many columns."""
    with rows.path.open("rb") as file:
        file.seek(len(rows.header))
        reader = csv.reader(io.TextIOWrapper(file, "utf-8", newline=""), delimiter=rows.delimiter)
        for row in reader:
            line = reader.line_num + rows.header_lines
            if len(row) != len(rows.columns):
                raise StatementError(SQL_ROW_COLUMNS(count=len(row), expected=len(rows.columns)), line)
            yield line, row


def _insert_batch(cursor: Any, statement: str, batch: list[list[str | None]], first_line: int) -> int:
    """Insert rows at once; if one is refused, one by one up to that. Raises StatementError."""
    try:
        return int(cursor.executemany(statement, batch) or 0)
    except mysql_driver.MySQLError:
        for number, row in enumerate(batch):
            with _mysql_errors(first_line + number):
                cursor.execute(statement, row)
    return len(batch)


def _literal(text: str) -> str:
    return sql_text.literal(text, mysql=True)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


@contextmanager
def _permitted_file(session: Any, path: str) -> Iterator[None]:
    """Let the server ask for this file, and for no other."""
    read = session._read_packet

    def guarded(*arguments: Any) -> Any:
        packet = read(*arguments)
        if packet.is_load_local_packet() and packet.get_all_data()[1:] != path.encode():
            raise StatementError(SQL_OTHER_FILE())
        return packet

    session._local_infile, session._read_packet = True, guarded
    try:
        yield
    finally:
        session._local_infile, session._read_packet = False, read


@contextmanager
def _mysql_errors(line: int | None = None) -> Iterator[None]:
    try:
        yield
    except mysql_driver.MySQLError as error:
        output = str(error.args[-1])
        if line is None and (number := re.search(r"at line (\d+)$", output)):
            line = int(number[1])
        raise StatementError(output, line) from error


@contextmanager
def opened(target: JsonObject) -> Iterator[Store]:
    """The database at an endpoint of a load. Raises TargetError."""
    password = target.get("password")
    words: dict[str, Any] = {
        **{name: target[name] for name in ("host", "port", "user", "sslmode")},
        **{name: target.get(name) for name in ("socket", "sslrootcert")},
        "password": None if password is None else Secret(password),
    }
    if target["protocol"] == "postgres":
        options = target.get("options")
        address = postgres.Address(database=target["database"], **words)
        with address.session(DOING_LOAD_FILES(), during="prepare", options=options) as session:
            yield PostgresStore(session, is_shared=bool(options))
    else:
        session = mysql.Address(**words).connect(target["database"], during="prepare", local_files=True)
        try:
            session._local_infile = False
            yield MysqlStore(session)
        finally:
            if session.open:
                session.close()
