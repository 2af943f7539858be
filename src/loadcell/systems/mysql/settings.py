"""Settings of MariaDB and MySQL: reserved and recorded names, and lines of my.cnf."""

from __future__ import annotations

from pathlib import Path

from loadcell.systems.shared.settings import Setting, size_in_bytes

#: Settings that loadcell sets itself, and why.
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
