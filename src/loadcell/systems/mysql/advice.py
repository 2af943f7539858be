"""Remarks on a plan's MariaDB options, without touching a server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from loadcell.plan.parts import Advice
from loadcell.systems.mysql import settings
from loadcell.systems.mysql.options import MysqlOptions

_PATH = "target.mysql.settings."

#: The server's default for what is reckoned with here; one more connection is kept for its administrator.
_MAX_CONNECTIONS = 151

_UNSAFE: dict[str, tuple[tuple[str, ...], str]] = {
    "innodb_flush_log_at_trx_commit": (
        ("0", "2"),
        "a crash loses the last second's commits, which do not wait for the disk",
    ),
    "innodb_doublewrite": (
        ("0", "off", "false"),
        "a crash of the machine can damage the database, and less is written than in production",
    ),
    "innodb_flush_method": (
        ("nosync",),
        "a crash of the machine loses the database, and commits cost less than they do in production",
    ),
}


def remarks(options: MysqlOptions, load: dict[str, Any]) -> list[Advice]:
    """What a reader of the results should know before they are made. An external server's settings are not known."""
    if options.server == "external":
        return []
    return [*_connections(options, load), *_safety(options), *_memory(options)]


def _connections(options: MysqlOptions, load: dict[str, Any]) -> Iterator[Advice]:
    clients = load.get("clients")
    try:
        allowed = int(options.settings.get("max_connections", _MAX_CONNECTIONS))
    except ValueError:
        return
    if isinstance(clients, int) and clients > allowed:
        yield Advice(
            _PATH + "max_connections",
            f"{clients} clients need as many connections, and the server gives {allowed}: set it to {clients} or more",
        )


def _safety(options: MysqlOptions) -> Iterator[Advice]:
    for name, (values, consequence) in _UNSAFE.items():
        value = options.settings.get(name)
        word = ("1" if value else "0") if isinstance(value, bool) else str(value).lower()
        if value is not None and word in values:
            yield Advice(_PATH + name, f"with `{name}: {value}` {consequence}")


def _memory(options: MysqlOptions) -> Iterator[Advice]:
    wanted = settings.bytes_of(options.settings.get("innodb_buffer_pool_size"))
    if wanted is None:
        return
    import psutil

    there = psutil.virtual_memory().total
    if wanted > there:
        yield Advice(
            _PATH + "innodb_buffer_pool_size",
            f"innodb_buffer_pool_size asks for {wanted / 2**30:.1f} GiB, and this machine has {there / 2**30:.1f} GiB: "
            "the server will not start, or the machine will swap",
        )
