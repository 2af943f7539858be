"""What a tool reported of itself is held against what can be known of it: no more than that its figures can be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loadcell.run import checks
from loadcell.run.checks import Check

#: How wide the buckets of a tool's histogram may be: fio's are a 64th.
_BUCKET = 0.02


def held(result: Mapping[str, Any]) -> list[Check]:
    """The checks of a load that a tool made (`tool` in the result): how much of its output was not understood, and whether
    its percentiles rise.

    Those of some tools do not, as they estimate each by itself: that is remarked on, and no reason to distrust the rest.
    """
    about = result["tool"]
    rise = checks.percentiles({"operations": [_as_far_as_known(one) for one in result["operations"]]})
    if rise.verdict == "broken":
        rise = Check(rise.name, "noticed", rise.detail)
    return [output_read(about.get("unread", 0), about.get("unread_examples", ())), rise]


def _as_far_as_known(operation: Mapping[str, Any]) -> dict[str, Any]:
    """An operation with percentiles that are none above its greatest value by no more than a bucket of the tool's histogram, and
    with a mean only where both extremes are known, which it must lie between."""
    figures = dict(operation.get("response") or {})
    least, most = figures.get("min_ns"), figures.get("max_ns")
    if least is None or most is None:
        figures.pop("mean_ns", None)
    for name, value in figures.items():
        if most is not None and name.startswith("p") and value <= most * (1 + _BUCKET):
            figures[name] = min(value, most)
    return {**operation, "response": figures}


def output_read(unread: int, examples: Any) -> Check:
    """Every line of the tool's output was understood."""
    if not unread:
        return Check("tool-output", "ok", {})
    return Check("tool-output", "noticed", {"lines": unread, "first": next(iter(examples), "")})
