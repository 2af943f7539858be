"""Where a MariaDB or MySQL is, how to connect to it, and what it means when that fails."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from loadcell.targets.base import TargetError
from loadcell.targets.shared.home import no_room

if TYPE_CHECKING:
    from typing import TypeAlias

    from pymysql.connections import Connection as _Connection

    Connection: TypeAlias = _Connection[Any]

APPLICATION = "loadcell"
CONNECT_LIMIT_S = 10
#: How long an administrative statement may take to begin its answer; the phases' limits are the sharper ones.
_ANSWER_LIMIT_S = 3600
PORT = 3306


@dataclass(frozen=True)
class Address:
    """A server and a user. `socket` is the path of a Unix socket, and takes precedence over `host`."""

    host: str
    port: int
    user: str
    socket: str | None = None
    password: str | None = field(default=None, repr=False)
    sslmode: str = "prefer"
    sslrootcert: str | None = None

    @property
    def where(self) -> str:
        return self.socket or f"{self.host}:{self.port}"

    @property
    def here(self) -> bool:
        """Whether the server is, as far as can be seen, on this machine."""
        return self.socket is not None or self.host in ("localhost", "127.0.0.1", "::1")

    def endpoint(self, database: str) -> dict[str, Any]:
        """The `target` section of the engine's specification."""
        return {
            "protocol": "mysql",
            "host": self.host,
            "port": self.port,
            "socket": self.socket,
            "user": self.user,
            "password": self.password,
            "database": database,
            "sslmode": "disable" if self.socket else self.sslmode,
            "sslrootcert": self.sslrootcert,
            "application_name": APPLICATION,
            "connect_timeout_ns": CONNECT_LIMIT_S * 1_000_000_000,
        }

    def connect(
        self, database: str | None = None, *, limit_s: int = CONNECT_LIMIT_S, during: str = "up"
    ) -> Connection:
        """An administrative connection that commits each statement. Raises TargetError."""
        import pymysql

        mode = "disable" if self.socket else self.sslmode
        words: dict[str, Any] = {
            "host": self.host,
            "port": self.port,
            "user": self.user,
            "password": self.password or "",
            "database": database,
            "charset": "utf8mb4",
            "autocommit": True,
            "connect_timeout": limit_s,
            "read_timeout": _ANSWER_LIMIT_S,
            "program_name": APPLICATION,
        }
        try:
            if self.socket:
                return _by_socket(self.socket, words)
            if mode in ("disable", "allow"):
                return pymysql.connect(**words, ssl_disabled=True)
            return pymysql.connect(**words, ssl=_trust(mode, self.sslrootcert))
        except (pymysql.Error, RuntimeError, OSError) as error:
            if mode == "prefer" and _number(error) is None and "SSL" in str(error):
                return replace(self, sslmode="disable").connect(database, limit_s=limit_s, during=during)
            raise not_connected(error, self.where, self.user, during=during) from error

    @contextmanager
    def session(
        self, doing: str, *, during: str, database: str | None = None, limit_s: int = CONNECT_LIMIT_S
    ) -> Iterator[Connection]:
        """A connection for as long as the block lasts; what the server refuses or breaks there becomes a TargetError.

        `doing` completes "cannot ...".
        """
        import pymysql

        connection = self.connect(database, limit_s=limit_s, during=during)
        try:
            yield connection
        except (pymysql.Error, OSError) as error:
            raise not_done(error, doing, during) from error
        finally:
            if connection.open:
                connection.close()


def _by_socket(path: str, words: dict[str, Any]) -> Connection:
    """As PyMySQL does it, which leaves its socket open where nobody answers."""
    import pymysql

    connection = pymysql.connect(**words, unix_socket=path, ssl_disabled=True, defer_connect=True)
    way = socket.socket(socket.AF_UNIX)
    try:
        way.settimeout(words["connect_timeout"])
        way.connect(path)
        way.settimeout(None)
        connection.connect(way)
    except BaseException:
        way.close()
        raise
    return connection


def _trust(mode: str, roots: str | None) -> ssl.SSLContext:
    """What `sslmode` means: as libpq has it, and as the engine does it."""
    context = ssl.create_default_context(cafile=roots)
    context.check_hostname = mode == "verify-full"
    verify = mode in ("verify-ca", "verify-full") or (mode == "require" and roots is not None)
    context.verify_mode = ssl.CERT_REQUIRED if verify else ssl.CERT_NONE
    return context


