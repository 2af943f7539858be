"""Message codes of probe; their texts are in the `messages*.toml` beside this module."""

from __future__ import annotations

from loadcell.model.message import MessageCode

PROBE_BLOCK_SIZE = MessageCode("probe.block-size", "caution", block=str)
PROBE_NO_RATE = MessageCode("probe.no-rate")
PROBE_IN_MEMORY = MessageCode("probe.in-memory", "caution", memory=str)
