"""A Redis that loadcell starts: program, directory, configuration, process, and startup errors.

Compatible servers call themselves a Redis, of a version that they can replace. What each says in INFO: Valkey
since 8 `server_name` and `valkey_version`, Dragonfly `dragonfly_version` (with `df-v` before it), Garnet
`garnet_version`. KeyDB gives its version as `redis_version`, and is recognised by a section or its program.
"""

from __future__ import annotations

import difflib
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from signal import SIGKILL, SIGTERM

from loadcell.model.message import ForeignText, Message, MessageCode
from loadcell.systems.base import Secret, TargetError
from loadcell.systems.managed_server import ManagedServer
from loadcell.systems.redis.connection import Address
from loadcell.systems.redis.options import RECORDED, RESERVED, line
from loadcell.systems.server_options import Setting
from loadcell.systems.shared.account import Account, output_of
from loadcell.systems.shared.owned_directory import OwnedDirectory
from loadcell.systems.shared.server_errors import (
    SERVER_NOT_STARTED,
    SERVER_TOO_OLD,
    STRANGER_SERVER,
    common_error,
    last_line,
    setting_error,
)

REDIS_NO_PROGRAM = MessageCode("redis.no-program", path=str)
REDIS_MISSING = MessageCode("redis.missing", places=list, servers=list)
REDIS_NO_VERSION = MessageCode("redis.no-version", program=str)
REDIS_NO_MEMORY = MessageCode("redis.no-memory", said=ForeignText)
REDIS_SETTING_UNKNOWN = MessageCode("redis.setting-unknown", line=str, said=ForeignText)

#: Sections of INFO that say it. A server passes over one that it does not have.
SECTIONS = ("server", "keydb")

#: The field with a product's version, and the product.
_VERSION_FIELDS = {"valkey_version": "Valkey", "dragonfly_version": "Dragonfly", "garnet_version": "Garnet"}
#: What servers call themselves; those that are not here are shown by their own word.
_CALLED = {
    "valkey": "Valkey",
    "garnet": "Garnet",
    "redis": "Redis",
    "keydb": "KeyDB",
    "dragonfly": "Dragonfly",
}
#: What a program calls itself before its version: `Valkey server v=9.1.2`.
_PROGRAM = re.compile(r"^(\w+) server v=(\d+\.\d+\.\d+)", re.MULTILINE)


@dataclass(frozen=True)
class Product:
    """A server by its name, with its own version; `redis_version` is what it says it is compatible with."""

    name: str
    version: str | None
    redis_version: str | None = None


def product_from_info(info: Mapping[str, str]) -> Product:
    """The server that gave these values (INFO of `SECTIONS`)."""
    redis_version = info.get("redis_version")
    for field, name in _VERSION_FIELDS.items():
        if field in info:
            return Product(name, _plain(info[field]), redis_version)
    if "mvcc_depth" in info or PurePosixPath(info.get("executable", "")).name == "keydb-server":
        return Product("KeyDB", redis_version)
    called = info.get("server_name", "redis")
    # The version of a product that does not give it is unknown, not that of a Redis.
    name = _CALLED.get(called.lower(), called)
    return Product(name, redis_version) if name == "Redis" else Product(name, None, redis_version)


def product_from_program(output: str) -> Product | None:
    """The server whose program said this about its version; None where it did not as a Redis does."""
    match = _PROGRAM.search(output)
    return Product(_CALLED.get(match[1].lower(), match[1]), match[2]) if match else None


def _plain(version: str) -> str:
    """`df-v1.40.1` is 1.40.1."""
    return version.removeprefix("df-").removeprefix("v")


#: Where distributions and installations put the server, beside PATH.
_PLACES = ("/usr/bin", "/usr/local/bin", "/usr/sbin", "/opt/redis/bin", "/opt/valkey/bin")
_SERVERS = ("redis-server", "valkey-server")

