"""Remarks on a plan's PostgreSQL options, without touching a server."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from loadcell.plan.parts import Advice
from loadcell.systems.postgres import settings
from loadcell.systems.postgres.options import PostgresOptions
from loadcell.systems.shared.disk_image import Image

_PATH = "target.postgres.settings."

#: Defaults of the server for what is reckoned with here.
_MAX_CONNECTIONS = 100
_SUPERUSER_RESERVED = 3

_UNSAFE = {
    "fsync": "a crash of the machine loses the database, and commits cost less than they do in production",
    "full_page_writes": "a crash of the machine can damage the database, and less log is written than in production",
    "synchronous_commit": "a crash loses the last commits, which do not wait for the disk",
}


def remarks(options: PostgresOptions, load: dict[str, Any]) -> list[Advice]:
    """What a reader of the results should know before they are made. An external server's settings are not known."""
    if options.server == "external":
        return []
    return [*_image(options), *_connections(options, load), *_safety(options), *_memory(options)]


def _image(options: PostgresOptions) -> Iterator[Advice]:
    if isinstance(options.data, Image) and os.geteuid() != 0:
        yield Advice(
            "target.postgres.data",
            "only root can mount an image, and loadcell does not run as root: its trials will fail; leave them out "
            "(`--only FACTOR=LEVEL,...` names those to run), or name a directory",
        )


def _connections(options: PostgresOptions, load: dict[str, Any]) -> Iterator[Advice]:
    clients = load.get("clients")
    try:
        allowed = int(options.settings.get("max_connections", _MAX_CONNECTIONS))
        reserved = int(options.settings.get("superuser_reserved_connections", _SUPERUSER_RESERVED))
        reserved += int(options.settings.get("reserved_connections", 0))
    except ValueError:
        return
    if isinstance(clients, int) and clients > allowed - reserved:
        yield Advice(
            _PATH + "max_connections",
            f"{clients} clients need as many connections, and the server gives {allowed - reserved} "
            f"(max_connections {allowed}, of which {reserved} are reserved): set it to {clients + reserved} or more",
        )


def _safety(options: PostgresOptions) -> Iterator[Advice]:
    for name, consequence in _UNSAFE.items():
        if name in options.settings and settings.is_off(_word(options.settings[name])):
            yield Advice(_PATH + name, f"`{name}` is off: {consequence}")


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
            f"shared_buffers asks for {wanted / 2**30:.1f} GiB, and this machine has {there / 2**30:.1f} GiB: "
            "the server will not start, or the machine will swap",
        )
