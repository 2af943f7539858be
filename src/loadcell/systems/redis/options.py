"""Plan options of a Redis target."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import ConfigDict, Field, model_validator

from loadcell.systems.redis.settings import RESERVED
from loadcell.systems.server_options import ManagedOrExternalOptions
from loadcell.systems.shared.settings import Setting


class RedisOptions(ManagedOrExternalOptions):
    """A Redis that loadcell runs itself, or an existing one: Redis, Valkey, KeyDB, Dragonfly."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="redis")

    server: Literal["local", "external"] = Field(
        default="local",
        description="`local`: loadcell runs the Redis of this machine (Debian: package redis-server). `external`: an "
        "existing one; it is never stopped, reconfigured or flushed.",
    )
    settings: dict[str, Setting] = Field(
        default_factory=dict,
        description="Server settings (`maxmemory: 512mb`), written as in redis.conf. Not for `external`.",
        examples=[{"save": "", "appendonly": "yes", "appendfsync": "everysec"}],
    )
    bin: str | None = Field(
        default=None,
        min_length=1,
        description="`local` only: the program to run, such as /opt/valkey/bin/valkey-server. Default: `redis-server` or "
        "`valkey-server` on PATH, in /usr/bin, /usr/local/bin.",
    )
    data: str | None = Field(
        default=None,
        min_length=1,
        description="`local` only: directory on the storage to be measured, for a server that writes its data there. loadcell "
        "makes a directory such as `redis-7.0.15` in it. Default: the run's work directory.",
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
        description="`external` only: file with the certificates trusted to sign the server's. Default: those that the "
        "system trusts.",
    )
    tls_verify: bool | None = Field(
        default=None,
        description="`external` only: `false` uses TLS without looking whose certificate the server has. Default: true.",
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
    setting_pattern = re.compile(r"[a-z][a-z0-9-]*")
    reserved_settings = RESERVED

    @staticmethod
    def canonical_setting(name: str) -> str:
        return name.lower().replace("_", "-")

    @model_validator(mode="after")
    def _options_fit(self) -> RedisOptions:
        if self.server == "external" and self.host is None and self.socket is None:
            raise ValueError(
                "`server: external` needs a `host`, such as 10.0.0.5 or redis.example.com, or a `socket`"
            )
        if self.socket is not None and (self.host is not None or self.port is not None or self.tls):
            raise ValueError("`socket` stands instead of `host`, `port` and `tls`: leave either out")
        if self.user is not None and self.password is None:
            raise ValueError("`user` needs a `password`, as ${env:NAME}")
        if not self.tls and (self.tls_ca is not None or self.tls_verify is not None):
            raise ValueError("`tls_ca` and `tls_verify` need `tls: true`")
        return self
