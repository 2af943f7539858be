"""The time series of client groups as columns beside those of the whole load."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loadcell.report.context import Scene

if TYPE_CHECKING:
    import polars as pl

#: Figures that a group has over time.
THROUGHPUT, TAIL = "throughput_per_s", "response_p99_ms"


def column(figure: str, group: str) -> str:
    """The column of a figure of a group."""
    return f"{figure}:{group}"


def names(scene: Scene) -> list[str]:
    """Groups of all trials; none where plans have one workload."""
    every = (name for record in scene.stored.trials for name in record.get("groups") or ())
    return list(dict.fromkeys(every))


def beside(load: pl.DataFrame, intervals: pl.DataFrame, groups: list[str]) -> pl.DataFrame:
    """The load's rows, with throughput and p99 of each group in the same interval."""
    import polars as pl

    needed = {"trial", "mono_ns", "operation", THROUGHPUT, TAIL}
    if not groups or not needed <= set(intervals.columns):
        return load
    for group in groups:
        own = intervals.filter(pl.col("operation") == group).select(
            "trial",
            "mono_ns",
            *(pl.col(figure).alias(column(figure, group)) for figure in (THROUGHPUT, TAIL)),
        )
        load = load.join(own, on=["trial", "mono_ns"], how="left")
    return load
