"""External programs as data: the quantity that each load tool measures, and client programs of protocols.

The kinds of tools are for the workload that calls them, the readers of their outputs, and the comparability
of treatments. Client programs have the placeholders, the URL and the environment by which they reach a
target. The package of a system declares those of its protocol when it is imported; extensions name theirs by
the entry-point group `loadcell.client_programs`. Few imports, because the worker reads them, too.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Mapping, Sequence
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
class JdbcServer:
    """Servers as Java programs name them, and the target for them.

    `kinds` stand in the URLs of JDBC (`jdbc:KIND:`), `products` are values of BenchmarkSQL's property `db`,
    `port` is the default. `target` reaches an existing server by the URL in its option `option`.
    """

    kinds: tuple[str, ...]
    products: tuple[str, ...]
    port: int
    target: str
    option: str


@dataclass(frozen=True)
class ClientPrograms:
    """Client programs of a protocol.

    `placeholders` are those that command lines may name. `scheme` is that of URLs, `tls_scheme` with TLS if
    it is another. `variables` maps environment variables to the placeholder or the field of the endpoint
    that each holds; `password_variable` holds the password, which never stands on a command line. With
    `socket_as_host` a socket's directory takes the place of the host. `jdbc` is for servers of SQL.
    """

    protocol: Capability
    placeholders: tuple[str, ...] = ()
    scheme: str = ""
    tls_scheme: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    password_variable: str | None = None
    socket_as_host: bool = False
    jdbc: JdbcServer | None = None

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


def by_jdbc_kind(kind: str) -> ClientPrograms | None:
    """The client programs of the servers to which URLs `jdbc:KIND:` lead. Raises ExtensionError."""
    programs = by_protocol().values()
    return next((item for item in programs if item.jdbc is not None and kind in item.jdbc.kinds), None)


def jdbc_servers() -> tuple[JdbcServer, ...]:
    """All servers that Java programs reach by JDBC. Raises ExtensionError."""
    return tuple(programs.jdbc for programs in by_protocol().values() if programs.jdbc is not None)


#: The workload whose options are a tool's arguments; imported outputs have the same section.
WORKLOAD: Final = "tool"
#: The tool whose treatments are tests, and the factor with their node ids as levels.
PYTEST: Final = "pytest"
TEST: Final = "test"
#: The option that names the tool whose output a command prints.
READ_AS: Final = "read_as"


@dataclass(frozen=True)
class ToolKind:
    """A tool and the unit of its throughput.

    An argument that matches `test` as a whole selects a test with another unit, `unit_of_test`.
    """

    name: str
    unit: str = "operation"
    test: re.Pattern[str] | None = None
    unit_of_test: str = "operation"

    def tests(self, arguments: Sequence[str]) -> Iterator[str]:
        """The tests that these arguments select."""
        return (word for word in arguments if self.test is not None and self.test.fullmatch(word))

    def counted(self, arguments: Sequence[str]) -> str:
        """The unit of its throughput with these arguments."""
        return self.unit_of_test if any(self.tests(arguments)) else self.unit


#: sysbench's tests besides its scripts use no database.
SYSBENCH = ToolKind("sysbench", "transaction", re.compile("cpu|memory|fileio|threads|mutex"))
FIO = ToolKind("fio")
PGBENCH = ToolKind("pgbench", "transaction")
AB, WRK, REDIS_BENCHMARK = (ToolKind(name, "request") for name in ("ab", "wrk", "redis-benchmark"))
IPERF3, MBW, DD = (ToolKind(name, "MiB") for name in ("iperf3", "mbw", "dd"))
#: netperf's tests of requests and responses count these, its streams move data.
NETPERF = ToolKind("netperf", "MiB", re.compile(".*RR.*"), "transaction")
STRESS_NG = ToolKind("stress-ng")
BENCHMARKSQL = ToolKind("benchmarksql", "transaction")

#: All of them, by name.
KINDS: Mapping[str, ToolKind] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            SYSBENCH, FIO, PGBENCH, AB, WRK, REDIS_BENCHMARK, IPERF3, NETPERF, MBW, DD, STRESS_NG,
            BENCHMARKSQL,
        )
    }
)  # fmt: skip


def kind_of(name: str | None) -> ToolKind:
    """The tool of this name, also one that only a reader knows."""
    return KINDS.get(name or "") or ToolKind(name or "")


def quantity(options: Mapping[str, object]) -> tuple[str, ...]:
    """Quantity measured with recorded options: the tool, and its test."""
    names: list[str] = []
    for kind in KINDS.values():
        arguments = options.get(kind.name)
        if arguments is None:
            continue
        names.append(kind.name)
        if isinstance(arguments, str | list):
            names += kind.tests(arguments.split() if isinstance(arguments, str) else [*map(str, arguments)])
    return (*names, READ_AS) if options.get(READ_AS) is not None else tuple(names)
