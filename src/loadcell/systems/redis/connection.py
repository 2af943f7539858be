"""The address of a Redis, and sessions for administrative commands. The load itself is made by the engine."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loadcell.model.capability import Capability
from loadcell.model.message import Message
from loadcell.systems.base import ServerEndpoint
from loadcell.systems.redis.errors import NotRedisError, RefusedError, command_error, connection_error
from loadcell.systems.server import CONNECT_LIMIT_S, ServerAddress

if TYPE_CHECKING:
    from loadcell.systems.redis.client import Client

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
            connect_timeout_ns=CONNECT_LIMIT_S * 1_000_000_000,
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
        from loadcell.systems.redis.client import Client

        password = self.password.get_secret_value() if self.password else None
        login = {"user": self.user, "password": password, "database": self.database}
        if self.socket:
            client = Client.by_socket(self.socket, limit_s, **login)
        else:
            client = Client.by_tcp(
                self.host, self.port, limit_s, self._trust() if self.tls else None, **login
            )
        try:
            client.ask("PING")  # refused by a server that takes no commands yet
            with suppress(RefusedError):
                client.ask("CLIENT", "SETNAME", name)
        except BaseException:
            client.close()
            raise
        client.limit(max(limit_s, 1.0))
        return client

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
                return NotRedisError(f"{answer[:20].decode('utf-8', 'replace')!r} is no answer of a Redis")
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
        client = self.connect(limit_s=limit_s, during=during)
        client.limit(answer_s)
        try:
            yield client
        except (OSError, RefusedError, NotRedisError) as error:
            raise command_error(error, doing, during) from error
        finally:
            client.close()
