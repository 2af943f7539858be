"""Data sets in a schema: for a role on an external server that may not create databases."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from loadcell.systems.base import DataSet, DataSpec, Loader, TargetError
from loadcell.systems.postgres.connection import Address, not_done
from loadcell.systems.postgres.databases import checkpoint
from loadcell.systems.postgres.messages import (
    DOING_CREATE_SCHEMA,
    DOING_DROP_TABLES,
    DOING_DROP_THE_DATA_SET,
    DOING_PREPARE_THE_DATA_SET,
    POSTGRES_FOREIGN_SCHEMA,
    POSTGRES_FOREIGN_TABLES,
)
from loadcell.systems.server import Prepared
from loadcell.systems.shared.ownership import Mark, Owner, parse

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
class Schema:
    """One data set at a time, in the schema `loadcell` of the DSN's database."""

    address: Address
    owner: Owner
    keep: bool
    version: str
    log: Callable[[str], None] = field(repr=False)

    def prepare(self, spec: DataSpec, load: Loader, *, will_change: bool) -> Prepared:
        """The data set, untouched: as it lies there, or loaded again when it is another or was changed."""
        began = time.monotonic()
        digest = spec.fingerprint
        detail: dict[str, Any] = {"kind": "schema", "schema": SCHEMA, "database": self.address.database}
        with self.address.session(DOING_PREPARE_THE_DATA_SET(), during="prepare") as connection:
            mark = self._mark(connection)
            how = "loaded"
            if mark is not None:
                same = mark.fingerprint == digest
                if same and mark.state == "ready" and self._relations(connection) == set(mark.tables):
                    how = "reused"
                elif same and mark.state == "changed":
                    how = "restored"
            if how != "reused":
                mark = self._load(connection, mark, digest, load, detail)
            assert mark is not None
            now = mark.now("changed" if will_change else "ready", owner=self.owner, keep=self.keep)
            self._set_mark(connection, now)
            detail["checkpoint_s"] = checkpoint(connection)
            size = self._size(connection)
        return Prepared(
            DataSet(digest, how, time.monotonic() - began, size, **detail), self.address.database, SEARCH_PATH
        )

    def _load(
        self,
        connection: Connection[Any],
        mark: Mark | None,
        digest: str,
        load: Loader,
        detail: dict[str, Any],
    ) -> Mark:
        began = time.monotonic()
        if mark is not None:
            self._empty(connection, mark)
        mark = Mark("loading", digest, self.owner, keep=self.keep, loadcell=self.version)
        self._create(connection, mark, there=self._exists(connection))
        rows_loaded = load(self.address.endpoint(options=SEARCH_PATH))
        detail.update(method="load", load_s=time.monotonic() - began)
        detail["rows"] = rows_loaded
        return mark.now("ready", tables=tuple(sorted(self._relations(connection))))

    def _exists(self, connection: Connection[Any]) -> bool:
        return bool(connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", [SCHEMA]).fetchone())

    def _mark(self, connection: Connection[Any]) -> Mark | None:
        """The schema's mark; None when there is no such schema. Refuses one without a mark."""
        row = connection.execute(
            "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = %s", [SCHEMA]
        ).fetchone()
        if row is None:
            return None
        mark = parse(row[0])
        if mark is None:
            raise TargetError(POSTGRES_FOREIGN_SCHEMA(database=self.address.database), during="prepare")
        return mark

    def _create(self, connection: Connection[Any], mark: Mark, *, there: bool) -> None:
        import psycopg
        from psycopg.sql import SQL, Identifier

        try:
            with connection.transaction():
                if not there:
                    connection.execute(SQL("CREATE SCHEMA {}").format(Identifier(SCHEMA)))
                self._set_mark(connection, mark)
        except psycopg.Error as error:
            raise not_done(error, DOING_CREATE_SCHEMA(database=self.address.database)) from error

    def _set_mark(self, connection: Connection[Any], mark: Mark) -> None:
        from psycopg.sql import SQL, Identifier, Literal

        connection.execute(SQL("COMMENT ON SCHEMA {} IS {}").format(Identifier(SCHEMA), Literal(mark.text())))

    def _relations(self, connection: Connection[Any]) -> set[str]:
        return {row[0] for row in connection.execute(_RELATIONS, [SCHEMA])}

    def _empty(self, connection: Connection[Any], mark: Mark) -> None:
        """Drop our tables, each by its name. Refuses when anything else lies in the schema."""
        import psycopg
        from psycopg.sql import SQL, Identifier

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
        tables = [Identifier(SCHEMA, name) for name, kind, _ in rows if kind == "r"]
        try:
            if tables:
                connection.execute(SQL("DROP TABLE {}").format(SQL(", ").join(tables)))
            for name in self._relations(connection):
                connection.execute(SQL("DROP SEQUENCE {}").format(Identifier(SCHEMA, name)))
        except psycopg.Error as error:
            raise not_done(error, DOING_DROP_TABLES()) from error

    def _size(self, connection: Connection[Any]) -> int:
        row = connection.execute(
            "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c "
            "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relkind IN ('r', 'm')",
            [SCHEMA],
        ).fetchone()
        return int(row[0]) if row else 0

    def sweep(self) -> None:
        """Drop the schema if this run, or one that is dead, used it last, and it is not to be kept."""
        import psycopg
        from psycopg.sql import SQL, Identifier

        with self.address.session(DOING_DROP_THE_DATA_SET(), during="cleanup") as connection:
            row = connection.execute(
                "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = %s", [SCHEMA]
            ).fetchone()
            mark = parse(row[0]) if row else None
            if mark is None or (mark.keep and mark.state == "ready"):
                return
            if not (mark.owner.same_run(self.owner) or mark.owner.surely_dead()):
                return
            try:
                self._empty(connection, mark)
                connection.execute(SQL("DROP SCHEMA {}").format(Identifier(SCHEMA)))
            except (TargetError, psycopg.Error) as error:
                self.log(f"left the schema {SCHEMA} behind: {error}")
