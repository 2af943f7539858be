"""The address of a Redis, sessions for administrative commands, and what their errors mean to the user."""

from __future__ import annotations

import shlex
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loadcell.model.extensions import Capability
from loadcell.model.message import ForeignText, Message, MessageCode
from loadcell.systems.base import CONNECT_LIMIT_S, ServerEndpoint, TargetError
from loadcell.systems.redis import client
from loadcell.systems.server_address import ServerAddress
from loadcell.systems.shared import account
from loadcell.systems.shared.server_errors import (
    ANSWER_ERRORS,
    CONNECTION_REFUSED,
    SERVER_WENT_AWAY,
    USER_NAMED,
    not_understood,
)

if TYPE_CHECKING:
    from loadcell.systems.redis.client import Client

REDIS_NO_CONNECTION_LEFT = MessageCode("redis.no-connection-left", said=ForeignText, where=str)
REDIS_NO_PASSWORD = MessageCode("redis.no-password", said=ForeignText, where=str)
REDIS_NO_DATABASE = MessageCode("redis.no-database", said=ForeignText, where=str)
REDIS_TLS = MessageCode("redis.tls", said=ForeignText, where=str)
REDIS_NO_REDIS = MessageCode("redis.no-redis", said=ForeignText, where=str)
REDIS_HOST = MessageCode("redis.host", said=ForeignText, where=str)
REDIS_TIMEOUT = MessageCode("redis.timeout", where=str)
REDIS_CONNECTION_FAILED = MessageCode("redis.connection-failed", said=ForeignText, where=str)
REDIS_WANTS_PASSWORD = MessageCode("redis.wants-password", said=ForeignText, variable=str, where=str)
REDIS_REFUSED_USER = MessageCode("redis.refused-user", said=ForeignText, user=str, variable=str, where=str)
REDIS_NO_RIGHTS = MessageCode("redis.no-rights", said=ForeignText, user=str)
REDIS_LOADING = MessageCode("redis.loading", said=ForeignText, where=str)
REDIS_CANNOT_SAVE = MessageCode("redis.cannot-save", said=ForeignText, where=str)
REDIS_REPLICA = MessageCode("redis.replica", said=ForeignText, where=str)
REDIS_REPLICA_ALONE = MessageCode("redis.replica-alone", said=ForeignText, where=str)
REDIS_MAXMEMORY = MessageCode("redis.maxmemory", said=ForeignText, where=str)
REDIS_CLUSTER_NODE = MessageCode("redis.cluster-node", said=ForeignText, where=str)
SERVER_REFUSED = MessageCode("server.refused", doing=Message, said=ForeignText)
SERVER_CANNOT = MessageCode("server.cannot", doing=Message, why=Message)
WHERE_SERVER = MessageCode("where.server")
USER_DEFAULT = MessageCode("user.default")


class RefusedError(Exception):
    """An error answer of the server; `code` is its first word."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.code = message.partition(" ")[0]


class NotRedisError(Exception):
    """An answer that is not RESP."""


#: Codes of a server that answers but has no connection left, and of a machine that has no port left to ask
#: it.
ANSWERED = (REDIS_NO_CONNECTION_LEFT.code, account.NO_PORT.code)

#: Code of the server's error -> code of the reason.
REFUSALS = {
    "NOAUTH": REDIS_WANTS_PASSWORD,
    "WRONGPASS": REDIS_REFUSED_USER,
    "NOPERM": REDIS_NO_RIGHTS,
    "LOADING": REDIS_LOADING,
    "MISCONF": REDIS_CANNOT_SAVE,
    "READONLY": REDIS_REPLICA,
    "MASTERDOWN": REDIS_REPLICA_ALONE,
    "OOM": REDIS_MAXMEMORY,
    "MOVED": REDIS_CLUSTER_NODE,
    "CLUSTERDOWN": REDIS_CLUSTER_NODE,
}


def connection_error(error: BaseException, where: str, user: str | None, during: str = "up") -> TargetError:
    """The reason why a connection failed."""
    return TargetError(_connection_reason(error, where, user), during=during)


def _connection_reason(error: BaseException, where: str, user: str | None) -> Message:
    message = _message(error)
    if isinstance(error, RefusedError):
        if "max number of clients" in message:
            return REDIS_NO_CONNECTION_LEFT(where=where, said=message)
        if error.code in REFUSALS:
            return _refusal(error, where, user)
        if "without any password configured" in message:
            return REDIS_NO_PASSWORD(where=where, said=message)
        if "DB index" in message:
            return REDIS_NO_DATABASE(where=where, said=message)
    if isinstance(error, ssl.SSLError):
        return REDIS_TLS(where=where, said=message)
    if isinstance(error, NotRedisError):
        return REDIS_NO_REDIS(where=where, said=message)
    if isinstance(error, socket.gaierror):
        return REDIS_HOST(where=where, said=message)
    if isinstance(error, TimeoutError):
        return REDIS_TIMEOUT(where=where)
    if account.no_port_left(error):
        return account.no_port(where, message)
    if isinstance(error, (ConnectionRefusedError, FileNotFoundError)):
        return CONNECTION_REFUSED(where=where, said=message)
    return REDIS_CONNECTION_FAILED(where=where, said=message)


def command_error(error: BaseException, doing: Message, during: str = "prepare") -> TargetError:
    """The reason why an administrative command failed; `doing` completes "cannot ..."."""
    message = _message(error)
    if not isinstance(error, RefusedError):
        return TargetError(SERVER_WENT_AWAY(doing=doing, said=message), during=during)
    if error.code in REFUSALS:
        why = _refusal(error, WHERE_SERVER(), None)
        return TargetError(SERVER_CANNOT(doing=doing, why=why), during=during)
    return TargetError(SERVER_REFUSED(doing=doing, said=message), during=during)


def _refusal(error: RefusedError, where: str | Message, user: str | None) -> Message:
    who = USER_NAMED(name=user) if user else USER_DEFAULT()
    return REFUSALS[error.code].pick(where=where, user=who, said=_message(error), variable="${env:NAME}")


def _message(error: BaseException) -> str:
    """The error's message without the words of the command, which may be a password."""
    text = str(error.strerror or error) if isinstance(error, OSError) else str(error)
    return text.partition(", with args beginning with")[0]


