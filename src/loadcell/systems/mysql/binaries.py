"""Finds the programs of MariaDB on this machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from loadcell.systems.base import TargetError
from loadcell.systems.messages import SERVER_TOO_OLD
from loadcell.systems.mysql.messages import MYSQL_MISSING, MYSQL_NO_PROGRAMS

#: Where distributions and MariaDB's own packages put the server.
_PLACES = ("/usr/sbin", "/usr/libexec", "/usr/bin", "/usr/local/mysql/bin", "/usr/local/mariadb/bin")
_SERVER = "mariadbd"
_INSTALL = ("mariadb-install-db", "mysql_install_db")

#: The oldest version whose behaviour loadcell knows.
OLDEST = (10, 5)


@dataclass(frozen=True)
class Binaries:
    """The server, the program that makes its data directory, and their version (`10.11.19-MariaDB`)."""

    server: Path
    install: Path
    version: str

    @property
    def series(self) -> str:
        """The part of the version that tells one data directory from another: `10.11`."""
        return ".".join(self.version.split(".")[:2])


def find(named: str | None = None) -> Binaries:
    """The MariaDB of this machine, or the one named. Raises TargetError."""
    if named is not None:
        path = Path(named).expanduser().absolute()
        candidates = _in([path, path / "bin", path / "sbin"])
        if candidates is None:
            raise TargetError(MYSQL_NO_PROGRAMS(path=path, install=_INSTALL[0]))
        return candidates
    on_path = shutil.which(_SERVER)
    places = [Path(on_path).parent] if on_path else []
    candidates = _in([*places, *map(Path, _PLACES)])
    if candidates is None:
        raise TargetError(MYSQL_MISSING(places=_PLACES))
    return candidates


def _in(places: Iterable[Path]) -> Binaries | None:
    for path in places:
        server = path / _SERVER
        if not os.access(server, os.X_OK):
            continue
        install = _adjacent(server.resolve().parent) or _adjacent(path)
        match = re.search(r"Ver (\d+\.\d+\.\d+)\S*", _says([str(server), "--no-defaults", "--version"]))
        if install is None or match is None:
            continue
        version = match[1]
        if tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
            raise TargetError(
                SERVER_TOO_OLD(
                    product="MariaDB",
                    version=version,
                    place=path,
                    oldest=f"{OLDEST[0]}.{OLDEST[1]}",
                )
            )
        return Binaries(server, install, f"{version}-MariaDB")
    return None


def _adjacent(path: Path) -> Path | None:
    """The program that makes data directories, in the same installation."""
    for directory in (path, path.parent / "bin", path.parent / "scripts"):
        for name in _INSTALL:
            if os.access(directory / name, os.X_OK):
                return directory / name
    return None


def _says(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True, cwd="/")
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout
