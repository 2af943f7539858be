"""Names of the metrics that a workload or a tool reports of itself."""

from __future__ import annotations

import re

from loadcell.model.message import Message, as_written

#: Metrics with a text; all others go by the name in the record, as a plan's own metrics do.
KNOWN = (
    "events_per_s", "mib_per_s", "best_mib_per_s", "average_mib_per_s", "access_ns", "iops", "read_mib_per_s", "write_mib_per_s",
    "written_mib_per_s", "reads_per_s", "writes_per_s", "fsyncs_per_s", "transactions_per_s", "mbit_per_s", "mbits_per_s",
    "sent_mbits_per_s", "send_errors", "throughput_interval_percent", "retransmits", "client_cpu_percent", "connect_mean_ms",
    "processing_mean_ms", "waiting_mean_ms", "per_cpu_s", "user_s", "system_s",
)  # fmt: skip
#: Statistics of fio's syncs with a text.
SYNC = ("min_ms", "mean_ms", "stdev_ms", "max_ms")
_SYNCED = re.compile(r"sync_(?P<of>\S+_ms)")
#: A metric of one part that a tool reports separately (fio's jobs, mbw's methods).
_OF_A_PART = re.compile(
    rf"(?P<part>.+?)\.(?P<figure>{'|'.join(KNOWN)}|{_SYNCED.pattern.replace('?P<of>', '?:')})"
)


def code(metric: str) -> str:
    """The code of a known metric's name."""
    return f"figure.{metric}"


def figure_name(metric: str) -> Message:
    """The name of a metric with its unit; its name in the record where the catalogue has none."""
    recorded = (metric, "")
    if metric in KNOWN:
        return Message(code(metric), recorded=recorded)
    if (sync := _SYNCED.fullmatch(metric)) is not None:
        statistic = sync["of"]
        name = f"figure.sync.{statistic}"
        part = Message(name) if statistic in SYNC else as_written(statistic.removesuffix("_ms"))
        return Message("figure.sync", {"what": part}, recorded=recorded)
    if (match := _OF_A_PART.fullmatch(metric)) is not None:
        arguments = {"part": match["part"], "figure": figure_name(match["figure"])}
        return Message("figure.of-part", arguments, recorded=recorded)
    return as_written(metric)
