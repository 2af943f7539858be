"""A Redis that loadcell starts: owned directory, configuration and process."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from signal import SIGKILL, SIGTERM

from loadcell.systems.base import Secret, TargetError
from loadcell.systems.messages import STRANGER_SERVER
from loadcell.systems.redis import startup_errors
from loadcell.systems.redis.binaries import Binary
from loadcell.systems.redis.connection import Address
from loadcell.systems.redis.settings import line
from loadcell.systems.server import ManagedServer
from loadcell.systems.shared.account import Account
from loadcell.systems.shared.owned_directory import OwnedDirectory
from loadcell.systems.shared.settings import Setting


class DataDirectory(OwnedDirectory):
    """Configuration and working directory of a server of one version."""

    kind, sign, stranger = "redis", "dump.rdb", STRANGER_SERVER()

    def __init__(self, parent: Path, binary: Binary, account: Account, log: Callable[[str], None]) -> None:
        name = f"{binary.product.lower()}-{binary.version}"
        super().__init__(parent, name, binary.version, account, log)
        self.binary = binary
        self.config = self.home / "redis.conf"

    def _install(self, made_parent: bool) -> None:
        self._begin("installing", made_parent)
        self._empty(self.data)
        self._write_marker("ready", made_parent)
        self.log(f"made directory {self.data} ({self.binary.product} {self.binary.version})")

    def _check_fit(self) -> None:
        self._check_owner()

    def configure(self, port: int, socket: Path, password: str, settings: Mapping[str, Setting]) -> None:
        """Write the configuration of the next start. Raises TargetError."""
        fixed: dict[str, Setting | Path] = {
            "port": port,
            "bind": "127.0.0.1",
            "protected-mode": True,
            "unixsocket": socket,
            "unixsocketperm": "700",
            "dir": self.data,
            "daemonize": False,
            "requirepass": password,
        }
        lines = [line(name, value) for name, value in {**fixed, **settings}.items()]
        self._write_configuration({self.config: "".join(lines)})


class Server(ManagedServer[Address, DataDirectory]):
    """The server on one directory, with a new password at each start."""

    #: An orderly shutdown writes the data, where the settings ask for that.
    stop_steps = ((SIGTERM, 120.0, "orderly"), (SIGKILL, 10.0, "kill"))
    socket_name = "redis.sock"
    _password: Secret | None = None

    def admin(self) -> Address:
        return self.address("socket")

    def address(self, connect: str, resp: int | None = None) -> Address:
        """The server by `tcp` or by `socket`, with version `resp` of the protocol."""
        socket = self.socket_path() if connect == "socket" else None
        return Address("127.0.0.1", self.port, socket=socket, password=self._password, resp=resp)

    def _configure(self, socket: Path) -> list[str | Path]:
        password = secrets.token_urlsafe(24)
        self._password = Secret(password)
        self.directory.configure(self.port, socket, password, self.settings)
        return [self.directory.binary.server, self.directory.config]

    def _startup_error(self, output: list[str]) -> TargetError:
        return startup_errors.startup_error(output, self.settings)
