"""Data sets as databases, or, for a role that may not create databases, in a schema.

A pristine database is loaded once; workloads that change rows get working copies of it.
"""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from loadcell import __version__
from loadcell.model.message import Message, MessageCode
from loadcell.systems.base import DataSet, DataSpec, Endpoint, Loader, TargetError
from loadcell.systems.postgres import driver
from loadcell.systems.postgres.connection import Address, not_done
from loadcell.systems.postgres.run_lock import AdvisoryLock
from loadcell.systems.shared.data_sets import (
    DOING_DROP_DATA_SETS,
    DOING_PREPARE_THE_DATA_SET,
    DataSets,
    Mark,
    Prepared,
    parse,
)
from loadcell.systems.shared.run_locks import RunLock

if TYPE_CHECKING:
    from psycopg import Connection

POSTGRES_FOREIGN_DATABASE = MessageCode("postgres.foreign-database", name=str, where=str)
POSTGRES_DATABASE_BEING_MADE = MessageCode("postgres.database-being-made", name=str)
POSTGRES_FOREIGN_SCHEMA = MessageCode("postgres.foreign-schema", database=str)
POSTGRES_FOREIGN_TABLES = MessageCode("postgres.foreign-tables", database=str, first=str, tables=list)
POSTGRES_FOREIGN_TABLES_IN_DATABASE = MessageCode(
    "postgres.foreign-tables-in-database", name=str, tables=list, where=str
)
POSTGRES_DATABASE_IN_USE = MessageCode("postgres.database-in-use", name=str)
POSTGRES_DATABASE_IN_USE_BY = MessageCode(
    "postgres.database-in-use-by", host=str, name=str, pid=str, program=str
)
DOING_CREATE_DATABASE = MessageCode("doing.create-database", name=str)
DOING_DROP_DATABASE = MessageCode("doing.drop-database", name=str)
DOING_CREATE_SCHEMA = MessageCode("doing.create-schema", database=str)
DOING_DROP_TABLES = MessageCode("doing.drop-tables")

PREFIX = "loadcell_"

#: How long sessions of a trial that has just ended may take to go away.
_LEAVE_LIMIT_S = 15.0
_PAUSE_S = 0.2
_IN_USE = "55006"
_DUPLICATE = "42P04"


#: Relations of a database outside the system's schemas; indexes and TOAST go with their tables.
_ALL_RELATIONS = """
    SELECT CASE n.nspname WHEN 'public' THEN c.relname ELSE n.nspname || '.' || c.relname END,
           pg_get_userbyid(c.relowner) = current_user
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f', 'c') AND n.nspname <> 'information_schema'
      AND n.nspname NOT LIKE 'pg\\_%'
    ORDER BY 1
"""


