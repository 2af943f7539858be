"""Panels of the load, of the host, of the target's processes and of a JVM."""

from __future__ import annotations

from typing import Final

from loadcell.model.message import Bytes, Count, MessageCode
from loadcell.model.panels import MIB, Aggregate, AggregateTable, DipCause, Line, NamedSeries, Panel, declare

#: Columns of open loops only: the offered load per second (there the requests started), and the service time,
#: which hardly differs from the response time without a schedule.
OFFERED, SERVICE_P99 = "due_per_s", "sent_p99_ms"
#: Failures per second; records count them per interval, whatever its length.
FAILED = "failed_per_s"

TRANSACTIONS: Final = Panel("load", "axis.transactions", (
    Line("throughput_per_s", "series.throughput", envelope=True),
    Line(FAILED, "series.failed", "max", hidden_at_zero=True), Line(OFFERED, "series.due"),
), position=10, checkpoints=True)  # fmt: skip
RESPONSE_TIMES: Final = Panel("load", "axis.response", (
    Line("response_p50_ms", "series.p50", "max"), Line("response_p99_ms", "series.p99", "max", envelope=True),
    Line(SERVICE_P99, "series.sent-p99", "max"),
), position=11, legend=True, checkpoints=True,
    alternative=(
        Line("response_mean_ms", "series.mean"), Line("response_p95_ms", "series.p95", "max"),
    ))  # fmt: skip
#: Place of the panels by client group, and of the backlog below them.
GROUPS_PLACE: Final = 15
BACKLOG: Final = Panel(
    "load",
    "axis.backlog",
    (Line("backlog", "series.waiting", "max"),),
    position=20,
    least=10,
    checkpoints=True,
)

declare(
    TRANSACTIONS,
    RESPONSE_TIMES,
    BACKLOG,
    Panel("host", "axis.host-cpu", (
        Line("cpu_user_percent", "series.user"), Line("cpu_system_percent", "series.system"),
        Line("cpu_iowait_percent", "series.iowait"), Line("cpu_steal_percent", "series.steal"),
    ), position=50, stacked=True, top=100, colour=2),
    Panel("host", "axis.host-io", (
        Line("disk_read_bytes_per_s", "series.read", divide=MIB),
        Line("disk_write_bytes_per_s", "series.write", divide=MIB),
    ), position=51, least=1, legend=True, colour=2),
    Panel("target", "axis.target-cpu", (
        Line("cpu_percent", "series.cpu", envelope=True),
    ), position=70, least=10, total="pid", colour=4),
    Panel("target", "axis.target-memory", (
        Line("rss_bytes", "series.rss", divide=MIB),
    ), position=71, total="pid", colour=4),
    Panel("target", "axis.target-io", (
        Line("read_bytes_per_s", "series.read", divide=MIB),
        Line("write_bytes_per_s", "series.write", divide=MIB),
    ), position=72, least=1, total="pid", colour=4),
    AggregateTable("host", "table.sampled.host", (
        Aggregate("cpu_busy_percent", "mean", "column.sampled.cpu-mean"),
        Aggregate("cpu_busy_percent", "max", "column.sampled.cpu-max"),
        Aggregate("cpu_iowait_percent", "mean", "column.sampled.iowait"),
        Aggregate("cpu_steal_percent", "mean", "column.sampled.steal"),
        Aggregate("disk_read_bytes_per_s", "mean", "column.sampled.disk-read", Bytes),
        Aggregate("disk_write_bytes_per_s", "mean", "column.sampled.disk-write", Bytes),
        Aggregate("disk_util_max_percent", "max", "column.sampled.disk-busy"),
        Aggregate("net_rx_bytes_per_s", "mean", "column.sampled.received", Bytes),
        Aggregate("net_tx_bytes_per_s", "mean", "column.sampled.sent", Bytes),
    ), position=50),
    Panel("host.cores", "axis.cores", (Line("cpu_busy_percent", ""),), position=80, top=100, by="core"),
    Panel("host.disks", "axis.disks-busy", (Line("util_percent", ""),), position=81, top=100, by="disk"),
    Panel("host.disks", "axis.disks-queue", (Line("queue", ""),), position=82, least=1, by="disk"),
    Panel("host.links", "axis.links-received", (
        Line("rx_bytes_per_s", "", divide=MIB),
    ), position=83, least=1, by="link"),
    Panel("host.links", "axis.links-sent", (
        Line("tx_bytes_per_s", "", divide=MIB),
    ), position=84, least=1, by="link"),
    Panel("target.threads", "axis.threads-cpu", (Line("cpu_percent", ""),), position=85, top=100, by="name"),
    Panel("target.threads", "axis.threads-delay", (
        Line("run_delay_percent", ""),
    ), position=86, least=10, by="name"),
    DipCause("host", "disk_write_bytes_per_s", "disk-writes", MessageCode("with.disk-writes")),
    DipCause("host", "disk_read_bytes_per_s", "disk-reads", MessageCode("with.disk-reads")),
    DipCause("host", "cpu_iowait_percent", "io-wait", MessageCode("with.io-wait")),
    DipCause("host", "cpu_steal_percent", "steal", MessageCode("with.steal")),
    NamedSeries("prometheus"),
    NamedSeries("command"),
    DipCause("target", "write_bytes_per_s", "target-writes", MessageCode("with.target-writes"), total="pid"),
)  # fmt: skip


declare(
    Panel("jvm", "axis.jvm-heap", (
        Line("eden_percent", "series.eden", "max"), Line("old_percent", "series.old", "max"),
        Line("metaspace_percent", "series.metaspace", "max"),
    ), position=60, top=100, legend=True, colour=1),
    Panel("jvm", "axis.jvm-gc", (
        Line("young_gc_ms", "series.young-gc", "max"), Line("full_gc_ms", "series.full-gc", "max"),
        Line("concurrent_gc_ms", "series.concurrent-gc", "max"),
    ), position=61, least=10, legend=True, colour=1),
    Panel("gc", "axis.gc-pauses", (
        Line("pause_ms", "series.gc-paused", "max"), Line("longest_pause_ms", "series.gc-longest", "max"),
    ), position=12, least=1, legend=True, colour=1),
    Panel("jvm", "axis.jvm-memory", (
        Line("heap_used_bytes", "series.heap-used", "max", divide=MIB),
        Line("heap_capacity_bytes", "series.heap-capacity", "max", divide=MIB),
        Line("off_heap_bytes", "series.off-heap", "max", divide=MIB, hidden_at_zero=True),
    ), position=62, least=1, legend=True, colour=1),
    Panel("jvm", "axis.jvm-safepoints", (
        Line("safepoint_ms", "series.safepoint", "max"),
    ), position=63, least=10, colour=1),
    AggregateTable("jvm", "table.sampled.jvm", (
        Aggregate("young_gcs", "sum", "column.sampled.young-gcs", Count),
        Aggregate("young_gc_ms", "sum", "column.sampled.young-gc-ms"),
        Aggregate("full_gcs", "sum", "column.sampled.full-gcs", Count),
        Aggregate("full_gc_ms", "sum", "column.sampled.full-gc-ms"),
        Aggregate("concurrent_gcs", "sum", "column.sampled.concurrent-gcs", Count),
        Aggregate("concurrent_gc_ms", "sum", "column.sampled.concurrent-gc-ms"),
        Aggregate("old_percent", "max", "column.sampled.old"),
        Aggregate("metaspace_percent", "max", "column.sampled.metaspace"),
        Aggregate("heap_used_bytes", "max", "column.sampled.heap", Bytes),
    ), position=60),
)  # fmt: skip
