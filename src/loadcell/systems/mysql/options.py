"""What a plan says of a MariaDB or MySQL target."""

from __future__ import annotations

import re
from typing import ClassVar, Literal

from pydantic import ConfigDict, Field, field_validator, model_validator

from loadcell.plan.parts import Options
from loadcell.systems.mysql.settings import RESERVED, plain
from loadcell.systems.shared.options import of_external_server, of_own_server, settings_named

SslMode = Literal["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]
Value = str | int | float | bool

_SETTING = re.compile(r"[a-z][a-z0-9_]*(\.[a-z_][a-z0-9_]*)?")


class MysqlOptions(Options):
    """A MariaDB that loadcell runs itself, or a MariaDB or MySQL that stands already."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="mysql")

    server: Literal["local", "external"] = Field(
        default="local",
        description="`local`: loadcell runs the MariaDB of this machine (Debian: package mariadb-server). `external`: a "
        "MariaDB or MySQL that stands already; it is never stopped and never reconfigured.",
    )
    settings: dict[str, Value] = Field(
        default_factory=dict,
        description="Server settings (`innodb_buffer_pool_size: 512M`), written as in my.cnf. Not for `external`.",
        examples=[{"innodb_buffer_pool_size": "512M", "innodb_flush_log_at_trx_commit": 2}],
    )
    data: str | None = Field(
        default=None,
        min_length=1,
        description="Directory on the storage to be measured. loadcell makes a directory `mysql-<version>` in it. "
        "Default: the run's work directory.",
    )
    binaries: str | None = Field(
        default=None,
        min_length=1,
        description="`local` only: the directory that holds `mariadbd`, or the root of an installation. Default: looked "
        "for on PATH and in /usr/sbin, /usr/libexec and /usr/local/mysql.",
    )
    run_as: str | None = Field(
        default=None,
        min_length=1,
        description="User the server runs as when loadcell is run by root. Default: `mysql`, else `nobody`.",
    )
    connect: Literal["tcp", "socket"] = Field(
        default="tcp",
        description="How the load reaches a local server: TCP on 127.0.0.1, or its Unix socket.",
    )
    keep_data: bool = Field(
        default=False,
        description="Keep the data sets at the run's end, for the next run (needs `data`, or `server: external`).",
    )
    url: str | None = Field(
        default=None,
        min_length=1,
        description="`external` only: where the server is, as `mysql://user@host:3306/database`. Without a database, "
        "loadcell makes one for each data set; a database that is named must be empty or loadcell's.",
    )
    password: str | None = Field(default=None, description="`external` only: the password, as `${env:NAME}`.")
    sslmode: SslMode | None = Field(
        default=None,
        description="`external` only: whether to use TLS, and what to check. Default: `prefer`.",
    )
    sslrootcert: str | None = Field(
        default=None,
        min_length=1,
        description="`external` only: file with the certificates trusted to sign the server's.",
    )

    _OWN: ClassVar[tuple[str, ...]] = ("settings", "data", "binaries", "run_as", "connect")
    _EXTERNAL: ClassVar[tuple[str, ...]] = ("url", "password", "sslmode", "sslrootcert")

    _of_own_server = field_validator(*_OWN)(of_own_server)
    _of_external_server = field_validator(*_EXTERNAL)(of_external_server)

    @field_validator("settings")
    @classmethod
    def _settings_are_named_and_free(cls, settings: dict[str, Value]) -> dict[str, Value]:
        return settings_named(settings, plain=plain, shape=_SETTING, kind="a setting", reserved=RESERVED)

    @model_validator(mode="after")
    def _hangs_together(self) -> MysqlOptions:
        if self.server == "external" and self.url is None:
            raise ValueError("`server: external` needs a `url`, such as mysql://user@host:3306/database")
        if self.keep_data and self.server != "external" and self.data is None:
            raise ValueError("`keep_data` needs `data`: the run's work directory goes away with the run")
        return self
