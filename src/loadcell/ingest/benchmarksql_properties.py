"""Reads a property file of BenchmarkSQL 5: every key known or named, and the password left where it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote

from loadcell.ingest.text import java_properties
from loadcell.plan.problems import nearest

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
KNOWN = (
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


class PropertiesError(ValueError):
    """The file cannot be used: what is wrong with it, and what to do."""


@dataclass(frozen=True)
class Connection:
    """Where a JDBC URL leads: `kind` is `postgresql`, `mysql` ...; what it leaves out is None."""

    kind: str
    host: str | None
    port: int | None
    database: str | None

    @property
    def where(self) -> str:
        """As people write it."""
        return f"{self.host or 'localhost'}:{self.port or 5432}/{self.database or ''}"


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
    fixed_said: bool
    unknown: tuple[tuple[str, str | None], ...] = ()
    without_meaning: tuple[str, ...] = field(default=())


def read(path: Path) -> Properties:
    """Read a file. Raises PropertiesError, with everything that is wrong in it."""
    try:
        state = path.stat()
    except OSError as error:
        raise PropertiesError(f"cannot read {path}: {error.strerror}") from None
    return _read(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=256)
def _read(path: Path, _changed_ns: int, size: int) -> Properties:
    if size > _LONGEST:
        raise PropertiesError(f"{path} has {size:,} bytes: that is no property file")
    try:
        text = path.read_bytes().decode("latin-1")
    except OSError as error:
        raise PropertiesError(f"cannot read {path}: {error.strerror}") from None
    if "\0" in text:
        raise PropertiesError(f"{path} holds bytes that are no text: that is no property file")
    return understand(java_properties(text), path.name)


def understand(properties: Mapping[str, str], name: str) -> Properties:
    """Options from the properties of the file `name`. Raises PropertiesError with every mistake."""
    wrong = [f"`{key}` is missing" for key in REQUIRED if not properties.get(key, "").strip()]
    numbers: dict[str, int] = {}
    for key in sorted(_NUMBERS & properties.keys()):
        value = properties[key].strip()
        if re.fullmatch(r"\d{1,12}", value):
            numbers[key] = int(value)
        elif value:
            wrong.append(f"`{key}` is {value!r}, and must be a whole number")
    database = properties.get("db", "").strip().lower()
    connection, unread = _connection(properties.get("conn", "").strip())
    if database and database != "postgres":
        wrong.append(f"`db` is {database!r}: loadcell runs this on postgres")
    elif connection is not None and connection.kind != "postgresql":
        wrong.append(f"`conn` leads to {connection.kind}, and `db` says postgres")
    weights = [numbers[key] for key in _OPTIONS if key.endswith("Weight") and key in numbers]
    if len(weights) == 5 and sum(weights) != 100:
        wrong.append(f"the five weights sum to {sum(weights)}, and must sum to 100")
    minutes, count = numbers.get("runMins"), numbers.get("runTxnsPerTerminal")
    if minutes is not None and count is not None and (minutes == 0) == (count == 0):
        wrong.append("one of `runMins` and `runTxnsPerTerminal` must be 0, and the other not")
    for key in ("warehouses", "terminals", "loadWorkers"):
        if numbers.get(key) == 0:
            wrong.append(f"`{key}` is 0")
    if properties.get("useStoredProcedures", "").strip().lower() == "true":
        wrong.append(
            "`useStoredProcedures` is true: loadcell sends the statements themselves; set it to false"
        )
    if wrong:
        raise PropertiesError(f"{name}: {'; '.join(wrong)}")
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
        fixed_said=fixed is not None,
        unknown=tuple((key, nearest(key, KNOWN)) for key in properties if key not in KNOWN),
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
    return Connection(kind, host or None, int(port) if port else None, unquote(database) or None), False
