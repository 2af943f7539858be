"""Values of `${clients}`, `${host}` and other placeholders, and the environment with the address of the
server.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from loadcell.workloads.tool_runner.registry import OF_PROTOCOL, SECRETS

PLACE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SCHEMES = {"postgres": "postgresql", "mysql": "mysql", "resp": "redis"}


@dataclass(frozen=True)
class LoadSpec:
    """Intensity and duration of a load, from its specification."""

    clients: int
    threads: int
    warmup_ns: int
    duration_ns: int
    requests: int | None = None


@dataclass(frozen=True)
class Endpoint:
    """Address of the target, from the load's specification. Holds secrets: never to be written anywhere."""

    protocol: str
    host: str | None = None
    port: int | None = None
    socket: str | None = None
    user: str | None = None
    password: str | None = None
    database: str | int | None = None
    sslmode: str | None = None
    sslrootcert: str | None = None
    options: str | None = None
    directory: str | None = None


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


def of_load(load: LoadSpec, seed: int) -> dict[str, str]:
    """Placeholders of the load: intensity and duration."""
    values = {
        "clients": str(load.clients),
        "threads": str(load.threads),
        "duration_s": seconds(load.duration_ns),
        "seed": str(seed % 2**31),
    }
    if load.requests is not None:
        values["requests"] = str(load.requests)
    return values


def of_target(endpoint: Endpoint) -> dict[str, str]:
    """Where it is; never a secret."""
    protocol = endpoint.protocol
    fields: dict[str, str] = {
        name: str(value)
        for name in ("host", "port", "socket", "user", "database")
        if (value := getattr(endpoint, name)) not in (None, "") and name in OF_PROTOCOL.get(protocol, ())
    }
    if protocol == "postgres" and "socket" in fields:  # libpq is given its directory as a host
        fields["host"] = str(PurePath(fields["socket"]).parent)
    if "host" in fields and "port" in fields:
        fields["url"] = _url(protocol, endpoint, fields)
    return fields


def _url(protocol: str, endpoint: Endpoint, values: Mapping[str, str]) -> str:
    host = f"[{values['host']}]" if ":" in values["host"] else values["host"]
    if protocol == "http":
        scheme = "http" if endpoint.sslmode == "disable" else "https"
        return f"{scheme}://{host}:{values['port']}"
    if "socket" in values:
        host = ""
    user = f"{values['user']}@" if "user" in values else ""
    where = f"{host}:{values['port']}" if host else ""
    return f"{_SCHEMES[protocol]}://{user}{where}/{values.get('database', '')}"


def environment(endpoint: Endpoint, places: Mapping[str, str]) -> dict[str, str]:
    """Environment of clients of the target, its password included: never to be written anywhere."""
    protocol = endpoint.protocol
    variables: dict[str, str] = {}
    if protocol == "postgres":
        names = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "database": "PGDATABASE"}
        variables = {variable: places[name] for name, variable in names.items() if name in places}
        postgres_variables = {"PGSSLMODE": endpoint.sslmode, "PGSSLROOTCERT": endpoint.sslrootcert, "PGOPTIONS": endpoint.options}  # fmt: skip
        variables |= {name: str(value) for name, value in postgres_variables.items() if value}
    if protocol == "mysql":
        names = {"host": "MYSQL_HOST", "port": "MYSQL_TCP_PORT", "socket": "MYSQL_UNIX_PORT"}
        variables = {variable: places[name] for name, variable in names.items() if name in places}
    if endpoint.password and protocol in SECRETS:
        variables[SECRETS[protocol]] = endpoint.password
    return variables
