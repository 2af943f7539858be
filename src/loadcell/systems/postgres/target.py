"""PostgreSQL: embedded, from this machine, or an existing server."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loadcell.model.extensions import DATABASES, POSTGRES
from loadcell.model.message import Message, MessageCode
from loadcell.monitors.numbered_writes import NUMBERED_WRITES
from loadcell.plan.data_size import Cache, Questions
from loadcell.systems.base import (
    DatabaseUrl,
    DataSet,
    DataSpec,
    Execute,
    Loader,
    Role,
    Secret,
    ServerEndpoint,
    TargetError,
)
from loadcell.systems.postgres import binaries, driver, processes, shared_memory, statements
from loadcell.systems.postgres.connection import (
    ANSWERED,
    FAULT_APPLICATION,
    POSTGRES_STATISTICS,
    Address,
    Observed,
    external,
)
from loadcell.systems.postgres.counters import read_counters
from loadcell.systems.postgres.databases import Databases, Schema
from loadcell.systems.postgres.numbered_writes import PostgresWrites
from loadcell.systems.postgres.options import (
    OLDEST,
    PostgresOptions,
    data_cache,
    read_back,
    remarks,
    too_many_clients,
)
from loadcell.systems.postgres.scram import scram_verifier
from loadcell.systems.postgres.server import ROLE, DataDirectory, Server
from loadcell.systems.postgres.standbys import ReplicatedDirectory, Standbys, check_version
from loadcell.systems.server import ALIVE_LIMIT_S, DatabaseFacts, ServerFacts, ServerTarget
from loadcell.systems.server_options import Setting
from loadcell.systems.shared import account
from loadcell.systems.shared.data_sets import DataSets
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
from loadcell.systems.subjects import RunStatement, Subject, SubjectAbilities

if TYPE_CHECKING:
    from psycopg import Connection

    from loadcell.model.trial_record import PlanRecord
    from loadcell.plan.workload import StatementText

DOING_ASK_FOR_PERMISSIONS = MessageCode("doing.ask-for-permissions")
DOING_MAKE_THE_ROLE = MessageCode("doing.make-the-role")

#: Session options of administration: its statements, one of which has a password's digest, stay out of the
#: trial's log.
_QUIET = (
    "-c log_statement=none -c log_min_duration_statement=-1 -c statement_timeout=0 -c synchronous_commit=on"
)
#: Session options of faults: without a time limit of statements.
_FAULT = "-c statement_timeout=0 -c idle_in_transaction_session_timeout=0"


@dataclass(frozen=True, kw_only=True)
class PostgresFacts(ServerFacts):
    """Facts of a PostgreSQL; `version_number` as 150004."""

    version_number: int
    product: str = "PostgreSQL"


class Postgres(ServerTarget[PostgresOptions, Server, Address]):
    """PostgreSQL: embedded, from this machine, or an existing server."""

    name = "postgres"
    summary = "PostgreSQL: embedded, local, or external"
    Options = PostgresOptions
    offers = frozenset({POSTGRES, DATABASES, POSTGRES_STATISTICS, NUMBERED_WRITES})
    database_url = DatabaseUrl(("postgresql", "postgres"), "dsn", "PGPASSWORD", keywords=True)
    answered_codes = ANSWERED
    size_questions = Questions("SELECT pg_database_size(current_database())", "SHOW shared_buffers")
    remarks = staticmethod(remarks)
    too_many_clients = staticmethod(too_many_clients)
    repository = binaries.PACKAGES
    process_kind = staticmethod(processes.kind)
    knows_users_of_socket = True
    _password: Secret | None = None
    #: True once a trial has run on the server since its start
    _used = False
    _standbys: Standbys | None = None

    # -- life

    @classmethod
    def cache(cls, options: PostgresOptions) -> Cache | None:
        return data_cache(options)

    @staticmethod
    def check_programs(options: PostgresOptions) -> None:
        programs = binaries.chosen(options)
        if options.standbys is not None:
            check_version(programs)

    @staticmethod
    def unknown_settings(options: PostgresOptions) -> Mapping[str, str | None]:
        return binaries.unknown_settings(binaries.chosen(options), options.settings)

    def _make_server(self, parent: Path, settings: Mapping[str, Setting], sockets: Path) -> Server:
        options = self.options
        user = account.choose(options.run_as, product="PostgreSQL", kind="postgres", pin=self.context.pin)
        programs, log = binaries.usable_by(binaries.chosen(options), user), self.context.log
        if options.standbys is None:
            directory = DataDirectory(parent, programs, user, log, lasting=options.keep_data)
            return Server("postgres", directory, settings, sockets, log)
        check_version(programs)
        # not shared with targets of other options, which would change a primary without its standbys
        directory = ReplicatedDirectory(parent, programs, user, log, suffix=f"-{_fingerprint(options)}")
        settings = {**dict(options.standbys.primary_settings()), **settings}
        primary = Server("postgres", directory, settings, sockets, log)
        self._standbys = Standbys(options.standbys, primary, settings, sockets, log)
        return primary

    def _managed_address(self, server: Server) -> Address:
        return server.address(ROLE, self._password, "postgres", self.options.connect)

    def _restart_needed(self) -> bool:
        return self.options.fresh and self._used

    def up(self) -> None:
        standbys = self._standbys
        if standbys is not None and standbys.promoted is not None:
            standbys.remove()
            self._server = standbys.primary
        super().up()
        if self._standbys is not None:
            self._standbys.start()

    def _start(self, server: Server) -> None:
        standbys = self._standbys
        if standbys is not None:
            standbys.make()
        super()._start(server)
        self._used = False
        try:
            if standbys is not None:
                standbys.start()
            self._make_role()
        except BaseException:
            self.down()
            raise

    def down(self) -> None:
        if self._standbys is not None:
            self._standbys.stop()
        super().down()

    def destroy(self) -> None:
        if self._standbys is not None:
            self._standbys.remove()
        super().destroy()

    def _make_role(self) -> None:
        """Make the load's role, or give it a new password."""
        password = secrets.token_urlsafe(24)
        self._password = Secret(password)
        with self._administer(DOING_MAKE_THE_ROLE(), "up") as connection:
            exists = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [ROLE]).fetchone()
            verb = "ALTER" if exists else "CREATE"
            connection.execute(
                driver.sql.SQL(verb + " ROLE {} LOGIN PASSWORD {}").format(
                    driver.sql.Identifier(ROLE), driver.sql.Literal(scram_verifier(password))
                )
            )

    def _external_address(self) -> Address:
        options, reveal = self.options, self.context.secret
        assert options.dsn is not None
        return external(
            reveal(options.dsn),
            password=reveal(options.password) if options.password else None,
            database=options.database,
            sslmode=options.sslmode,
            sslrootcert=options.certificates,
        )

    def _check_external(self, address: Address) -> None:
        with address.session(DOING_ASK_THE_VERSION(), during="up") as connection:
            if connection.info.server_version >= OLDEST * 10000:
                return
            version = connection.info.parameter_status("server_version")
        raise TargetError(
            SERVER_PRODUCT_TOO_OLD(
                where=address.where,
                product="PostgreSQL",
                version=version,
                oldest=OLDEST,
            )
        )

    @staticmethod
    def release(work: Path) -> None:
        for pattern in ("*/pgdata", "*/*/pgdata", "*/*/*/pgdata"):  # the deeper ones on an image
            for data in work.glob(pattern):
                shared_memory.release(data)

    # -- data

    def prepare(self, spec: DataSpec, load: Loader, *, will_change: bool) -> DataSet:
        data_set = super().prepare(spec, load, will_change=will_change)
        if self.options.fresh and data_set.how == "loaded" and self._server is not None:
            # Loading filled the shared buffers, and later trials will find them empty.
            self._start(self._server)
        if self._standbys is not None:
            self._standbys.settle()
        self._used = True
        return data_set

    def _data_sets(self) -> DataSets[Connection[Any]]:
        owner = Owner.of(self.context.work)
        keep, log = self.options.keep_data, self.context.log
        if self._server is not None:
            return Databases(True, owner, keep, log, self._admin(), self._load_address())
        address = self._load_address()
        with address.session(DOING_ASK_FOR_PERMISSIONS(), during="prepare") as connection:
            permitted = connection.execute(
                "SELECT rolcreatedb OR rolsuper FROM pg_roles WHERE rolname = current_user"
            ).fetchone()
        if permitted and permitted[0]:
            return Databases(False, owner, keep, log, address, address)
        return Schema(False, owner, keep, log, address)

    # -- facts

    def endpoint(self) -> ServerEndpoint:
        prepared = self._prepared
        return self._load_address().endpoint(
            prepared.database if prepared else None, prepared.options if prepared else None
        )

    def _facts(self) -> tuple[PostgresFacts, Path | None]:
        database = self._prepared.database if self._prepared is not None else None
        server = self._server
        # With the server's settings, not with those of administration.
        with self._admin().session(DOING_READ_SETTINGS(), during="collect") as connection:
            facts = PostgresFacts(
                server=self.options.server,
                version=connection.info.parameter_status("server_version"),
                version_number=connection.info.server_version,
                settings=read_back(connection, self.options.settings),
                tls=connection.pgconn.ssl_in_use,
                database=None if database is None else _database_facts(connection, database),
                binaries=None if server is None else str(server.directory.binaries.directory),
                package=None if server is None else server.directory.binaries.package,
            )
            return facts, self._data_directory(connection) if server is None else None

    def _data_directory(self, connection: Connection[Any]) -> Path | None:
        """The data directory of an external server, if it is on this machine and readable."""
        if not self.processes():
            return None
        row = connection.execute("SELECT setting FROM pg_settings WHERE name = 'data_directory'").fetchone()
        path = Path(row[0]) if row and row[0] else None
        return path if path is not None and os.access(path.parent, os.X_OK) else None

    def _external_processes(self, address: Address) -> list[int]:
        with address.session(DOING_FIND_THE_PROCESS(), during="collect", limit_s=ALIVE_LIMIT_S) as connection:
            return processes.postmaster_of(connection)

    def numbered_writes(self) -> PostgresWrites:
        return PostgresWrites(self._admin)

    def observed(self) -> Observed:
        prepared, managed = self._prepared, self._server is not None
        database = (prepared.database if prepared else None) or self._load_address().database
        options = _QUIET if managed else None
        return Observed(self._admin(), database, managed, options, self._admin)

    def counters(self) -> dict[str, int]:
        if self._standbys is not None and self._standbys.promoted is not None:
            return {}  # those of the standby, which has not counted the primary's work
        database = (self._prepared.database if self._prepared else None) or self._admin().database
        with self._administer(DOING_READ_COUNTERS()) as connection:
            return read_counters(connection, database, self._load_address().user)

    def ask(self, question: str) -> list[tuple[Any, ...]]:
        with self._data_session(DOING_CHECK_THE_DATA(), "verify") as connection:
            return connection.execute(question.encode()).fetchall()

    def _data_session(self, doing: Message, during: str) -> AbstractContextManager[Connection[Any]]:
        """A session of the load's role on the data of the trial."""
        prepared = self._prepared
        return self._load_address().session(
            doing,
            during=during,
            database=prepared.database if prepared else None,
            options=prepared.options if prepared else None,
        )

    @classmethod
    def subject_abilities(cls, options: PostgresOptions) -> Mapping[str, SubjectAbilities]:
        abilities = super().subject_abilities(options)
        server, standbys = replace(abilities[cls.name], statements=True), options.standbys
        standby = SubjectAbilities(startable=True, promotable=True)
        names = [] if standbys is None else standbys.names
        return {**abilities, cls.name: server, **{f"{cls.name}.{name}": standby for name in names}}

    def subject(self, name: str) -> Subject:
        standbys, prefix = self._standbys, f"{self.name}."
        if standbys is not None and name.startswith(prefix):
            return self._standby_subject(name, standbys, name.removeprefix(prefix))
        subject = super().subject(name)
        if name != self.name:
            return subject
        if standbys is not None:
            primary = standbys.primary
            subject = replace(
                subject, processes=lambda: _process_ids(primary), start=standbys.start_primary_again
            )
        return replace(subject, session=self._fault_session)

    def _standby_subject(self, name: str, standbys: Standbys, standby: str) -> Subject:
        server = standbys.server(standby)

        def promote() -> ServerEndpoint:
            self._server = standbys.promote(standby)
            return self.endpoint()

        return Subject(
            name,
            lambda: _process_ids(server),
            stop=server.shut_down,
            start=server.start_again,
            data=server.directory.data,
            promote=promote,
        )

    def roles(self) -> tuple[Role, ...]:
        return super().roles() if self._standbys is None else self._standbys.roles()

    @contextmanager
    def _fault_session(self) -> Iterator[RunStatement]:
        """Statements of a fault on the load's database: of the administration where loadcell started it."""
        database = self._prepared.database if self._prepared else None
        doing, during = DOING_EXECUTE_STATEMENTS(), "load"
        with self._admin().session(
            doing, during=during, database=database, options=_FAULT, application=FAULT_APPLICATION
        ) as connection:
            yield lambda statement: statements.execute(connection, statement, doing, during)

    @contextmanager
    def sql_session(self, during: str) -> Iterator[Execute]:
        with self._data_session(DOING_EXECUTE_STATEMENTS(), during) as connection:
            yield lambda statement, doing: statements.execute(connection, statement, doing, during)

    def explain(self, transactions: Sequence[Sequence[StatementText]]) -> list[PlanRecord]:
        with self._data_session(DOING_EXPLAIN_STATEMENTS(), "collect") as connection:
            return statements.explain(connection, transactions)

    def reset_statistics(self) -> list[str]:
        database = self._prepared.database if self._prepared else None
        with self._admin().session(
            DOING_RESET_STATISTICS(), during="prepare", database=database
        ) as connection:
            return statements.reset_statistics(connection)

    def _administer(self, doing: Message, during: str = "collect") -> AbstractContextManager[Connection[Any]]:
        options = _QUIET if self._server is not None else None
        return self._admin().session(doing, during=during, options=options)


def _process_ids(server: Server) -> tuple[int, ...]:
    return () if server.pid is None else (server.pid,)


def _fingerprint(options: PostgresOptions) -> str:
    """Eight hex digits that stand for the options."""
    return hashlib.sha256(options.model_dump_json().encode()).hexdigest()[:8]


def _database_facts(connection: Connection[Any], name: str) -> DatabaseFacts:
    row = connection.execute(
        "SELECT pg_encoding_to_char(encoding), datcollate, datctype, pg_database_size(oid) "
        "FROM pg_database WHERE datname = %s",
        [name],
    ).fetchone()
    if row is None:
        return DatabaseFacts(name)
    return DatabaseFacts(name, encoding=row[0], collation=row[1], ctype=row[2], size_bytes=int(row[3]))


PART = Postgres
