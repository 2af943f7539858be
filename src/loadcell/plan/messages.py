"""Message codes of plan; their texts are in the `messages*.toml` beside this module."""

from __future__ import annotations

from loadcell.model.message import Count, MessageCode, Microseconds

SECRET_MISSING = MessageCode("secret.missing", name=str)
AFFINITY_NO_CPU = MessageCode("affinity.no-cpu", cpus=str)
AFFINITY_OFFLINE = MessageCode("affinity.offline", cpus=str)
AFFINITY_RESTRICTED = MessageCode("affinity.kept-from", cpus=str)
AFFINITY_NO_NODE = MessageCode("affinity.no-node", node=str)
AFFINITY_NO_MEMORY = MessageCode("affinity.no-memory", node=str)
AFFINITY_NODES_WITHOUT_CPU = MessageCode("affinity.nodes-without-cpu", nodes=str)
AFFINITY_CPUS = MessageCode("affinity.cpus", cpus=str)
AFFINITY_NODE = MessageCode("affinity.node", nodes=str)
AFFINITY_NODES = MessageCode("affinity.nodes", nodes=str)
AFFINITY_MEMORY_OF = MessageCode("affinity.memory-of", nodes=str)
RATE_TOO_FEW_CONNECTIONS = MessageCode(
    "rate.too-few-connections", "caution", connections=Count, rate=str, share_us=Microseconds
)
RATE_FEW_SAMPLES = MessageCode(
    "rate.few-samples", "caution", count=Count, duration=str, rate=str, slowest=Count
)
LOAD_MANY_INTERVALS = MessageCode(
    "load.many-intervals", "caution", duration=str, interval=str, megabytes=Count, rows=Count
)
AFFINITY_MEMORY_ONE_NODE = MessageCode("affinity.memory-one-node", "caution", placement=str)
AFFINITY_SHARED_CPUS = MessageCode("affinity.shared-cpus", "caution", cpus=str)
AFFINITY_EQUAL_LEVELS = MessageCode(
    "affinity.equal-levels", "caution", all=str, cpus=str, half=str, one_node=str
)
AFFINITY_ONE_CORE = MessageCode("affinity.one-core", "caution", cpus=str)
AFFINITY_ONE_NODE = MessageCode("affinity.one-node", "caution", cpus=str, half=str, placement=str)
AFFINITY_SIBLING_THREADS = MessageCode("affinity.sibling-threads", "caution", cpus=str)
AFFINITY_PARTLY_USABLE = MessageCode("affinity.partly-usable", "caution", cpus=str, placement=str, usable=str)
AFFINITY_SAME_PLACE = MessageCode("affinity.same-place", "caution", placements=list, where=str)