#: The oldest version whose behaviour loadcell knows.
OLDEST = (5, 0)


@dataclass(frozen=True)
class Binary:
    """The server, whose it is (`Valkey`), and its version (`7.0.15`)."""

    server: Path
    product: str
    version: str


def find_binary(named: str | None = None) -> Binary:
    """The Redis of this machine, or the one named. Raises TargetError."""
    if named is not None:
        path = Path(named).expanduser().absolute()
        if not (path.is_file() and os.access(path, os.X_OK)):
            raise TargetError(REDIS_NO_PROGRAM(path=path))
        return _checked(path)
    for path in _candidates():
        if os.access(path, os.X_OK):
            return _checked(path)
    raise TargetError(REDIS_MISSING(servers=_SERVERS, places=_PLACES))  # fmt: skip


def _candidates() -> Iterator[Path]:
    for name in _SERVERS:
        on_path = shutil.which(name)
        if on_path:
            yield Path(on_path)
        yield from (Path(directory) / name for directory in _PLACES)


def _checked(server: Path) -> Binary:
    product = product_from_program(output_of([server, "--version"]))
    if product is None or product.version is None:
        raise TargetError(REDIS_NO_VERSION(program=server))
    if tuple(int(part) for part in product.version.split(".")[:2]) < OLDEST:
        raise TargetError(
            SERVER_TOO_OLD(
                product=product.name,
                version=product.version,
                place=server,
                oldest=f"{OLDEST[0]}.{OLDEST[1]}",
            )
        )
    return Binary(server, product.name, product.version)


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


_DEVICE_FULL = re.compile(r"No space left on device|Disk quota exceeded")


class Server(ManagedServer[Address, DataDirectory]):
    """The server on one directory, with one password for all its starts: a load may last through several."""

    device_full = _DEVICE_FULL
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
        if self._password is None:
            self._password = Secret(secrets.token_urlsafe(24))
        self.directory.configure(self.port, socket, self._password.get_secret_value(), self.settings)
        return [self.directory.binary.server, self.directory.config]

    def _startup_error(self, output: list[str]) -> TargetError:
        return startup_error(output, self.settings)


#: A line of the log: `1234:M 21 Nov 2026 10:00:00.000 # Failed opening ...`.
_LOG_LINE = re.compile(r"^\d+:[A-Z] .*? [#*] (.*)$")


def startup_error(lines: Sequence[str], settings: Mapping[str, Setting]) -> TargetError:
    """The reason why the server did not start. `settings` are those of the plan."""
    output = "\n".join(lines)
    error = common_error(output, "redis", _DEVICE_FULL) or _refused_setting(output, settings)
    if error is not None:
        return error
    memory = re.search(r"Out of memory allocating \d+ bytes|Can't allocate memory", output)
    if memory:
        return TargetError(REDIS_NO_MEMORY(said=memory[0]))
    return TargetError(SERVER_NOT_STARTED(said=_last_message(lines)))


def _refused_setting(output: str, settings: Mapping[str, Setting]) -> TargetError | None:
    match = re.search(r"^>>> '(\S+)(.*)'$\n(.*)", output, re.MULTILINE)
    if match is None or match[1] not in settings:
        return None
    name, message = match[1], match[3].strip()
    if "Bad directive" not in message:
        return setting_error(name, settings[name], message, "redis")
    near = difflib.get_close_matches(name, [*RECORDED, *RESERVED], n=1)
    if near and near[0] != name:
        return setting_error(name, settings[name], message, "redis", unknown=True, names=near)
    return TargetError(REDIS_SETTING_UNKNOWN(line=f"{name}: {settings[name]}", said=message))


def _last_message(lines: Sequence[str]) -> str | Message:
    """The last logged message, which is the cause; else the last line."""
    messages = [match[1] for line in lines if (match := _LOG_LINE.match(line))]
    return messages[-1] if messages else last_line(lines)
