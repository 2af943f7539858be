"""Where a MariaDB or MySQL is, how to connect to it, and what it means when that fails."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import unquote, urlsplit

from loadcell import _engine
from loadcell.model.extensions import Capability
from loadcell.model.message import ForeignText, Message, MessageCode
from loadcell.systems.base import CONNECT_LIMIT_S, Secret, ServerEndpoint, TargetError
from loadcell.systems.mysql import driver
from loadcell.systems.server_address import ServerAddress
from loadcell.systems.shared import account
from loadcell.systems.shared.owned_directory import no_room
from loadcell.systems.shared.server_errors import (
    ANSWER_ERRORS,
    CONNECTION_FAILED,
    CONNECTION_NO_DATABASE,
    CONNECTION_NONE_LEFT,
    CONNECTION_REFUSED,
    CONNECTION_TIMEOUT,
    DOING_CONNECT,
    SERVER_READ_ONLY,
    SERVER_REFUSED_WITH_CODE,
    SERVER_WENT_AWAY,
    USER_NAMED,
    WHERE_SERVER_DATA,
    not_understood,
)

if TYPE_CHECKING:
    from typing import TypeAlias

    from pymysql.connections import Connection as _Connection

    Connection: TypeAlias = _Connection[Any]

MYSQL_URL = MessageCode("mysql.url")
MYSQL_URL_PARAMETERS = MessageCode("mysql.url-parameters")
MYSQL_TLS = MessageCode("mysql.tls", said=ForeignText, where=str)
MYSQL_NOT_ALLOWED = MessageCode("mysql.not-allowed", doing=Message, said=ForeignText)
MYSQL_NO_RIGHTS = MessageCode("mysql.no-rights", said=ForeignText, user=str)
MYSQL_REFUSED_PASSWORD = MessageCode(
    "mysql.refused-password", said=ForeignText, user=str, variable=str, where=str
)
MYSQL_WANTS_PASSWORD = MessageCode(
    "mysql.wants-password", said=ForeignText, user=str, variable=str, where=str
)
MYSQL_BLOCKED_HOST = MessageCode("mysql.blocked-host", said=ForeignText, where=str)
MYSQL_UNKNOWN_HOST = MessageCode("mysql.unknown-host", said=ForeignText, where=str)
MYSQL_NONE_LEFT_FOR_USER = MessageCode("mysql.none-left-for-user", said=ForeignText, user=str, where=str)
MYSQL_USER_LIMITS = MessageCode("mysql.user-limits", said=ForeignText, user=str, where=str)
MYSQL_REFUSED_USER = MessageCode("mysql.refused-user", said=ForeignText, user=str, where=str)
MYSQL_WANTS_TLS = MessageCode("mysql.wants-tls", said=ForeignText, where=str)
MYSQL_NO_SOCKET = MessageCode("mysql.no-socket", said=ForeignText, where=str)
MYSQL_HOST = MessageCode("mysql.host", said=ForeignText, where=str)
MYSQL_ENCRYPTED_PASSWORD = MessageCode("mysql.encrypted-password", said=ForeignText, where=str)

#: Target whose statistics the monitor `mysql` reads.
MYSQL_STATISTICS = Capability("mysql-statistics")

APPLICATION = "loadcell"
#: How long an administrative statement may take to begin its answer; the phases' limits are the sharper ones.
_ANSWER_LIMIT_S = 3600
PORT = 3306


@dataclass(frozen=True)
class Address(ServerAddress):
    """A server and a user."""

    user: str
    sslmode: str = "prefer"
    sslrootcert: str | None = None

    def endpoint(self, database: str) -> ServerEndpoint:
        """The endpoint of a load on `database`."""
        return ServerEndpoint(
            "mysql",
            self.host,
            self.port,
            self.socket,
            self.user,
            self.password,
            database,
            sslmode="disable" if self.socket else self.sslmode,
            sslrootcert=self.sslrootcert,
            application_name=APPLICATION,
        )

    def check(self, *, limit_s: int) -> None:
        self.connect(limit_s=limit_s).close()

    def connect(
        self,
        database: str | None = None,
        *,
        limit_s: int = CONNECT_LIMIT_S,
        during: str = "up",
        local_files: bool = False,
        answer_limit_s: int = _ANSWER_LIMIT_S,
        application: str = APPLICATION,
    ) -> Connection:
        """An administrative connection that commits each statement. Raises TargetError.

        `local_files`: the server may ask for files of this machine (LOAD DATA LOCAL).
        `application`: the program's name in the server's connection attributes.
        """
        mode = "disable" if self.socket else self.sslmode
        words: dict[str, Any] = {
            "host": self.host,
            "port": self.port,
            "user": self.user,
            "password": (self.password.get_secret_value() if self.password else "").encode(),
            "database": database,
            "charset": "utf8mb4",
            "autocommit": True,
            "connect_timeout": limit_s,
            "read_timeout": answer_limit_s,
            "program_name": application,
            "local_infile": local_files,
            "auth_plugin_map": _AUTHENTICATION,
        }
        try:
            if self.socket:
                connection = driver.connect(
                    **words, unix_socket=self.socket, ssl_disabled=True, defer_connect=True
                )
                return _by_socket(connection, self.socket, limit_s)
            if mode in ("disable", "allow"):
                return driver.connect(**words, ssl_disabled=True)
            return driver.connect(**words, ssl=_trust(mode, self.sslrootcert))
        except (driver.Error, RuntimeError, OSError) as error:
            if mode == "prefer" and _number(error) is None and "SSL" in str(error):
                return replace(self, sslmode="disable").connect(
                    database,
                    limit_s=limit_s,
                    during=during,
                    local_files=local_files,
                    answer_limit_s=answer_limit_s,
                    application=application,
                )
            raise not_connected(error, self.where, self.user, during=during) from error
        except ANSWER_ERRORS as error:
            raise not_understood(error, DOING_CONNECT(where=self.where), during) from error

    @contextmanager
    def session(
        self, doing: Message, *, during: str, database: str | None = None, limit_s: int = CONNECT_LIMIT_S
    ) -> Iterator[Connection]:
        """A connection for as long as the block lasts; what the server refuses or breaks there becomes a
        TargetError.

        `doing` completes "cannot ...".
        """
        connection = self.connect(database, limit_s=limit_s, during=during)
        try:
            yield connection
        except (driver.Error, OSError) as error:
            raise not_done(error, doing, during) from error
        except ANSWER_ERRORS as error:
            raise not_understood(error, doing, during) from error
        finally:
            if connection.open:
                connection.close()


@dataclass(frozen=True)
class Observed:
    """Access for monitors: `address` for their session, and the database of the load."""

    address: Address
    database: str


class _Authentication:
    """An authentication method of PyMySQL, by the engine's functions instead of further libraries."""

    plugin: ClassVar[str]

    def __init__(self, connection: Connection) -> None:
        self._connection: Any = connection  # its types lack the attributes of authentication

    def _proof(self, nonce: bytes) -> bytes:
        return _engine.mysql_proof(self.plugin, self._connection.password, nonce)

    def _answered(self, payload: bytes) -> Any:
        """The server's answer to a packet."""
        self._connection.write_packet(payload)
        packet = self._connection._read_packet()
        packet.check_error()
        return packet


