"""Remarks on a plan's PostgreSQL options, without touching a server."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from loadcell.plan.parts import Advice
from loadcell.systems.postgres import settings
from loadcell.systems.postgres.messages import (
    POSTGRES_IMAGE_NEEDS_ROOT,
    POSTGRES_LATE_COMMITS,
    POSTGRES_NO_FSYNC,
    POSTGRES_NO_FULL_PAGES,
    POSTGRES_SHARED_BUFFERS_TOO_LARGE,
    POSTGRES_TOO_FEW_CONNECTIONS,
)
from loadcell.systems.postgres.options import PostgresOptions
from loadcell.systems.shared.disk_image import Image

if TYPE_CHECKING:
    from loadcell.plan.model import Load

_PATH = "target.postgres.settings."

#: Defaults of the server for what is reckoned with here.
_MAX_CONNECTIONS = 100
_SUPERUSER_RESERVED = 3

_UNSAFE = {
    "fsync": POSTGRES_NO_FSYNC,
    "full_page_writes": POSTGRES_NO_FULL_PAGES,
    "synchronous_commit": POSTGRES_LATE_COMMITS,
}


def remarks(options: PostgresOptions, load: Load) -> list[Advice]:
    """Remarks before a run. An external server's settings are unknown."""
    if options.server == "external":
        return []
    return [*_image(options), *_connections(options, load), *_safety(options), *_memory(options)]


def _image(options: PostgresOptions) -> Iterator[Advice]:
    if isinstance(options.data, Image) and os.geteuid() != 0:
        yield Advice("target.postgres.data", POSTGRES_IMAGE_NEEDS_ROOT())


def _connections(options: PostgresOptions, load: Load) -> Iterator[Advice]:
    clients = load.clients
    try:
        allowed = int(options.settings.get("max_connections", _MAX_CONNECTIONS))
        reserved = int(options.settings.get("superuser_reserved_connections", _SUPERUSER_RESERVED))
        reserved += int(options.settings.get("reserved_connections", 0))
    except ValueError:
        return
    if isinstance(clients, int) and clients > allowed - reserved:
        yield Advice(
            _PATH + "max_connections",
            POSTGRES_TOO_FEW_CONNECTIONS(
                clients=clients,
                allowed=allowed - reserved,
                max_connections=allowed,
                reserved=reserved,
                needed=clients + reserved,
            ),
        )


def _safety(options: PostgresOptions) -> Iterator[Advice]:
    for name, code in _UNSAFE.items():
        if name in options.settings and settings.is_off(_word(options.settings[name])):
            yield Advice(_PATH + name, code(name=name))


def _word(value: Any) -> Any:
    return ("on" if value else "off") if isinstance(value, bool) else value


def _memory(options: PostgresOptions) -> Iterator[Advice]:
    wanted = settings.bytes_of(options.settings.get("shared_buffers"))
    if wanted is None:
        return
    import psutil

    there = psutil.virtual_memory().total
    if wanted > there:
        yield Advice(
            _PATH + "shared_buffers",
            POSTGRES_SHARED_BUFFERS_TOO_LARGE(wanted_bytes=wanted, memory_bytes=there),
        )