APPLICATION = "loadcell"
#: The target shows its `Address` to monitors.
REDIS_INFO = Capability("redis-info")
#: How long an administrative command may take; the limits of the phases are the sharper ones.
_ANSWER_LIMIT_S = 600.0
PORT = 6379
_PROBE_LIMIT_S = 1.0


@dataclass(frozen=True)
class Address(ServerAddress):
    """A server, a user and a database; `resp` is the version of the protocol for the load."""

    user: str | None = None
    database: int = 0
    tls: bool = False
    tls_ca: str | None = None
    tls_verify: bool = True
    resp: int | None = None

    @property
    def client(self) -> str:
        """Command line of redis-cli for this database, without credentials."""
        location = f"-s {shlex.quote(self.socket)}" if self.socket else f"-h {self.host} -p {self.port}"
        return f"redis-cli {location}{' --tls' if self.tls else ''} -n {self.database}"

    def endpoint(self) -> ServerEndpoint:
        """The endpoint of a load."""
        return ServerEndpoint(
            "resp",
            self.host,
            self.port,
            self.socket,
            self.user,
            self.password,
            str(self.database),
            sslmode="disable" if not self.tls else "verify-full" if self.tls_verify else "require",
            sslrootcert=self.tls_ca if self.tls and self.tls_verify else None,
            application_name=APPLICATION,
            resp=self.resp,
        )

    def check(self, *, limit_s: int) -> None:
        self.connect(limit_s=limit_s).close()

    def connect(
        self, *, limit_s: float = CONNECT_LIMIT_S, during: str = "up", name: str = APPLICATION
    ) -> Client:
        """An administrative session under `name`. Raises TargetError."""
        try:
            return self._connect(limit_s, name)
        except (TimeoutError, ConnectionResetError) as error:
            cause = self._foreign_answer() or error
            raise connection_error(cause, self.where, self.user, during) from error
        except (OSError, RefusedError, NotRedisError) as error:
            raise connection_error(error, self.where, self.user, during) from error

    def _connect(self, limit_s: float, name: str) -> Client:
        password = self.password.get_secret_value() if self.password else None
        login = {"user": self.user, "password": password, "database": self.database}
        if self.socket:
            session = client.Client.by_socket(self.socket, limit_s, **login)
        else:
            session = client.Client.by_tcp(
                self.host, self.port, limit_s, self._trust() if self.tls else None, **login
            )
        try:
            session.ask("PING")  # refused by a server that takes no commands yet
            with suppress(RefusedError):
                session.ask("CLIENT", "SETNAME", name)
        except BaseException:
            session.close()
            raise
        session.limit(max(limit_s, 1.0))
        return session

    def _foreign_answer(self) -> NotRedisError | None:
        """The answer to a PING that is not a line of RESP, of a server that lets redis-py wait for the rest
        of it.
        """
        if self.tls:
            return None
        way: tuple[str, int] | str = self.socket or (self.host, self.port)
        with socket.socket(socket.AF_UNIX if self.socket else socket.AF_INET) as probe, suppress(OSError):
            probe.settimeout(_PROBE_LIMIT_S)
            probe.connect(way)
            probe.sendall(b"PING\r\n")
            answer = probe.recv(100)
            if answer and not (answer[:1] in b"+-" and b"\r\n" in answer):
                return NotRedisError(repr(answer[:20].decode("utf-8", "replace")))
        return None

    def _trust(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.tls_ca)
        if not self.tls_verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context

    @contextmanager
    def session(
        self,
        doing: Message,
        *,
        during: str,
        limit_s: float = CONNECT_LIMIT_S,
        answer_s: float = _ANSWER_LIMIT_S,
    ) -> Iterator[Client]:
        """A session for the block; its errors become TargetErrors. `doing` completes "cannot ..."."""
        connected = self.connect(limit_s=limit_s, during=during)
        connected.limit(answer_s)
        try:
            yield connected
        except (OSError, RefusedError, NotRedisError) as error:
            raise command_error(error, doing, during) from error
        except ANSWER_ERRORS as error:
            raise not_understood(error, doing, during) from error
        finally:
            connected.close()
