"""Where a Redis is, a connection for the few administrative commands, and what it means when that fails.

RESP2 is enough here, and every server speaks it. The load itself is the engine's.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

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
from loadcell.systems.shared import ports
from loadcell.systems.shared.messages import CONNECTION_NO_PORT

APPLICATION = "loadcell"
CONNECT_LIMIT_S = 10
#: How long an administrative command may take; the phases' limits are the sharper ones.
_ANSWER_LIMIT_S = 600.0
PORT = 6379
#: What an administrative answer can be at most.
_LONGEST = 64 << 20
_DEEPEST = 16


class RefusedError(Exception):
    """The server said no: its code (the first word), and all of it."""

    def __init__(self, said: str) -> None:
        super().__init__(said)
        self.code = said.partition(" ")[0]


class GarbageError(Exception):
    """What came is not RESP."""


@dataclass(frozen=True)
class Address:
    """A server and a user. `path` is that of a Unix socket, and takes precedence over `host`."""

    host: str
    port: int
    path: str | None = None
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    database: int = 0
    tls: bool = False
    tls_ca: str | None = None
    tls_verify: bool = True
    resp: int | None = None

    @property
    def where(self) -> str:
        return self.path or f"{self.host}:{self.port}"

    @property
    def here(self) -> bool:
        """Whether the server is, as far as can be seen, on this machine."""
        return self.path is not None or self.host in ("localhost", "127.0.0.1", "::1")

    def endpoint(self) -> dict[str, Any]:
        """The `target` section of the engine's specification."""
        return {
            "protocol": "resp",
            "host": self.host,
            "port": self.port,
            "socket": self.path,
            "user": self.user or "",
            "password": self.password,
            "database": str(self.database),
            "sslmode": "disable" if not self.tls else "verify-full" if self.tls_verify else "require",
            "sslrootcert": self.tls_ca if self.tls and self.tls_verify else None,
            "application_name": APPLICATION,
            "resp": self.resp,
            "connect_timeout_ns": CONNECT_LIMIT_S * 1_000_000_000,
        }

    def connect(
        self, *, limit_s: float = CONNECT_LIMIT_S, during: str = "up", name: str = APPLICATION
    ) -> Connection:
        """An administrative connection. Raises TargetError."""
        try:
            return self._connect(limit_s, name)
        except (OSError, RefusedError, GarbageError, ssl.CertificateError) as error:
            raise not_connected(error, self.where, self.user, during) from error

    def _connect(self, limit_s: float, name: str) -> Connection:
        if self.path:
            way = socket.socket(socket.AF_UNIX)
            way.settimeout(limit_s)
            try:
                way.connect(self.path)
            except BaseException:
                way.close()
                raise
        else:
            way = socket.create_connection((self.host, self.port), timeout=limit_s)
            way.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            if self.tls:
                way = self._trust().wrap_socket(way, server_hostname=self.host)
        except BaseException:
            way.close()
            raise
        connection = Connection(way)
        try:
            self._open(connection, name)
        except BaseException:
            connection.close()
            raise
        connection.limit(max(limit_s, 1.0))
        return connection

    def _open(self, connection: Connection, name: str) -> None:
        """Say who comes, and where to; PING tells whether the server takes commands."""
        if self.password is not None:
            connection.ask("AUTH", *([self.user] if self.user else []), self.password)
        connection.ask("PING")
        with suppress(RefusedError):  # it is only a name
            connection.ask("CLIENT", "SETNAME", name)
        if self.database:
            connection.ask("SELECT", self.database)

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
    ) -> Iterator[Connection]:
        """A connection for as long as the block lasts; what the server refuses or breaks there becomes a TargetError.

        `doing` completes "cannot ...".
        """
        connection = self.connect(limit_s=limit_s, during=during)
        connection.limit(answer_s)
        try:
            yield connection
        except (OSError, RefusedError, GarbageError) as error:
            raise not_done(error, doing, during) from error
        finally:
            connection.close()


