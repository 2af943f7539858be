"""PostgreSQL: a plan to start with, or statements for the tables of an existing database.

The schema is read in a read-only transaction with time limits: the catalogue, the sizes of files, and both
ends of the index of each chosen primary key.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from loadcell.drafting import tables
from loadcell.drafting.document import Section
from loadcell.drafting.draft import Draft, Origin, Source
from loadcell.drafting.plan import DRAFT_EXISTING, load, plan
from loadcell.drafting.tables import MOST_KEYS, Reference, Table
from loadcell.model.message import MessageCode
from loadcell.systems.postgres import connection

if TYPE_CHECKING:
    from psycopg import Connection

POSTGRES_START_TITLE = MessageCode("draft-postgres.title", "info")
POSTGRES_START_SERVER = MessageCode("draft-postgres.server", "info")
POSTGRES_START_SETTINGS = MessageCode("draft-postgres.settings", "info")
POSTGRES_START_WORKLOAD = MessageCode("draft-postgres.workload", "info", command=str)
DOING_READ_SCHEMA = MessageCode("doing.read-schema", "info")

#: A statement on the catalogue or at the end of an index takes milliseconds.
_LIMITS = "SET LOCAL statement_timeout = '15s'; SET LOCAL lock_timeout = '3s'"

_TABLES = """
    WITH RECURSIVE members AS (
        SELECT oid AS root, oid FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition
        UNION ALL
        SELECT members.root, inhrelid FROM members JOIN pg_inherits ON inhparent = members.oid
    ), sizes AS (
        SELECT root, sum(pg_relation_size(c.oid)) AS size,
            sum(CASE WHEN c.relpages > 0 AND c.reltuples >= 0
                THEN c.reltuples / c.relpages * (pg_relation_size(c.oid) / current_setting('block_size')::int)
                END) AS rows,
            bool_or(pg_relation_size(c.oid) > 0 AND (c.relpages = 0 OR c.reltuples < 0)) AS unknown
        FROM members JOIN pg_class c ON c.oid = members.oid AND c.relkind = 'r'
        GROUP BY root
    )
    SELECT c.oid, c.relname,
        CASE WHEN pg_table_is_visible(c.oid) THEN quote_ident(c.relname)
            ELSE format('%I.%I', n.nspname, c.relname) END,
        CASE WHEN NOT s.unknown THEN s.rows::bigint END,
        has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
    FROM sizes s JOIN pg_class c ON c.oid = s.root JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_%'
    ORDER BY s.size DESC, c.relname
"""
_KEY = """
    SELECT a.attname, quote_ident(a.attname), a.atttypid IN (20, 21, 23)
    FROM pg_index i CROSS JOIN unnest(i.indkey::int2[]) WITH ORDINALITY AS k (attnum, position)
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
    WHERE i.indrelid = %s AND i.indisprimary
    ORDER BY k.position
"""
_COLUMN = """
    SELECT quote_ident(a.attname)
    FROM pg_attribute a
    WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped AND a.attidentity = ''
        AND coalesce(to_jsonb(a) ->> 'attgenerated', '') = ''
        AND NOT EXISTS (SELECT FROM pg_index i
            WHERE i.indrelid = a.attrelid AND i.indisprimary AND a.attnum = ANY(i.indkey))
    ORDER BY EXISTS (SELECT FROM pg_index i WHERE i.indrelid = a.attrelid AND a.attnum = ANY(i.indkey)),
        a.attnum
    LIMIT 1
"""
_REFERENCES = """
    SELECT quote_ident(a.attname),
        CASE WHEN pg_table_is_visible(o.oid) THEN quote_ident(o.relname)
            ELSE format('%%I.%%I', n.nspname, o.relname) END,
        quote_ident(b.attname)
    FROM pg_constraint c JOIN pg_class o ON o.oid = c.confrelid JOIN pg_namespace n ON n.oid = o.relnamespace
    JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
    JOIN pg_attribute b ON b.attrelid = c.confrelid AND b.attnum = c.confkey[1]
    WHERE c.conrelid = %s AND c.contype = 'f' AND array_length(c.conkey, 1) = 1
    ORDER BY c.conname
"""


def _draft(origin: Origin) -> Draft:
    origin.without_more_words()
    if origin.external_kind is None:
        return Draft(_start())
    options = origin.external
    address = connection.external(
        str(options["dsn"]), password=origin.password, database=None, sslmode=None, sslrootcert=None
    )
    with address.session(DOING_READ_SCHEMA(), during="up") as session:
        session.execute("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        session.execute(_LIMITS)
        listed = session.execute(_TABLES).fetchall()
        looks, others = tables.select((row[1], partial(_table, session, *row)) for row in listed)
        session.execute("ROLLBACK")
    target = Section()
    target.put("postgres", Section(**options), tables.TABLES_TARGET())
    return tables.draft(address.database, target, looks, others)


def _table(
    session: Connection[Any], oid: int, title: str, name: str, rows: int | None, readable: bool
) -> Table:
    if not readable:
        return Table(title, name, readable=False)
    key = session.execute(_KEY, (oid,)).fetchall()
    if not key:
        return Table(title, name)
    key_title, column, is_integer = key[0]
    first, last = None, None
    if is_integer:
        first, last = session.execute(f"SELECT min({column}), max({column}) FROM {name}").fetchone() or (
            None,
            None,
        )
        empty = first is None
    else:
        empty = session.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchone() is None
    other = session.execute(_COLUMN, (oid,)).fetchone()
    references = session.execute(_REFERENCES, (oid,)).fetchall()
    return Table(
        title, name,
        key=tuple(quoted for _, quoted, _ in key), key_title=key_title, rows=rows, empty=empty,
        first=first, last=last, keys=_keys(name, column, rows), column=other[0] if other else None,
        references=tuple(Reference(*row) for row in references),
    )  # fmt: skip


def _keys(name: str, column: str, rows: int | None) -> str:
    """A query that gives keys of random pages of a large table."""
    sample = ""
    if rows is not None and rows > 2 * MOST_KEYS:
        # a fifth more than wanted, as samples of pages vary; mixed, lest the limit cut off the table's end
        sample = f" TABLESAMPLE SYSTEM ({max(0.001, 120 * MOST_KEYS / rows):.3g}) ORDER BY random()"
    return f"SELECT {column} FROM {name}{sample} LIMIT {MOST_KEYS}"


def _start() -> Section:
    """pgbench's transactions on the server that comes with loadcell."""
    options = Section(server="embedded")
    options.put("settings", {"shared_buffers": "512MB"}, POSTGRES_START_SETTINGS(), active=False)
    target, workload = Section(), Section()
    target.put("postgres", options, POSTGRES_START_SERVER())
    external = {"server": "external", "dsn": "postgresql://user@host:5432/database"}
    target.put("postgres", external, DRAFT_EXISTING(), active=False)
    workload.put(
        "pgbench", Section(scripts=["tpcb-like"], scale=10),
        POSTGRES_START_WORKLOAD(command="loadcell init postgres --dsn DSN"),
    )  # fmt: skip
    return plan(POSTGRES_START_TITLE(), target, workload, load({}))


DRAFT = Source(_draft, ("postgres", "postgresql"), with_dsn="postgres")
