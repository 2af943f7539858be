"""Data sets as databases: one pristine, loaded once, and working copies of it for workloads that change rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from loadcell.systems.base import DataSet, DataSpec, Loader, TargetError
from loadcell.systems.messages import DOING_DROP_DATA_SETS
from loadcell.systems.postgres.connection import Address, not_done
from loadcell.systems.postgres.messages import (
    DOING_CREATE_DATABASE,
    DOING_DROP_DATABASE,
    DOING_PREPARE_THE_DATA_SET,
    POSTGRES_DATABASE_BEING_MADE,
    POSTGRES_DATABASE_IN_USE,
    POSTGRES_DATABASE_IN_USE_BY,
    POSTGRES_FOREIGN_DATABASE,
)
from loadcell.systems.server import Prepared
from loadcell.systems.shared.ownership import Mark, Owner, parse

if TYPE_CHECKING:
    from psycopg import Connection

PREFIX = "loadcell_"

#: How long sessions of a trial that has just ended may take to go away.
_LEAVE_LIMIT_S = 15.0
_PAUSE_S = 0.2
_IN_USE = "55006"
_DUPLICATE = "42P04"


@dataclass(frozen=True)
class Databases:
    """Data sets as databases on one server.

    `admin` creates and drops them, `load` (the address of the load's role) fills and owns them. On a server
    of loadcell's own (`managed`) everything named `loadcell_*` is loadcell's; elsewhere only what bears its
    mark.
    """

    admin: Address
    load: Address
    managed: bool
    owner: Owner
    keep: bool
    version: str
    log: Callable[[str], None] = field(repr=False)

    def prepare(self, spec: DataSpec, load: Loader, *, will_change: bool) -> Prepared:
        """The data set, untouched: the pristine database itself, or a fresh copy of it when it `will_change`."""
        began = time.monotonic()
        digest = spec.fingerprint
        pristine = PREFIX + digest
        detail: dict[str, Any] = {"kind": "database"}
        with self.admin.session(DOING_PREPARE_THE_DATA_SET(), during="prepare") as connection:
            how = self._pristine(connection, pristine, digest, load, detail)
            database = pristine
            if will_change:
                database = f"{pristine}_{self.owner.tag}"
                self._copy(connection, pristine, database, digest, detail)
                how = "loaded" if how == "loaded" else "restored"
            detail["checkpoint_s"] = checkpoint(connection)
            size = self._size(connection, database)
        detail["database"] = database
        data_set = DataSet(digest, how, time.monotonic() - began, size, **detail)
        return Prepared(data_set, database)

    def _pristine(
        self, connection: Connection[Any], name: str, digest: str, load: Loader, detail: dict[str, Any]
    ) -> str:
        mark = self._mark(connection, name)
        if mark is not None and mark.state == "ready":
            self._set_mark(connection, name, mark.now("ready", owner=self.owner, keep=self.keep))
            return "reused"
        if mark is not None:
            self.log(f"database {name} was left half loaded: making it again")
            self._drop(connection, name, force=self.managed)
        began = time.monotonic()
        self._create(connection, name, "template0")
        mark = Mark("loading", digest, self.owner, keep=self.keep, loadcell=self.version)
        self._set_mark(connection, name, mark)
        rows_loaded = load(self.load.endpoint(name))
        self._set_mark(connection, name, mark.now("ready"))
        detail["load_s"] = time.monotonic() - began
        detail["rows"] = rows_loaded
        return "loaded"

    def _copy(
        self, connection: Connection[Any], pristine: str, copy: str, digest: str, detail: dict[str, Any]
    ) -> None:
        began = time.monotonic()
        if self._mark(connection, copy) is not None:
            self._drop(connection, copy, force=True)
        self._create(connection, copy, pristine)
        # `changed` at once: it is handed to a workload that changes it, and nobody else is to take it for
        # pristine.
        mark = Mark("changed", digest, self.owner, pristine=False, keep=False, loadcell=self.version)
        self._set_mark(connection, copy, mark)
        detail.update(
            method="file copy", copy_s=time.monotonic() - began, copied_bytes=self._size(connection, pristine)
        )

    def _mark(self, connection: Connection[Any], name: str) -> Mark | None:
        """The mark of a database; None when there is no such database. Refuses one without a mark."""
        row = connection.execute(
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

    def _set_mark(self, connection: Connection[Any], name: str, mark: Mark) -> None:
        from psycopg.sql import SQL, Identifier, Literal

        connection.execute(SQL("COMMENT ON DATABASE {} IS {}").format(Identifier(name), Literal(mark.text())))

    def _create(self, connection: Connection[Any], name: str, template: str) -> None:
        import psycopg
        from psycopg.sql import SQL, Identifier

        statement = SQL("CREATE DATABASE {} TEMPLATE {}").format(Identifier(name), Identifier(template))
        if self.managed:
            statement += SQL(" OWNER {}").format(Identifier(self.load.user))
        # Copying files and syncing them costs less than sending every page through the log. (Cloning by the
        # file system would be free here, and be paid for by the first writes of the trial.)
        if template != "template0" and connection.info.server_version >= 150000:
            statement += SQL(" STRATEGY FILE_COPY")
        if self.managed:
            self._end_sessions(connection, template)
        deadline = time.monotonic() + _LEAVE_LIMIT_S
        while True:
            try:
                connection.execute(statement)
                return
            except psycopg.Error as error:
                if error.sqlstate == _IN_USE and time.monotonic() < deadline:
                    time.sleep(_PAUSE_S)
                    continue
                if error.sqlstate == _IN_USE:
                    raise self._in_use(connection, template) from error
                if error.sqlstate == _DUPLICATE:
                    raise TargetError(POSTGRES_DATABASE_BEING_MADE(name=name), during="prepare") from error
                raise not_done(error, DOING_CREATE_DATABASE(name=name)) from error

    def _drop(self, connection: Connection[Any], name: str, *, force: bool) -> None:
        import psycopg
        from psycopg.sql import SQL, Identifier

        deadline = time.monotonic() + _LEAVE_LIMIT_S
        while True:
            if force:
                self._end_sessions(connection, name)
            try:
                connection.execute(SQL("DROP DATABASE IF EXISTS {}").format(Identifier(name)))
                return
            except psycopg.Error as error:
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
        import psycopg

        try:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()",
                [name],
            )
        except psycopg.errors.InsufficientPrivilege:
            self.log(f"sessions of other users are in database {name}")

    def _size(self, connection: Connection[Any], name: str) -> int:
        row = connection.execute("SELECT pg_database_size(%s::name)", [name]).fetchone()
        return int(row[0]) if row else 0

    def sweep(self) -> None:
        """Drop what this run made and what dead runs left behind, save what is to be kept.

        Logs what it cannot drop.
        """
        with self.admin.session(DOING_DROP_DATA_SETS(), during="cleanup") as connection:
            rows = connection.execute(
                "SELECT datname, shobj_description(oid, 'pg_database') FROM pg_database WHERE starts_with(datname, %s)",
                [PREFIX],
            ).fetchall()
            for name, comment in rows:
                mark = parse(comment)
                if mark is None or not self._to_go(mark):
                    continue
                try:
                    self._drop(connection, name, force=self.managed or mark.owner.same_run(self.owner))
                except TargetError as error:
                    self.log(f"left the database {name} behind: {error.finding}")

    def _to_go(self, mark: Mark) -> bool:
        done = mark.state == "ready" and mark.pristine
        if mark.owner.same_run(self.owner):
            return not (self.keep and done)
        # OpenLoopResult by an earlier run. In a directory of our own, only what the last run used is worth
        # its room.
        if mark.keep and done:
            return self.managed
        return self.managed or mark.owner.surely_dead()


def checkpoint(connection: Connection[Any]) -> float | None:
    """Write out what preparing left dirty, so that trials start equal: seconds it took, None when not
    permitted.
    """
    import psycopg

    began = time.monotonic()
    try:
        connection.execute("CHECKPOINT")
    except psycopg.errors.InsufficientPrivilege:
        return None
    return time.monotonic() - began
