"""Where a PostgreSQL server is, how to connect to it, and what it means when that fails."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from loadcell.reasons import Reason, because
from loadcell.systems.base import TargetError
from loadcell.systems.shared import ports
from loadcell.systems.shared.owned_directory import no_room

if TYPE_CHECKING:
    import psycopg

APPLICATION = "loadcell"
CONNECT_LIMIT_S = 10


@dataclass(frozen=True)
class Address:
    """A server, a user and a database. `socket` is the full path of a Unix socket, and takes precedence over `host`."""

    host: str
    port: int
    user: str
    database: str
    socket: str | None = None
    password: str | None = field(default=None, repr=False)
    sslmode: str = "prefer"
    sslrootcert: str | None = None

    @property
    def where(self) -> str:
        return self.socket or f"{self.host}:{self.port}"

    def endpoint(self, database: str | None = None, options: str | None = None) -> dict[str, Any]:
        """The `target` section of the engine's specification."""
        return {
            "protocol": "postgres",
            "host": self.host,
            "port": self.port,
            "socket": self.socket,
            "user": self.user,
            "password": self.password,
            "database": database or self.database,
            "sslmode": "disable" if self.socket else self.sslmode,
            "sslrootcert": self.sslrootcert,
            "application_name": APPLICATION,
            "options": options,
            "connect_timeout_ns": CONNECT_LIMIT_S * 1_000_000_000,
        }

    def connect(
        self,
        database: str | None = None,
        *,
        options: str | None = None,
        limit_s: int = CONNECT_LIMIT_S,
        during: str = "up",
        application: str = APPLICATION,
        replication: str | None = None,
    ) -> psycopg.Connection[Any]:
        """An administrative connection outside transactions. Raises TargetError.

        `application` is the name the server shows for it; `replication` asks for a session of that kind.
        """
        import psycopg

        words: dict[str, Any] = {
            "host": self.socket.rpartition("/")[0] if self.socket else self.host,
            "port": self.port,
            "user": self.user,
            "dbname": database or self.database,
            "sslmode": "disable" if self.socket else self.sslmode,
            "application_name": application,
            "replication": replication,
            "connect_timeout": limit_s,
            "password": self.password,
            "sslrootcert": self.sslrootcert,
            "options": options,
        }
        try:
            return psycopg.connect(
                autocommit=True, **{name: value for name, value in words.items() if value is not None}
            )
        except psycopg.Error as error:
            raise not_connected(str(error), self.where, self.user, during=during) from error

    @contextmanager
    def session(
        self,
        doing: Reason,
        *,
        during: str,
        database: str | None = None,
        options: str | None = None,
        limit_s: int = CONNECT_LIMIT_S,
    ) -> Iterator[psycopg.Connection[Any]]:
        """A connection for as long as the block lasts; what the server refuses or breaks there becomes a TargetError.

        `doing` completes "cannot ...".
        """
        import psycopg

        connection = self.connect(database, options=options, limit_s=limit_s, during=during)
        try:
            yield connection
        except psycopg.Error as error:
            raise not_done(error, doing, during) from error
        finally:
            connection.close()


def external(
    dsn: str, *, password: str | None, database: str | None, sslmode: str | None, sslrootcert: str | None
) -> Address:
    """The address a DSN stands for, as found by connecting once: with what libpq adds from PG* and ~/.pgpass."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    try:
        words: dict[str, Any] = dict(conninfo_to_dict(dsn))
    except psycopg.Error:
        # libpq's own message quotes the DSN, and with it perhaps a password.
        raise TargetError(because("postgres.dsn")) from None
    for name in ("sslcert", "sslkey"):
        if name in words:
            raise TargetError(because("postgres.client-certificate", name=name))
    given = {"password": password, "dbname": database, "sslmode": sslmode, "sslrootcert": sslrootcert}
    words.update({name: value for name, value in given.items() if value is not None})
    words.setdefault("connect_timeout", CONNECT_LIMIT_S)
    words["application_name"] = APPLICATION
    where = f"{words.get('host') or 'the default host'}:{words.get('port') or 5432}"
    try:
        connection = psycopg.connect(autocommit=True, **words)
    except psycopg.Error as error:
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
            password=info.password or None,
            sslmode=used.get("sslmode", "prefer"),
            sslrootcert=used.get("sslrootcert"),
        )


#: Our codes of a server that answers, but has no connection left; and of a machine that has none to ask it with.
NONE_LEFT = ("connection.none-left", ports.NO_PORT)

#: Pattern in what libpq or the server said -> our code. The first that matches counts.
REFUSALS = {
    ports.SIGN: ports.NO_PORT,
    "server does not support SSL": "postgres.no-tls",
    "certificate verify failed|self.signed certificate": "postgres.certificate-not-trusted",
    "root certificate file|could not read root cert": "postgres.roots-unreadable",
    "server certificate for|does not match host name": "postgres.certificate-of-other",
    "no pg_hba.conf entry|pg_hba.conf rejects": "postgres.pg-hba",
    "SSL|TLS": "postgres.tls",
    "password authentication failed|no password supplied|authentication failed for user": "postgres.refused-password",
    "too many clients|remaining connection slots|too many connections": "connection.none-left",
    'database "[^"]*" does not exist': "connection.no-database",
    'role "[^"]*" does not exist': "postgres.no-user",
    "Connection refused|No such file or directory": "postgres.nobody-there",
    "timeout expired|timed out|No route to host|unreachable": "connection.timeout",
    "failed to resolve|could not translate host name|Name or service not known|name resolution": "postgres.host",
    "starting up|shutting down|not yet accepting|recovery mode": "postgres.not-ready",
}


def not_connected(said: str, where: str, user: str | None, during: str = "up") -> TargetError:
    """What a failed connection means. `said` is libpq's message, which holds the server's."""
    heart = re.findall(r"(?:FATAL|ERROR): +(.*)", said) or re.findall(r"(?:failed: |error: )(.+)", said)
    quoted = (heart[0] if heart else said.strip().splitlines()[0]).strip()
    who = because("user.named", name=user) if user else because("user.this")
    code = next((code for sign, code in REFUSALS.items() if re.search(sign, said)), "connection.failed")
    why = because(code, where=where, user=who, said=quoted, variable="${env:NAME}")
    return TargetError(why, during=during)


def not_done(error: psycopg.Error, doing: Reason, during: str = "prepare") -> TargetError:
    """What it means that the server refused an administrative statement."""
    said = (error.diag.message_primary or str(error).strip()).splitlines()[0]
    match error.sqlstate:
        case "53100":
            return no_room("postgres", because("where.server-data"), during)
        case "42501":
            return TargetError(because("postgres.not-allowed", doing=doing, said=said), during=during)
        case "25006":
            return TargetError(because("server.read-only", doing=doing, said=said), during=during)
        case None | "57P01" | "57P02" | "57P03":
            return TargetError(because("server.went-away", doing=doing, said=said), during=during)
    return TargetError(
        because("server.refused-with-code", doing=doing, said=said, code=error.sqlstate), during=during
    )
