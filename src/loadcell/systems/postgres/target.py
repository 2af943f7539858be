"""The PostgreSQL target: brings the parts of this package together."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loadcell import __version__
from loadcell.linux import file_system
from loadcell.model.message import Message
from loadcell.plan.parts import Advice
from loadcell.systems.base import DataSet, Loader, Target, TargetContext, TargetError
from loadcell.systems.messages import (
    DOING_ASK_THE_VERSION,
    DOING_CHECK_THE_DATA,
    DOING_FIND_THE_PROCESS,
    DOING_READ_COUNTERS,
    DOING_READ_SETTINGS,
    SERVER_PRODUCT_TOO_OLD,
    TARGET_NOT_UP,
)
from loadcell.systems.postgres import advice, binaries, counters, settings
from loadcell.systems.postgres.cluster import ROLE, Cluster
from loadcell.systems.postgres.connection import NONE_LEFT, Address, external
from loadcell.systems.postgres.databases import Databases, Prepared
from loadcell.systems.postgres.messages import DOING_ASK_FOR_PERMISSIONS, DOING_MAKE_THE_ROLE
from loadcell.systems.postgres.observed import Observed
from loadcell.systems.postgres.options import OLDEST, PostgresOptions
from loadcell.systems.postgres.schema import Schema
from loadcell.systems.postgres.server import Server
from loadcell.systems.shared import account
from loadcell.systems.shared.disk_image import Image, MountedImage
from loadcell.systems.shared.ownership import Owner

if TYPE_CHECKING:
    from psycopg import Connection

_ALIVE_LIMIT_S = 3
#: No statement that administers is worth a line in the trial's log, least of all one with a password's digest in it.
_QUIETLY = (
    "-c log_statement=none -c log_min_duration_statement=-1 -c statement_timeout=0 -c synchronous_commit=on"
)


class Postgres(Target[PostgresOptions]):
    """PostgreSQL: embedded, from this machine, or standing elsewhere."""

    name = "postgres"
    summary = "PostgreSQL: embedded, local, or external"
    Options = PostgresOptions

    def __init__(self, options: PostgresOptions, context: TargetContext) -> None:
        super().__init__(options, context)
        self._server: Server | None = None
        self._password: str | None = None
        self._external: Address | None = None
        self._prepared: Prepared | None = None
        self._served = False
        self._touched = False

    # -- life ---------------------------------------------------------------------------------------------------

    def up(self) -> None:
        if self.options.server == "external":
            self._reach()
            return
        server = self._server or self._make()
        # One that was killed a moment ago may still be a process; one that hangs is.
        if server.running and ((self.options.fresh and self._served) or not self.alive()):
            server.stop()
        if not server.running:
            self._start(server)

    def _make(self) -> Server:
        options = self.options
        who = account.choose(options.run_as, product="PostgreSQL", kind="postgres", pin=self.context.pin)
        if options.server == "embedded":
            found = binaries.embedded(options.version)
        else:
            found = binaries.local(options.binaries, options.version)
        found = binaries.usable_by(found, who)
        cluster = Cluster(self._parent(), found, who, self.context.log, lasting=options.keep_data)
        given = {
            name: self.context.secret(value) if isinstance(value, str) else value
            for name, value in options.settings.items()
        }
        self._server = Server(cluster, given, self.context.work / "socket", self.context.log)
        return self._server

    def _parent(self) -> Path:
        """The directory in which the data directory is made."""
        data = self.options.data
        if isinstance(data, Image):
            return MountedImage(data, self.context.work).mount
        return Path(data).expanduser().absolute() if data else self.context.work

    def _start(self, server: Server) -> None:
        from psycopg.sql import SQL, Identifier, Literal

        server.stop()  # what is left of one that died
        if isinstance(self.options.data, Image):
            MountedImage(self.options.data, self.context.work).make()
        server.cluster.make()
        server.start()
        self._password = secrets.token_urlsafe(24)
        try:
            with self._administer(DOING_MAKE_THE_ROLE(), "up") as connection:
                there = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [ROLE]).fetchone()
                verb = "ALTER" if there else "CREATE"
                connection.execute(
                    SQL(verb + " ROLE {} LOGIN PASSWORD {}").format(
                        Identifier(ROLE), Literal(scram_verifier(self._password))
                    )
                )
        except BaseException:
            server.stop()
            raise
        self._served = False

    def _reach(self) -> None:
        if self._external is None:
            options, reveal = self.options, self.context.secret
            assert options.dsn is not None
            self._external = external(
                reveal(options.dsn),
                password=reveal(options.password) if options.password else None,
                database=options.database,
                sslmode=options.sslmode,
                sslrootcert=options.sslrootcert,
            )
        with self._external.session(DOING_ASK_THE_VERSION(), during="up") as connection:
            version = connection.info.server_version
            if version < OLDEST * 10000:
                shown = connection.info.parameter_status("server_version")
                raise TargetError(
                    SERVER_PRODUCT_TOO_OLD(
                        where=self._external.where,
                        product="PostgreSQL",
                        version=shown,
                        oldest=OLDEST,
                    )
                )

    def down(self) -> None:
        if self._server is not None:
            self._server.stop()

    def destroy(self) -> None:
        try:
            if self.options.server == "external":
                if self._external is not None and self._touched:
                    self._place().sweep()
                return
            if self._server is None:
                return
            if self.options.keep_data:
                if self._touched and self._server.cluster.made:
                    self.up()
                    self._place().sweep()
                self._server.stop()
            else:
                self._server.stop()
                self._server.cluster.remove()
                if isinstance(self.options.data, Image):
                    MountedImage(self.options.data, self.context.work).remove()
        except TargetError as error:
            self.context.log(f"cannot clean up: {error.finding}: {error.advice}")
            self.down()

    # -- data ---------------------------------------------------------------------------------------------------

    def prepare(self, data: dict[str, Any], load: Loader, *, will_change: bool) -> DataSet:
        self._touched = True
        self._prepared = self._place().prepare(data, load, will_change=will_change)
        done = self._prepared.data_set
        if self.options.fresh and done.how == "loaded" and self._server is not None:
            # Loading filled the shared buffers, and later trials will find them empty.
            self._server.stop()
            self._start(self._server)
        self._served = True
        return done

    def _place(self) -> Databases | Schema:
        owner = Owner.of(self.context.work)
        keep, log = self.options.keep_data, self.context.log
        if self._server is not None:
            return Databases(self._admin(), self._load_address(), True, owner, keep, __version__, log)
        address = self._load_address()
        with address.session(DOING_ASK_FOR_PERMISSIONS(), during="prepare") as connection:
            may = connection.execute(
                "SELECT rolcreatedb OR rolsuper FROM pg_roles WHERE rolname = current_user"
            ).fetchone()
        if may and may[0]:
            return Databases(address, address, False, owner, keep, __version__, log)
        return Schema(address, owner, keep, __version__, log)

    # -- asked by the runner ------------------------------------------------------------------------------------

    def endpoint(self) -> dict[str, Any]:
        prepared = self._prepared
        return self._load_address().endpoint(
            prepared.database if prepared else None, prepared.options if prepared else None
        )

    def describe(self) -> dict[str, Any]:
        # As any client would see them: what administers quietly has settings of its own.
        with self._admin().session(DOING_READ_SETTINGS(), during="collect", options=None) as connection:
            record: dict[str, Any] = {
                "server": self.options.server,
                "version": connection.info.parameter_status("server_version"),
                "version_number": connection.info.server_version,
                "settings": settings.read_back(connection, self.options.settings),
                "tls": connection.pgconn.ssl_in_use,
            }
            if self._prepared is not None:
                record["database"] = _database(connection, self._prepared.database)
            at = self._data_directory(connection)
        if self._server is not None:
            cluster = self._server.cluster
            record["binaries"] = str(cluster.binaries.directory)
            record["run_as"] = cluster.account.name
            record["connect"] = self.options.connect
            record["size_bytes"] = file_system.used_bytes(cluster.pgdata)
        else:
            record["host"] = self._load_address().host
        record["data"] = file_system.file_system(at) if at is not None else None
        return record

    def _data_directory(self, connection: Connection[Any]) -> Path | None:
        """Where the server's data lies, if that is on this machine and we may know."""
        if self._server is not None:
            return self._server.cluster.pgdata
        if not self.processes():
            return None
        row = connection.execute("SELECT setting FROM pg_settings WHERE name = 'data_directory'").fetchone()
        at = Path(row[0]) if row and row[0] else None
        return at if at is not None and os.access(at.parent, os.X_OK) else None

    def processes(self) -> list[int]:
        if self._server is not None:
            pid = self._server.pid
            return [] if pid is None else [pid]
        address = self._external
        if address is None or not (address.socket or address.host in ("localhost", "127.0.0.1", "::1")):
            return []
        try:
            with address.session(
                DOING_FIND_THE_PROCESS(), during="collect", limit_s=_ALIVE_LIMIT_S
            ) as connection:
                return _postmaster_of(connection)
        except TargetError:
            return []

    def observed(self) -> Observed:
        admin = self._admin()
        database = self._prepared.database if self._prepared else self._load_address().database
        own = self._server is not None
        return Observed(admin, database, own, _QUIETLY if own else None)

    def alive(self) -> bool:
        if self.options.server != "external" and (self._server is None or not self._server.running):
            return False
        try:
            self._admin().connect(limit_s=_ALIVE_LIMIT_S).close()
        except TargetError as error:
            return error.message.code in NONE_LEFT  # it answered, after all
        return True

    def counters(self) -> dict[str, int]:
        database = self._prepared.database if self._prepared else self._admin().database
        with self._administer(DOING_READ_COUNTERS()) as connection:
            return counters.read(connection, database, self._load_address().user)

    def ask(self, question: str) -> list[tuple[Any, ...]]:
        prepared = self._prepared
        with self._load_address().session(
            DOING_CHECK_THE_DATA(),
            during="verify",
            database=prepared.database if prepared else None,
            options=prepared.options if prepared else None,
        ) as connection:
            return connection.execute(question.encode()).fetchall()

    # -- connections --------------------------------------------------------------------------------------------

    def _admin(self) -> Address:
        return self._server.admin() if self._server is not None else self._load_address()

    def _administer(self, doing: Message, during: str = "collect") -> AbstractContextManager[Connection[Any]]:
        options = _QUIETLY if self._server is not None else None
        return self._admin().session(doing, during=during, options=options)

    def _load_address(self) -> Address:
        if self._server is not None:
            return self._server.address(ROLE, self._password, "postgres", self.options.connect)
        if self._external is None:
            raise TargetError(TARGET_NOT_UP())
        return self._external

    @classmethod
    def advice(cls, options: PostgresOptions, load: dict[str, Any]) -> list[Advice]:
        return advice.remarks(options, load)


