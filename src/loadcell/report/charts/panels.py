"""Panels of the load itself."""

from typing import Final

from loadcell.model.panels import Line, Panel, declare

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

declare(TRANSACTIONS, RESPONSE_TIMES, BACKLOG)
