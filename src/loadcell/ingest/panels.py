"""Panels of a JVM sampled by jstat."""

from loadcell.model.panels import Aggregate, AggregateTable, Line, Panel, declare

declare(
    Panel("jvm", "axis.jvm-heap", (
        Line("eden_percent", "series.eden", "max"), Line("old_percent", "series.old", "max"),
        Line("metaspace_percent", "series.metaspace", "max"),
    ), position=60, top=100, legend=True, colour=1),
    Panel("jvm", "axis.jvm-gc", (
        Line("young_gc_ms", "series.young-gc", "max"), Line("full_gc_ms", "series.full-gc", "max"),
        Line("concurrent_gc_ms", "series.concurrent-gc", "max"),
    ), position=61, least=10, legend=True, colour=1),
    AggregateTable("jvm", "table.sampled.jvm", (
        Aggregate("young_gcs", "sum", "column.sampled.young-gcs"),
        Aggregate("young_gc_ms", "sum", "column.sampled.young-gc-ms"),
        Aggregate("full_gcs", "sum", "column.sampled.full-gcs"),
        Aggregate("full_gc_ms", "sum", "column.sampled.full-gc-ms"),
        Aggregate("concurrent_gcs", "sum", "column.sampled.concurrent-gcs"),
        Aggregate("concurrent_gc_ms", "sum", "column.sampled.concurrent-gc-ms"),
        Aggregate("old_percent", "max", "column.sampled.old"),
        Aggregate("metaspace_percent", "max", "column.sampled.metaspace"),
        Aggregate("heap_used_bytes", "max", "column.sampled.heap"),
    ), position=60),
)  # fmt: skip
