"""Statements for the tables of an existing database: reads, joins and updates by primary key."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from loadcell.drafting.databases import VARIABLES
from loadcell.drafting.document import Items, Section, Value
from loadcell.drafting.draft import Draft, DraftError
from loadcell.drafting.plan import load, plan
from loadcell.model.message import Count, Message, MessageCode, Share

TABLES_NONE = MessageCode("tables.none", database=str)
TABLES_NONE_USABLE = MessageCode("tables.none-usable", database=str, reasons=list)
TABLES_NO_KEY = MessageCode("tables.no-key", "caution", table=str)
TABLES_EMPTY = MessageCode("tables.empty", "caution", table=str)
TABLES_NO_RIGHT = MessageCode("tables.no-right", "caution", table=str)
TABLES_OTHERS = MessageCode("tables.others", "info", count=Count, names=list)
TABLES_TITLE = MessageCode("tables.title", "info", database=str)
TABLES_READ = MessageCode("tables.read", "info", table=str, rows=Count)
TABLES_READ_UNKNOWN = MessageCode("tables.read-unknown", "info", table=str)
TABLES_PREFIX = MessageCode("tables.prefix", "info", columns=list, most=Count)
TABLES_JOIN = MessageCode("tables.join", "info", table=str, other=str)
TABLES_WRITES = MessageCode("tables.writes", "caution")
TABLES_RANGE = MessageCode("tables.range", "info")
TABLES_GAPS = MessageCode("tables.gaps", "caution", missing_share=Share)
TABLES_QUERY = MessageCode("tables.query", "info", most=Count)
TABLES_TARGET = MessageCode("tables.target", "info")

#: Tables that get statements, and joins: a plan that people still read.
MOST_TABLES = 5
#: Tables that are looked at for those, and names of others in a note.
_MOST_LOOKS, _MOST_NAMES = 40, 10
_MOST_JOINS = 2
#: Keys that a query gives as values of a parameter, and rows of a read by the beginning of a key.
MOST_KEYS = 10_000
_MOST_ROWS = 100
_READ_WEIGHT, _JOIN_WEIGHT, _UPDATE_WEIGHT = 10, 2, 1
#: Below this share of keys that exist, most reads of a range find no row.
_FEW_KEYS = 0.5
#: A share of missing keys that is worth a remark: estimates of rows are no closer.
_MANY_GAPS = 0.01


@dataclass(frozen=True)
class Reference:
    """A foreign key of one column: `column` refers to `key` of the table `other`. Names are quoted."""

    column: str
    other: str
    key: str


@dataclass(frozen=True)
class Table:
    """A table. Names are quoted as SQL needs them, but for `title` and `key_title`.

    One that is not `readable` lacks the right of SELECT. `rows` is the server's estimate, None where it has
    none. `key` are the columns of the primary key, `first` and `last` the ends of its first column where that
    is an integer. `keys` is a query that gives values of that column without reading the whole table.
    `column` is one that an update may set.
    """

    title: str
    name: str
    key: tuple[str, ...] = ()
    key_title: str = ""
    readable: bool = True
    rows: int | None = None
    empty: bool = False
    first: int | None = None
    last: int | None = None
    keys: str = ""
    column: str | None = None
    references: tuple[Reference, ...] = ()

    @property
    def reason(self) -> Message | None:
        """Why there are no statements for it; None if there are."""
        if not self.readable:
            return TABLES_NO_RIGHT(table=self.title)
        if not self.key:
            return TABLES_NO_KEY(table=self.title)
        return TABLES_EMPTY(table=self.title) if self.empty else None

    @property
    def missing_share(self) -> float:
        """The share of the integers between first and last key that are no keys, as far as is known."""
        if self.first is None or self.last is None or not self.rows or len(self.key) > 1:
            return 0.0
        return max(0.0, 1 - self.rows / (self.last - self.first + 1))


def select(tables: Iterable[tuple[str, Callable[[], Table]]]) -> tuple[list[Table], list[str]]:
    """Look at tables, by title, until there are enough with statements: those looked at, and other titles."""
    looks: list[Table] = []
    others: list[str] = []
    usable = 0
    for title, look in tables:
        if usable == MOST_TABLES or len(looks) == _MOST_LOOKS:
            others.append(title)
            continue
        looks.append(look())
        usable += looks[-1].reason is None
    return looks, others


def draft(database: str, target: Section, tables: Sequence[Table], others: Sequence[str]) -> Draft:
    """The plan of the tables, largest first; `others` are names of further ones. Raises DraftError without a
    usable one.
    """
    if not tables:
        raise DraftError(TABLES_NONE(database=database))
    notes = [reason for table in tables if (reason := table.reason) is not None]
    usable = [table for table in tables if table.reason is None]
    if not usable:
        raise DraftError(TABLES_NONE_USABLE(database=database, reasons=notes))
    if others:
        names = [*others[:_MOST_NAMES], *(["…"] if len(others) > _MOST_NAMES else [])]
        notes.append(TABLES_OTHERS(count=len(others), names=names))
    workload = Section()
    workload.put("sql", _sql(usable))
    section = plan(TABLES_TITLE(database=database), target, workload, load({}))
    return Draft(section, tuple(notes), VARIABLES)


def _sql(tables: Sequence[Table]) -> Section:
    names = _Names()
    parameters = Section()
    statements = Items()
    by_name = {table.name: table for table in tables}
    parameter_of: dict[str, str] = {}
    explained: set[str] = set()
    for table in tables:
        parameter = parameter_of[table.name] = names.parameter(f"{table.title}_{table.key_title}")
        _put_parameter(parameters, parameter, table, explained)
        statements.add(_read(table, parameter, names), *_comments(table))
    joins = [
        (table, reference)
        for table in tables
        for reference in table.references
        if reference.other in by_name and reference.other != table.name
    ]
    for table, reference in joins[:_MOST_JOINS]:
        other = by_name[reference.other]
        statements.add(
            Section(
                name=names.statement(f"join_{table.title}_{other.title}"),
                sql=f"SELECT * FROM {table.name} AS a JOIN {other.name} AS b ON b.{reference.key} = "
                f"a.{reference.column} WHERE a.{table.key[0]} = :{parameter_of[table.name]}{_limit(table)}",
                weight=_JOIN_WEIGHT,
            ),
            TABLES_JOIN(table=table.title, other=other.title),
        )
    first: tuple[Message, ...] = (TABLES_WRITES(),)
    for table in tables:
        if table.column is not None and len(table.key) == 1:
            update = Section(
                name=names.statement(f"update_{table.title}"),
                sql=f"UPDATE {table.name} SET {table.column} = {table.column} "
                f"WHERE {table.key[0]} = :{parameter_of[table.name]}",
                weight=_UPDATE_WEIGHT,
            )
            statements.add(update, *first, active=False)
            first = ()
    return Section(statements=statements, parameters=parameters)


def _read(table: Table, parameter: str, names: _Names) -> Section:
    return Section(
        name=names.statement(f"read_{table.title}"),
        sql=f"SELECT * FROM {table.name} WHERE {table.key[0]} = :{parameter}{_limit(table)}",
        weight=_READ_WEIGHT,
    )


def _limit(table: Table) -> str:
    return f" LIMIT {_MOST_ROWS}" if len(table.key) > 1 else ""


def _comments(table: Table) -> list[Message]:
    comments: list[Message] = [
        TABLES_READ_UNKNOWN(table=table.title)
        if table.rows is None
        else TABLES_READ(table=table.title, rows=table.rows)
    ]
    if len(table.key) > 1:
        comments.append(TABLES_PREFIX(columns=list(table.key), most=_MOST_ROWS))
    return comments


def _put_parameter(parameters: Section, name: str, table: Table, explained: set[str]) -> None:
    """Put the key's range where most of its integers are keys, else a query that gives keys.

    `explained` are the codes of explanations that other parameters have.
    """
    if table.first is None or table.missing_share > 1 - _FEW_KEYS:
        value: Value = {"query": table.keys}
        explanation = TABLES_QUERY(most=MOST_KEYS)
    else:
        value = f"{table.first}..{table.last}"
        explanation = TABLES_RANGE()
        if table.missing_share >= _MANY_GAPS:
            explanation = TABLES_GAPS(missing_share=table.missing_share)
    is_first = explanation.code not in explained or explanation.code == TABLES_GAPS.code
    parameters.put(name, value, *([explanation] if is_first else []))
    explained.add(explanation.code)


class _Names:
    """Names of statements and parameters, each given once."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def statement(self, wanted: str) -> str:
        return self._free(re.sub(r"[^A-Za-z0-9_]", "_", wanted)[:50])

    def parameter(self, wanted: str) -> str:
        name = re.sub(r"[^a-z0-9_]", "_", wanted.lower())[:50]
        return self._free(name if name[0].isalpha() or name[0] == "_" else f"k{name}")

    def _free(self, wanted: str) -> str:
        name, number = wanted, 2
        while name in self._taken:
            name, number = f"{wanted}_{number}", number + 1
        self._taken.add(name)
        return name
