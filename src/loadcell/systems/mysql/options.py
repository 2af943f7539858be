"""Plan options of a MariaDB or MySQL target."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import ConfigDict, Field

from loadcell.systems.mysql.settings import RESERVED
from loadcell.systems.server_options import ManagedOrExternalOptions, SslMode
from loadcell.systems.shared.settings import Setting


class MysqlOptions(ManagedOrExternalOptions):
    """A MariaDB that loadcell runs itself, or an existing MariaDB or MySQL."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="mysql")

    server: Literal["local", "external"] = Field(
        default="local",
        description="`local`: loadcell runs the MariaDB of this machine (Debian: package mariadb-server). `external`: an "
        "existing MariaDB or MySQL; it is never stopped and never reconfigured.",
    )
    settings: dict[str, Setting] = Field(
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
    url: str | None = Field(
        default=None,
        min_length=1,
        description="`external` only: where the server is, as `mysql://user@host:3306/database`. Without a database, "
        "loadcell makes one for each data set; a database that is named must be empty or loadcell's.",
    )
    sslmode: SslMode | None = Field(
        default=None,
        description="`external` only: whether to use TLS, and what to check. Default: `prefer`.",
    )
    sslrootcert: str | None = Field(
        default=None,
        min_length=1,
        description="`external` only: file with the certificates trusted to sign the server's.",
    )

    managed_only = frozenset({"settings", "data", "binaries", "run_as", "connect"})
    external_only = frozenset({"url", "password", "sslmode", "sslrootcert"})
    setting_pattern = re.compile(r"[a-z][a-z0-9_]*(\.[a-z_][a-z0-9_]*)?")
    reserved_settings = RESERVED
    external_location = ("url", "mysql://user@host:3306/database")

    @staticmethod
    def canonical_setting(name: str) -> str:
        return name.lower().replace("-", "_").removeprefix("loose_")