class _Ed25519(_Authentication):
    """`client_ed25519` of MariaDB."""

    plugin = "client_ed25519"

    def authenticate(self, packet: Any) -> Any:
        """Answer a request to switch to this method."""
        return self._answered(self._proof(packet.read_all()))


class _CachingSha2(_Authentication):
    """`caching_sha2_password` of MySQL: a proof, or the password where the server cannot check the proof."""

    plugin = "caching_sha2_password"
    _GRANTED, _PASSWORD_WANTED, _KEY_REQUEST = 3, 4, b"\x02"

    def authenticate(self, packet: Any) -> Any:
        """Answer a request to switch to this method, or what the server says to the proof."""
        connection = self._connection
        if not connection.password:
            return self._answered(b"")
        if packet.is_auth_switch_request():
            connection.salt = packet.read_all().removesuffix(b"\0")
            packet = self._answered(self._proof(connection.salt))
        if not packet.is_extra_auth_data():
            return packet
        packet.advance(1)
        match packet.read_uint8():
            case self._GRANTED:
                return connection._read_packet()
            case self._PASSWORD_WANTED if connection._secure:
                return self._answered(connection.password + b"\0")
            case self._PASSWORD_WANTED:
                key = self._answered(self._KEY_REQUEST)
                key.advance(1)
                nonce, key = connection.salt, key.read_all()
                return self._answered(_engine.mysql_encrypted(connection.password, nonce, key))
            case other:
                raise ValueError(f"an answer {other} to the proof of caching_sha2_password")


_AUTHENTICATION = {method.plugin: method for method in (_Ed25519, _CachingSha2)}


