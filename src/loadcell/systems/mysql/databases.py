"""Data sets as databases, each with a mark in a table, by which loadcell recognises what it made."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from loadcell.systems.base import DataSet, DataSpec, Loader, TargetError
from loadcell.systems.messages import (
    DOING_DROP_DATA_SETS,
    DOING_LOOK_FOR_THE_DATA_SET,
    DOING_MARK_THE_DATA_SET,
)
from loadcell.systems.mysql.connection import Address, rows
from loadcell.systems.mysql.messages import (
    DOING_MAKE_ROOM_FOR_A_COPY,
    DOING_MAKE_THE_DATABASE,
    DOING_MARK_THE_DATABASE,
    MYSQL_FOREIGN_TABLES,
)
from loadcell.systems.server import Prepared
from loadcell.systems.shared.ownership import Mark, Owner, parse

if TYPE_CHECKING:
    from loadcell.systems.mysql.connection import Connection
    from loadcell.systems.mysql.server import Server

PREFIX = "loadcell_"
#: The table with the mark; its one row is the mark's text.
MARK = "loadcell_mark"

#: How long changed pages may take to be written out before a trial.
_FLUSH_LIMIT_S = 60.0
_POLL_S = 0.05
#: Fewer are of no weight, and there always are some: a mark that was set, statistics that were written.
_FEW_PAGES = 100


@dataclass(frozen=True)
class Databases:
    """Data sets on one server: each in a separate database, or, with `named`, one at a time in that one.

    On a server that loadcell started (`server`) a data set that a workload changes is restored by copying the
    data directory; elsewhere it is loaded again.
    """

    admin: Callable[[], Address]
    load: Callable[[], Address]
    named: str | None
    server: Server | None
    owner: Owner
    keep: bool
    version: str
    log: Callable[[str], None] = field(repr=False)

    def prepare(self, spec: DataSpec, load: Loader, *, will_change: bool) -> Prepared:
        """The data set, untouched: as it lies there, put back, or loaded (again)."""
        began = time.monotonic()
        digest = spec.fingerprint
        name = self.named or PREFIX + digest
        detail: dict[str, Any] = {"kind": "database", "database": name}
        mark = self._look(name)
        same = mark is not None and mark.fingerprint == digest
        if same and mark is not None and mark.state == "ready":
            how = "reused"
        elif self._copied(digest):
            self._restore(digest, detail)
            how = "restored"
        else:
            how = "restored" if same and mark is not None and mark.state == "changed" else "loaded"
            self._load(name, mark, digest, load, detail)
        if will_change and self.server is not None and not self._copied(digest):
            self._save_copy(digest, detail)
        with self.admin().session(DOING_MARK_THE_DATA_SET(), during="prepare", database=name) as connection:
            mark = self._mark(connection, name) or Mark("ready", digest, self.owner)
            now = mark.now("changed" if will_change else "ready", owner=self.owner, keep=self.keep)
            self._set_mark(connection, now)
            if self.server is not None:
                detail["flush_s"] = flush(connection)
            size = _size(connection, name)
        return Prepared(DataSet(digest, how, time.monotonic() - began, size, **detail), name)

    # -- what is there
    # ----------------------------------------------------------------------------------------------

    def _look(self, name: str) -> Mark | None:
        """The mark of a database, if what is in it is what the mark says; None where there is nothing.

        Refuses a database
        that is not loadcell's."""
        with self.admin().session(DOING_LOOK_FOR_THE_DATA_SET(), during="prepare") as connection:
            mark = self._mark(connection, name)
            if mark is None or mark.state == "loading":
                return mark
            tables = _tables(connection, name)
            if tables == set(mark.tables):
                return mark
            foreign = sorted(tables - set(mark.tables))
            if foreign:
                raise self._foreign(name, foreign)
            return mark.now("loading")  # some are gone

    def _mark(self, connection: Connection, name: str) -> Mark | None:
        result = rows(
            connection, "SELECT schema_name FROM information_schema.schemata WHERE schema_name = %s", [name]
        )
        if not result:
            return None
        tables = _tables(connection, name, with_mark=True)
        mark = None
        if MARK in tables:
            result = rows(connection, f"SELECT mark FROM `{name}`.{MARK}")  # noqa: S608
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

    def _set_mark(self, connection: Connection, mark: Mark) -> None:
        rows(connection, f"CREATE TABLE IF NOT EXISTS {MARK} (mark TEXT NOT NULL) ENGINE = InnoDB")
        rows(connection, "START TRANSACTION")
        rows(connection, f"DELETE FROM {MARK}")  # noqa: S608
        rows(connection, f"INSERT INTO {MARK} VALUES (%s)", [mark.text()])  # noqa: S608
        rows(connection, "COMMIT")

    # -- making it
    # --------------------------------------------------------------------------------------------------

    def _load(self, name: str, mark: Mark | None, digest: str, load: Loader, detail: dict[str, Any]) -> None:
        began = time.monotonic()
        with self.admin().session(DOING_MAKE_THE_DATABASE(), during="prepare") as connection:
            if mark is not None:
                self._empty(connection, name, mark)
            if not (self.named and rows(connection, "SHOW DATABASES LIKE %s", [_like(name)])):
                rows(
                    connection,
                    f"CREATE DATABASE IF NOT EXISTS `{name}` CHARACTER SET latin1 COLLATE latin1_swedish_ci",
                )
        now = Mark("loading", digest, self.owner, keep=self.keep, loadcell=self.version)
        with self.admin().session(DOING_MARK_THE_DATABASE(), during="prepare", database=name) as connection:
            self._set_mark(connection, now)
        rows_loaded = load(self.load().endpoint(name))
        with self.admin().session(DOING_MARK_THE_DATABASE(), during="prepare", database=name) as connection:
            self._set_mark(connection, now.now("ready", tables=tuple(sorted(_tables(connection, name)))))
        detail.update(method="load", load_s=time.monotonic() - began)
        detail["rows"] = rows_loaded

    def _empty(self, connection: Connection, name: str, mark: Mark) -> None:
        """Drop what an earlier load made: the database, or, where it was there before, the tables in it."""
        if not self.named:
            rows(connection, f"DROP DATABASE IF EXISTS `{name}`")
            return
        tables = _tables(connection, name)
        if mark.state != "loading" and (foreign := sorted(tables - set(mark.tables))):
            raise self._foreign(name, foreign)
        rows(connection, "SET SESSION foreign_key_checks = 0")
        for table in [*sorted(tables), MARK]:
            rows(connection, f"DROP TABLE IF EXISTS `{name}`.`{table}`")

    # -- copies of the data directory
    # -------------------------------------------------------------------------------

    def _copied(self, digest: str) -> bool:
        return self.server is not None and digest in self.server.directory.copies()

    def _save_copy(self, digest: str, detail: dict[str, Any]) -> None:
        """Stop the server, copy its data directory, and start it again: all later trials begin as this one
        does.
        """
        assert self.server is not None
        began = time.monotonic()
        with self.admin().session(DOING_MAKE_ROOM_FOR_A_COPY(), during="prepare") as connection:
            for other in self.server.directory.copies():
                rows(connection, f"DROP DATABASE IF EXISTS `{PREFIX}{other}`")  # it has a copy of its own
            # All pages that are in memory now are to be there again after each restore.
            rows(connection, "SET GLOBAL innodb_buffer_pool_dump_pct = 100")
            flush(connection)
        self.server.stop()
        self.server.directory.save_copy(digest)
        self.server.start()
        detail.update(kept_copy_s=time.monotonic() - began)

    def _restore(self, digest: str, detail: dict[str, Any]) -> None:
        assert self.server is not None
        began = time.monotonic()
        self.server.stop(quickly=True)  # whatever it holds is thrown away
        self.server.directory.restore_copy(digest)
        self.server.start()
        detail.update(method="data directory copy", copy_s=time.monotonic() - began)

    # -- the end
    # ----------------------------------------------------------------------------------------------------

    def sweep(self) -> None:
        """Drop what this run made and what dead runs left behind, save what is to be kept.

        Logs what it cannot drop.
        """
        with self.admin().session(DOING_DROP_DATA_SETS(), during="cleanup") as connection:
            names = (
                [self.named]
                if self.named
                else [row[0] for row in rows(connection, "SHOW DATABASES LIKE %s", [_like(PREFIX) + "%"])]
            )
            for name in names:
                try:
                    mark = self._mark(connection, name)
                    if mark is None or not mark.fingerprint or not self._to_go(mark):
                        continue
                    self._empty(connection, name, mark)
                except TargetError as error:
                    self.log(f"left the database {name} behind: {error.finding}")

    def _to_go(self, mark: Mark) -> bool:
        done = mark.state == "ready"
        if self._copied(mark.fingerprint):
            return False  # what was changed is put back when it is needed
        if mark.owner.same_run(self.owner):
            return not (self.keep and done)
        return not (mark.keep and done) and (self.server is not None or mark.owner.surely_dead())


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
        "SELECT COALESCE(SUM(data_length + index_length), 0) FROM information_schema.tables WHERE table_schema = %s",
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
