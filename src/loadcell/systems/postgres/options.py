"""Plan options of a PostgreSQL target."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, ValidationInfo, field_validator

from loadcell.systems.postgres.settings import RESERVED
from loadcell.systems.server_options import ManagedOrExternalOptions, SslMode
from loadcell.systems.shared.disk_image import Image
from loadcell.systems.shared.settings import Setting

#: The oldest server whose catalogues loadcell's statements can read.
OLDEST = 12


class PostgresOptions(ManagedOrExternalOptions):
    """A PostgreSQL server: one that loadcell runs itself, or an existing one."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="postgres")

    server: Literal["embedded", "local", "external"] = Field(
        default="embedded",
        description="`embedded`: PostgreSQL as installed with loadcell. `local`: loadcell runs the binaries of this "
        "machine. `external`: an existing server; it is never stopped and never reconfigured.",
    )
    settings: dict[str, Setting] = Field(
        default_factory=dict,
        description="Server settings (`shared_buffers: 512MB`), written as in postgresql.conf. Not for `external`.",
        examples=[{"shared_buffers": "512MB", "synchronous_commit": "off"}],
    )
    data: Annotated[str, Field(min_length=1)] | Image | None = Field(
        default=None,
        description="Directory on the storage to be measured. loadcell makes a directory `postgres-<version>` in it. "
        "Default: the run's work directory. Or a file system in a file, which loadcell makes, mounts and removes: "
        "`{image: DIRECTORY, size: 2GiB, fs: ext4}`.",
    )
    version: int | None = Field(
        default=None,
        ge=OLDEST,
        description="Major version to run, when there are several. Default: the newest.",
    )
    binaries: str | None = Field(
        default=None,
        min_length=1,
        description="`local` only: the directory that holds `postgres` and `initdb`. Default: looked for on PATH, in "
        "/usr/lib/postgresql/*/bin, /usr/pgsql-*/bin, and where pg_config says.",
    )
    run_as: str | None = Field(
        default=None,
        min_length=1,
        description="User the server runs as when loadcell is run by root. Default: `postgres`, else `nobody`.",
    )
    fresh: bool = Field(
        default=False,
        description="Restart the server before each trial, so that each begins with empty shared buffers.",
    )
    dsn: str | None = Field(
        default=None,
        min_length=1,
        description="`external` only: where the server is, as a URL (`postgresql://user@host:5432/database`) or as "
        "`host=... user=... dbname=...`. What it leaves out is taken from PGHOST, PGUSER, ~/.pgpass and so on.",
    )
    password: str | None = Field(
        default=None,
        description="`external` only: the password, as `${env:NAME}`. Default: the DSN's, or ~/.pgpass.",
    )
    database: str | None = Field(
        default=None,
        min_length=1,
        description="`external` only: the database to connect to. Default: the DSN's.",
    )
    sslmode: SslMode | None = Field(
        default=None,
        description="`external` only: whether to use TLS, and what to check. Default: the DSN's, `prefer`.",
    )
    sslrootcert: str | None = Field(
        default=None,
        min_length=1,
        description="`external` only: file with the certificates trusted to sign the server's.",
    )

    managed_only = frozenset({"settings", "data", "version", "binaries", "run_as", "connect", "fresh"})
    external_only = frozenset({"dsn", "password", "database", "sslmode", "sslrootcert"})
    setting_pattern = re.compile(r"[a-z_][a-z0-9_$]*(\.[a-z_][a-z0-9_$]*)*")
    setting_kind = "a PostgreSQL setting"
    reserved_settings = RESERVED
    external_location = ("dsn", "postgresql://user@host:5432/database")

    @field_validator("binaries")
    @classmethod
    def _binaries_are_for_local(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None and info.data.get("server") == "embedded":
            raise ValueError("the embedded server has its own binaries: use `server: local` to name others")
        return value
