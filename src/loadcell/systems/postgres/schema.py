"""Data sets in a schema: for a role on an external server that may not create databases."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import sql

from loadcell.model.message import Message
from loadcell.systems.base import DataSet, DataSpec, Endpoint, TargetError
from loadcell.systems.messages import DOING_DROP_DATA_SETS, DOING_PREPARE_THE_DATA_SET
from loadcell.systems.postgres.connection import Address, not_done
from loadcell.systems.postgres.databases import checkpoint
from loadcell.systems.postgres.messages import (
    DOING_CREATE_SCHEMA,
    DOING_DROP_TABLES,
    POSTGRES_FOREIGN_SCHEMA,
    POSTGRES_FOREIGN_TABLES,
)
from loadcell.systems.shared.data_sets import DataSets, Mark, Prepared, parse

if TYPE_CHECKING:
    from psycopg import Connection

SCHEMA = "loadcell"
SEARCH_PATH = f"-c search_path={SCHEMA}"

#: Tables, views, sequences and what else lies in the schema by itself; indexes and TOAST go with their
#: tables.
_RELATIONS = """
    SELECT c.relname, c.relkind, pg_get_userbyid(c.relowner) = current_user
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = %s AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f', 'c')
    ORDER BY c.relname
"""


@dataclass(frozen=True)
class Schema(DataSets["Connection[Any]"]):
    """One data set at a time, in the schema `loadcell` of the DSN's database."""

    address: Address

    kind = "schema"

    def _session(self, doing: Message, during: str = "prepare") -> AbstractContextManager[Connection[Any]]:
        return self.address.session(doing, during=during)

    def _name(self, spec: DataSpec) -> str:  # noqa: ARG002
        return SCHEMA

    def _endpoint(self, name: str) -> Endpoint:  # noqa: ARG002
        return self.address.endpoint(options=SEARCH_PATH)

    def _contents(self, session: Connection[Any], name: str, spec: DataSpec) -> tuple[str, ...]:  # noqa: ARG002
        return tuple(sorted(self._relations(session)))

    def _is_intact(self, session: Connection[Any], name: str, mark: Mark) -> bool:  # noqa: ARG002
        return self._relations(session) == set(mark.tables)

    def _finish(self, name: str, spec: DataSpec, data_set: DataSet, *, will_change: bool) -> Prepared:
        with self._session(DOING_PREPARE_THE_DATA_SET()) as session:
            self._mark_use(session, name, spec, will_change=will_change)
            checkpoint_s = checkpoint(session)
            size = self._size(session)
        database = self.address.database
        data_set = replace(
            data_set, size_bytes=size, schema=SCHEMA, database=database, checkpoint_s=checkpoint_s
        )
        return Prepared(data_set, database, SEARCH_PATH)

    def _comment(self, session: Connection[Any]) -> tuple[str | None] | None:
        """The schema's comment; None when there is no such schema."""
        return session.execute(
            "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = %s", [SCHEMA]
        ).fetchone()

    def _mark(self, session: Connection[Any], name: str) -> Mark | None:  # noqa: ARG002
        row = self._comment(session)
        if row is None:
            return None
        mark = parse(row[0])
        if mark is None:
            raise TargetError(POSTGRES_FOREIGN_SCHEMA(database=self.address.database), during="prepare")
        return mark

    def _make_room(self, session: Connection[Any], name: str, mark: Mark | None, spec: DataSpec) -> None:
        if mark is not None:
            self._empty(session, mark)
            return
        try:
            with session.transaction():
                session.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(SCHEMA)))
                self._set_mark(session, name, self._new_mark(session, name, spec))
        except psycopg.Error as error:
            raise not_done(error, DOING_CREATE_SCHEMA(database=self.address.database)) from error

    def _set_mark(self, session: Connection[Any], name: str, mark: Mark) -> None:
        statement = sql.SQL("COMMENT ON SCHEMA {} IS {}")
        session.execute(statement.format(sql.Identifier(name), sql.Literal(mark.text())))

    def _relations(self, connection: Connection[Any]) -> set[str]:
        return {row[0] for row in connection.execute(_RELATIONS, [SCHEMA])}

    def _empty(self, connection: Connection[Any], mark: Mark) -> None:
        """Drop our tables, each by its name. Refuses when anything else lies in the schema."""
        rows = connection.execute(_RELATIONS, [SCHEMA]).fetchall()
        if mark.state == "loading":  # objects of an aborted load are on no list, but belong to this role
            foreign = [name for name, kind, owner in rows if not owner or kind not in "rS"]
        else:
            foreign = [name for name, _, _ in rows if name not in mark.tables]
        if foreign:
            raise TargetError(
                POSTGRES_FOREIGN_TABLES(
                    database=self.address.database,
                    tables=foreign[:5],
                    first=foreign[0],
                ),
                during="prepare",
            )
        tables = [sql.Identifier(SCHEMA, name) for name, kind, _ in rows if kind == "r"]
        try:
            if tables:
                connection.execute(sql.SQL("DROP TABLE {}").format(sql.SQL(", ").join(tables)))
            for name in self._relations(connection):
                connection.execute(sql.SQL("DROP SEQUENCE {}").format(sql.Identifier(SCHEMA, name)))
        except psycopg.Error as error:
            raise not_done(error, DOING_DROP_TABLES()) from error

    def _size(self, connection: Connection[Any]) -> int:
        row = connection.execute(
            "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c "
            "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relkind IN ('r', 'm')",
            [SCHEMA],
        ).fetchone()
        return int(row[0]) if row else 0

    def _names(self, session: Connection[Any]) -> list[str]:
        row = self._comment(session)
        return [SCHEMA] if row is not None and parse(row[0]) is not None else []

    def _drop(self, session: Connection[Any], name: str, mark: Mark) -> None:
        self._empty(session, mark)
        try:
            session.execute(sql.SQL("DROP SCHEMA {}").format(sql.Identifier(name)))
        except psycopg.Error as error:
            raise not_done(error, DOING_DROP_DATA_SETS(), "cleanup") from error
