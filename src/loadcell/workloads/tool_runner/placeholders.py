"""What stands in the places of `${clients}`, `${host}` and the like, and the target's way to its server by the environment."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from loadcell.workloads.tool_runner.registry import OF_PROTOCOL, SECRETS

PLACE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SCHEMES = {"postgres": "postgresql", "mysql": "mysql", "resp": "redis"}


class NoValueError(ValueError):
    """A place for which this trial has nothing; the argument is its name."""


def named(texts: Iterable[str]) -> list[str]:
    """The names of all places in these texts, each once."""
    return list(dict.fromkeys(match[1] for text in texts for match in PLACE.finditer(text)))


def filled(words: Sequence[str], values: Mapping[str, str]) -> list[str]:
    """These words with every place filled in. Raises NoValueError."""

    def value(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise NoValueError(match[1])
        return values[match[1]]

    return [PLACE.sub(value, word) for word in words]


def seconds(nanoseconds: int) -> str:
    """`30`, `1.5`: what tools take."""
    return f"{nanoseconds / 1e9:.9f}".rstrip("0").rstrip(".")


def of_load(load: Mapping[str, Any], seed: int) -> dict[str, str]:
    """How hard, and how long."""
    found = {
        "clients": str(load["clients"]),
        "threads": str(load["threads"]),
        "duration_s": seconds(load["duration_ns"]),
        "seed": str(seed % 2**31),
    }
    if load.get("requests") is not None:
        found["requests"] = str(load["requests"])
    return found


def of_target(endpoint: Mapping[str, Any]) -> dict[str, str]:
    """Where it is; never a secret."""
    protocol = endpoint["protocol"]
    found: dict[str, str] = {
        name: str(endpoint[name])
        for name in ("host", "port", "socket", "user", "database")
        if endpoint.get(name) not in (None, "") and name in OF_PROTOCOL.get(protocol, ())
    }
    if protocol == "postgres" and "socket" in found:  # libpq is given its directory as a host
        found["host"] = str(PurePath(found["socket"]).parent)
    if "host" in found and "port" in found:
        found["url"] = _url(protocol, endpoint, found)
    return found


def _url(protocol: str, endpoint: Mapping[str, Any], found: Mapping[str, str]) -> str:
    host = f"[{found['host']}]" if ":" in found["host"] else found["host"]
    if protocol == "http":
        scheme = "http" if endpoint.get("sslmode") == "disable" else "https"
        return f"{scheme}://{host}:{found['port']}"
    if "socket" in found:
        host = ""
    user = f"{found['user']}@" if "user" in found else ""
    where = f"{host}:{found['port']}" if host else ""
    return f"{_SCHEMES[protocol]}://{user}{where}/{found.get('database', '')}"


def environment(endpoint: Mapping[str, Any], places: Mapping[str, str]) -> dict[str, str]:
    """What clients of the target find in their environment, its password included: never to be written anywhere."""
    protocol = endpoint["protocol"]
    found: dict[str, str] = {}
    if protocol == "postgres":
        names = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "database": "PGDATABASE"}
        found = {variable: places[name] for name, variable in names.items() if name in places}
        own = {"PGSSLMODE": endpoint.get("sslmode"), "PGSSLROOTCERT": endpoint.get("sslrootcert"), "PGOPTIONS": endpoint.get("options")}  # fmt: skip
        found |= {name: str(value) for name, value in own.items() if value}
    if protocol == "mysql":
        names = {"host": "MYSQL_HOST", "port": "MYSQL_TCP_PORT", "socket": "MYSQL_UNIX_PORT"}
        found = {variable: places[name] for name, variable in names.items() if name in places}
    if endpoint.get("password") and protocol in SECRETS:
        found[SECRETS[protocol]] = str(endpoint["password"])
    return found
