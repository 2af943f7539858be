"""Fits a chart to its place and to what is chosen. page.js does the same with the width and the choice it finds."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from loadcell.report.blocks import Chart

#: Beside a view of a stack: its axis, and legends at its right.
AXIS, LEGEND = 74, 112
#: Beside each of several pictures side by side, and the least width of one.
GAP, LEAST = 20, 190


def sized(chart: Chart, width: int) -> dict[str, Any]:
    """A copy of the specification that is `width` pixels wide."""
    spec = copy.deepcopy(chart.spec)
    if "vconcat" in spec:
        for view in spec["vconcat"]:
            view["width"] = width - AXIS - LEGEND
    elif "facet" in spec:
        spec["columns"] = columns = max(1, min(chart.columns, width // LEAST))
        beside = AXIS + (LEGEND if chart.legend else 0)
        spec["spec"]["width"] = (width - beside + GAP) // columns - GAP
    else:
        spec["width"] = width
        spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    if chart.chosen and chart.chooser != "trial":
        name_series(spec, chart.chosen)
    return spec


def name_series(spec: dict[str, Any], names: Sequence[str]) -> None:
    """Give colours and shapes the same names in the same order, which also makes one legend of theirs."""
    for layer in spec["layer"]:
        for channel in ("color", "shape"):
            encoding = layer["encoding"].get(channel)
            if encoding is not None and encoding.get("field") == "treatment":
                encoding["scale"]["domain"] = list(names)
