"""Columns of a JVM's samples (`jvm.csv`): those of jstat, whether printed by it or read from the JVM."""

from __future__ import annotations

from typing import Final

from loadcell.model.message import MessageCode
from loadcell.model.metrics import Kind, declare

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

#: Metrics of a trial: collections within the measurement, by the columns that they sum up.
METRICS: Final = {
    "jvm.young_gcs": "young_gcs",
    "jvm.young_gc_time": "young_gc_ms",
    "jvm.full_gcs": "full_gcs",
    "jvm.full_gc_time": "full_gc_ms",
    "jvm.concurrent_gcs": "concurrent_gcs",
    "jvm.concurrent_gc_time": "concurrent_gc_ms",
}
YOUNG_GCS, YOUNG_GC_TIME, FULL_GCS, FULL_GC_TIME, CONCURRENT_GCS, CONCURRENT_GC_TIME = METRICS
#: All of them, in the order of the report, which has a table of them.
KEYS: Final = tuple(METRICS)

for _key, _column in METRICS.items():
    _kind: Kind = "time" if _column.endswith("_ms") else "count"
    declare(_key, _kind, MessageCode(f"metric-meaning.{_key}", "info")(), "lower", per_group=False)
