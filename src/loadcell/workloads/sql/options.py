"""Options of the workload `sql`: data files, statements, parameters, and statements around trials."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationInfo,
    computed_field,
    model_validator,
)

from loadcell.model.message import Count, ForeignText, MessageCode
from loadcell.plan.files import named_file
from loadcell.plan.parts import Options
from loadcell.plan.problems import SettingError, nearest
from loadcell.workloads.sql import text as sql_text
from loadcell.workloads.sql.parameters import ParameterOption, ParameterSource, source
from loadcell.workloads.sysbench import RetriedErrors

SQL_NO_FILE = MessageCode("sql.no-file", path=str, reason=ForeignText)
SQL_FILE_KIND = MessageCode("sql.file-kind", path=str)
SQL_FILE_EMPTY = MessageCode("sql.file-empty", path=str)
SQL_FILE_TABLE = MessageCode("sql.file-table", path=str)
SQL_NO_DATA = MessageCode("sql.no-data")
SQL_EMPTY_STATEMENT = MessageCode("sql.empty-statement", name=str)
SQL_ONE_FORM = MessageCode("sql.one-form", name=str)
SQL_UNCLOSED = MessageCode("sql.unclosed", name=str, line=str)
SQL_UNBALANCED = MessageCode("sql.unbalanced", statement=ForeignText)
SQL_BLOCK_OPEN = MessageCode("sql.block-open", name=str)
SQL_NAME_TWICE = MessageCode("sql.name-twice", name=str)
SQL_NO_WEIGHT = MessageCode("sql.no-weight")
SQL_TOO_MANY = MessageCode("sql.too-many", most=Count)
SQL_PARAMETER_UNSET = MessageCode("sql.parameter-unset", parameter=str, name=str)

#: What the ending of a file's name says about its contents.
KINDS = {".sql": "sql", ".csv": "csv", ".tsv": "csv", ".parquet": "parquet"}
#: Statements of all transactions: each is recorded by itself.
_MOST_STATEMENTS = 250
_NAME = r"^[A-Za-z0-9._-]+$"
#: The name that results have for all transactions together.
_RESERVED = "transaction"


class DataFile(Options):
    """A file with rows of one table, or with SQL."""

    file: str = Field(min_length=1, description="The file, relative to the plan.")
    table: str | None = Field(
        default=None,
        min_length=1,
        description="The table of a CSV or Parquet file. Default: the file's name without its ending.",
    )
    delimiter: str | None = Field(
        default=None, min_length=1, max_length=1, description="Between the columns of a CSV file. Default: a "
        "comma, in `.tsv` files a tab."
    )  # fmt: skip
    null: str = Field(default="", description="What stands for NULL in a CSV file.")

    @property
    def kind(self) -> str | None:
        """`sql`, `csv` or `parquet`."""
        return KINDS.get(Path(self.file).suffix.lower())

    @model_validator(mode="after")
    def _is_readable(self, info: ValidationInfo) -> DataFile:
        checked_path(self, info)
        return self


def checked_path(file: DataFile, info: ValidationInfo) -> Path:
    """Where the file is. Raises SettingError for one that cannot be loaded."""
    path = named_file(info, file.file)
    if file.kind is None:
        raise SettingError(SQL_FILE_KIND(path=path))
    if file.kind == "sql" and (file.table or file.delimiter):
        raise SettingError(SQL_FILE_TABLE(path=path))
    try:
        with path.open("rb") as stream:
            is_empty = not stream.read(4096).strip()
    except OSError as error:
        raise SettingError(SQL_NO_FILE(path=path, reason=error.strerror)) from None
    if is_empty:
        raise SettingError(SQL_FILE_EMPTY(path=path))
    return path


class DataOptions(Options):
    """Tables of the user, which loadcell loads into a database or schema that it makes."""

    files: tuple[str | DataFile, ...] = Field(
        default=(),
        description="SQL files (`.sql`), CSV files (`.csv`, `.tsv`; the first line names the columns) and "
        "Parquet files (`.parquet`), loaded in this order. Without files, the tables of the database "
        "itself are used.",
    )
    ready: str | None = Field(
        default=None,
        min_length=1,
        description="A query that tells whether the data are there, asked before each trial: its first "
        "value must be neither NULL nor false nor 0.",
    )

    _paths: tuple[Path, ...] = PrivateAttr(default=())
    _sha256: dict[str, str] = PrivateAttr(default_factory=dict)

    @model_validator(mode="after")
    def _are_readable(self, info: ValidationInfo) -> DataOptions:
        if not self.files and self.ready is None:
            raise SettingError(SQL_NO_DATA())
        self._paths = tuple(checked_path(file, info).absolute() for file in self.every)
        self._sha256.update({file.file: _digest(path, *_version(path)) for file, path in self.located})
        return self

    @property
    def every(self) -> tuple[DataFile, ...]:
        """All files in the long form."""
        return tuple(
            DataFile.model_construct(file=file) if isinstance(file, str) else file for file in self.files
        )

    @property
    def located(self) -> Iterator[tuple[DataFile, Path]]:
        """All files with their absolute paths."""
        return zip(self.every, self._paths, strict=True)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def sha256(self) -> dict[str, str]:
        """SHA-256 of each file, which decides whether loaded data can be used again."""
        return self._sha256


def _version(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError as error:
        raise SettingError(SQL_NO_FILE(path=path, reason=error.strerror)) from None
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=256)
def _digest(path: Path, mtime_ns: int, size: int) -> str:  # noqa: ARG001 - a changed file is read again
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Statement(Options):
    """A transaction of the load: one statement, or several."""

    name: str | None = Field(
        default=None, pattern=_NAME, max_length=60, description="Its name in results. Default: its first "
        "word, or its number."
    )  # fmt: skip
    sql: str | None = Field(
        default=None,
        min_length=1,
        description="A statement, or several with semicolons between them, each committed by itself unless "
        "BEGIN and COMMIT are among them. `:name` is a parameter.",
    )
    transaction: tuple[str, ...] | None = Field(
        default=None, min_length=1, description="Instead of `sql`: statements between BEGIN and COMMIT."
    )
    weight: int = Field(default=1, ge=0, le=2**31 - 1, description="How often it is chosen, among all.")


@dataclass(frozen=True)
class Request:
    """A statement of a transaction: its name in results, its text, its kind."""

    name: str
    sql: str
    kind: sql_text.Kind


@dataclass(frozen=True)
class Transaction:
    """A transaction with the names that results have."""

    name: str
    weight: int
    requests: tuple[Request, ...]


def _pieces(text: str, name: str) -> list[str]:
    """The statements of a text that has this name in messages. Raises SettingError."""
    try:
        texts = [piece.text for piece in sql_text.pieces(text)]
    except sql_text.UnclosedError as error:
        raise SettingError(SQL_UNCLOSED(name=name, line=str(error.line))) from None
    for statement in texts:
        if not sql_text.is_balanced(statement):
            raise SettingError(SQL_UNBALANCED(statement=statement))
    return texts


def _texts(statement: Statement, name: str) -> list[str]:
    """The statements of a transaction. Raises SettingError."""
    if (statement.sql is None) == (statement.transaction is None):
        raise SettingError(SQL_ONE_FORM(name=name))
    written = statement.transaction or (statement.sql or "",)
    texts = [piece for text in written for piece in _pieces(text, name)]
    if not texts:
        raise SettingError(SQL_EMPTY_STATEMENT(name=name))
    if sql_text.leaves_block_open(texts):
        raise SettingError(SQL_BLOCK_OPEN(name=name))
    return ["BEGIN", *texts, "COMMIT"] if statement.transaction else texts


def transactions(statements: tuple[str | Statement, ...]) -> tuple[Transaction, ...]:
    """The transactions that a plan writes. Raises SettingError."""
    names = {_RESERVED}
    made = []
    for number, option in enumerate(statements, 1):
        statement = option if isinstance(option, Statement) else Statement(sql=option)
        texts = _texts(statement, statement.name or f"statement {number}")
        if statement.name in names:
            raise SettingError(SQL_NAME_TWICE(name=statement.name))
        name = statement.name or _free(names, (sql_text.words(texts[0]) or ["statement"])[0])
        names.add(name)
        requests = []
        for text in texts:
            word = (sql_text.words(text) or ["statement"])[0]
            request_name = _free(names, f"{name}:{word}")
            names.add(request_name)
            requests.append(Request(request_name, text, sql_text.kind(text)))
        made.append(Transaction(name, statement.weight, tuple(requests)))
    if sum(len(transaction.requests) for transaction in made) > _MOST_STATEMENTS:
        raise SettingError(SQL_TOO_MANY(most=_MOST_STATEMENTS))
    if not any(transaction.weight for transaction in made):
        raise SettingError(SQL_NO_WEIGHT())
    return tuple(made)


def _free(names: set[str], wanted: str) -> str:
    """The wanted name, or with a number behind it."""
    return next(
        name for number in count(1) if (name := wanted if number == 1 else f"{wanted}.{number}") not in names
    )


def _statements(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Statements around trials, each a single one."""
    return tuple(statement for text in texts for statement in _pieces(text, text[:40]))