@dataclass(frozen=True)
class Databases(DataSets["Connection[Any]"]):
    """Data sets as databases on one server: a pristine one each, and copies for loads that change rows.

    `admin` creates and drops them, `load` (the address of the load's role) fills and owns them. On a managed
    server everything named `loadcell_*` is loadcell's.
    """

    admin: Address
    load: Address

    kind = "database"

    def lock(self) -> RunLock | None:
        return None if self.managed else AdvisoryLock(self.admin, self.owner, of_server=True)

    def _session(self, doing: Message, during: str = "prepare") -> AbstractContextManager[Connection[Any]]:
        return self.admin.session(doing, during=during)

    def _name(self, spec: DataSpec) -> str:
        return PREFIX + spec.fingerprint

    def _endpoint(self, name: str) -> Endpoint:
        return self.load.endpoint(name)

    def _load(self, name: str, mark: Mark | None, spec: DataSpec, load: Loader) -> int | None:
        with self._session(DOING_PREPARE_THE_DATA_SET()):  # the end of the server is reported as its own
            return super()._load(name, mark, spec, load)

    def _contents(self, session: Connection[Any], name: str, spec: DataSpec) -> tuple[str, ...]:  # noqa: ARG002
        return () if self.managed else tuple(self._relations(name))

    def _relations(self, name: str) -> dict[str, bool]:
        """Tables and other relations of a database, and whether each belongs to this role."""
        with self.admin.session(DOING_PREPARE_THE_DATA_SET(), during="prepare", database=name) as session:
            return {row[0]: row[1] for row in session.execute(_ALL_RELATIONS)}

    def _is_intact(self, session: Connection[Any], name: str, mark: Mark) -> bool:  # noqa: ARG002
        if self.managed or not mark.tables:
            return True
        self._check_ours(name, mark)
        return set(self._relations(name)) == set(mark.tables)

    def _check_ours(self, name: str, mark: Mark) -> None:
        """Raise TargetError if somebody put tables into a database that is to be dropped.

        A load may make tables in its own copy, and one that broke off has no list: there those of other
        roles are foreign.
        """
        if self.managed or (mark.pristine and mark.state != "loading" and not mark.tables):
            return
        by_role = mark.state == "loading" or not mark.pristine
        foreign = [
            relation
            for relation, is_ours in self._relations(name).items()
            if relation not in mark.tables and not (by_role and is_ours)
        ]
        if foreign:
            raise TargetError(
                POSTGRES_FOREIGN_TABLES_IN_DATABASE(name=name, where=self.admin.where, tables=foreign[:5]),
                during="prepare",
            )

    def _make_room(self, session: Connection[Any], name: str, mark: Mark | None, spec: DataSpec) -> None:  # noqa: ARG002
        if mark is not None:
            self._check_ours(name, mark)
            self.log(f"database {name} was left half loaded: making it again")
            self._remove(session, name, force=self.managed)
        self._create(session, name, "template0")

    def _finish(self, name: str, spec: DataSpec, data_set: DataSet, *, will_change: bool) -> Prepared:
        with self._session(DOING_PREPARE_THE_DATA_SET()) as session:
            self._mark_use(session, name, spec, will_change=False)
            database = name
            if will_change:
                database = f"{name}_{self.owner.tag}"
                data_set = self._copy(session, name, database, data_set)
            checkpoint_s = checkpoint(session)
            size = self._size(session, database)
        data_set = replace(data_set, size_bytes=size, database=database, checkpoint_s=checkpoint_s)
        return Prepared(data_set, database)

    def _copy(self, session: Connection[Any], pristine: str, copy: str, data_set: DataSet) -> DataSet:
        began = time.monotonic()
        if (before := self._mark(session, copy)) is not None:
            self._check_ours(copy, before)
            self._remove(session, copy, force=True)
        self._create(session, copy, pristine)
        source = self._mark(session, pristine)
        tables = () if source is None else source.tables
        # `changed` at once: it is handed to a workload that changes it, and nobody else is to take it for
        # pristine.
        mark = Mark(
            "changed", data_set.fingerprint, self.owner, pristine=False, tables=tables, loadcell=__version__
        )
        self._set_mark(session, copy, mark)
        return replace(
            data_set,
            how="loaded" if data_set.how == "loaded" else "restored",
            method="file copy",
            copy_s=time.monotonic() - began,
            copied_bytes=self._size(session, pristine),
        )

    def _mark(self, session: Connection[Any], name: str) -> Mark | None:
        row = session.execute(
            "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s", [name]
        ).fetchone()
        if row is None:
            return None
        mark = parse(row[0])
        if mark is None and self.managed:
            return Mark("loading", "", self.owner)  # killed between CREATE DATABASE and COMMENT
        if mark is None:
            raise TargetError(POSTGRES_FOREIGN_DATABASE(name=name, where=self.admin.where), during="prepare")
        return mark

    def _set_mark(self, session: Connection[Any], name: str, mark: Mark) -> None:
        statement = driver.sql.SQL("COMMENT ON DATABASE {} IS {}")
        session.execute(statement.format(driver.sql.Identifier(name), driver.sql.Literal(mark.text())))

    def _create(self, connection: Connection[Any], name: str, template: str) -> None:
        statement = driver.sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
            driver.sql.Identifier(name), driver.sql.Identifier(template)
        )
        if self.managed:
            statement += driver.sql.SQL(" OWNER {}").format(driver.sql.Identifier(self.load.user))
        # Copying files and syncing them costs less than sending every page through the log. (Cloning by the
        # file system would be free here, and be paid for by the first writes of the trial.)
        if template != "template0" and connection.info.server_version >= 150000:
            statement += driver.sql.SQL(" STRATEGY FILE_COPY")
        if self.managed:
            self._end_sessions(connection, template)
        deadline = time.monotonic() + _LEAVE_LIMIT_S
        while True:
            try:
                connection.execute(statement)
                return
            except driver.Error as error:
                if error.sqlstate == _IN_USE and time.monotonic() < deadline:
                    time.sleep(_PAUSE_S)
                    continue
                if error.sqlstate == _IN_USE:
                    raise self._in_use(connection, template) from error
                if error.sqlstate == _DUPLICATE:
                    raise TargetError(POSTGRES_DATABASE_BEING_MADE(name=name), during="prepare") from error
                raise not_done(error, DOING_CREATE_DATABASE(name=name)) from error

    def _remove(self, connection: Connection[Any], name: str, *, force: bool) -> None:
        deadline = time.monotonic() + _LEAVE_LIMIT_S
        while True:
            if force:
                self._end_sessions(connection, name)
            try:
                connection.execute(
                    driver.sql.SQL("DROP DATABASE IF EXISTS {}").format(driver.sql.Identifier(name))
                )
                return
            except driver.Error as error:
                if error.sqlstate != _IN_USE:
                    raise not_done(error, DOING_DROP_DATABASE(name=name)) from error
                if time.monotonic() > deadline:
                    raise self._in_use(connection, name) from error
                time.sleep(_PAUSE_S)

    def _in_use(self, connection: Connection[Any], name: str) -> TargetError:
        sessions = connection.execute(
            "SELECT pid, application_name, coalesce(host(client_addr), 'localhost') FROM pg_stat_activity "
            "WHERE datname = %s LIMIT 1",
            [name],
        ).fetchone()
        if sessions is None:
            return TargetError(POSTGRES_DATABASE_IN_USE(name=name), during="prepare")
        pid, program, host = sessions
        why = POSTGRES_DATABASE_IN_USE_BY(name=name, program=program or "?", host=host, pid=str(pid))
        return TargetError(why, during="prepare")

    def _end_sessions(self, connection: Connection[Any], name: str) -> None:
        try:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> "
                "pg_backend_pid()",
                [name],
            )
        except driver.errors.InsufficientPrivilege:
            self.log(f"sessions of other users are in database {name}")

    def _size(self, connection: Connection[Any], name: str) -> int:
        row = connection.execute("SELECT pg_database_size(%s::name)", [name]).fetchone()
        return int(row[0]) if row else 0

    def _names(self, session: Connection[Any]) -> list[str]:
        rows = session.execute(
            "SELECT datname, shobj_description(oid, 'pg_database') FROM pg_database "
            "WHERE starts_with(datname, %s)",
            [PREFIX],
        ).fetchall()
        return [name for name, comment in rows if parse(comment) is not None]

    def _drop(self, session: Connection[Any], name: str, mark: Mark) -> None:
        self._check_ours(name, mark)
        self._remove(session, name, force=self.managed or mark.owner.same_run(self.owner))

    def _is_disposable(self, mark: Mark) -> bool:
        # In a directory of loadcell's, only what the last run used is worth its room.
        if self.managed and not mark.owner.same_run(self.owner):
            return True
        return super()._is_disposable(mark)


