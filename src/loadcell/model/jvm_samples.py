"""Columns of a JVM's samples (`jvm.csv`): those of jstat, whether printed by it or read from the JVM."""

from __future__ import annotations

from typing import Final

#: The table, and the monitor with it.
TABLE: Final = "jvm"
#: Shares of the spaces, sizes, and the collections since the row before.
JSTAT_COLUMNS: Final = (
    "survivor0_percent",
    "survivor1_percent",
    "eden_percent",
    "old_percent",
    "metaspace_percent",
    "class_space_percent",
    "permanent_percent",
    "heap_used_bytes",
    "heap_capacity_bytes",
    "metaspace_used_bytes",
    "permanent_used_bytes",
    "young_gcs",
    "young_gc_ms",
    "full_gcs",
    "full_gc_ms",
    "concurrent_gcs",
    "concurrent_gc_ms",
)
