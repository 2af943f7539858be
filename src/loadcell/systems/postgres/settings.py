"""Settings of PostgreSQL: reserved and recorded names, lines of postgresql.conf, and values as read back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from loadcell.systems.base import SettingFacts
from loadcell.systems.shared.settings import Setting, is_secret, size_in_bytes

if TYPE_CHECKING:
    from psycopg import Connection

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
