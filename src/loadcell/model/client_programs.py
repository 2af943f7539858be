"""Client programs of protocols: the placeholders, the URL and the environment by which they reach a target.

The package of a system declares those of its protocol when it is imported; extensions name theirs by the
entry-point group `loadcell.client_programs`. Few imports, because the worker reads them, too.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from loadcell.model import extensions
from loadcell.model.extensions import Capability

#: Placeholders of servers with accounts and databases.
OF_DATABASES: Final = ("host", "port", "socket", "user", "database", "url")


@dataclass(frozen=True)
class ClientPrograms:
    """Client programs of a protocol.

    `placeholders` are those that command lines may name. `scheme` is that of URLs, `tls_scheme` with TLS if
    it is another. `variables` maps environment variables to the placeholder or the field of the endpoint
    that each holds; `password_variable` holds the password, which never stands on a command line. With
    `socket_as_host` a socket's directory takes the place of the host.
    """

    protocol: Capability
    placeholders: tuple[str, ...] = ()
    scheme: str = ""
    tls_scheme: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    password_variable: str | None = None
    socket_as_host: bool = False

    def __post_init__(self) -> None:
        """Raises ValueError for a declaration that would put the password on a command line."""
        if "password" in (*self.placeholders, *self.variables.values()):
            raise ValueError(f"{self.protocol.name}: the password belongs in password_variable alone")

    def url(self, values: Mapping[str, str], *, tls: bool) -> str:
        """The URL of a target with these values of the placeholders."""
        scheme = self.tls_scheme if tls and self.tls_scheme else self.scheme
        host = f"[{values['host']}]" if ":" in values["host"] else values["host"]
        where = "" if "socket" in values else f"{host}:{values['port']}"
        user = f"{values['user']}@" if "user" in values else ""
        path = f"/{values.get('database', '')}" if "database" in self.placeholders else ""
        return f"{scheme}://{user}{where}{path}"


_declared: dict[str, ClientPrograms] = {}


def declare(programs: ClientPrograms) -> None:
    """Declare the client programs of a protocol. Raises ValueError if another module has declared them."""
    if _declared.setdefault(programs.protocol.name, programs) != programs:
        raise ValueError(f"the client programs of {programs.protocol.name!r} are declared twice")


@cache
def by_protocol() -> Mapping[str, ClientPrograms]:
    """The client programs of every protocol, by its name. Raises ExtensionError."""
    root = Path(__file__).parents[1]
    for file in sorted(root.glob("systems/*/__init__.py")):
        importlib.import_module(f"{root.name}.systems.{file.parent.name}")
    extensions.load_all(extensions.CLIENT_PROGRAMS)
    return MappingProxyType(_declared)


def of_protocol(name: str) -> ClientPrograms:
    """The client programs of a protocol; of an unknown one, without any placeholder."""
    return by_protocol().get(name) or ClientPrograms(Capability(name))
