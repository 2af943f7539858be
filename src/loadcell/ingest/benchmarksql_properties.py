"""Reads a property file of BenchmarkSQL 5: every key known or named, and the password left where it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote

from loadcell.ingest import text as texts_of_tools
from loadcell.ingest.printed_numbers import integer
from loadcell.model.message import Count, ForeignText, MessageCode
from loadcell.model.tools import JdbcServer, by_jdbc_kind, jdbc_servers
from loadcell.plan.problems import SettingError, nearest

PROPERTIES_TOO_LONG = MessageCode("properties.too-long", path=str, length=Count)
PROPERTIES_UNREADABLE = MessageCode("properties.unreadable", path=str, reason=ForeignText)
PROPERTIES_NO_TEXT = MessageCode("properties.no-text", path=str)
PROPERTIES_WRONG = MessageCode("properties.wrong", file=str, mistakes=list)
PROPERTIES_MISSING = MessageCode("properties.missing", key=str)
PROPERTIES_NO_NUMBER = MessageCode("properties.no-number", key=str, value=str)
PROPERTIES_DATABASE = MessageCode("properties.database", database=str, databases=list)
PROPERTIES_CONNECTION = MessageCode("properties.connection", kind=str, database=str)
PROPERTIES_WEIGHTS = MessageCode("properties.weights", total=str)
PROPERTIES_LENGTH = MessageCode("properties.length")
PROPERTIES_ZERO = MessageCode("properties.zero", key=str)
PROPERTIES_STORED_PROCEDURES = MessageCode("properties.stored-procedures")

#: Property -> option of workload `tpcc`.
_OPTIONS = {
    "warehouses": "warehouses",
    "loadWorkers": "load_workers",
    "limitTxnsPerMin": "limit_txns_per_min",
    "newOrderWeight": "new_order_weight",
    "paymentWeight": "payment_weight",
    "orderStatusWeight": "order_status_weight",
    "deliveryWeight": "delivery_weight",
    "stockLevelWeight": "stock_level_weight",
}
#: BenchmarkSQL does not start without these, and neither does what stands for it here.
REQUIRED = (
    "db",
    "warehouses",
    "terminals",
    "runTxnsPerTerminal",
    "runMins",
    "limitTxnsPerMin",
    "newOrderWeight",
    "paymentWeight",
    "orderStatusWeight",
    "deliveryWeight",
    "stockLevelWeight",
)
_NUMBERS = {*_OPTIONS, "terminals", "runTxnsPerTerminal", "runMins"}
#: Known, and without a meaning here: what the target is, where results go, what watches the host are said in
#: the plan.
WITHOUT_MEANING = (
    "driver",
    "fileLocation",
    "resultDirectory",
    "osCollectorScript",
    "osCollectorInterval",
    "osCollectorSSHAddr",
    "osCollectorDevices",
)
KEYS = (
    *REQUIRED,
    "conn",
    "user",
    "password",
    "loadWorkers",
    "terminalWarehouseFixed",
    "useStoredProcedures",
    *WITHOUT_MEANING,
)
_LONGEST = 1_000_000


@dataclass(frozen=True)
class Connection:
    """Where a JDBC URL leads: `kind` is `postgresql`, `mysql` ...; what it leaves out is None."""

    kind: str
    host: str | None
    port: int | None
    database: str | None

    @property
    def server(self) -> JdbcServer | None:
        """Servers of that kind; None where loadcell has no target for them."""
        programs = by_jdbc_kind(self.kind)
        return programs.jdbc if programs is not None else None

    @property
    def address(self) -> tuple[str, int | None]:
        """Host and port, by default those of the kind of server."""
        server = self.server
        return self.host or "localhost", self.port or (server.port if server is not None else None)

    @property
    def where(self) -> str:
        """As people write it."""
        host, port = self.address
        return f"{host}:{port}/{self.database or ''}"


@dataclass(frozen=True)
class Properties:
    """Contents of a property file, without its password.

    `options` are those of workload `tpcc`; exactly one of `run_minutes` and `transactions_per_terminal` is
    not 0.
    """

    options: Mapping[str, int | bool]
    terminals: int
    run_minutes: int
    transactions_per_terminal: int
    connection: Connection | None
    connection_unread: bool
    user: str | None
    has_password: bool
    has_fixed: bool
    unknown: tuple[tuple[str, str | None], ...] = ()
    without_meaning: tuple[str, ...] = field(default=())


def read(path: Path) -> Properties:
    """Read a file. Raises SettingError, with everything that is wrong in it."""
    try:
        state = path.stat()
    except OSError as error:
        raise SettingError(PROPERTIES_UNREADABLE(path=path, reason=error.strerror)) from None
    return _read(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=256)
def _read(path: Path, _changed_ns: int, _size: int) -> Properties:
    return understand(read_properties(path, _LONGEST), path.name)


def read_properties(path: Path, longest_bytes: int) -> dict[str, str]:
    """The properties in a file of at most this length. Raises SettingError."""
    try:
        size = path.stat().st_size
        if size > longest_bytes:
            raise SettingError(PROPERTIES_TOO_LONG(path=path, length=size))
        text = path.read_bytes().decode("latin-1")
    except OSError as error:
        raise SettingError(PROPERTIES_UNREADABLE(path=path, reason=error.strerror)) from None
    if "\0" in text:
        raise SettingError(PROPERTIES_NO_TEXT(path=path))
    return texts_of_tools.java_properties(text)


def understand(properties: Mapping[str, str], name: str) -> Properties:
    """Options from the properties of the file `name`. Raises SettingError with every mistake."""
    mistakes = [PROPERTIES_MISSING(key=key) for key in REQUIRED if not properties.get(key, "").strip()]
    numbers: dict[str, int] = {}
    for key in sorted(_NUMBERS & properties.keys()):
        value = properties[key].strip()
        if re.fullmatch(r"\d{1,12}", value):
            numbers[key] = integer(value)
        elif value:
            mistakes.append(PROPERTIES_NO_NUMBER(key=key, value=repr(value)))
    database = properties.get("db", "").strip().lower()
    connection, unread = _connection(properties.get("conn", "").strip())
    servers = {product: server for server in jdbc_servers() for product in server.products}
    if database and database not in servers:
        mistakes.append(PROPERTIES_DATABASE(database=repr(database), databases=sorted(servers)))
    elif database and connection is not None and connection.server != servers[database]:
        mistakes.append(PROPERTIES_CONNECTION(kind=connection.kind, database=database))
    weights = [numbers[key] for key in _OPTIONS if key.endswith("Weight") and key in numbers]
    if len(weights) == 5 and sum(weights) != 100:
        mistakes.append(PROPERTIES_WEIGHTS(total=sum(weights)))
    minutes, count = numbers.get("runMins"), numbers.get("runTxnsPerTerminal")
    if minutes is not None and count is not None and (minutes == 0) == (count == 0):
        mistakes.append(PROPERTIES_LENGTH())
    for key in ("warehouses", "terminals", "loadWorkers"):
        if numbers.get(key) == 0:
            mistakes.append(PROPERTIES_ZERO(key=key))
    if properties.get("useStoredProcedures", "").strip().lower() == "true":
        mistakes.append(PROPERTIES_STORED_PROCEDURES())
    if mistakes:
        raise SettingError(PROPERTIES_WRONG(file=name, mistakes=mistakes))
    fixed = properties.get("terminalWarehouseFixed")
    return Properties(
        options={
            **{option: numbers[key] for key, option in _OPTIONS.items() if key in numbers},
            # As Java's parseBoolean, which BenchmarkSQL asks.
            "terminal_warehouse_fixed": (fixed or "").strip().lower() == "true",
        },
        terminals=numbers["terminals"],
        run_minutes=numbers["runMins"],
        transactions_per_terminal=numbers["runTxnsPerTerminal"],
        connection=connection,
        connection_unread=unread,
        user=properties.get("user", "").strip() or None,
        has_password=bool(properties.get("password", "").strip()),
        has_fixed=fixed is not None,
        unknown=tuple((key, nearest(key, KEYS)) for key in properties if key not in KEYS),
        without_meaning=tuple(key for key in WITHOUT_MEANING if key in properties and key != "driver"),
    )


def _connection(url: str) -> tuple[Connection | None, bool]:
    """Where a JDBC URL leads; or that it was not understood. Never the URL itself: it may hold a password."""
    if not url:
        return None, False
    match = re.fullmatch(
        r"jdbc:([a-z]+):(?://(\[[^\]]*\]|[^:/?,]*)(?::(\d{1,5}))?/)?([^/?;]*)(?:[?;].*)?", url
    )
    if match is None:
        return None, True
    kind, host, port, database = match.groups()
    return Connection(kind, host or None, integer(port) if port else None, unquote(database) or None), False
