"""Errors of a Redis server, and their meaning for the user."""

from __future__ import annotations

import socket
import ssl

from loadcell.model.message import Message
from loadcell.systems.base import TargetError
from loadcell.systems.messages import CONNECTION_REFUSED, SERVER_WENT_AWAY, USER_NAMED
from loadcell.systems.redis.messages import (
    REDIS_CANNOT_SAVE,
    REDIS_CLUSTER_NODE,
    REDIS_CONNECTION_FAILED,
    REDIS_HOST,
    REDIS_LOADING,
    REDIS_MAXMEMORY,
    REDIS_NO_CONNECTION_LEFT,
    REDIS_NO_DATABASE,
    REDIS_NO_PASSWORD,
    REDIS_NO_REDIS,
    REDIS_NO_RIGHTS,
    REDIS_REFUSED_USER,
    REDIS_REPLICA,
    REDIS_REPLICA_ALONE,
    REDIS_TIMEOUT,
    REDIS_TLS,
    REDIS_WANTS_PASSWORD,
    SERVER_CANNOT,
    SERVER_REFUSED,
    USER_DEFAULT,
    WHERE_SERVER,
)
from loadcell.systems.shared import sockets


class RefusedError(Exception):
    """An error answer of the server; `code` is its first word."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.code = message.partition(" ")[0]


class NotRedisError(Exception):
    """An answer that is not RESP."""


#: Codes of a server that answers but has no connection left, and of a machine that has no port left to ask
#: it.
ANSWERED = (REDIS_NO_CONNECTION_LEFT.code, sockets.NO_PORT.code)

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
    if sockets.no_port_left(error):
        return sockets.no_port(where, message)
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
