"""Plan options of a PostgreSQL target: settings of the server, checks, and remarks before a run."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from loadcell.model.message import Bytes, MessageCode
from loadcell.plan.data_size import Cache
from loadcell.plan.parts import Advice, Misfit
from loadcell.systems.base import SettingFacts
from loadcell.systems.postgres.replication_options import StandbyOptions, check_standbys
from loadcell.systems.server_options import (
    Setting,
    SslMode,
    Version,
    VersionedOptions,
    is_secret,
    memory_remarks,
    size_in_bytes,
)
from loadcell.systems.shared.disk_image import Image

if TYPE_CHECKING:
    from psycopg import Connection

    from loadcell.plan.model import Load

POSTGRES_IMAGE_NEEDS_ROOT = MessageCode("postgres.image-needs-root", "caution")
POSTGRES_TOO_FEW_CONNECTIONS = MessageCode(
    "postgres.too-few-connections",
    allowed=str,
    clients=str,
    max_connections=str,
    needed=str,
    reserved=str,
)
POSTGRES_SHARED_BUFFERS_TOO_LARGE = MessageCode(
    "postgres.shared-buffers-too-large", "caution", memory_bytes=Bytes, wanted_bytes=Bytes
)
POSTGRES_NO_FSYNC = MessageCode("postgres.no-fsync", "caution", name=str)
POSTGRES_NO_FULL_PAGES = MessageCode("postgres.no-full-pages", "caution", name=str)
POSTGRES_LATE_COMMITS = MessageCode("postgres.late-commits", "caution", name=str)

#: Settings that loadcell sets itself, and why.
RESERVED: dict[str, str] = {
    "config_file": "it writes the configuration",
    "hba_file": "it decides who may connect",
    "ident_file": "it decides who may connect",
    "data_directory": "name the directory by `target.postgres.data`",
    "external_pid_file": "it knows the process",
    "listen_addresses": "the server is reached on 127.0.0.1 only",
    "port": "a free port is taken at each start",
    "unix_socket_directories": "the socket lies in the run's work directory",
    "unix_socket_group": "the socket lies in the run's work directory",
    "unix_socket_permissions": "the socket lies in the run's work directory",
    "logging_collector": "the server's log goes to the trial's output.log",
    "log_destination": "the server's log goes to the trial's output.log",
    "password_encryption": "the load authenticates by SCRAM",
}

#: Settings that affect performance: recorded whether they were changed or not.
RECORDED = (
    "autovacuum",
    "autovacuum_naptime",
    "backend_flush_after",
    "bgwriter_delay",
    "bgwriter_lru_maxpages",
    "checkpoint_completion_target",
    "checkpoint_timeout",
    "commit_delay",
    "data_checksums",
    "effective_cache_size",
    "effective_io_concurrency",
    "fsync",
    "full_page_writes",
    "huge_pages",
    "io_method",
    "io_workers",
    "jit",
    "maintenance_work_mem",
    "max_connections",
    "max_parallel_workers_per_gather",
    "max_wal_size",
    "max_worker_processes",
    "min_wal_size",
    "random_page_cost",
    "shared_buffers",
    "shared_preload_libraries",
    "ssl",
    "superuser_reserved_connections",
    "synchronous_commit",
    "synchronous_standby_names",
    "track_io_timing",
    "wal_buffers",
    "wal_compression",
    "wal_level",
    "wal_segment_size",
    "wal_sync_method",
    "wal_writer_delay",
    "work_mem",
)

#: May hold passwords, and do not affect performance.
_NEVER_RECORDED = ("primary_conninfo", "ssl_passphrase_command", "restore_command", "archive_command")

_READ_BACK = """
    SELECT name, setting, unit, source, pending_restart, current_setting(name, true)
    FROM pg_settings
    WHERE name = ANY(%(wanted)s)
       OR (source NOT IN ('default', 'client', 'session') AND name NOT LIKE '%%.%%')
    ORDER BY name
