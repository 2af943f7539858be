"""Remarks on a plan's Redis options, without touching a server."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from loadcell.plan.parts import Advice
from loadcell.systems.redis import settings
from loadcell.systems.redis.messages import (
    REDIS_HUGE_PAGES,
    REDIS_MAXMEMORY_TOO_LARGE,
    REDIS_NO_EVICTION,
    REDIS_NO_FSYNC,
    REDIS_SNAPSHOTS,
    REDIS_TOO_FEW_CONNECTIONS,
    REDIS_TOO_FEW_DESCRIPTORS,
)
from loadcell.systems.redis.options import RedisOptions

if TYPE_CHECKING:
    from loadcell.plan.model import Load

_PATH = "target.redis.settings."

#: The server's default, and the descriptors that it keeps for itself.
_MAX_CLIENTS = 10_000
_SPARE_FILES = 32
_HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def remarks(options: RedisOptions, load: Load) -> list[Advice]:
    """Remarks before a run. An external server's settings are unknown."""
    if options.server == "external":
        return []
    return [*_connections(options, load), *_persistence(options), *_memory(options)]


def _connections(options: RedisOptions, load: Load) -> Iterator[Advice]:
    clients = load.clients
    try:
        allowed = int(options.settings.get("maxclients", _MAX_CLIENTS))
    except ValueError:
        return
    if not isinstance(clients, int):
        return
    if clients >= allowed:
        yield Advice(
            _PATH + "maxclients",
            REDIS_TOO_FEW_CONNECTIONS(clients=clients, allowed=allowed, needed=clients + 10),
        )
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    needed = clients + 10 + _SPARE_FILES
    if most != resource.RLIM_INFINITY and needed > most:
        yield Advice("load.clients", REDIS_TOO_FEW_DESCRIPTORS(clients=clients, needed=needed, most=most))


def _persistence(options: RedisOptions) -> Iterator[Advice]:
    settings = options.settings
    if "save" not in settings:
        yield Advice(_PATH + "save", REDIS_SNAPSHOTS())
    if settings.get("appendonly") in ("yes", True) and settings.get("appendfsync") == "no":
        yield Advice(_PATH + "appendfsync", REDIS_NO_FSYNC())
    persistent = settings.get("appendonly") in ("yes", True) or str(settings.get("save", "on")).strip() != ""
    try:
        always = "[always]" in _HUGE_PAGES.read_text()
    except OSError:
        always = False
    if persistent and always:
        yield Advice(_PATH + "save", REDIS_HUGE_PAGES())


def _memory(options: RedisOptions) -> Iterator[Advice]:
    wanted = settings.bytes_of(options.settings.get("maxmemory"))
    if not wanted:
        return
    import psutil

    there = psutil.virtual_memory().total
    if wanted > there:
        yield Advice(_PATH + "maxmemory", REDIS_MAXMEMORY_TOO_LARGE(wanted_bytes=wanted, memory_bytes=there))
    if "maxmemory-policy" not in options.settings:
        yield Advice(_PATH + "maxmemory-policy", REDIS_NO_EVICTION())
