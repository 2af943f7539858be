"""Plan options of a Redis target: settings of the server, checks, and remarks before a run."""

from __future__ import annotations

import re
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import ConfigDict, Field, model_validator

from loadcell.model.message import Bytes, MessageCode
from loadcell.plan.data_size import Cache
from loadcell.plan.parts import Advice, Misfit
from loadcell.plan.problems import SettingError
from loadcell.systems.server_options import ManagedOrExternalOptions, Setting, memory_remarks, size_in_bytes

if TYPE_CHECKING:
    from loadcell.plan.model import Load

REDIS_TOO_FEW_CONNECTIONS = MessageCode(
    "redis.too-few-connections", "caution", allowed=str, clients=str, needed=str
)
REDIS_TOO_FEW_DESCRIPTORS = MessageCode(
    "redis.too-few-descriptors", "caution", clients=str, most=str, needed=str
)
REDIS_SNAPSHOTS = MessageCode("redis.snapshots", "caution")
REDIS_NO_FSYNC = MessageCode("redis.no-fsync", "caution")
REDIS_HUGE_PAGES = MessageCode("redis.huge-pages", "caution")
REDIS_MAXMEMORY_TOO_LARGE = MessageCode(
    "redis.maxmemory-too-large", "caution", memory_bytes=Bytes, wanted_bytes=Bytes
)
REDIS_NO_EVICTION = MessageCode("redis.no-eviction", "caution")
REDIS_NO_LOCATION = MessageCode("redis.no-location")
REDIS_SOCKET_AND_HOST = MessageCode("redis.socket-and-host")
REDIS_USER_ALONE = MessageCode("redis.user-alone", example=str)
REDIS_NO_TLS = MessageCode("redis.no-tls")

#: Settings that loadcell sets itself, and why.
RESERVED: dict[str, str] = {
    "dir": "name the directory by `target.redis.data`",
    "port": "a free port is taken at each start",
    "bind": "the server is reached on 127.0.0.1 only",
    "unixsocket": "the socket lies in the run's work directory",
    "unixsocketperm": "the socket is the server's user's",
    "protected-mode": "the server has a password",
    "requirepass": "it has a new password at each start",
    "user": "the load is the default user",
    "aclfile": "the load is the default user",
    "rename-command": "loadcell needs the commands by their names",
    "daemonize": "it watches the process",
    "supervised": "it watches the process",
    "pidfile": "it knows the process",
    "logfile": "the server's log goes to the trial's output.log",
    "syslog-enabled": "the server's log goes to the trial's output.log",
    "include": "write the settings themselves",
    "replicaof": "a replica takes no writes; use `server: external` for a replicated server",
    "slaveof": "a replica takes no writes; use `server: external` for a replicated server",
    "cluster-enabled": "loadcell speaks to one server, not to a cluster",
    "tls-port": "the load of a local server comes in the clear; use `server: external` for TLS",
}

#: Settings that affect performance: recorded whether they were changed or not.
RECORDED = (
    "activedefrag",
    "activerehashing",
    "appendfsync",
    "appendonly",
    "auto-aof-rewrite-percentage",
    "client-output-buffer-limit",
    "commandlog-execution-slower-than",
    "databases",
    "disable-thp",
    "dynamic-hz",
    "hash-max-listpack-entries",
    "hash-max-listpack-value",
    "hz",
    "io-threads",
    "io-threads-do-reads",
    "latency-tracking",
    "lazyfree-lazy-eviction",
    "lazyfree-lazy-expire",
    "lazyfree-lazy-server-del",
    "lazyfree-lazy-user-del",
    "maxclients",
    "maxmemory",
    "maxmemory-policy",
    "maxmemory-samples",
    "min-replicas-to-write",
    "no-appendfsync-on-rewrite",
    "prefetch-batch-max-size",
    "proto-max-bulk-len",
    "rdbchecksum",
    "rdbcompression",
    "save",
    "server-cpulist",
    "server-threads",
    "server_cpulist",
    "slowlog-log-slower-than",
    "tcp-backlog",
    "tcp-keepalive",
    "timeout",
    "tls-port",
)


def line(name: str, value: object) -> str:
    """One line of redis.conf.

    A value is split into words (`save: 60 1000`); an empty value is the empty word.
    """
    if isinstance(value, Path):
        return f"{name} {_word(str(value))}\n"
    text = ("yes" if value else "no") if isinstance(value, bool) else str(value)
    words = [_word(word) for word in text.split()] or ['""']
    return f"{name} {' '.join(words)}\n"


def _word(word: str) -> str:
    if re.fullmatch(r"[\w./:@%+,-]+", word, re.ASCII):
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


_UNITS = {"": 1, "b": 1, "k": 10**3, "kb": 1 << 10, "m": 10**6, "mb": 1 << 20, "g": 10**9, "gb": 1 << 30}


def bytes_of(value: object) -> int | None:
    """Bytes of a memory setting as the server reads it (512mb); None if it is none."""
    return size_in_bytes(value, _UNITS)


