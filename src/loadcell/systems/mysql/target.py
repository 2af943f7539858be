"""MariaDB as a package or from this machine, or a running MariaDB or MySQL."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loadcell.linux import procfs
from loadcell.model.extensions import DATABASES, MYSQL
from loadcell.plan.data_size import Cache, Questions
from loadcell.systems.base import DatabaseUrl, Execute, ServerEndpoint, TargetError
from loadcell.systems.mysql import statements
from loadcell.systems.mysql.changed_settings import changed_settings
from loadcell.systems.mysql.connection import ANSWERED, MYSQL_STATISTICS, Address, Observed, external, rows
from loadcell.systems.mysql.databases import Databases
from loadcell.systems.mysql.options import (
    RECORDED,
    RESERVED,
    MysqlOptions,
    data_cache,
    remarks,
    too_many_clients,
)
from loadcell.systems.mysql.server import (
    PACKAGES,
    USER,
    DataDirectory,
    Server,
    chosen_binaries,
    unknown_settings,
)
from loadcell.systems.server import ALIVE_LIMIT_S, DatabaseFacts, ServerFacts, ServerTarget
from loadcell.systems.server_options import Setting, read_back
from loadcell.systems.shared import account
from loadcell.systems.shared.owner import Owner
from loadcell.systems.shared.server_errors import (
    DOING_ASK_THE_VERSION,
    DOING_CHECK_THE_DATA,
    DOING_EXECUTE_STATEMENTS,
    DOING_EXPLAIN_STATEMENTS,
    DOING_FIND_THE_PROCESS,
    DOING_READ_COUNTERS,
    DOING_READ_SETTINGS,
    DOING_RESET_STATISTICS,
    SERVER_PRODUCT_TOO_OLD,
)

if TYPE_CHECKING:
    from loadcell.model.trial_record import PlanRecord
    from loadcell.plan.workload import StatementText
    from loadcell.systems.mysql.connection import Connection

#: The oldest servers whose SQL the workloads use.
_OLDEST = {"MariaDB": (10, 5), "MySQL": (8, 0)}

#: Counters under the names that the checks use, which are PostgreSQL's, and the status variables that are
#: summed.
_COUNTERS: dict[str, tuple[str, ...]] = {
    "xact_commit": ("Com_commit",),
    "xact_rollback": ("Com_rollback",),
    # Each of these is a transaction where none is open.
    "statements": ("Com_select", "Com_insert", "Com_update", "Com_delete"),
    "tup_inserted": ("Handler_write",),
    "tup_updated": ("Handler_update",),
    "tup_deleted": ("Handler_delete",),
    "tup_fetched": ("Rows_read",),
    "tup_returned": ("Rows_sent",),
    "blks_read": ("Innodb_buffer_pool_reads",),
    "blks_hit": ("Innodb_buffer_pool_read_requests",),
    "deadlocks": ("Innodb_deadlocks",),
    "wal_bytes": ("Innodb_os_log_written",),
}


@dataclass(frozen=True, kw_only=True)
class MysqlFacts(ServerFacts):
    """Facts of a MariaDB or MySQL."""

    version_comment: str | None


class Mysql(ServerTarget[MysqlOptions, Server, Address]):
    """MariaDB as a package or from this machine, or an existing MariaDB or MySQL."""

    name = "mysql"
    summary = "MariaDB and MySQL: embedded or local (MariaDB), or external"
    Options = MysqlOptions
    offers = frozenset({MYSQL, DATABASES, MYSQL_STATISTICS})
    database_url = DatabaseUrl(("mysql",), "url", "MYSQL_PWD", aliases=("mariadb",))
    answered_codes = ANSWERED
    knows_users_of_socket = True
    size_questions = Questions(
        "SELECT SUM(data_length + index_length) FROM information_schema.tables "
        "WHERE table_schema = DATABASE()",
        "SELECT @@innodb_buffer_pool_size",
    )
    remarks = staticmethod(remarks)
    too_many_clients = staticmethod(too_many_clients)
    repository = PACKAGES
    #: the database that the URL of an external server names
    _named_database: str | None = None

    @classmethod
    def cache(cls, options: MysqlOptions) -> Cache | None:
        return data_cache(options)

    @staticmethod
    def check_programs(options: MysqlOptions) -> None:
        chosen_binaries(options)

    @staticmethod
    def unknown_settings(options: MysqlOptions) -> Mapping[str, str | None]:
        return unknown_settings(chosen_binaries(options), options.settings)

    def _make_server(self, parent: Path, settings: Mapping[str, Setting], sockets: Path) -> Server:
        user = account.choose(self.options.run_as, product="MariaDB", kind="mysql", pin=self.context.pin)
        programs = chosen_binaries(self.options)
        directory = DataDirectory(parent, programs, user, settings, self.context.log)
        return Server("mariadbd", directory, settings, sockets, self.context.log)

    def _managed_address(self, server: Server) -> Address:
        return server.address(USER, self.options.connect)

    def _external_address(self) -> Address:
        options, reveal = self.options, self.context.secret
        assert options.url is not None
        address, self._named_database = external(
            reveal(options.url),
            password=reveal(options.password) if options.password else None,
            sslmode=options.sslmode,
            sslrootcert=options.certificates,
        )
        return address

    def _check_external(self, address: Address) -> None:
        with address.session(DOING_ASK_THE_VERSION(), during="up") as connection:
            product, version = _version(connection)
        oldest = _OLDEST[product]
        if tuple(int(part) for part in version.split(".")[:2]) < oldest:
            raise TargetError(
                SERVER_PRODUCT_TOO_OLD(
                    where=address.where,
                    product=product,
                    version=version,
                    oldest=f"{oldest[0]}.{oldest[1]}",
                )
            )

    def _data_sets(self) -> Databases:
        return Databases(
            admin=self._admin,
            load=self._load_address,
            named=self._named_database,
            server=self._server,
            managed=self._server is not None,
            owner=Owner.of(self.context.work),
            keep=self.options.keep_data,
            log=self.context.log,
        )

    @property
    def _database(self) -> str | None:
        """The database of the data set, once it is prepared."""
        return self._prepared.database if self._prepared else None

    def endpoint(self) -> ServerEndpoint:
        return self._load_address().endpoint(self._database or self._named_database or "")

    def _facts(self) -> tuple[MysqlFacts, Path | None]:
        with self._admin().session(DOING_READ_SETTINGS(), during="collect") as connection:
            product, version = _version(connection)
            effective = {
                str(name): str(value)
                for name, value in rows(connection, "SHOW GLOBAL VARIABLES")
                if name not in RESERVED or name == "datadir"
            }
            data = effective.pop("datadir", None)
            changed = changed_settings(connection, product, effective)
            facts = MysqlFacts(
                server=self.options.server,
                product=product,
                version=version,
                version_comment=effective.get("version_comment"),
                settings=read_back(effective, self.options.settings, {*RECORDED, *changed}),
                tls=bool(rows(connection, "SHOW SESSION STATUS LIKE 'Ssl_cipher'")[0][1]),
                database=None if self._database is None else _database_facts(connection, self._database),
                binaries=None if self._server is None else str(self._server.directory.binaries.server),
                package=None if self._server is None else self._server.directory.binaries.package,
            )
        path = Path(data) if data is not None and self.processes() else None
        return facts, path if path is not None and os.access(path.parent, os.X_OK) else None

    def _external_processes(self, address: Address) -> list[int]:
        with address.session(DOING_FIND_THE_PROCESS(), during="collect", limit_s=ALIVE_LIMIT_S) as connection:
            [(pid_file, data)] = rows(connection, "SELECT @@pid_file, @@datadir")
        return _process(pid_file, data)

    def observed(self) -> Observed:
        return Observed(self._admin(), self._database or self._named_database or "")

    def counters(self) -> dict[str, int]:
        """Counters of all databases; they include what connections that are still open have done."""
        with self._admin().session(DOING_READ_COUNTERS(), during="collect") as connection:
            status = {str(name): str(value) for name, value in rows(connection, "SHOW GLOBAL STATUS")}
        return {
            name: sum(int(status[part]) for part in parts)
            for name, parts in _COUNTERS.items()
            if all(part in status for part in parts)
        }

    def ask(self, question: str) -> list[tuple[Any, ...]]:
        with self._load_address().session(
            DOING_CHECK_THE_DATA(), during="verify", database=self._database
        ) as connection:
            return rows(connection, question)

    @contextmanager
    def sql_session(self, during: str) -> Iterator[Execute]:
        with self._load_address().session(
            DOING_EXECUTE_STATEMENTS(), during=during, database=self._database or self._named_database
        ) as connection:
            yield lambda statement, doing: statements.execute(connection, statement, doing, during)

    def explain(self, transactions: Sequence[Sequence[StatementText]]) -> list[PlanRecord]:
        with self._load_address().session(
            DOING_EXPLAIN_STATEMENTS(), during="collect", database=self._database or self._named_database
        ) as connection:
            return statements.explain(connection, transactions)

    def reset_statistics(self) -> list[str]:
        with self._admin().session(DOING_RESET_STATISTICS(), during="prepare") as connection:
            return statements.reset_statistics(connection)


def _version(connection: Connection) -> tuple[str, str]:
    """The product, and its version (`10.11.19`)."""
    text = str(rows(connection, "SELECT version()")[0][0])
    return "MariaDB" if "mariadb" in text.lower() else "MySQL", text.split("-")[0]


def _database_facts(connection: Connection, name: str) -> DatabaseFacts:
    facts = rows(
        connection,
        "SELECT s.default_character_set_name, s.default_collation_name, COALESCE(SUM(t.data_length + "
        "t.index_length), 0) FROM information_schema.schemata s LEFT JOIN information_schema.tables t ON "
        "t.table_schema = s.schema_name WHERE s.schema_name = %s GROUP BY 1, 2",
        [name],
    )
    if not facts:
        return DatabaseFacts(name)
    encoding, collation, size = facts[0]
    return DatabaseFacts(name, encoding, collation, size_bytes=int(size))


def _process(pid_file: str, data: str) -> list[int]:
    """The process id that the server wrote, if it is one of this machine and works in the data directory.

    A port may be forwarded from elsewhere, where the same number is another process.
    """
    try:
        path = Path(pid_file) if pid_file.startswith("/") else Path(data) / pid_file
        pid = int(path.read_text())
    except (OSError, ValueError):
        return []
    return [pid] if procfs.link(pid, "cwd") == Path(data).resolve() else []


PART = Mysql