def checkpoint(connection: Connection[Any]) -> float | None:
    """Write out what preparing left dirty, so that trials start equal: seconds it took, None when not
    permitted.
    """
    began = time.monotonic()
    try:
        connection.execute("CHECKPOINT")
    except driver.errors.InsufficientPrivilege:
        return None
    return time.monotonic() - began


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


#: What lies in the schema, by kind, in the order in which nothing depends on it any more.
_DROPPED = (
    ("MATERIALIZED VIEW", "m"),
    ("VIEW", "v"),
    ("TABLE", "rp"),
    ("FOREIGN TABLE", "f"),
    ("SEQUENCE", "S"),
    ("TYPE", "c"),
)
#: Kinds that an aborted load may have left behind.
_MADE = "rpvmSc"


@dataclass(frozen=True)
class Schema(DataSets["Connection[Any]"]):
    """One data set at a time, in the schema `loadcell` of the DSN's database."""

    address: Address

    kind = "schema"

    def lock(self) -> RunLock:
        return AdvisoryLock(self.address, self.owner, of_server=False)

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
                session.execute(driver.sql.SQL("CREATE SCHEMA {}").format(driver.sql.Identifier(SCHEMA)))
                self._set_mark(session, name, self._new_mark(session, name, spec))
        except driver.Error as error:
            raise not_done(error, DOING_CREATE_SCHEMA(database=self.address.database)) from error

    def _set_mark(self, session: Connection[Any], name: str, mark: Mark) -> None:
        statement = driver.sql.SQL("COMMENT ON SCHEMA {} IS {}")
        session.execute(statement.format(driver.sql.Identifier(name), driver.sql.Literal(mark.text())))

    def _relations(self, connection: Connection[Any]) -> set[str]:
        return {row[0] for row in connection.execute(_RELATIONS, [SCHEMA])}

    def _empty(self, connection: Connection[Any], mark: Mark) -> None:
        """Drop our tables, each by its name. Refuses when anything else lies in the schema."""
        rows = connection.execute(_RELATIONS, [SCHEMA]).fetchall()
        if mark.state == "loading":  # objects of an aborted load are on no list, but belong to this role
            foreign = [name for name, kind, owner in rows if not owner or kind not in _MADE]
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
        try:
            for kind_name, kinds in _DROPPED:  # others go with them, so each looks again
                present = connection.execute(_RELATIONS, [SCHEMA]).fetchall()
                names = [driver.sql.Identifier(SCHEMA, name) for name, kind, _ in present if kind in kinds]
                if names:
                    statement = driver.sql.SQL("DROP " + kind_name + " {}")
                    connection.execute(statement.format(driver.sql.SQL(", ").join(names)))
        except driver.Error as error:
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
            session.execute(driver.sql.SQL("DROP SCHEMA {}").format(driver.sql.Identifier(name)))
        except driver.Error as error:
            raise not_done(error, DOING_DROP_DATA_SETS(), "cleanup") from error
