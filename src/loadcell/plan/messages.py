"""Message codes of plan; their texts are in the `messages*.toml` beside this module."""

from __future__ import annotations

from loadcell.model.message import MessageCode

SECRET_MISSING = MessageCode("secret.missing", name=str)
AFFINITY_NO_CPU = MessageCode("affinity.no-cpu", cpus=str)
AFFINITY_OFFLINE = MessageCode("affinity.offline", cpus=str)
AFFINITY_KEPT_FROM = MessageCode("affinity.kept-from", cpus=str)
AFFINITY_NO_NODE = MessageCode("affinity.no-node", node=str)
AFFINITY_NO_MEMORY = MessageCode("affinity.no-memory", node=str)
AFFINITY_NODES_WITHOUT_CPU = MessageCode("affinity.nodes-without-cpu", nodes=str)
AFFINITY_CPUS = MessageCode("affinity.cpus", cpus=str)
AFFINITY_NODE = MessageCode("affinity.node", nodes=str)
AFFINITY_NODES = MessageCode("affinity.nodes", nodes=str)
AFFINITY_MEMORY_OF = MessageCode("affinity.memory-of", nodes=str)
