"""The target of MariaDB and MySQL: brings the parts of this package together."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loadcell import __version__
from loadcell.linux import file_system
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
from loadcell.systems.mysql import advice, binaries, counters, settings
from loadcell.systems.mysql.connection import NONE_LEFT, Address, external, rows
from loadcell.systems.mysql.databases import Databases, Prepared
from loadcell.systems.mysql.directory import DataDirectory
from loadcell.systems.mysql.options import MysqlOptions
from loadcell.systems.mysql.server import Server
from loadcell.systems.shared import account
from loadcell.systems.shared.ownership import Owner

if TYPE_CHECKING:
    from loadcell.systems.mysql.connection import Connection

_ALIVE_LIMIT_S = 3
#: The oldest servers whose SQL the workloads speak.
_OLDEST = {"MariaDB": (10, 5), "MySQL": (8, 0)}


class Mysql(Target[MysqlOptions]):
    """MariaDB from this machine, or MariaDB or MySQL standing elsewhere."""

    name = "mysql"
    summary = "MariaDB and MySQL: local (MariaDB), or external"
    Options = MysqlOptions

    def __init__(self, options: MysqlOptions, context: TargetContext) -> None:
        super().__init__(options, context)
        self._server: Server | None = None
        self._external: Address | None = None
        self._named: str | None = None
        self._prepared: Prepared | None = None
        self._touched = False

    # -- life -------------------------------------------------------------------------------------------------------

    def up(self) -> None:
        if self.options.server == "external":
            self._reach()
            return
        server = self._server or self._make()
        # One that was killed a moment ago may still be a process; one that hangs is.
        if server.running and not self.alive():
            server.stop()
        if not server.running:
            server.stop()  # what is left of one that died
            server.directory.make()
            server.start()

    def _make(self) -> Server:
        options = self.options
        who = account.choose(options.run_as, product="MariaDB", kind="mysql", pin=self.context.pin)
        found = binaries.find(options.binaries)
        parent = Path(options.data).expanduser().absolute() if options.data else self.context.work
        given = {
            name: self.context.secret(value) if isinstance(value, str) else value
            for name, value in options.settings.items()
        }
        directory = DataDirectory(parent, found, who, given, self.context.log)
        self._server = Server(directory, given, self.context.work / "socket", self.context.log)
        return self._server

    def _reach(self) -> None:
        if self._external is None:
            options, reveal = self.options, self.context.secret
            assert options.url is not None
            self._external, self._named = external(
                reveal(options.url),
                password=reveal(options.password) if options.password else None,
                sslmode=options.sslmode,
                sslrootcert=options.sslrootcert,
            )
        with self._external.session(DOING_ASK_THE_VERSION(), during="up") as connection:
            product, version = _version(connection)
        oldest = _OLDEST[product]
        if tuple(int(part) for part in version.split(".")[:2]) < oldest:
            raise TargetError(
                SERVER_PRODUCT_TOO_OLD(
                    where=self._external.where,
                    product=product,
                    version=version,
                    oldest=f"{oldest[0]}.{oldest[1]}",
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
                if self._touched and self._server.directory.made:
                    self.up()
                    self._place().sweep()
                self._server.stop()
            else:
                self._server.stop(quickly=True)
                self._server.directory.remove()
        except TargetError as error:
            self.context.log(f"cannot clean up: {error.finding}: {error.advice}")
            self.down()

    # -- data -------------------------------------------------------------------------------------------------------

    def prepare(self, data: dict[str, Any], load: Loader, *, will_change: bool) -> DataSet:
        self._touched = True
        self._prepared = self._place().prepare(data, load, will_change=will_change)
        return self._prepared.data_set

    def _place(self) -> Databases:
        owner = Owner.of(self.context.work)
        keep, log = self.options.keep_data, self.context.log
        return Databases(
            self._admin, self._load_address, self._named, self._server, owner, keep, __version__, log
        )

    # -- asked by the runner ----------------------------------------------------------------------------------------

    def endpoint(self) -> dict[str, Any]:
        return self._load_address().endpoint(self._prepared.database if self._prepared else self._named or "")

    def describe(self) -> dict[str, Any]:
        with self._admin().session(DOING_READ_SETTINGS(), during="collect") as connection:
            product, version = _version(connection)
            shown = {str(name): str(value) for name, value in rows(connection, "SHOW GLOBAL VARIABLES")}
            record: dict[str, Any] = {
                "server": self.options.server,
                "product": product,
                "version": version,
                "version_comment": shown.get("version_comment"),
                "settings": settings.read_back(shown, self.options.settings),
                "tls": bool(rows(connection, "SHOW SESSION STATUS LIKE 'Ssl_cipher'")[0][1]),
            }
            if self._prepared is not None:
                record["database"] = _database(connection, self._prepared.database)
        at = Path(shown["datadir"]) if self.processes() and "datadir" in shown else None
        if self._server is not None:
            directory = self._server.directory
            record["binaries"] = str(directory.binaries.server)
            record["run_as"] = directory.account.name
            record["connect"] = self.options.connect
            record["size_bytes"] = file_system.used_bytes(directory.data)
        else:
            record["host"] = self._load_address().host
            at = at if at is not None and os.access(at.parent, os.X_OK) else None
        record["data"] = file_system.file_system(at) if at is not None else None
        return record

    def processes(self) -> list[int]:
        if self._server is not None:
            pid = self._server.pid
            return [] if pid is None else [pid]
        if self._external is None or not self._external.here:
            return []
        try:
            with self._external.session(
                DOING_FIND_THE_PROCESS(), during="collect", limit_s=_ALIVE_LIMIT_S
            ) as connection:
                found = rows(connection, "SELECT @@pid_file, @@datadir")
        except TargetError:
            return []
        return _process(*found[0])

    def alive(self) -> bool:
        if self.options.server != "external" and (self._server is None or not self._server.running):
            return False
        try:
            self._admin().connect(limit_s=_ALIVE_LIMIT_S).close()
        except TargetError as error:
            return error.message.code in NONE_LEFT  # it answered, after all
        return True

    def counters(self) -> dict[str, int]:
        with self._admin().session(DOING_READ_COUNTERS(), during="collect") as connection:
            return counters.read(
                {str(name): str(value) for name, value in rows(connection, "SHOW GLOBAL STATUS")}
            )

    def ask(self, question: str) -> list[tuple[Any, ...]]:
        database = self._prepared.database if self._prepared else None
        with self._load_address().session(
            DOING_CHECK_THE_DATA(), during="verify", database=database
        ) as connection:
            return rows(connection, question)

    # -- connections ------------------------------------------------------------------------------------------------

    def _admin(self) -> Address:
        return self._server.admin() if self._server is not None else self._load_address()

    def _load_address(self) -> Address:
        if self._server is not None:
            return self._server.load(self.options.connect)
        if self._external is None:
            raise TargetError(TARGET_NOT_UP())
        return self._external

    @classmethod
    def advice(cls, options: MysqlOptions, load: dict[str, Any]) -> list[Advice]:
        return advice.remarks(options, load)


def _version(connection: Connection) -> tuple[str, str]:
    """The product, and its version (`10.11.19`)."""
    said = str(rows(connection, "SELECT version()")[0][0])
    return "MariaDB" if "mariadb" in said.lower() else "MySQL", said.split("-")[0]


def _database(connection: Connection, name: str) -> dict[str, Any]:
    found = rows(
        connection,
        "SELECT s.default_character_set_name, s.default_collation_name, COALESCE(SUM(t.data_length + t.index_length), 0) "
        "FROM information_schema.schemata s LEFT JOIN information_schema.tables t ON t.table_schema = s.schema_name "
        "WHERE s.schema_name = %s GROUP BY 1, 2",
        [name],
    )
    if not found:
        return {"name": name}
    encoding, collation, size = found[0]
    return {"name": name, "encoding": encoding, "collation": collation, "size_bytes": int(size)}


def _process(pid_file: str, data: str) -> list[int]:
    """The process id that the server wrote down, if that is one of this machine.

    A port may be forwarded from elsewhere, where the same number is another process: ours works in its data directory.
    """
    try:
        at = Path(pid_file) if pid_file.startswith("/") else Path(data) / pid_file
        pid = int(at.read_text())
        if Path(f"/proc/{pid}/cwd").resolve(strict=True) != Path(data).resolve():
            return []
        return [pid]
    except (OSError, ValueError):
        return []


PART = Mysql