def rows(connection: Connection, statement: str, values: Any = None) -> list[tuple[Any, ...]]:
    """All rows that a statement gives; none for one that gives none."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())


def external(
    url: str, *, password: str | None, sslmode: str | None, sslrootcert: str | None
) -> tuple[Address, str | None]:
    """The address that a URL stands for, and the database it names. Raises TargetError."""
    wrong = TargetError(
        "`target.mysql.url` is not the address of a server",
        advice="write mysql://user@host:3306/database; special characters as %XX",
    )
    try:
        parts = urlsplit(url)
        port = parts.port or PORT
    except ValueError:
        raise wrong from None
    if parts.scheme not in ("mysql", "mariadb") or not parts.hostname or not parts.username:
        raise wrong
    if parts.query or parts.fragment:
        raise TargetError(
            "`target.mysql.url` has something behind the database",
            advice="use `target.mysql.sslmode` and `sslrootcert` for TLS; there are no other parameters",
        )
    given = password if password is not None else (unquote(parts.password) if parts.password else None)
    address = Address(
        host=parts.hostname,
        port=port,
        user=unquote(parts.username),
        password=given,
        sslmode=sslmode or "prefer",
        sslrootcert=sslrootcert,
    )
    return address, unquote(parts.path.strip("/")) or None


#: By the number of an error: the finding; the advice.
_REFUSALS: dict[int, tuple[str, str]] = {
    1040: (
        "{where} has no connection left",
        "close other programs' connections, or raise the server's max_connections",
    ),
    1044: (
        "{user} may not use that database",
        "grant the user rights on it, or name another in `target.mysql.url`",
    ),
    1045: (
        "{where} refused {user}",
        "check `target.mysql.password` (as `${{env:NAME}}`), that the variable is set, and from where this user may come",
    ),
    1049: ("the database is not there on {where}", "name one that exists, or create it"),
    1129: ("{where} has blocked this host", "run `FLUSH HOSTS` on the server"),
    1130: ("{where} does not let this host in", "create the user for this host (`CREATE USER ...@'host'`)"),
    1203: (
        "{user} has no connection left on {where}",
        "raise the user's or the server's max_user_connections",
    ),
    1226: ("{user} has no connection left on {where}", "raise the user's limits on the server"),
    1698: (
        "{where} refused {user}",
        "give the user a password: this one may come only as a user of that machine",
    ),
    3159: ("{where} wants TLS", "set `target.mysql.sslmode: require`"),
}


def _number(error: BaseException) -> int | None:
    """The server's own number of an error; None for what is not the server's."""
    import pymysql

    if isinstance(error, pymysql.MySQLError) and error.args and isinstance(error.args[0], int):
        number = error.args[0]
        return number if not 2000 <= number < 3000 and number else None
    return None


def not_connected(error: BaseException, where: str, user: str, during: str = "up") -> TargetError:
    """What a failed connection means."""
    said = str(error.args[-1]) if error.args else str(error)
    number = _number(error)
    if number in _REFUSALS:
        finding, advice = _REFUSALS[number]
        place = {"where": where, "user": f"user {user}"}
        return TargetError(f"{finding.format(**place)}: {said}", advice=advice.format(), during=during)
    if "CERTIFICATE" in said or "SSL" in said or "certificate" in said:
        return TargetError(
            f"TLS with {where} failed: {said}",
            advice="set `target.mysql.sslmode` and `sslrootcert` to what the server offers (require: TLS without checking "
            "whose)",
            during=during,
        )
    for sign, finding, advice in (
        (
            "refused",
            "no server answers at {}",
            "check host and port, and that the server is running and listens there",
        ),
        ("No such file", "no server answers at {}", "check the socket, and that the server is running"),
        (
            "timed out",
            "{} does not answer in time",
            "check host and port, and whether a firewall stands in the way",
        ),
        ("Name or service", "the host name of {} is unknown", "check the host in `target.mysql.url`"),
        ("cryptography", "{} wants an encrypted password", "use TLS: set `target.mysql.sslmode: require`"),
    ):
        if sign in said:
            return TargetError(f"{finding.format(where)}: {said}", advice=advice, during=during)
    return TargetError(
        f"cannot connect to {where}: {said}", advice="the server's own log may say more", during=during
    )


def not_done(error: BaseException, doing: str, during: str = "prepare") -> TargetError:
    """What it means that the server refused an administrative statement."""
    said = str(error.args[-1]) if error.args else str(error)
    number = _number(error)
    match number:
        case 1021 | 1114:
            return no_room("mysql", "the server's data", during)
        case 1044 | 1142 | 1227 | 1370:
            return TargetError(
                f"not allowed to {doing}: {said}",
                advice="grant the user what is missing (`GRANT ALL ON loadcell_%.* TO ...`), or name a database of its own "
                "in `target.mysql.url`",
                during=during,
            )
        case 1290 | 1836:
            return TargetError(
                f"cannot {doing}: {said}", advice="name the primary: this server only reads", during=during
            )
        case None | 1053 | 1927:
            return TargetError(
                f"the server went away while loadcell was about to {doing}: {said}",
                advice="the server's log says why",
                during=during,
            )
    return TargetError(
        f"cannot {doing}: {said} (error {number})", advice="the server's log may say more", during=during
    )