def scram_verifier(password: str, salt: Callable[[int], bytes] = secrets.token_bytes) -> str:
    """What the server stores of a password, so that the password itself is in no statement (RFC 5802, RFC 7677)."""
    rounds, grain = 4096, salt(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), grain, rounds)
    client = hmac.digest(salted, b"Client Key", "sha256")
    server = hmac.digest(salted, b"Server Key", "sha256")
    words = [base64.b64encode(part).decode() for part in (grain, hashlib.sha256(client).digest(), server)]
    return f"SCRAM-SHA-256${rounds}:{words[0]}${words[1]}:{words[2]}"


def _database(connection: Connection[Any], name: str) -> dict[str, Any]:
    row = connection.execute(
        "SELECT pg_encoding_to_char(encoding), datcollate, datctype, pg_database_size(oid) "
        "FROM pg_database WHERE datname = %s",
        [name],
    ).fetchone()
    if row is None:
        return {"name": name}
    return {"name": name, "encoding": row[0], "collation": row[1], "ctype": row[2], "size_bytes": int(row[3])}


def _postmaster_of(connection: Connection[Any]) -> list[int]:
    """The postmaster's process id, if the server process behind this connection is one of this machine.

    A port may be forwarded from elsewhere, where the same number is another process: the title of ours
    must name the port we connected from.
    """
    import socket

    row = connection.execute("SELECT pg_backend_pid()").fetchone()
    assert row is not None
    try:
        title = Path(f"/proc/{row[0]}/cmdline").read_bytes().decode("utf-8", "replace")
        with socket.socket(fileno=os.dup(connection.fileno())) as ours:
            mine = "[local]" if ours.family == socket.AF_UNIX else f"({ours.getsockname()[1]})"
        if not title.startswith("postgres:") or mine not in title:
            return []
        return [int(Path(f"/proc/{row[0]}/stat").read_text().rpartition(")")[2].split()[1])]
    except (OSError, ValueError, IndexError):
        return []


PART = Postgres
