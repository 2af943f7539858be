"""What a plan says of a PostgreSQL target."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field, ValidationInfo, field_validator, model_validator

from loadcell.plan.parts import Options
from loadcell.systems.postgres.settings import RESERVED
from loadcell.systems.shared.disk_image import Image
from loadcell.systems.shared.options import of_external_server, of_own_server, settings_named

#: The oldest server whose catalogues loadcell's statements know.
OLDEST = 12

SslMode = Literal["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]
Value = str | int | float | bool

_SETTING = re.compile(r"[a-z_][a-z0-9_$]*(\.[a-z_][a-z0-9_$]*)*")


class PostgresOptions(Options):
    """A PostgreSQL server: one that loadcell runs itself, or one that stands already."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="postgres")

    server: Literal["embedded", "local", "external"] = Field(
        default="embedded",
        description="`embedded`: PostgreSQL as installed with loadcell. `local`: loadcell runs the binaries of this "
        "machine. `external`: a server that stands already; it is never stopped and never reconfigured.",
    )
    settings: dict[str, Value] = Field(
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
    connect: Literal["tcp", "socket"] = Field(
        default="tcp",
        description="How the load reaches an embedded or local server: TCP on 127.0.0.1, or its Unix socket.",
    )
    fresh: bool = Field(
        default=False,
        description="Restart the server before each trial, so that each begins with empty shared buffers.",
    )
    keep_data: bool = Field(
        default=False,
        description="Keep the data sets at the run's end, for the next run (needs `data`, or `server: external`).",
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

    _OWN: ClassVar[tuple[str, ...]] = (
        "settings",
        "data",
        "version",
        "binaries",
        "run_as",
        "connect",
        "fresh",
    )
    _EXTERNAL: ClassVar[tuple[str, ...]] = ("dsn", "password", "database", "sslmode", "sslrootcert")

    _of_own_server = field_validator(*_OWN)(of_own_server)
    _of_external_server = field_validator(*_EXTERNAL)(of_external_server)

    @field_validator("settings")
    @classmethod
    def _settings_are_named_and_free(cls, settings: dict[str, Value]) -> dict[str, Value]:
        return settings_named(
            settings, plain=str.lower, shape=_SETTING, kind="a PostgreSQL setting", reserved=RESERVED
        )

    @field_validator("binaries")
    @classmethod
    def _binaries_are_for_local(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None and info.data.get("server") == "embedded":
            raise ValueError("the embedded server has its own binaries: use `server: local` to name others")
        return value

    @model_validator(mode="after")
    def _hangs_together(self) -> PostgresOptions:
        if self.server == "external" and self.dsn is None:
            raise ValueError("`server: external` needs a `dsn`, such as postgresql://user@host:5432/database")
        if self.keep_data and self.server != "external" and self.data is None:
            raise ValueError("`keep_data` needs `data`: the run's work directory goes away with the run")
        if self.keep_data and isinstance(self.data, Image):
            raise ValueError("`keep_data` needs a directory in `data`: an image goes away with the run")
        return self
