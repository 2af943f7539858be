"""Plan options of a MariaDB or MySQL target: settings of the server, checks, and remarks before a run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import ConfigDict, Field

from loadcell.model.message import Bytes, MessageCode
from loadcell.plan.data_size import Cache
from loadcell.plan.parts import Advice, Misfit
from loadcell.systems.server_options import (
    Setting,
    SslMode,
    Version,
    VersionedOptions,
    memory_remarks,
    size_in_bytes,
)

if TYPE_CHECKING:
    from loadcell.plan.model import Load

MYSQL_TOO_FEW_CONNECTIONS = MessageCode("mysql.too-few-connections", allowed=str, clients=str)
MYSQL_BUFFER_POOL_TOO_LARGE = MessageCode(
    "mysql.buffer-pool-too-large", "caution", memory_bytes=Bytes, wanted_bytes=Bytes
)
MYSQL_LATE_COMMITS = MessageCode("mysql.late-commits", "caution", name=str, value=str)
MYSQL_NO_DOUBLEWRITE = MessageCode("mysql.no-doublewrite", "caution", name=str, value=str)
MYSQL_NO_SYNC = MessageCode("mysql.no-sync", "caution", name=str, value=str)

#: Settings that loadcell sets itself, and why.
RESERVED: dict[str, str] = {
    "datadir": "name the directory by `target.mysql.data`",
    "basedir": "name the installation by `target.mysql.binary`",
    "socket": "the socket lies in the run's work directory",
    "port": "a free port is taken at each start",
    "bind_address": "the server is reached on 127.0.0.1 only",
    "pid_file": "it knows the process",
    "user": "name the user by `target.mysql.run_as`",
    "init_file": "it makes its users with it",
    "log_error": "the server's log goes to the trial's output.log",
    "tmpdir": "it lies beside the data",
    "skip_name_resolve": "its users come from 127.0.0.1",
    "skip_grant_tables": "the load has a dedicated user",
    "skip_networking": "the load comes by TCP",
    "old_passwords": "the load authenticates by mysql_native_password",
}

#: Settings that affect performance: recorded whether they were changed or not.
RECORDED = (
    "autocommit",
    "binlog_format",
    "character_set_server",
    "collation_server",
    "default_storage_engine",
    "event_scheduler",
    "innodb_adaptive_hash_index",
    "innodb_autoinc_lock_mode",
    "innodb_buffer_pool_instances",
    "innodb_buffer_pool_size",
    "innodb_change_buffering",
    "innodb_checksum_algorithm",
    "innodb_doublewrite",
    "innodb_file_per_table",
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_method",
    "innodb_flush_neighbors",
    "innodb_io_capacity",
    "innodb_io_capacity_max",
    "innodb_lock_wait_timeout",
    "innodb_log_buffer_size",
    "innodb_log_file_size",
    "innodb_max_dirty_pages_pct",
    "innodb_open_files",
    "innodb_page_size",
    "innodb_purge_threads",
    "innodb_read_io_threads",
    "innodb_redo_log_capacity",
    "innodb_snapshot_isolation",
    "innodb_use_native_aio",
    "innodb_write_io_threads",
    "join_buffer_size",
    "local_infile",
    "log_bin",
    "max_allowed_packet",
    "max_connections",
    "max_prepared_stmt_count",
    "open_files_limit",
    "performance_schema",
    "query_cache_size",
    "query_cache_type",
    "slow_query_log",
    "sort_buffer_size",
    "sync_binlog",
    "table_open_cache",
    "thread_cache_size",
    "thread_handling",
    "thread_pool_size",
    "tmp_table_size",
    "transaction_isolation",
    "tx_isolation",
)

#: Settings that a data directory is made with and retains.
PERMANENT = ("innodb_page_size", "lower_case_table_names")


def line(name: str, value: Setting | Path) -> str:
    """One line of my.cnf."""
    text = ("1" if value else "0") if isinstance(value, bool) else str(value)
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'{name} = "{quoted}"\n'


_UNITS = {"": 1, "b": 1}
_UNITS |= {f"{letter}{b}": 1 << 10 * power for power, letter in enumerate("kmgt", 1) for b in ("", "b")}


def bytes_of(value: object) -> int | None:
    """Bytes of a memory setting as the server reads it (512M); None if it is none."""
    return size_in_bytes(value, _UNITS)


#: The oldest version whose behaviour loadcell knows.
OLDEST = (10, 5)


class MysqlOptions(VersionedOptions):
    """A MariaDB that loadcell runs itself, or an existing MariaDB or MySQL."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="mysql")

    server: Literal["embedded", "local", "external"] = Field(
        default="local",
        description="`local`: loadcell runs the MariaDB of this machine (Debian: package mariadb-server). "
        "`embedded`: loadcell runs a package of `version`, which Maven fetches before the run. "
        "`external`: an existing MariaDB or MySQL; it is never stopped and never reconfigured.",
    )
    settings: dict[str, Setting] = Field(
        default_factory=dict,
        description="Server settings (`innodb_buffer_pool_size: 512M`), written as in my.cnf. Not for "
        "`external`.",
        examples=[{"innodb_buffer_pool_size": "512M", "innodb_flush_log_at_trx_commit": 2}],
    )
    data: str | None = Field(
        default=None,
        min_length=1,
        description="Directory on the storage to be measured. loadcell makes a directory `mysql-<version>` "
        "in it. Default: the run's work directory.",
    )
    version: Version | None = Field(
        default=None,
        description='`embedded`: series (`"11.4"`) of the package, or a complete version (`11.4.5`). '
        "Default: the newest. `local`: the version that the server must have.",
    )
    binary: str | None = Field(
        default=None,
        min_length=1,
        description="A server to run instead of those that loadcell finds: a directory with `mariadbd`, the "
        "program itself, or a package as a file (`.jar`, `.tar.gz`).",
    )
    binaries: str | None = Field(
        default=None,
        min_length=1,
        description="`local` only: the directory that holds `mariadbd`, or the root of an installation (also "
        "`binary`). "
        "Default: looked for on PATH and in /usr/sbin, /usr/libexec and /usr/local/mysql.",
    )
    run_as: str | None = Field(
        default=None,
        min_length=1,
        description="User the server runs as when loadcell is run by root. Default: `mysql`, else `nobody`.",
    )
    url: str | None = Field(
        default=None,
        validate_default=True,
        min_length=1,
        description="`external` only: where the server is, as `mysql://user@host:3306/database`. Without a "
        "database, loadcell makes one for each data set; a database that is named must be empty or "
        "loadcell's.",
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

    managed_only = frozenset({"settings", "data", "version", "binary", "binaries", "run_as", "connect"})
    external_only = frozenset({"url", "password", "sslmode", "sslrootcert"})
    setting_pattern = re.compile(r"[a-z][a-z0-9_]*(\.[a-z_][a-z0-9_]*)?")
    reserved_settings = RESERVED
    oldest = OLDEST
    external_location = ("url", "mysql://user@host:3306/database")

    @staticmethod
    def canonical_setting(name: str) -> str:
        return name.lower().replace("-", "_").removeprefix("loose_")


_PATH = "target.mysql.settings."

#: The server's default for what is reckoned with here; one more connection is kept for its administrator.
_MAX_CONNECTIONS = 151

_UNSAFE: dict[str, tuple[tuple[str, ...], MessageCode]] = {
    "innodb_flush_log_at_trx_commit": (
        ("0", "2"),
        MYSQL_LATE_COMMITS,
    ),
    "innodb_doublewrite": (
        ("0", "off", "false"),
        MYSQL_NO_DOUBLEWRITE,
    ),
    "innodb_flush_method": (
        ("nosync",),
        MYSQL_NO_SYNC,
    ),
}


def remarks(options: MysqlOptions, load: Load) -> list[Advice]:  # noqa: ARG001
    """Remarks before a run on a server that loadcell starts."""
    return [
        *_safety(options),
        *memory_remarks(
            _PATH + "innodb_buffer_pool_size",
            bytes_of(options.settings.get("innodb_buffer_pool_size")),
            MYSQL_BUFFER_POOL_TOO_LARGE,
        ),
    ]


#: MariaDB's default of innodb_buffer_pool_size, and the flush methods that leave out the page cache.
_BUFFER_POOL_BYTES = 128 << 20
_DIRECT = ("o_direct", "o_direct_no_fsync")


def data_cache(options: MysqlOptions) -> Cache | None:
    """The buffer pool. Storage is behind it with O_DIRECT, the default of MariaDB 10.6 and later; else the
    kernel's page cache (MariaDB Knowledge Base, "InnoDB System Variables").
    """
    if options.external:
        return None
    size_bytes = bytes_of(options.settings.get("innodb_buffer_pool_size"))
    direct = str(options.settings.get("innodb_flush_method", _DIRECT[0])).lower() in _DIRECT
    return Cache(
        "storage" if direct else "page-cache", "innodb_buffer_pool_size", size_bytes or _BUFFER_POOL_BYTES
    )


def too_many_clients(options: MysqlOptions, clients: int) -> Iterator[Misfit]:
    """`max_connections` where it allows fewer."""
    try:
        allowed = int(options.settings.get("max_connections", _MAX_CONNECTIONS))
    except ValueError:
        return
    if clients > allowed:
        yield Misfit("settings.max_connections", MYSQL_TOO_FEW_CONNECTIONS(clients=clients, allowed=allowed))


def _safety(options: MysqlOptions) -> Iterator[Advice]:
    for name, (values, code) in _UNSAFE.items():
        value = options.settings.get(name)
        word = ("1" if value else "0") if isinstance(value, bool) else str(value).lower()
        if value is not None and word in values:
            yield Advice(_PATH + name, code(name=name, value=value))
