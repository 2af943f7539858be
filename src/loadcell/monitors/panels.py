"""Panels of the host and of the target's processes."""

from loadcell.model.panels import MIB, Line, Panel, declare

declare(
    Panel("host", "axis.host-cpu", (
        Line("cpu_user_percent", "series.user"), Line("cpu_system_percent", "series.system"),
        Line("cpu_iowait_percent", "series.iowait"), Line("cpu_steal_percent", "series.steal"),
    ), place=50, stacked=True, top=100, colour=2),
    Panel("host", "axis.host-io", (
        Line("disk_read_bytes_per_s", "series.read", divide=MIB),
        Line("disk_write_bytes_per_s", "series.write", divide=MIB),
    ), place=51, least=1, legend=True, colour=2),
    Panel("target", "axis.target-cpu", (Line("cpu_percent", "series.cpu", envelope=True),), place=70, least=10, total="pid", colour=4),
    Panel("target", "axis.target-memory", (Line("rss_bytes", "series.rss", divide=MIB),), place=71, total="pid", colour=4),
    Panel("target", "axis.target-io", (
        Line("read_bytes_per_s", "series.read", divide=MIB), Line("write_bytes_per_s", "series.write", divide=MIB),
    ), place=72, least=1, total="pid", colour=4),
)  # fmt: skip
