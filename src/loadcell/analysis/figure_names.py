"""Names of the metrics that a workload, a tool or a monitor reports of itself."""

from __future__ import annotations

import re

from loadcell.model import catalogue
from loadcell.model.message import Message, as_written

_SYNCED = re.compile(r"sync_(?P<of>\S+_ms)")


def code(metric: str) -> str:
    """The code of a metric's name."""
    return f"figure.{metric}"


def figure_name(metric: str) -> Message:
    """The name of a metric with its unit; its name in the record where the catalogue has none.

    A metric of one part that a tool reports separately (fio's jobs, mbw's methods) is `PART.METRIC`.
    """
    recorded = (metric, "")
    if _has_text(metric):
        return Message(code(metric), recorded=recorded)
    if (sync := _SYNCED.fullmatch(metric)) is not None:
        statistic = sync["of"]
        part = (
            Message(code(f"sync.{statistic}"))
            if _has_text(f"sync.{statistic}")
            else as_written(statistic.removesuffix("_ms"))
        )
        return Message("figure.sync", {"what": part}, recorded=recorded)
    part_name, dot, metric_of_part = metric.rpartition(".")
    while dot and not (_has_text(metric_of_part) or _SYNCED.fullmatch(metric_of_part)):
        part_name, dot, before = part_name.rpartition(".")
        metric_of_part = f"{before}.{metric_of_part}"
    if dot and part_name:
        arguments = {"part": part_name, "figure": figure_name(metric_of_part)}
        return Message("figure.of-part", arguments, recorded=recorded)
    return as_written(metric)


def _has_text(metric: str) -> bool:
    return code(metric) in catalogue.texts()
