"""The server's own running counters, to hold the load's record against."""

from __future__ import annotations

from collections.abc import Mapping

#: By the names that the check knows, which are PostgreSQL's: what this server counts, and is summed.
_NAMES: dict[str, tuple[str, ...]] = {
    "xact_commit": ("Com_commit",),
    "xact_rollback": ("Com_rollback",),
    # Each of these commits by itself where there is no transaction round it.
    "statements": ("Com_select", "Com_insert", "Com_update", "Com_delete"),
    "tup_inserted": ("Handler_write",),
    "tup_updated": ("Handler_update",),
    "tup_deleted": ("Handler_delete",),
    "tup_fetched": ("Rows_read",),
    "tup_returned": ("Rows_sent",),
    "blks_read": ("Innodb_buffer_pool_reads",),
    "blks_hit": ("Innodb_buffer_pool_read_requests",),
    "deadlocks": ("Innodb_deadlocks",),
    "wal_bytes": ("Innodb_os_log_written",),
}


def read(status: Mapping[str, str]) -> dict[str, int]:
    """Counters of the server out of its SHOW GLOBAL STATUS; those it does not have are left out.

    They are of all its databases, and count what connections that are still open have done.
    """
    found = {}
    for name, parts in _NAMES.items():
        values = [status[part] for part in parts if part in status]
        if len(values) == len(parts):
            found[name] = sum(int(value) for value in values)
    return found
