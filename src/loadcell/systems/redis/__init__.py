"""Redis as a target, and compatible servers: one run by loadcell from the machine's binaries, or an existing
one.
"""

from loadcell.model import panels, tools
from loadcell.model.extensions import RESP
from loadcell.model.message import Bytes, Count
from loadcell.model.panels import FactLabels, FactUnit, KeyValueTable, VaryingFacts
from loadcell.model.tools import OF_DATABASES, ClientPrograms

# Client programs of Redis and compatible servers.
tools.declare(
    ClientPrograms(RESP, OF_DATABASES, scheme="redis", password_variable="REDISCLI_AUTH")  # noqa: S106 - a name
)

#: Memory in use after the load: a result of it, not a condition.
_USED = ("used_memory", "used_memory_rss", "used_memory_peak", "used_memory_dataset")
_SIZES = (*_USED, "maxmemory")

panels.declare(
    KeyValueTable(
        "redis",
        "table.redis",
        saving=("rdb_saving", "aof_rewriting"),
        eviction_settings=("maxmemory-policy", "maxmemory-samples", "maxmemory-eviction-tenacity"),
    ),
    FactLabels(("compatible_with", "mode", "role", "threads", "memory", "persistence", "database.keys")),
    VaryingFacts(
        (
            *(f"memory.{name}" for name in (*_USED, "mem_fragmentation_ratio")),
            "persistence.rdb_changes_since_last_save",
        )
    ),
    FactUnit(Bytes, tuple(f"memory.{name}" for name in _SIZES)),
    FactUnit(Count, ("database.keys", "persistence.rdb_changes_since_last_save")),
)
