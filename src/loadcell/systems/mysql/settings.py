"""Server settings: written for the server, read back from it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

#: Settings that loadcell needs for itself, and why.
RESERVED: dict[str, str] = {
    "datadir": "name the directory by `target.mysql.data`",
    "basedir": "name the installation by `target.mysql.binaries`",
    "socket": "the socket lies in the run's work directory",
    "port": "a free port is taken at each start",
    "bind_address": "the server is reached on 127.0.0.1 only",
    "pid_file": "it knows the process",
    "user": "name the user by `target.mysql.run_as`",
    "init_file": "it makes its users with it",
    "log_error": "the server's log goes to the trial's output.log",
    "tmpdir": "it lies beside the data",
    "skip_name_resolve": "its users come from 127.0.0.1",
    "skip_grant_tables": "the load has a user of its own",
    "skip_networking": "the load comes by TCP",
    "old_passwords": "the load authenticates by mysql_native_password",
}

#: What decides how fast a server is: recorded whether it was changed or not.
THAT_MATTER = (
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

#: Settings that a data directory is made with and keeps.
OF_THE_DIRECTORY = ("innodb_page_size", "lower_case_table_names")


def plain(name: str) -> str:
    """The name of a setting as the server shows it: `innodb-page-size` and `innodb_page_size` are one."""
    return name.lower().replace("-", "_").removeprefix("loose_")


def line(name: str, value: Any) -> str:
    """One line of my.cnf."""
    text = ("1" if value else "0") if isinstance(value, bool) else str(value)
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'{name} = "{quoted}"\n'


def read_back(shown: Mapping[str, str], given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The settings that matter and those that were given, out of `shown`, the server's own (SHOW GLOBAL VARIABLES).

    Each with `name`, `value`, and `given` (the plan's own words, or None). A value that came from `${env:...}` is not
    read back: the plan's words stand for it.
    """
    record = []
    for name in sorted({*THAT_MATTER, *given}):
        if name not in shown or name in RESERVED:
            continue
        asked = given.get(name)
        secret = isinstance(asked, str) and "${env:" in asked
        record.append({"name": name, "value": asked if secret else shown[name], "given": asked})
    return record


_BYTES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def bytes_of(value: Any) -> int | None:
    """Bytes of a memory setting as the server reads it (512M); None if it is none."""
    found = re.fullmatch(r"\s*(\d+)\s*([KMGT]?)B?\s*", str(value), re.IGNORECASE)
    return int(found[1]) * _BYTES[found[2].upper()] if found else None