def _by_socket(connection: Connection, path: str, limit_s: int) -> Connection:
    """Connect as PyMySQL does it, which leaves its socket open where nobody answers."""
    way = socket.socket(socket.AF_UNIX)
    try:
        way.settimeout(limit_s)
        way.connect(path)
        way.settimeout(None)
        connection.connect(way)
    except BaseException:
        way.close()
        raise
    return connection


def _trust(mode: str, roots: str | None) -> ssl.SSLContext:
    """Meaning of `sslmode`: as in libpq, and as the engine does it."""
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
    wrong = TargetError(MYSQL_URL())
    try:
        parts = urlsplit(url)
        port = parts.port or PORT
    except ValueError:
        raise wrong from None
    if parts.scheme not in ("mysql", "mariadb") or not parts.hostname or not parts.username:
        raise wrong
    if parts.query or parts.fragment:
        raise TargetError(MYSQL_URL_PARAMETERS())
    secret = password if password is not None else (unquote(parts.password) if parts.password else None)
    address = Address(
        host=parts.hostname,
        port=port,
        user=unquote(parts.username),
        password=None if secret is None else Secret(secret),
        sslmode=sslmode or "prefer",
        sslrootcert=sslrootcert,
    )
    return address, unquote(parts.path.strip("/")) or None


#: Our codes of a server that answers, but has no connection left; and of a machine that has none to ask it
#: with.
ANSWERED = (
    CONNECTION_NONE_LEFT.code,
    MYSQL_NONE_LEFT_FOR_USER.code,
    MYSQL_USER_LIMITS.code,
    account.NO_PORT.code,
)

#: The server's number of an error -> our code.
REFUSALS = {
    1040: CONNECTION_NONE_LEFT,
    1044: MYSQL_NO_RIGHTS,
    1045: MYSQL_REFUSED_PASSWORD,
    1049: CONNECTION_NO_DATABASE,
    1129: MYSQL_BLOCKED_HOST,
    1130: MYSQL_UNKNOWN_HOST,
    1203: MYSQL_NONE_LEFT_FOR_USER,
    1226: MYSQL_USER_LIMITS,
    1698: MYSQL_REFUSED_USER,
    3159: MYSQL_WANTS_TLS,
}
#: End of the words of a server that was given no password.
_WITHOUT = "(using password: NO)"
#: What stands in the words of one that has no number -> our code.
SIGNS = {
    account.NO_PORT_MESSAGE: account.NO_PORT,
    "refused": CONNECTION_REFUSED,
    "No such file": MYSQL_NO_SOCKET,
    "timed out": CONNECTION_TIMEOUT,
    "Name or service": MYSQL_HOST,
    "cryptography": MYSQL_ENCRYPTED_PASSWORD,
}


def _number(error: BaseException) -> int | None:
    """The server's own number of an error; None for what is not the server's."""
    if isinstance(error, driver.MySQLError) and error.args and isinstance(error.args[0], int):
        number = error.args[0]
        return number if not 2000 <= number < 3000 and number else None
    return None


def not_connected(error: BaseException, where: str, user: str, during: str = "up") -> TargetError:
    """Message for a failed connection."""
    text = str(error.args[-1]) if error.args else str(error)
    number = _number(error)
    arguments: dict[str, Any] = {"where": where, "user": USER_NAMED(name=user), "said": text}
    if number in REFUSALS:
        code = MYSQL_WANTS_PASSWORD if _WITHOUT in text else REFUSALS[number]
        return TargetError(code.pick(variable="${env:NAME}", **arguments), during=during)
    if "CERTIFICATE" in text or "SSL" in text or "certificate" in text:
        return TargetError(MYSQL_TLS(where=where, said=text), during=during)
    code = next((code for sign, code in SIGNS.items() if sign in text), CONNECTION_FAILED)
    return TargetError(code.pick(**arguments), during=during)


def not_done(error: BaseException, doing: Message, during: str = "prepare") -> TargetError:
    """Message for a refused administrative statement."""
    text = str(error.args[-1]) if error.args else str(error)
    number = _number(error)
    match number:
        case 1021 | 1114:
            return no_room("mysql", WHERE_SERVER_DATA(), during)
        case 1044 | 1142 | 1227 | 1370:
            return TargetError(MYSQL_NOT_ALLOWED(doing=doing, said=text), during=during)
        case 1290 | 1836:
            return TargetError(SERVER_READ_ONLY(doing=doing, said=text), during=during)
        case None | 1053 | 1927:
            return TargetError(SERVER_WENT_AWAY(doing=doing, said=text), during=during)
    return TargetError(SERVER_REFUSED_WITH_CODE(doing=doing, said=text, code=str(number)), during=during)