"""


@dataclass(frozen=True, kw_only=True)
class PostgresSetting(SettingFacts):
    """A setting as SHOW prints it (`value`) and as in pg_settings (`setting`, `unit`, `source`)."""

    setting: Setting | None
    unit: str | None
    source: str
    pending_restart: bool


def line(name: str, value: Setting) -> str:
    """One line of postgresql.conf."""
    text = ("on" if value else "off") if isinstance(value, bool) else str(value)
    quoted = text.replace("\\", "\\\\").replace("'", "''")
    return f"{name} = '{quoted}'\n"


def read_back(connection: Connection[Any], planned: Mapping[str, Setting]) -> tuple[PostgresSetting, ...]:
    """The recorded settings, those of the plan, and all others that are not the server's default."""
    wanted = sorted({*RECORDED, *planned})
    rows = connection.execute(_READ_BACK, {"wanted": wanted}).fetchall()
    record: list[PostgresSetting] = []
    for name, setting, unit, source, pending, shown in rows:
        if name in _NEVER_RECORDED or name in RESERVED:
            continue
        value = planned.get(name.lower())
        secret = is_secret(value)
        record.append(
            PostgresSetting(
                name,
                value if secret else shown,
                value,
                setting=value if secret else setting,
                unit=unit,
                source=source,
                pending_restart=pending,
            )
        )
    return tuple(record)


_UNITS = {"": 8192, "B": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}


def bytes_of(value: object) -> int | None:
    """Bytes of a memory setting as PostgreSQL reads it (a bare number counts blocks of 8 KiB); None if it is
    none.
    """
    return size_in_bytes(value, _UNITS, case_sensitive=True)


def is_off(value: object) -> bool:
    """True if PostgreSQL reads the value as false."""
    return str(value).strip().lower() in ("off", "of", "false", "fals", "fal", "fa", "f", "no", "n", "0")


#: The oldest server whose catalogues loadcell's statements can read.
OLDEST = 11