class Connection:
    """One session. Answers are text, integers, None, and lists of them; bytes that are no text are marked as such."""

    def __init__(self, way: socket.socket) -> None:
        self._way = way
        self._input = way.makefile("rb")

    def ask(self, *words: Any) -> Any:
        """The answer to a command. Raises RefusedError, GarbageError and OSError."""
        return self.ask_all([words])[0]

    def ask_all(self, commands: list[tuple[Any, ...]]) -> list[Any]:
        """The answers to commands that are sent together. The first error among them is raised."""
        self._way.sendall(b"".join(_command(words) for words in commands))
        refused: RefusedError | None = None
        answers: list[Any] = []
        for _ in commands:
            try:
                answers.append(self._answer())
            except RefusedError as error:
                refused = refused or error
        if refused is not None:
            raise refused
        return answers

    def info(self, *sections: str) -> dict[str, str]:
        """The server's own figures, by name."""
        said = "\n".join(str(self.ask("INFO", section)) for section in sections)
        lines = (line.strip() for line in said.splitlines())
        return dict(line.split(":", 1) for line in lines if ":" in line and not line.startswith("#"))

    def config(self) -> dict[str, str]:
        """All settings; none where the server does not show them."""
        try:
            words = self.ask("CONFIG", "GET", "*")
        except RefusedError:
            return {}
        return dict(zip(map(str, words[::2]), map(str, words[1::2]), strict=False))

    def limit(self, seconds: float) -> None:
        """How long an answer may take from now on."""
        self._way.settimeout(seconds)

    def close(self) -> None:
        self._input.close()
        self._way.close()

    def _line(self) -> bytes:
        line = self._input.readline(_LONGEST)
        if not line:
            raise ConnectionResetError("the server closed the connection")
        if not line.endswith(b"\r\n"):
            raise GarbageError("a line without end")
        return line[:-2]

    def _answer(self, depth: int = 0) -> Any:
        line = self._line()
        kind, rest = line[:1], line[1:]
        match kind:
            case b"+":
                return _text(rest)
            case b"-":
                raise RefusedError(_text(rest))
            case b":":
                return _number(rest)
            case b"$":
                size = _number(rest)
                if size == -1:
                    return None
                if not 0 <= size <= _LONGEST:
                    raise GarbageError(f"a string of {size} bytes")
                data = self._input.read(size + 2)
                if len(data) < size + 2:
                    raise ConnectionResetError("the server closed the connection")
                return _text(data[:-2])
            case b"*":
                size = _number(rest)
                if size > _LONGEST or depth == _DEEPEST:
                    raise GarbageError("a list that no server has")
                return [self._answer(depth + 1) for _ in range(size)] if size >= 0 else None
        raise GarbageError(f"{_text(line[:20])!r} is no answer of a Redis")


def _command(words: tuple[Any, ...]) -> bytes:
    texts = [
        word if isinstance(word, bytes) else str(word).encode("utf-8", "surrogateescape") for word in words
    ]
    return b"*%d\r\n" % len(texts) + b"".join(b"$%d\r\n%s\r\n" % (len(text), text) for text in texts)


def _text(data: bytes) -> str:
    """Text that `_command` makes the same bytes of."""
    return data.decode("utf-8", "surrogateescape")


def _number(data: bytes) -> int:
    try:
        return int(data)
    except ValueError:
        raise GarbageError(f"{_text(data[:20])!r} is no number") from None


#: Our codes of a server that answers, but has no connection left; and of a machine that has none to ask it with.
NONE_LEFT = (REDIS_NO_CONNECTION_LEFT.code, CONNECTION_NO_PORT.code)

#: The server's code of an error -> ours.
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


def not_connected(error: BaseException, where: str, user: str | None, during: str = "up") -> TargetError:
    """What a failed connection means."""
    said = _said(error)
    if isinstance(error, RefusedError):
        if "max number of clients" in said:
            return TargetError(REDIS_NO_CONNECTION_LEFT(where=where, said=said), during=during)
        if error.code in REFUSALS:
            return TargetError(_refusal(error, where, user), during=during)
        if "without any password configured" in said:
            return TargetError(REDIS_NO_PASSWORD(where=where, said=said), during=during)
        if "DB index" in said:
            return TargetError(REDIS_NO_DATABASE(where=where, said=said), during=during)
    if isinstance(error, ssl.SSLError):
        return TargetError(REDIS_TLS(where=where, said=said), during=during)
    if isinstance(error, GarbageError):
        return TargetError(REDIS_NO_REDIS(where=where, said=said), during=during)
    if isinstance(error, socket.gaierror):
        return TargetError(REDIS_HOST(where=where, said=said), during=during)
    if isinstance(error, TimeoutError):
        return TargetError(REDIS_TIMEOUT(where=where), during=during)
    if ports.none_left(error):
        return TargetError(ports.no_port(where, said), during=during)
    if isinstance(error, (ConnectionRefusedError, FileNotFoundError)):
        return TargetError(CONNECTION_REFUSED(where=where, said=said), during=during)
    return TargetError(REDIS_CONNECTION_FAILED(where=where, said=said), during=during)


def not_done(error: BaseException, doing: Message, during: str = "prepare") -> TargetError:
    """What it means that the server refused an administrative command."""
    said = _said(error)
    if isinstance(error, RefusedError):
        if error.code in REFUSALS:
            why = _refusal(error, WHERE_SERVER(), None)
            return TargetError(SERVER_CANNOT(doing=doing, why=why), during=during)
        return TargetError(SERVER_REFUSED(doing=doing, said=said), during=during)
    return TargetError(SERVER_WENT_AWAY(doing=doing, said=said), during=during)


def _refusal(error: RefusedError, where: str | Message, user: str | None) -> Message:
    who = USER_NAMED(name=user) if user else USER_DEFAULT()
    return REFUSALS[error.code].pick(where=where, user=who, said=_said(error), variable="${env:NAME}")


def _said(error: BaseException) -> str:
    """The error's own words; never the words of the command, which may be a password."""
    text = str(error.strerror or error) if isinstance(error, OSError) else str(error)
    return text.partition(", with args beginning with")[0]
