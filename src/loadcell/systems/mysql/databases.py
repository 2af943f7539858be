"""Data sets as databases, each with a mark in a table, by which loadcell recognises what it made; and the
named lock (GET_LOCK) of a run on an external MariaDB or MySQL.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from loadcell.model.message import Message, MessageCode
from loadcell.systems.base import DataSet, DataSpec, Endpoint, Loader, TargetError
from loadcell.systems.mysql import driver
from loadcell.systems.mysql.connection import Address, not_done, rows
from loadcell.systems.shared.data_sets import DOING_MARK_THE_DATA_SET, DataSets, Mark, Prepared, parse
from loadcell.systems.shared.owned_directory import OwnedDirectory
from loadcell.systems.shared.owner import DOING_LOCK_THE_SERVER, Owner, describe, locked
from loadcell.systems.shared.run_locks import RunLock, SessionLock

if TYPE_CHECKING:
    from loadcell.systems.mysql.connection import Connection
    from loadcell.systems.mysql.server import Server


_NAME = "loadcell"
#: An idle session ends after this long: MySQL's longest on all systems (wait_timeout).
_IDLE_S = 2147483


class NamedLock(SessionLock["Connection"]):
    """The lock of all runs whose data sets are databases, or of those in the database `named`.

    A second lock carries the owner's tag: nobody can list names of locks, but whoever has read an owner in
    a mark (`owners`) can ask whether that one holds it.
    """

    def __init__(
        self, address: Address, owner: Owner, named: str | None, owners: Callable[[], list[Owner]]
    ) -> None:
        super().__init__()
        self._address = address
        self._owner = owner
        self._owners = owners
        self._name = f"{_NAME}.{Owner.digest(named)}" if named else _NAME

    def _connect(self) -> Connection:
        return self._address.connect(during="prepare")

    def _lives(self, connection: Connection) -> bool:
        with suppress(driver.Error, OSError):
            rows(connection, "SELECT 1")
            return True
        return False

    def _free(self, connection: Connection) -> None:
        for name in (self._tag(self._owner), self._name):
            rows(connection, "SELECT RELEASE_LOCK(%s)", [name])

    def _take(self, connection: Connection) -> bool:
        try:
            return self._try(connection)
        except (driver.Error, OSError) as error:
            raise not_done(error, DOING_LOCK_THE_SERVER()) from error

    def _try(self, connection: Connection) -> bool:
        rows(connection, f"SET SESSION wait_timeout = {_IDLE_S}")
        if rows(connection, "SELECT GET_LOCK(%s, 0)", [self._name])[0][0] == 1:
            rows(connection, "SELECT GET_LOCK(%s, 0)", [self._tag(self._owner)])
            return True
        holder = rows(connection, "SELECT IS_USED_LOCK(%s)", [self._name])[0][0]
        if self._holds(connection, self._owner, holder):
            return False
        for owner in self._owners():
            if self._holds(connection, owner, holder):
                raise locked(self._address.where, describe(owner))
        raise locked(self._address.where, _client(connection, holder))

    def _holds(self, connection: Connection, owner: Owner, holder: int | None) -> bool:
        used = rows(connection, "SELECT IS_USED_LOCK(%s)", [self._tag(owner)])[0][0]
        return holder is not None and used == holder

    def _tag(self, owner: Owner) -> str:
        return f"{self._name}:{owner.lock_tag}"


def _client(connection: Connection, number: int | None) -> str:
    """User and address of a session, as far as this user may see it."""
    sessions = rows(
        connection, "SELECT user, host FROM information_schema.processlist WHERE id = %s", [number]
    )
    who = f", {sessions[0][0]} from {sessions[0][1]}" if sessions else ""
    return f"session {number}{who}"


MYSQL_FOREIGN_TABLES = MessageCode("mysql.foreign-tables", name=str, tables=list, where=str)
DOING_MAKE_ROOM_FOR_A_COPY = MessageCode("doing.make-room-for-a-copy")

PREFIX = "loadcell_"
#: The table with the mark; its one row is the mark's text.
MARK = "loadcell_mark"

#: How long changed pages may take to be written out before a trial.
_FLUSH_LIMIT_S = 60.0
_POLL_S = 0.05
#: Fewer are of no weight, and there always are some: a mark that was set, statistics that were written.
_FEW_PAGES = 100


@dataclass(frozen=True)
class Databases(DataSets["Connection"]):
    """Data sets on one server: each in a separate database, or, with `named`, one at a time in that one.

    On a server that loadcell started (`server`) a data set that a workload changes is restored by copying the
    data directory; elsewhere it is loaded again.
    """

    admin: Callable[[], Address]
    load: Callable[[], Address]
    named: str | None
    server: Server | None

    kind = "database"
    copy_method = "data directory copy"

    def lock(self) -> RunLock | None:
        return None if self.managed else NamedLock(self.admin(), self.owner, self.named, self.owners)

    def _session(self, doing: Message, during: str = "prepare") -> AbstractContextManager[Connection]:
        return self.admin().session(doing, during=during)

    def _name(self, spec: DataSpec) -> str:
        return self.named or PREFIX + spec.fingerprint

    def _endpoint(self, name: str) -> Endpoint:
        return self.load().endpoint(name)

    def _contents(self, session: Connection, name: str, spec: DataSpec) -> tuple[str, ...]:  # noqa: ARG002
        return tuple(sorted(_tables(session, name)))

    def _is_intact(self, session: Connection, name: str, mark: Mark) -> bool:
        tables = _tables(session, name)
        if foreign := sorted(tables - set(mark.tables)):
            raise self._foreign(name, foreign)
        return tables == set(mark.tables)

    def _load(self, name: str, mark: Mark | None, spec: DataSpec, load: Loader) -> int | None:
        """Load as elsewhere; of a data set with undeclared tables, a failed load records what it has made."""

        def recording(endpoint: Endpoint) -> int | None:
            try:
                return load(endpoint)
            except BaseException:
                with suppress(TargetError), self._session(DOING_MARK_THE_DATA_SET()) as session:
                    made = self._contents(session, name, spec)
                    self._set_mark(session, name, replace(self._new_mark(session, name, spec), tables=made))
                raise

        return super()._load(name, mark, spec, recording if self.named and not spec.tables else load)

    def _new_mark(self, session: Connection, name: str, spec: DataSpec) -> Mark:
        """A mark with the names of the tables to be made: none that others create meanwhile is among them."""
        return replace(super()._new_mark(session, name, spec), tables=spec.tables)

    def _finish(self, name: str, spec: DataSpec, data_set: DataSet, *, will_change: bool) -> Prepared:
        with self._session(DOING_MARK_THE_DATA_SET()) as session:
            self._mark_use(session, name, spec, will_change=will_change)
            flush_s = flush(session) if self.server is not None else None
            size = _size(session, name)
        return Prepared(replace(data_set, size_bytes=size, database=name, flush_s=flush_s), name)

    def _mark(self, session: Connection, name: str) -> Mark | None:
        result = rows(
            session, "SELECT schema_name FROM information_schema.schemata WHERE schema_name = %s", [name]
        )
        if not result:
            return None
        tables = _tables(session, name, with_mark=True)
        mark = None
        if MARK in tables:
            result = rows(session, f"SELECT mark FROM `{name}`.{MARK}")  # noqa: S608
            mark = parse(result[0][0]) if result else None
        if mark is not None:
            return mark
        if self.server is not None:
            return Mark("loading", "", self.owner)  # killed between CREATE DATABASE and the mark
        if tables - {MARK}:
            raise self._foreign(name, sorted(tables))
        return None if self.named else Mark("loading", "", self.owner)

    def _foreign(self, name: str, tables: list[str]) -> TargetError:
        return TargetError(
            MYSQL_FOREIGN_TABLES(name=name, where=self.admin().where, tables=tables[:5]),
            during="prepare",
        )

    def _set_mark(self, session: Connection, name: str, mark: Mark) -> None:
        table = f"`{name}`.{MARK}"
        rows(session, f"CREATE TABLE IF NOT EXISTS {table} (mark TEXT NOT NULL) ENGINE = InnoDB")
        rows(session, "START TRANSACTION")
        rows(session, f"DELETE FROM {table}")  # noqa: S608
        rows(session, f"INSERT INTO {table} VALUES (%s)", [mark.text()])  # noqa: S608
        rows(session, "COMMIT")

    def _make_room(self, session: Connection, name: str, mark: Mark | None, spec: DataSpec) -> None:
        if mark is not None:
            self._drop(session, name, mark)
        if not (self.named and rows(session, "SHOW DATABASES LIKE %s", [_like(name)])):
            # Tables of the user may hold any text; those of loadcell hold ASCII, in one byte a character.
            charset = (
                "utf8mb4"
                if any(kind.startswith("sql-") for kind in spec.sections)
                else "latin1 COLLATE latin1_swedish_ci"
            )
            rows(session, f"CREATE DATABASE IF NOT EXISTS `{name}` CHARACTER SET {charset}")

    def _drop(self, session: Connection, name: str, mark: Mark) -> None:
        """Drop the database, or, where it was there before, the tables of the mark."""
        tables = _tables(session, name)
        # Of an interrupted load in a database of loadcell's, the tables may be on no list.
        listed = self.named or mark.state != "loading" or mark.tables
        if self.server is None and listed and (foreign := sorted(tables - set(mark.tables))):
            raise self._foreign(name, foreign)
        if not self.named:
            rows(session, f"DROP DATABASE IF EXISTS `{name}`")
            return
        rows(session, "SET SESSION foreign_key_checks = 0")
        views = rows(
            session, "SELECT table_name FROM information_schema.views WHERE table_schema = %s", [name]
        )
        for (view,) in views:
            if view in tables:
                rows(session, f"DROP VIEW IF EXISTS `{name}`.`{view}`")
        for table in [*sorted(tables), MARK]:
            rows(session, f"DROP TABLE IF EXISTS `{name}`.`{table}`")

    # -- copies of the data directory

    @property
    def _copies(self) -> OwnedDirectory | None:
        return self.server.directory if self.server is not None else None

    def _save_copy(self, digest: str) -> None:
        """Stop the server, copy its data directory, and start it again: all later trials begin as this one
        does.
        """
        assert self.server is not None
        with self._session(DOING_MAKE_ROOM_FOR_A_COPY()) as session:
            for other in self.server.directory.copies():
                rows(session, f"DROP DATABASE IF EXISTS `{PREFIX}{other}`")  # its copy holds it
            # All pages that are in memory now are to be there again after each restore.
            rows(session, "SET GLOBAL innodb_buffer_pool_dump_pct = 100")
            flush(session)
        self.server.stop()
        super()._save_copy(digest)
        self.server.start()

    def _restore_copy(self, digest: str) -> None:
        assert self.server is not None
        self.server.stop(quickly=True)  # whatever it holds is thrown away
        super()._restore_copy(digest)
        self.server.start()

    # -- the end

    def _names(self, session: Connection) -> list[str]:
        if self.named:
            return [self.named]
        return [row[0] for row in rows(session, "SHOW DATABASES LIKE %s", [_like(PREFIX) + "%"])]

    def _is_disposable(self, mark: Mark) -> bool:
        # What has a copy is put back when it is needed.
        return not self._has_copy(mark.fingerprint) and super()._is_disposable(mark)


def _tables(connection: Connection, name: str, *, with_mark: bool = False) -> set[str]:
    """Tables, views and sequences of a database; without loadcell's mark unless asked for."""
    result = rows(
        connection, "SELECT table_name FROM information_schema.tables WHERE table_schema = %s", [name]
    )
    tables = {row[0] for row in result}
    return tables if with_mark else tables - {MARK}


