"""The table of Redis that reports sum up by treatment, and units of facts that INFO names without them."""

from loadcell.model.panels import FactUnit, KeyValueTable, declare

_SIZES = ("used_memory", "used_memory_rss", "used_memory_peak", "used_memory_dataset", "maxmemory")

declare(
    KeyValueTable(
        "redis",
        "table.redis",
        saving=("rdb_saving", "aof_rewriting"),
        eviction_settings=("maxmemory-policy", "maxmemory-samples", "maxmemory-eviction-tenacity"),
    ),
    FactUnit("bytes", tuple(f"memory.{name}" for name in _SIZES)),
    FactUnit("count", ("database.keys", "persistence.rdb_changes_since_last_save")),
)
