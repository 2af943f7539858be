"""Address and credentials of a server, managed or external."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from loadcell.linux.local_addresses import is_local
from loadcell.systems.base import Secret


@dataclass(frozen=True)
class ServerAddress(ABC):
    """Address and credentials of a server.

    `socket` is a Unix socket's path and takes precedence over `host`.
    """

    host: str
    port: int
    socket: str | None = field(default=None, kw_only=True)
    password: Secret | None = field(default=None, kw_only=True)

    @property
    def where(self) -> str:
        return self.socket or f"{self.host}:{self.port}"

    @property
    def here(self) -> bool:
        """True if the server is, as far as can be seen, on this machine."""
        return self.socket is not None or is_local(self.host)

    @abstractmethod
    def check(self, *, limit_s: int) -> None:
        """Open and close an administrative connection. Raises TargetError."""