def _like(text: str) -> str:
    """A pattern of LIKE that means the text itself."""
    return text.replace("\\", "\\\\").replace("_", "\\_").replace("%", "\\%")


def _size(connection: Connection, name: str) -> int:
    result = rows(
        connection,
        "SELECT COALESCE(SUM(data_length + index_length), 0) FROM information_schema.tables WHERE "
        "table_schema = %s",
        [name],
    )
    return int(result[0][0])


def flush(connection: Connection) -> float | None:
    """Write out what preparing left dirty, so that trials start equal: seconds it took, None when it could
    not be done.
    """
    began = time.monotonic()
    if _dirty(connection) <= _FEW_PAGES:
        return 0.0
    names = ("innodb_max_dirty_pages_pct", "innodb_max_dirty_pages_pct_lwm")
    before = {name: rows(connection, f"SELECT @@GLOBAL.{name}")[0][0] for name in names}
    try:
        for name in reversed(names):
            rows(connection, f"SET GLOBAL {name} = 0")
        while time.monotonic() - began < _FLUSH_LIMIT_S:
            if _dirty(connection) <= _FEW_PAGES:
                return time.monotonic() - began
            time.sleep(_POLL_S)
    finally:
        for name in names:
            rows(connection, f"SET GLOBAL {name} = {before[name]}")
    return None


def _dirty(connection: Connection) -> int:
    result = rows(connection, "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'")
    return int(result[0][1]) if result else 0
