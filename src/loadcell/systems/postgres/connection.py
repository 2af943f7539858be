"""Where a PostgreSQL server is, how to connect to it, and what it means when that fails."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from loadcell.model.extensions import Capability
from loadcell.model.message import ForeignText, Message, MessageCode
from loadcell.systems.base import CONNECT_LIMIT_S, Secret, ServerEndpoint, TargetError
from loadcell.systems.postgres import driver
from loadcell.systems.server_address import ServerAddress
from loadcell.systems.shared import account
from loadcell.systems.shared.owned_directory import no_room
from loadcell.systems.shared.server_errors import (
    ANSWER_ERRORS,
    CONNECTION_FAILED,
    CONNECTION_NO_DATABASE,
    CONNECTION_NONE_LEFT,
    CONNECTION_TIMEOUT,
    SERVER_READ_ONLY,
    SERVER_REFUSED_WITH_CODE,
    SERVER_WENT_AWAY,
    USER_NAMED,
    WHERE_SERVER_DATA,
    not_understood,
)

POSTGRES_DSN = MessageCode("postgres.dsn")
POSTGRES_CLIENT_CERTIFICATE = MessageCode("postgres.client-certificate", name=str)
POSTGRES_NOT_ALLOWED = MessageCode("postgres.not-allowed", doing=Message, said=ForeignText)
POSTGRES_NO_TLS = MessageCode("postgres.no-tls", said=ForeignText, where=str)
POSTGRES_CERTIFICATE_NOT_TRUSTED = MessageCode(
    "postgres.certificate-not-trusted", said=ForeignText, where=str
)
POSTGRES_ROOTS_UNREADABLE = MessageCode("postgres.roots-unreadable", said=ForeignText, where=str)
POSTGRES_CERTIFICATE_OF_OTHER = MessageCode("postgres.certificate-of-other", said=ForeignText, where=str)
POSTGRES_TLS = MessageCode("postgres.tls", said=ForeignText, where=str)
POSTGRES_PG_HBA = MessageCode("postgres.pg-hba", said=ForeignText, user=str, where=str)
POSTGRES_WANTS_PASSWORD = MessageCode(
    "postgres.wants-password", said=ForeignText, user=str, variable=str, where=str
)
POSTGRES_REFUSED_PASSWORD = MessageCode(
    "postgres.refused-password", said=ForeignText, user=str, variable=str, where=str
)
POSTGRES_NO_USER = MessageCode("postgres.no-user", said=ForeignText, user=str, where=str)
POSTGRES_NOBODY_THERE = MessageCode("postgres.nobody-there", said=ForeignText, where=str)
POSTGRES_HOST = MessageCode("postgres.host", said=ForeignText, where=str)
POSTGRES_NOT_READY = MessageCode("postgres.not-ready", said=ForeignText, where=str)
USER_THIS = MessageCode("user.this")

APPLICATION = "loadcell"
#: Name of the sessions of faults, which a fault that ends sessions spares.
FAULT_APPLICATION = "loadcell fault"
#: The beginning of the name of the session that holds a run's lock; no count of sessions includes it.
LOCK_APPLICATION = "loadcell lock"
#: The target shows an `Observed` to monitors.
POSTGRES_STATISTICS = Capability("postgres-statistics")


@dataclass(frozen=True)
class Address(ServerAddress):
    """A server, a user and a database."""

    user: str
    database: str
    sslmode: str = "prefer"
    sslrootcert: str | None = None

    def endpoint(self, database: str | None = None, options: str | None = None) -> ServerEndpoint:
        """The endpoint of a load on `database`, whose sessions begin with `options`."""
        return ServerEndpoint(
            "postgres",
            self.host,
            self.port,
            self.socket,
            self.user,
            self.password,
            database or self.database,
            sslmode="disable" if self.socket else self.sslmode,
            sslrootcert=self.sslrootcert,
            application_name=APPLICATION,
            options=options,
        )

    def check(self, *, limit_s: int) -> None:
        self.connect(limit_s=limit_s).close()

    def connect(
        self,
        database: str | None = None,
        *,
        options: str | None = None,
        limit_s: int = CONNECT_LIMIT_S,
        during: str = "up",
        application: str = APPLICATION,
        replication: str | None = None,
    ) -> driver.Connection[Any]:
        """An administrative connection outside transactions. Raises TargetError.

        `application` is the name the server shows for it; `replication` asks for a session of that kind.
        """
        words: dict[str, Any] = {
            "host": self.socket.rpartition("/")[0] if self.socket else self.host,
            "port": self.port,
            "user": self.user,
            "dbname": database or self.database,
            "sslmode": "disable" if self.socket else self.sslmode,
            "application_name": application,
            "replication": replication,
            "connect_timeout": limit_s,
            "client_encoding": "utf8",  # of a database of encoding SQL_ASCII, texts would be bytes
            "password": self.password.get_secret_value() if self.password else None,
            "sslrootcert": self.sslrootcert,
            "options": options,
        }
        try:
            return driver.connect(
                autocommit=True, **{name: value for name, value in words.items() if value is not None}
            )
        except driver.Error as error:
            raise not_connected(str(error), self.where, self.user, during=during) from error

    @contextmanager
    def session(
        self,
        doing: Message,
        *,
        during: str,
        database: str | None = None,
        options: str | None = None,
        limit_s: int = CONNECT_LIMIT_S,
        application: str = APPLICATION,
    ) -> Iterator[driver.Connection[Any]]:
        """A connection for as long as the block lasts; what the server refuses or breaks there becomes a
        TargetError.

        `doing` completes "cannot ...".
        """
        connection = self.connect(
            database, options=options, limit_s=limit_s, during=during, application=application
        )
        try:
            yield connection
        except driver.Error as error:
            raise not_done(error, doing, during) from error
        except ANSWER_ERRORS as error:
            raise not_understood(error, doing, during) from error
        finally:
            connection.close()


@dataclass(frozen=True)
class Observed:
    """Access for monitors: `address` for their sessions, begun with `options`, and the database of the load.

    `managed`: loadcell's server, whose address is that of its superuser.
    """

    address: Address
    database: str
    managed: bool
    options: str | None = None
    #: gives the present address, where a failover changes it
    present: Callable[[], Address] | None = None

    def current(self) -> Address:
        """The address of the server that serves the load now."""
        return self.address if self.present is None else self.present()


def external(
    dsn: str, *, password: str | None, database: str | None, sslmode: str | None, sslrootcert: str | None
) -> Address:
    """The address a DSN stands for, found by connecting once, with what libpq adds from PG* and ~/.pgpass."""
    try:
        words: dict[str, Any] = dict(driver.conninfo_to_dict(dsn))
    except driver.Error:
        # libpq's own message quotes the DSN, and with it perhaps a password.
        raise TargetError(POSTGRES_DSN()) from None
    for name in ("sslcert", "sslkey"):
        if name in words:
            raise TargetError(POSTGRES_CLIENT_CERTIFICATE(name=name))
    arguments = {"password": password, "dbname": database, "sslmode": sslmode, "sslrootcert": sslrootcert}
    words.update({name: value for name, value in arguments.items() if value is not None})
    words.setdefault("connect_timeout", CONNECT_LIMIT_S)
    words["application_name"] = APPLICATION
    where = f"{words.get('host') or 'the default host'}:{words.get('port') or 5432}"
    try:
        connection = driver.connect(autocommit=True, **words)
    except driver.Error as error:
        raise not_connected(str(error), where, words.get("user")) from error
    with connection:
        info = connection.info
        used = info.get_parameters()
        local = info.host.startswith("/")
        return Address(
            host="localhost" if local else info.host,
            port=info.port,
            user=info.user,
            database=info.dbname,
            socket=f"{info.host}/.s.PGSQL.{info.port}" if local else None,
            password=Secret(info.password) if info.password else None,
            sslmode=used.get("sslmode", "prefer"),
            sslrootcert=used.get("sslrootcert"),
        )


#: Our codes of a server that answers, but has no connection left; and of a machine that has none to ask it
#: with.
ANSWERED = (CONNECTION_NONE_LEFT.code, account.NO_PORT.code)

#: Pattern in what libpq or the server said -> our code. The first that matches counts.
REFUSALS = {
    account.NO_PORT_MESSAGE: account.NO_PORT,
    "server does not support SSL": POSTGRES_NO_TLS,
    "certificate verify failed|self.signed certificate": POSTGRES_CERTIFICATE_NOT_TRUSTED,
    "root certificate file|could not read root cert": POSTGRES_ROOTS_UNREADABLE,
    "server certificate for|does not match host name": POSTGRES_CERTIFICATE_OF_OTHER,
    "no pg_hba.conf entry|pg_hba.conf rejects": POSTGRES_PG_HBA,
    "SSL|TLS": POSTGRES_TLS,
    "no password supplied": POSTGRES_WANTS_PASSWORD,
    "password authentication failed|authentication failed for user": POSTGRES_REFUSED_PASSWORD,
    "too many clients|remaining connection slots|too many connections": CONNECTION_NONE_LEFT,
    'database "[^"]*" does not exist|no such database': CONNECTION_NO_DATABASE,
    'role "[^"]*" does not exist': POSTGRES_NO_USER,
    "Connection refused|No such file or directory": POSTGRES_NOBODY_THERE,
    "timeout expired|timed out|No route to host|unreachable": CONNECTION_TIMEOUT,
    "failed to resolve|could not translate host name|Name or service not known"
    "|name resolution": POSTGRES_HOST,
    "starting up|shutting down|not yet accepting|recovery mode": POSTGRES_NOT_READY,
}


def not_connected(text: str, where: str, user: str | None, during: str = "up") -> TargetError:
    """Message for a failed connection. `text` is libpq's message, which contains the server's."""
    heart = re.findall(r"(?:FATAL|ERROR): +(.*)", text) or re.findall(r"(?:failed: |error: )(.+)", text)
    quoted = (heart[0] if heart else text.strip().splitlines()[0]).strip()
    who = USER_NAMED(name=user) if user else USER_THIS()
    code = next((code for sign, code in REFUSALS.items() if re.search(sign, text)), CONNECTION_FAILED)
    why = code.pick(where=where, user=who, said=quoted, variable="${env:NAME}")
    return TargetError(why, during=during)


def not_done(error: driver.Error, doing: Message, during: str = "prepare") -> TargetError:
    """Message for a refused administrative statement."""
    text = (error.diag.message_primary or str(error).strip()).splitlines()[0]
    match error.sqlstate:
        case "53100":
            return no_room("postgres", WHERE_SERVER_DATA(), during)
        case "42501":
            return TargetError(POSTGRES_NOT_ALLOWED(doing=doing, said=text), during=during)
        case "25006":
            return TargetError(SERVER_READ_ONLY(doing=doing, said=text), during=during)
        case None | "57P01" | "57P02" | "57P03":
            return TargetError(SERVER_WENT_AWAY(doing=doing, said=text), during=during)
    return TargetError(SERVER_REFUSED_WITH_CODE(doing=doing, said=text, code=error.sqlstate), during=during)