_Statements = Annotated[tuple[str, ...], AfterValidator(_statements)]


class SqlOptions(Options):
    """Settings of the workload `sql`."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    data: DataOptions | None = Field(
        default=None, description="Data files, and a query that tells whether the data are there."
    )
    statements: tuple[str | Statement, ...] = Field(
        min_length=1,
        description="The transactions of the load. A text is a statement, or several with semicolons between "
        "them; `:name` in it is a parameter.",
    )
    parameters: dict[str, ParameterOption] = Field(
        default_factory=dict,
        description="Values of `:name`, drawn once in a transaction: a range (`1..1000`), a distribution "
        "(`zipfian(1..1000, 1.1)`), a list, a constant, or a mapping with `range`, `values`, `file` or "
        "`query`.",
    )
    protocol: Literal["simple", "extended", "prepared"] = Field(
        default="prepared",
        description="How statements are sent: as text, parsed for each execution (PostgreSQL), or parsed "
        "once for a connection.",
    )
    before_treatment: _Statements = Field(
        default=(),
        alias="before-treatment",
        description="Statements once for each treatment. With `data.files` they are part of the data set, "
        "such as CREATE INDEX; without, they are executed when a trial of another treatment begins.",
    )
    before_trial: _Statements = Field(
        default=(), alias="before-trial", description="Statements before the warm-up of each trial."
    )
    after_trial: _Statements = Field(
        default=(), alias="after-trial", description="Statements after the measurement of each trial."
    )
    reset_statistics: bool = Field(
        default=False,
        alias="reset-statistics",
        description="Whether pg_stat_statements, or the statement digests of performance_schema, are reset "
        "before the warm-up of each trial, where the server has them and permits it.",
    )
    explain: bool = Field(
        default=True,
        description="Whether the execution plan of each statement is recorded once for each treatment, "
        "after a measurement. Writing statements are executed for it, and rolled back (PostgreSQL), or "
        "only explained (MariaDB, MySQL).",
    )
    retry_sqlstates: RetriedErrors = Field(
        default=("40001", "40P01"), description="SQLSTATEs after which a transaction is tried again."
    )

    _transactions: tuple[Transaction, ...] = PrivateAttr(default=())
    _sources: dict[str, ParameterSource] = PrivateAttr(default_factory=dict)
    _unused: tuple[str, ...] = PrivateAttr(default=())

    @model_validator(mode="after")
    def _fits(self) -> SqlOptions:
        self._transactions = transactions(self.statements)
        self._sources.update({name: source(option) for name, option in self.parameters.items()})
        used: dict[str, str] = {}
        for transaction in self._transactions:
            for request in transaction.requests:
                for parameter in sql_text.places(request.sql):
                    used.setdefault(parameter, transaction.name)
        for parameter, name in used.items():
            if parameter not in self._sources:
                near = nearest(parameter, self._sources.keys() - used.keys())
                raise SettingError(SQL_PARAMETER_UNSET(parameter=parameter, name=name), near)
        self._unused = tuple(parameter for parameter in self._sources if parameter not in used)
        return self

    @property
    def transactions(self) -> tuple[Transaction, ...]:
        """The transactions with the names that results have."""
        return self._transactions

    @property
    def sources(self) -> Mapping[str, ParameterSource]:
        """The values of each parameter."""
        return self._sources

    @property
    def unused_parameters(self) -> tuple[str, ...]:
        """Parameters that no statement uses."""
        return self._unused

    @property
    def files(self) -> list[tuple[DataFile, Path]]:
        """Data files with their absolute paths."""
        return [] if self.data is None else list(self.data.located)