class RedisOptions(ManagedOrExternalOptions):
    """A Redis that loadcell runs itself, or an existing one: Redis, Valkey, KeyDB, Dragonfly."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="redis")

    server: Literal["local", "external"] = Field(
        default="local",
        description="`local`: loadcell runs the Redis of this machine (Debian: package redis-server). "
        "`external`: an existing one; it is never stopped, reconfigured or flushed.",
    )
    settings: dict[str, Setting] = Field(
        default_factory=dict,
        description="Server settings (`maxmemory: 512mb`), written as in redis.conf. Not for `external`.",
        examples=[{"save": "", "appendonly": "yes", "appendfsync": "everysec"}],
    )
    bin: str | None = Field(
        default=None,
        min_length=1,
        description="`local` only: the program to run, such as /opt/valkey/bin/valkey-server. Default: "
        "`redis-server` or `valkey-server` on PATH, in /usr/bin, /usr/local/bin.",
    )
    data: str | None = Field(
        default=None,
        min_length=1,
        description="`local` only: directory on the storage to be measured, for a server that writes its "
        "data there. loadcell makes a directory such as `redis-7.0.15` in it. Default: the run's work "
        "directory.",
    )
    run_as: str | None = Field(
        default=None,
        min_length=1,
        description="User the server runs as when loadcell is run by root. Default: `redis`, else `nobody`.",
    )
    host: str | None = Field(
        default=None, min_length=1, description="`external` only: name or address of the server."
    )
    port: int | None = Field(
        default=None, ge=1, le=65535, description="`external` only: its port. Default: 6379."
    )
    socket: str | None = Field(
        default=None,
        pattern="^/",
        description="`external` only: its Unix socket, instead of `host` and `port`.",
    )
    user: str | None = Field(
        default=None,
        min_length=1,
        description="`external` only: the user. Default: the server's default user.",
    )
    database: int | None = Field(
        default=None,
        ge=0,
        le=1_000_000,
        description="`external` only: the number of the database. Default: 0.",
    )
    tls: bool | None = Field(default=None, description="`external` only: whether to use TLS. Default: false.")
    tls_ca: str | None = Field(
        default=None,
        min_length=1,
        description="`external` only: file with the certificates trusted to sign the server's. Default: "
        "those that the system trusts.",
    )
    tls_verify: bool | None = Field(
        default=None,
        description="`external` only: `false` uses TLS without looking whose certificate the server has. "
        "Default: true.",
    )
    keep_data: bool | None = Field(  # type: ignore[assignment]  # None, unlike False, is valid for local servers
        default=None,
        description="`external` only: keep loaded keys at the run's end, for the next run. Default: false.",
    )
    resp: Literal[2, 3] | None = Field(
        default=None,
        description="Version of the protocol. Default: 3, or 2 where the server does not know it.",
    )

    managed_only = frozenset({"settings", "bin", "data", "run_as", "connect"})
    external_only = frozenset(
        {"host", "port", "socket", "user", "password", "database", "tls", "tls_ca", "tls_verify", "keep_data"}
    )
    certificates_option = "tls_ca"
    setting_pattern = re.compile(r"[a-z][a-z0-9-]*")
    reserved_settings = RESERVED

    @staticmethod
    def canonical_setting(name: str) -> str:
        return name.lower().replace("_", "-")

    @model_validator(mode="after")
    def _options_fit(self) -> RedisOptions:
        if self.server == "external" and self.host is None and self.socket is None:
            raise SettingError(REDIS_NO_LOCATION())
        if self.socket is not None and (self.host is not None or self.port is not None or self.tls):
            raise SettingError(REDIS_SOCKET_AND_HOST())
        if self.user is not None and self.password is None:
            raise SettingError(REDIS_USER_ALONE(example="${env:NAME}"))
        if not self.tls and (self.tls_ca is not None or self.tls_verify is not None):
            raise SettingError(REDIS_NO_TLS())
        return self


_PATH = "target.redis.settings."

#: The server's default, and the descriptors that it keeps for itself.
_MAX_CLIENTS = 10_000
_SPARE_FILES = 32
_HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def remarks(options: RedisOptions, load: Load) -> list[Advice]:
    """Remarks before a run on a server that loadcell starts."""
    return [*_connections(options, load), *_persistence(options), *_memory(options)]


def too_many_clients(options: RedisOptions, clients: int) -> Iterator[Misfit]:
    """`maxclients` of the plan where it allows fewer; the default is not the same in all products."""
    if "maxclients" in options.settings:
        yield from _max_clients(options, clients)


def _max_clients(options: RedisOptions, clients: int) -> Iterator[Misfit]:
    try:
        allowed = int(options.settings.get("maxclients", _MAX_CLIENTS))
    except ValueError:
        return
    if clients >= allowed:
        yield Misfit(
            "settings.maxclients",
            REDIS_TOO_FEW_CONNECTIONS(clients=clients, allowed=allowed, needed=clients + 10),
        )


def _connections(options: RedisOptions, load: Load) -> Iterator[Advice]:
    clients = load.clients
    if not isinstance(clients, int):
        return
    if "maxclients" not in options.settings:
        for misfit in _max_clients(options, clients):
            yield Advice(f"target.redis.{misfit.path}", misfit.message)
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


def data_cache(options: RedisOptions) -> Cache | None:
    """`maxmemory`, or the machine's memory: all data are in memory."""
    if options.external:
        return None
    size_bytes = bytes_of(options.settings.get("maxmemory"))
    return Cache("nothing", "maxmemory" if size_bytes else "", size_bytes or None)


def _memory(options: RedisOptions) -> Iterator[Advice]:
    wanted_bytes = bytes_of(options.settings.get("maxmemory"))
    yield from memory_remarks(_PATH + "maxmemory", wanted_bytes, REDIS_MAXMEMORY_TOO_LARGE)
    if wanted_bytes and "maxmemory-policy" not in options.settings:
        yield Advice(_PATH + "maxmemory-policy", REDIS_NO_EVICTION())
