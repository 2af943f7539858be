"""A directory of loadcell's own for a Redis: marked, its configuration written anew at each start, and removed.

`home` holds loadcell's marker, the configuration, and the server's working directory `data`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from loadcell.systems.messages import STRANGER_SERVER
from loadcell.systems.redis.binaries import Binary
from loadcell.systems.redis.settings import line
from loadcell.systems.shared.account import Account
from loadcell.systems.shared.owned_directory import Home


class DataDirectory(Home):
    """Where a server of one version keeps what it writes."""

    kind, sign, stranger = "redis", "dump.rdb", STRANGER_SERVER()

    def __init__(self, parent: Path, binary: Binary, account: Account, log: Callable[[str], None]) -> None:
        super().__init__(parent, f"{binary.product.lower()}-{binary.version}", binary.version, account)
        self.binary = binary
        self.log = log
        self.data = self.home / "data"
        self.config = self.home / "redis.conf"

    def _install(self, made_parent: bool) -> None:
        self._begin("installing", made_parent)
        self._empty(self.data)
        self._write_mark("ready", made_parent)
        self.log(f"made directory {self.data} ({self.binary.product} {self.binary.version})")

    def _check_fit(self) -> None:
        self._check_owner(self.data)

    def configure(self, port: int, path: Path, password: str, settings: Mapping[str, Any]) -> None:
        """Write the configuration of the next start: where it listens, its password, and the plan's settings."""
        own = {
            "port": port,
            "bind": "127.0.0.1",
            "protected-mode": True,
            "unixsocket": path,
            "unixsocketperm": "700",
            "dir": self.data,
            "daemonize": False,
            "requirepass": password,
        }
        try:
            self._write(
                self.config, "".join(line(name, value) for name, value in {**own, **settings}.items())
            )
        except OSError as error:
            raise self._trouble(error) from error
