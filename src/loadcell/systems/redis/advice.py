"""Remarks on a plan's Redis options, without touching a server."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from loadcell.plan.parts import Advice
from loadcell.systems.redis import settings
from loadcell.systems.redis.options import RedisOptions

_PATH = "target.redis.settings."

#: The server's default, and the descriptors that it keeps for itself.
_MAX_CLIENTS = 10_000
_SPARE_FILES = 32
_HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def remarks(options: RedisOptions, load: dict[str, Any]) -> list[Advice]:
    """What a reader of the results should know before they are made. An external server's settings are not known."""
    if options.server == "external":
        return []
    return [*_connections(options, load), *_persistence(options), *_memory(options)]


def _connections(options: RedisOptions, load: dict[str, Any]) -> Iterator[Advice]:
    clients = load.get("clients")
    try:
        allowed = int(options.settings.get("maxclients", _MAX_CLIENTS))
    except ValueError:
        return
    if not isinstance(clients, int):
        return
    if clients >= allowed:
        yield Advice(
            _PATH + "maxclients",
            f"{clients} clients and loadcell's own need more connections than the server gives ({allowed}): set it to "
            f"{clients + 10} or more",
        )
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    needed = clients + 10 + _SPARE_FILES
    if most != resource.RLIM_INFINITY and needed > most:
        yield Advice(
            "load.clients",
            f"{clients} clients need {needed} file descriptors of the server, and it may have {most}: raise the hard limit "
            f"(`ulimit -Hn {needed}` as root), or use fewer clients",
        )


def _persistence(options: RedisOptions) -> Iterator[Advice]:
    given = options.settings
    if "save" not in given:
        yield Advice(
            _PATH + "save",
            "the server writes a snapshot after 60 s with 10,000 changes, which costs trials that it falls into: set "
            '`save: ""` to measure without, or say when',
        )
    if given.get("appendonly") in ("yes", True) and given.get("appendfsync") == "no":
        yield Advice(
            _PATH + "appendfsync",
            "with `appendfsync: no` a crash of the machine loses up to half a minute of acknowledged writes",
        )
    persistent = given.get("appendonly") in ("yes", True) or str(given.get("save", "on")).strip() != ""
    try:
        always = "[always]" in _HUGE_PAGES.read_text()
    except OSError:
        always = False
    if persistent and always:
        yield Advice(
            _PATH + "save",
            "transparent huge pages are on, so that after each fork for persistence a write copies 2 MiB: "
            "`echo madvise > /sys/kernel/mm/transparent_hugepage/enabled` as root",
        )


def _memory(options: RedisOptions) -> Iterator[Advice]:
    wanted = settings.bytes_of(options.settings.get("maxmemory"))
    if not wanted:
        return
    import psutil

    there = psutil.virtual_memory().total
    if wanted > there:
        yield Advice(
            _PATH + "maxmemory",
            f"maxmemory allows {wanted / 2**30:.1f} GiB, and this machine has {there / 2**30:.1f} GiB: it will swap, or the "
            "kernel will end the server",
        )
    if "maxmemory-policy" not in options.settings:
        yield Advice(
            _PATH + "maxmemory-policy",
            "without `maxmemory-policy` writes fail when maxmemory is used up (noeviction)",
        )
