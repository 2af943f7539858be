"""One administrative session by redis-py: no pool, no retries, no interpretation of answers.

redis-py is imported here alone, and this module only when a session is opened: the import takes a quarter of
a second.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from redis import exceptions
from redis.backoff import NoBackoff
from redis.connection import AbstractConnection, UnixDomainSocketConnection
from redis.connection import Connection as TcpConnection
from redis.retry import Retry

from loadcell.systems.redis.connection import NotRedisError, RefusedError


class TlsConnection(TcpConnection):
    """TCP with TLS that trusts nobody but `trust` (redis-py's own adds the system's certificates to those
    given).
    """

    def __init__(self, trust: ssl.SSLContext, **settings: Any) -> None:
        super().__init__(**settings)  # type: ignore[no-untyped-call]
        self._trust = trust

    def _connect(self) -> Any:
        tcp = super()._connect()  # type: ignore[no-untyped-call]
        try:
            return self._trust.wrap_socket(tcp, server_hostname=self.host)
        except BaseException:
            tcp.close()
            raise


class Client:
    """A session; answers are text, integers, None, and lists of them.

    Bytes that are no text are surrogate escapes.

    Methods raise RefusedError, NotRedisError and OSError.
    """

    def __init__(
        self,
        kind: Callable[..., AbstractConnection],
        limit_s: float,
        *,
        user: str | None,
        password: str | None,
        database: int,
        **settings: Any,
    ) -> None:
        self._limit_s = limit_s
        self._connection = kind(
            username=user,
            password=password,
            db=database,
            protocol=2,  # known by every server
            socket_timeout=limit_s,
            socket_connect_timeout=limit_s,
            retry=Retry(NoBackoff(), 0),
            decode_responses=True,
            encoding_errors="surrogateescape",
            driver_info=None,
            **settings,
        )
        with _plain_errors():
            self._connection.connect()

    @classmethod
    def by_socket(cls, path: str, limit_s: float, **login: Any) -> Client:
        return cls(UnixDomainSocketConnection, limit_s, path=path, **login)

    @classmethod
    def by_tcp(
        cls, host: str, port: int, limit_s: float, trust: ssl.SSLContext | None, **login: Any
    ) -> Client:
        if trust is None:
            return cls(TcpConnection, limit_s, host=host, port=port, **login)
        return cls(TlsConnection, limit_s, host=host, port=port, trust=trust, **login)

    def ask(self, *words: Any) -> Any:
        """The answer to a command."""
        return self.ask_all([words])[0]

    def ask_all(self, commands: list[tuple[Any, ...]]) -> list[Any]:
        """The answers to commands that are sent together; the first error among them is raised."""
        answers: list[Any] = []
        refusal: exceptions.ResponseError | None = None
        with _plain_errors():
            self._connection.send_packed_command(self._connection.pack_commands(commands), check_health=False)
            for _ in commands:
                try:
                    answers.append(self._connection.read_response(timeout=self._limit_s))
                except exceptions.ResponseError as error:
                    refusal = refusal or error
            if refusal is not None:
                raise refusal
        return answers

    def info(self, *sections: str) -> dict[str, str]:
        """The server's own values, by name, of sections of INFO."""
        text = "\n".join(str(self.ask("INFO", section)) for section in sections)
        lines = (line.strip() for line in text.splitlines())
        return dict(line.split(":", 1) for line in lines if ":" in line and not line.startswith("#"))

    def config(self) -> dict[str, str]:
        """All settings; none where the server does not show them."""
        try:
            words = self.ask("CONFIG", "GET", "*")
        except RefusedError:
            return {}
        if not isinstance(words, list):
            return {}
        return dict(zip(map(str, words[::2]), map(str, words[1::2]), strict=False))

    def limit(self, seconds: float) -> None:
        """Set how long an answer may take from now on."""
        self._limit_s = seconds

    def close(self) -> None:
        self._connection.disconnect()


@contextmanager
def _plain_errors() -> Iterator[None]:
    """Turn redis-py's errors into those that the rest of the package handles.

    They hold no words of a command.
    """
    try:
        yield
    except exceptions.RedisError as error:
        raise _plain_error(error) from None
    except (ValueError, RecursionError) as error:  # a length that is no number, lists without end
        raise NotRedisError(str(error)) from None


def _plain_error(error: exceptions.RedisError) -> Exception:
    if error.status_code is not None:  # an error answer, whose code redis-py has taken off
        return RefusedError(f"{error.status_code} {error}")
    if isinstance(error, exceptions.InvalidResponse):
        return NotRedisError(str(error))
    if isinstance(error, exceptions.ResponseError):
        return RefusedError(str(error))
    if isinstance(error, exceptions.TimeoutError):
        return TimeoutError(str(error))
    if isinstance(error.__context__, OSError):
        return error.__context__
    return ConnectionResetError("the server closed the connection")