class PostgresOptions(VersionedOptions):
    """A PostgreSQL server: one that loadcell runs itself, or an existing one."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="postgres")

    server: Literal["embedded", "local", "external"] = Field(
        default="embedded",
        description="`embedded`: PostgreSQL as installed with loadcell, or a package of `version`. `local`: "
        "loadcell runs the binaries of this machine. `external`: an existing server; it is never stopped and "
        "never reconfigured.",
    )
    settings: dict[str, Setting] = Field(
        default_factory=dict,
        description="Server settings (`shared_buffers: 512MB`), written as in postgresql.conf. Not for "
        "`external`.",
        examples=[{"shared_buffers": "512MB", "synchronous_commit": "off"}],
    )
    data: Annotated[str, Field(min_length=1)] | Image | None = Field(
        default=None,
        description="Directory on the storage to be measured. loadcell makes a directory "
        "`postgres-<version>` in it. Default: the run's work directory. Or a file system in a file, which "
        "loadcell makes, mounts and removes: `{image: DIRECTORY, size: 2GiB, fs: ext4}`.",
    )
    version: Version | None = Field(
        default=None,
        description="`embedded`: major version (`16`) of a package that Maven fetches before the run, or a "
        "complete version (`16.9.0`). Default: the server installed with loadcell. `local`: the version to "
        "run, when there are several. Default: the newest.",
    )
    binary: str | None = Field(
        default=None,
        min_length=1,
        description="A server to run instead of those that loadcell finds: a directory with `postgres` and "
        "`initdb`, the program itself, or a package as a file (`.jar`, `.txz`, `.tar.gz`).",
    )
    binaries: str | None = Field(
        default=None,
        min_length=1,
        description="`local` only: the directory that holds `postgres` and `initdb` (also `binary`). "
        "Default: looked for on PATH, in /usr/lib/postgresql/*/bin, /usr/pgsql-*/bin, and where pg_config "
        "says.",
    )
    standbys: StandbyOptions | None = Field(
        default=None,
        description="Standbys of the server, which loadcell starts and faults can promote: "
        "`{count: 1, replication: synchronous}`. Not for `external`.",
    )
    run_as: str | None = Field(
        default=None,
        min_length=1,
        description="User the server runs as when loadcell is run by root. Default: `postgres`, else "
        "`nobody`.",
    )
    fresh: bool = Field(
        default=False,
        description="Restart the server before each trial, so that each begins with empty shared buffers.",
    )
    dsn: str | None = Field(
        default=None,
        validate_default=True,
        min_length=1,
        description="`external` only: where the server is, as a URL "
        "(`postgresql://user@host:5432/database`) or as `host=... user=... dbname=...`. What it leaves out "
        "is taken from PGHOST, PGUSER, ~/.pgpass and so on.",
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

    managed_only = frozenset(
        {"settings", "data", "version", "binary", "binaries", "standbys", "run_as", "connect", "fresh"}
    )
    external_only = frozenset({"dsn", "password", "database", "sslmode", "sslrootcert"})
    setting_pattern = re.compile(r"[a-z_][a-z0-9_$]*(\.[a-z_][a-z0-9_$]*)*")
    setting_kind = "a PostgreSQL setting"
    reserved_settings = RESERVED
    oldest = (OLDEST,)
    external_location = ("dsn", "postgresql://user@host:5432/database")

    @model_validator(mode="after")
    def _fits_its_standbys(self) -> PostgresOptions:
        if self.standbys is not None:
            check_standbys(self.standbys, self.settings, keep_data=self.keep_data)
        return self


_PATH = "target.postgres.settings."

#: Defaults of the server for what is reckoned with here.
_MAX_CONNECTIONS = 100
_SUPERUSER_RESERVED = 3

_UNSAFE = {
    "fsync": POSTGRES_NO_FSYNC,
    "full_page_writes": POSTGRES_NO_FULL_PAGES,
    "synchronous_commit": POSTGRES_LATE_COMMITS,
}


def remarks(options: PostgresOptions, load: Load) -> list[Advice]:  # noqa: ARG001
    """Remarks before a run on a server that loadcell starts."""
    return [
        *_image(options),
        *_safety(options),
        *memory_remarks(
            _PATH + "shared_buffers",
            bytes_of(options.settings.get("shared_buffers")),
            POSTGRES_SHARED_BUFFERS_TOO_LARGE,
        ),
    ]


def data_cache(options: PostgresOptions) -> Cache | None:
    """`shared_buffers` in front of the kernel's page cache; without the setting the page cache alone counts.

    PostgreSQL reads and writes tables through the page cache (manual, "Resource Consumption").
    """
    if options.external:
        return None
    size_bytes = bytes_of(options.settings.get("shared_buffers"))
    return Cache("page-cache", "shared_buffers" if size_bytes else "", size_bytes)


def _image(options: PostgresOptions) -> Iterator[Advice]:
    if isinstance(options.data, Image) and os.geteuid() != 0:
        yield Advice("target.postgres.data", POSTGRES_IMAGE_NEEDS_ROOT())


def too_many_clients(options: PostgresOptions, clients: int) -> Iterator[Misfit]:
    """`max_connections` where it allows fewer, without those that are reserved for superusers."""
    try:
        allowed = int(options.settings.get("max_connections", _MAX_CONNECTIONS))
        reserved = int(options.settings.get("superuser_reserved_connections", _SUPERUSER_RESERVED))
        reserved += int(options.settings.get("reserved_connections", 0))
    except ValueError:
        return
    if clients > allowed - reserved:
        yield Misfit(
            "settings.max_connections",
            POSTGRES_TOO_FEW_CONNECTIONS(
                clients=clients,
                allowed=allowed - reserved,
                max_connections=allowed,
                reserved=reserved,
                needed=clients + reserved,
            ),
        )


def _safety(options: PostgresOptions) -> Iterator[Advice]:
    for name, code in _UNSAFE.items():
        if name in options.settings and is_off(_word(options.settings[name])):
            yield Advice(_PATH + name, code(name=name))


def _word(value: Any) -> Any:
    return ("on" if value else "off") if isinstance(value, bool) else value
