"""Panels of a JVM sampled by jstat."""

from loadcell.model.panels import Line, Panel, declare

declare(
    Panel("jvm", "axis.jvm-heap", (
        Line("eden_percent", "series.eden", "max"), Line("old_percent", "series.old", "max"),
        Line("metaspace_percent", "series.metaspace", "max"),
    ), place=60, top=100, legend=True, colour=1),
    Panel("jvm", "axis.jvm-gc", (
        Line("young_gc_ms", "series.young-gc", "max"), Line("full_gc_ms", "series.full-gc", "max"),
        Line("concurrent_gc_ms", "series.concurrent-gc", "max"),
    ), place=61, least=10, legend=True, colour=1),
)  # fmt: skip
