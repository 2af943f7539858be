"""The time series of client groups as columns beside those of the whole load."""

from __future__ import annotations

from loadcell.report.context import ReportContext
from loadcell.store.frames import Frame, matching_rows, taken

#: Values of a group over time.
THROUGHPUT, TAIL = "throughput_per_s", "response_p99_ms"


def column(figure: str, group: str) -> str:
    """The column of a group's value."""
    return f"{figure}:{group}"


def names(context: ReportContext) -> list[str]:
    """Groups of all trials; none where plans have one workload."""
    every = (name for record in context.stored.trials for name in record.groups or ())
    return list(dict.fromkeys(every))


def beside(load: Frame, intervals: Frame, groups: list[str]) -> Frame:
    """The load's rows, with throughput and p99 of each group in the same interval."""
    if not groups or not intervals.has("trial", "mono_ns", "operation", THROUGHPUT, TAIL):
        return load
    columns = {}
    for group in groups:
        of_group = intervals.take(intervals.text("operation").isin(group))
        rows = matching_rows(load, of_group, "trial", "mono_ns")
        for metric in (THROUGHPUT, TAIL):
            columns[column(metric, group)] = taken(of_group.numbers(metric), rows)
    return load.adding(columns)
