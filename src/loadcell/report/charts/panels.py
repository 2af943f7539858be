"""What is drawn of a trial over time: the panels below one another, and the columns of their lines."""

from __future__ import annotations

from dataclasses import dataclass

from loadcell.analysis import series as thinning

MIB = 2**20
#: Of open loops only: what fell due a second (in them that is what was started), and the service time, which without a
#: schedule is hardly another than the response time.
DUE, SENT = "due_per_s", "sent_p99_ms"
#: What failed a second: records count it by the interval, whatever its length.
FAILED = "failed_per_s"


@dataclass(frozen=True)
class Line:
    """A column of a source, under the key of its name; `how` neighbouring values join; `divide` brings it to its unit.

    `proper` is a name that a plan or the server gave, shown as it is; `colour` is one that the name has elsewhere, too.
    With an `envelope`, a band shows how far the values reach that a point stands for.
    """

    column: str
    name: str
    how: thinning.Reduction = "mean"
    divide: float = 1.0
    proper: str = ""
    colour: str = ""
    envelope: bool = False


@dataclass(frozen=True)
class Panel:
    """One view: its source, title key and lines; `stacked` areas instead of lines.

    `top` is a fixed upper end of its axis; `least` one that small values do not fill, as noise is no finding.
    """

    source: str
    title: str
    lines: tuple[Line, ...]
    stacked: bool = False
    top: float | None = None
    least: float = 0.0
    #: whether its title does not say what a line by itself is
    several: bool = False
    #: what stands in for its lines where none of them has values: tools print other figures of an interval than the engine does
    otherwise: tuple[Line, ...] = ()


WAITS = Panel("waits", "axis.waits", (), stacked=True, least=1)
PANELS = (
    Panel("load", "axis.transactions", (
        Line("throughput_per_s", "series.throughput", envelope=True), Line(FAILED, "series.failed", "max"),
        Line(DUE, "series.due"),
    )),
    Panel("load", "axis.response", (
        Line("response_p50_ms", "series.p50", "max"), Line("response_p99_ms", "series.p99", "max", envelope=True),
        Line(SENT, "series.sent-p99", "max"),
    ), several=True, otherwise=(Line("response_mean_ms", "series.mean"), Line("response_p95_ms", "series.p95", "max"))),
    Panel("load", "axis.backlog", (Line("backlog", "series.waiting", "max"),), least=10),
    WAITS,
    Panel("server", "axis.wal", (Line("wal_bytes_per_s", "series.wal", divide=MIB),), least=1),
    Panel("server", "axis.blocks-read", (Line("blocks_read_per_s", "series.read"),), least=100),
    Panel("host", "axis.host-cpu", (
        Line("cpu_user_percent", "series.user"), Line("cpu_system_percent", "series.system"),
        Line("cpu_iowait_percent", "series.iowait"), Line("cpu_steal_percent", "series.steal"),
    ), stacked=True, top=100),
    Panel("host", "axis.host-io", (
        Line("disk_read_bytes_per_s", "series.read", divide=MIB),
        Line("disk_write_bytes_per_s", "series.write", divide=MIB),
    ), least=1, several=True),
    Panel("jvm", "axis.jvm-heap", (
        Line("eden_percent", "series.eden", "max"), Line("old_percent", "series.old", "max"),
        Line("metaspace_percent", "series.metaspace", "max"),
    ), top=100, several=True),
    Panel("jvm", "axis.jvm-gc", (
        Line("young_gc_ms", "series.young-gc", "max"), Line("full_gc_ms", "series.full-gc", "max"),
        Line("concurrent_gc_ms", "series.concurrent-gc", "max"),
    ), least=10, several=True),
    Panel("target", "axis.target-cpu", (Line("cpu_percent", "series.cpu", envelope=True),), least=10),
    Panel("target", "axis.target-memory", (Line("rss_bytes", "series.rss", divide=MIB),)),
    Panel("target", "axis.target-io", (
        Line("read_bytes_per_s", "series.read", divide=MIB), Line("write_bytes_per_s", "series.write", divide=MIB),
    ), least=1),
)  # fmt: skip
