"""Sanity checks of a tool's own values: they can show that values are impossible, not that they are right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loadcell.execution import checks
from loadcell.model.trial_record import Check

#: How wide the buckets of a tool's histogram may be: fio's are a 64th.
_BUCKET = 0.02


def held(result: Mapping[str, Any]) -> list[Check]:
    """The checks of a load that a tool made (`tool` in the result): how much of its output was not
    understood, whether
    its percentiles rise, and whether all of it was counted.

    Those of some tools do not, as they estimate each by itself: that is remarked on, and no reason to
    distrust the rest.
    """
    about = result["tool"]
    rise = checks.percentiles({"operations": [_reported(operation) for operation in result["operations"]]})
    if rise.verdict == "broken":
        rise = Check(rise.name, "noticed", rise.detail)
    several = [tool_groups(about)] if "groups" in about else []
    return [output_read(about.get("unread", 0), about.get("unread_examples", ())), rise, *several]


def _reported(operation: Mapping[str, Any]) -> dict[str, Any]:
    """An operation with percentiles that are none above its greatest value by no more than a bucket of the
    tool's histogram, and
    with a mean only where both extremes are known, which it must lie between."""
    figures = dict(operation.get("response") or {})
    least, most = figures.get("min_ns"), figures.get("max_ns")
    if least is None or most is None:
        figures.pop("mean_ns", None)
    for name, value in figures.items():
        if most is not None and name.startswith("p") and value <= most * (1 + _BUCKET):
            figures[name] = min(value, most)
    return {**operation, "response": figures}


def tool_groups(about: Mapping[str, Any]) -> Check:
    """The tool's parts were in groups that may have followed each other: the first one's throughput is the
    trial's.
    """
    return Check("tool-groups", "noticed", {"groups": about["groups"], "counted": list(about["counted"])})


def output_read(unread: int, examples: Any) -> Check:
    """Every line of the tool's output was understood."""
    if not unread:
        return Check("tool-output", "ok", {})
    return Check("tool-output", "noticed", {"lines": unread, "first": next(iter(examples), "")})
