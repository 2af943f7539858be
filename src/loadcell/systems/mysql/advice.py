"""Remarks on a plan's MariaDB options, without touching a server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from loadcell.model.message import MessageCode
from loadcell.plan.parts import Advice
from loadcell.systems.mysql import settings
from loadcell.systems.mysql.messages import (
    MYSQL_BUFFER_POOL_TOO_LARGE,
    MYSQL_LATE_COMMITS,
    MYSQL_NO_DOUBLEWRITE,
    MYSQL_NO_SYNC,
    MYSQL_TOO_FEW_CONNECTIONS,
)
from loadcell.systems.mysql.options import MysqlOptions

if TYPE_CHECKING:
    from loadcell.plan.model import Load

_PATH = "target.mysql.settings."

#: The server's default for what is reckoned with here; one more connection is kept for its administrator.
_MAX_CONNECTIONS = 151

_UNSAFE: dict[str, tuple[tuple[str, ...], MessageCode]] = {
    "innodb_flush_log_at_trx_commit": (
        ("0", "2"),
        MYSQL_LATE_COMMITS,
    ),
    "innodb_doublewrite": (
        ("0", "off", "false"),
        MYSQL_NO_DOUBLEWRITE,
    ),
    "innodb_flush_method": (
        ("nosync",),
        MYSQL_NO_SYNC,
    ),
}


def remarks(options: MysqlOptions, load: Load) -> list[Advice]:
    """Remarks before a run. An external server's settings are unknown."""
    if options.server == "external":
        return []
    return [*_connections(options, load), *_safety(options), *_memory(options)]


def _connections(options: MysqlOptions, load: Load) -> Iterator[Advice]:
    clients = load.clients
    try:
        allowed = int(options.settings.get("max_connections", _MAX_CONNECTIONS))
    except ValueError:
        return
    if isinstance(clients, int) and clients > allowed:
        yield Advice(_PATH + "max_connections", MYSQL_TOO_FEW_CONNECTIONS(clients=clients, allowed=allowed))


def _safety(options: MysqlOptions) -> Iterator[Advice]:
    for name, (values, code) in _UNSAFE.items():
        value = options.settings.get(name)
        word = ("1" if value else "0") if isinstance(value, bool) else str(value).lower()
        if value is not None and word in values:
            yield Advice(_PATH + name, code(name=name, value=value))


def _memory(options: MysqlOptions) -> Iterator[Advice]:
    wanted = settings.bytes_of(options.settings.get("innodb_buffer_pool_size"))
    if wanted is None:
        return
    import psutil

    there = psutil.virtual_memory().total
    if wanted > there:
        yield Advice(
            _PATH + "innodb_buffer_pool_size",
            MYSQL_BUFFER_POOL_TOO_LARGE(wanted_bytes=wanted, memory_bytes=there),
        )
