"""Finds a server on this machine: Redis, or what takes its configuration."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from loadcell.systems.base import TargetError
from loadcell.systems.messages import SERVER_TOO_OLD
from loadcell.systems.redis import product
from loadcell.systems.redis.messages import REDIS_MISSING, REDIS_NO_PROGRAM, REDIS_NO_VERSION

#: Where distributions and installations put the server, beside PATH.
_PLACES = ("/usr/bin", "/usr/local/bin", "/usr/sbin", "/opt/redis/bin", "/opt/valkey/bin")
_SERVERS = ("redis-server", "valkey-server")

#: The oldest version whose behaviour loadcell knows.
OLDEST = (5, 0)


@dataclass(frozen=True)
class Binary:
    """The server, whose it is (`Valkey`), and its version (`7.0.15`)."""

    server: Path
    product: str
    version: str


def find(named: str | None = None) -> Binary:
    """The Redis of this machine, or the one named. Raises TargetError."""
    if named is not None:
        path = Path(named).expanduser().absolute()
        if not (path.is_file() and os.access(path, os.X_OK)):
            raise TargetError(REDIS_NO_PROGRAM(path=path))
        return _checked(path)
    for path in _candidates():
        if os.access(path, os.X_OK):
            return _checked(path)
    raise TargetError(REDIS_MISSING(servers=_SERVERS, places=_PLACES))  # fmt: skip


def _candidates() -> Iterator[Path]:
    for name in _SERVERS:
        on_path = shutil.which(name)
        if on_path:
            yield Path(on_path)
        yield from (Path(directory) / name for directory in _PLACES)


def _checked(server: Path) -> Binary:
    try:
        done = subprocess.run(
            [str(server), "--version"], capture_output=True, text=True, timeout=20, check=False, cwd="/"
        )
        output = done.stdout
    except (OSError, subprocess.SubprocessError):
        output = ""
    product_found = product.from_program(output)
    if product_found is None or product_found.version is None:
        raise TargetError(REDIS_NO_VERSION(program=server))
    if tuple(int(part) for part in product_found.version.split(".")[:2]) < OLDEST:
        raise TargetError(
            SERVER_TOO_OLD(
                product=product_found.name,
                version=product_found.version,
                place=server,
                oldest=f"{OLDEST[0]}.{OLDEST[1]}",
            )
        )
    return Binary(server, product_found.name, product_found.version)
