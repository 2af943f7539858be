"""MariaDB and MySQL: a plan to start with, or statements for the tables of an existing database.

The schema is read in a read-only transaction: `information_schema`, and both ends of the index of each chosen
primary key.
"""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING, Any

from loadcell.drafting import tables
from loadcell.drafting.document import Section
from loadcell.drafting.draft import Draft, DraftError, Origin, Source
from loadcell.drafting.plan import DRAFT_EXISTING, load, plan
from loadcell.drafting.sources.postgres import DOING_READ_SCHEMA
from loadcell.drafting.tables import MOST_KEYS, Reference, Table
from loadcell.model.message import MessageCode
from loadcell.systems.mysql import connection, driver

if TYPE_CHECKING:
    from pymysql.connections import Connection

MYSQL_START_TITLE = MessageCode("draft-mysql.title", "info")
MYSQL_START_SERVER = MessageCode("draft-mysql.server", "info")
MYSQL_START_WORKLOAD = MessageCode("draft-mysql.workload", "info", command=str)
MYSQL_NO_DATABASE = MessageCode("draft-mysql.no-database", example=str)

#: A statement's time limit, as MariaDB and as MySQL have it.
_LIMITS = ("SET SESSION max_statement_time = 15", "SET SESSION max_execution_time = 15000")
_INTEGERS = ("tinyint", "smallint", "mediumint", "int", "bigint")
_LARGEST = 2**63 - 1
#: ER_TABLEACCESS_DENIED_ERROR and ER_COLUMNACCESS_DENIED_ERROR.
_NO_RIGHT = (1142, 1143)

_TABLES = """
    SELECT table_name AS name, table_rows AS row_count
    FROM information_schema.tables
    WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'
    ORDER BY data_length DESC, table_name
"""
_KEY = """
    SELECT c.column_name AS name, c.data_type AS type
    FROM information_schema.key_column_usage k
    JOIN information_schema.columns c ON c.table_schema = k.table_schema AND c.table_name = k.table_name
        AND c.column_name = k.column_name
    WHERE k.table_schema = DATABASE() AND k.table_name = %s AND k.constraint_name = 'PRIMARY'
    ORDER BY k.ordinal_position
"""
_COLUMN = """
    SELECT column_name AS name
    FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = %s AND column_key <> 'PRI'
        AND extra NOT LIKE '%%GENERATED%%'
    ORDER BY column_key <> '', ordinal_position
    LIMIT 1
"""
_REFERENCES = """
    SELECT max(column_name) AS name, max(referenced_table_name) AS other,
        max(referenced_column_name) AS target
    FROM information_schema.key_column_usage
    WHERE table_schema = DATABASE() AND table_name = %s AND referenced_table_schema = DATABASE()
    GROUP BY constraint_name
    HAVING count(*) = 1
    ORDER BY constraint_name
"""


def _draft(origin: Origin) -> Draft:
    origin.without_more_words()
    if origin.external_kind is None:
        return Draft(_start())
    options = origin.external
    address, database = connection.external(
        str(options["url"]), password=origin.password, sslmode=None, sslrootcert=None
    )
    if database is None:
        raise DraftError(MYSQL_NO_DATABASE(example="mysql://user@host:3306/database"))
    with address.session(DOING_READ_SCHEMA(), during="up", database=database) as session:
        for limit in _LIMITS:
            with contextlib.suppress(driver.Error):
                _rows(session, limit)
        _rows(session, "START TRANSACTION READ ONLY")
        listed = _rows(session, _TABLES)
        looks, others = tables.select((row[0], partial(_table, session, *row)) for row in listed)
        _rows(session, "ROLLBACK")
    target = Section()
    target.put("mysql", Section(**options), tables.TABLES_TARGET())
    return tables.draft(database, target, looks, others)


def _rows(session: Connection[Any], statement: str, *values: object) -> list[tuple[Any, ...]]:
    with session.cursor() as cursor:
        cursor.execute(statement, values or None)
        return [tuple(row) for row in cursor.fetchall()]


def _table(session: Connection[Any], title: str, rows: int | None) -> Table:
    try:
        return _readable_table(session, title, rows)
    except driver.MySQLError as error:
        if error.args[0] not in _NO_RIGHT:
            raise
        return Table(title, _quoted(title), readable=False)


def _readable_table(session: Connection[Any], title: str, rows: int | None) -> Table:
    name = _quoted(title)
    key = _rows(session, _KEY, title)
    if not key:
        return Table(title, name)
    key_title, kind = key[0]
    column = _quoted(key_title)
    first, last = None, None
    if kind in _INTEGERS:
        [(first, last)] = _rows(session, f"SELECT min({column}), max({column}) FROM {name}")
        empty = first is None
        if last is not None and last > _LARGEST:
            first = last = None
    else:
        empty = not _rows(session, f"SELECT 1 FROM {name} LIMIT 1")
    other = _rows(session, _COLUMN, title)
    return Table(
        title, name,
        key=tuple(_quoted(column) for column, _ in key), key_title=key_title, rows=rows, empty=empty,
        first=first, last=last, keys=f"SELECT {column} FROM {name} LIMIT {MOST_KEYS}",
        column=_quoted(other[0][0]) if other else None,
        references=tuple(
            Reference(_quoted(name), _quoted(other), _quoted(target))
            for name, other, target in _rows(session, _REFERENCES, title)
        ),
    )  # fmt: skip


def _quoted(name: str) -> str:
    escaped = name.replace("`", "``")
    return f"`{escaped}`"


def _start() -> Section:
    """sysbench's OLTP transactions on a server of this machine."""
    target, workload = Section(), Section()
    target.put("mysql", Section(server="local"), MYSQL_START_SERVER())
    external = {"server": "external", "url": "mysql://user@host:3306"}
    target.put("mysql", external, DRAFT_EXISTING(), active=False)
    workload.put(
        "sysbench", Section(script="oltp_read_write", tables=4, table_size=10_000),
        MYSQL_START_WORKLOAD(command="loadcell init mysql --dsn DSN"),
    )  # fmt: skip
    return plan(MYSQL_START_TITLE(), target, workload, load({}))


DRAFT = Source(_draft, ("mysql", "mariadb"), with_dsn="mysql")
