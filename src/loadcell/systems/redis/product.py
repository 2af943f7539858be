"""Product and version of a server: compatible servers call themselves a Redis, of a version that they can
replace.

What each says in INFO: Valkey since 8 `server_name` and `valkey_version`, Dragonfly `dragonfly_version` (with
`df-v` before it), Garnet `garnet_version`. KeyDB gives its version as `redis_version`, and is recognised by a
section or its program.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

#: Sections of INFO that say it. A server passes over one that it does not have.
SECTIONS = ("server", "keydb")

#: The field with a product's version, and the product.
_VERSION_FIELDS = {"valkey_version": "Valkey", "dragonfly_version": "Dragonfly", "garnet_version": "Garnet"}
#: What servers call themselves; those that are not here are shown by their own word.
_CALLED = {
    "valkey": "Valkey",
    "garnet": "Garnet",
    "redis": "Redis",
    "keydb": "KeyDB",
    "dragonfly": "Dragonfly",
}
#: What a program calls itself before its version: `Valkey server v=9.1.2`.
_PROGRAM = re.compile(r"^(\w+) server v=(\d+\.\d+\.\d+)", re.MULTILINE)


@dataclass(frozen=True)
class Product:
    """A server by its name, with its own version; `redis_version` is what it says it is compatible with."""

    name: str
    version: str | None
    redis_version: str | None = None


def from_info(info: Mapping[str, str]) -> Product:
    """The server that gave these values (INFO of `SECTIONS`)."""
    redis_version = info.get("redis_version")
    for field, name in _VERSION_FIELDS.items():
        if field in info:
            return Product(name, _plain(info[field]), redis_version)
    if "mvcc_depth" in info or PurePosixPath(info.get("executable", "")).name == "keydb-server":
        return Product("KeyDB", redis_version)
    called = info.get("server_name", "redis")
    # The version of a product that does not give it is unknown, not that of a Redis.
    name = _CALLED.get(called.lower(), called)
    return Product(name, redis_version) if name == "Redis" else Product(name, None, redis_version)


def from_program(output: str) -> Product | None:
    """The server whose program said this about its version; None where it did not as a Redis does."""
    match = _PROGRAM.search(output)
    return Product(_CALLED.get(match[1].lower(), match[1]), match[2]) if match else None


def _plain(version: str) -> str:
    """`df-v1.40.1` is 1.40.1."""
    return version.removeprefix("df-").removeprefix("v")
