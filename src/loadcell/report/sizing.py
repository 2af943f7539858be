"""Fits a chart to its place and to what is chosen. page.js does the same with the width and the choice it
finds.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence

from loadcell.model.json import JsonObject
from loadcell.report.blocks import Chart

#: Beside a view of a stack: its axis, and legends at its right.
AXIS, LEGEND = 74, 112
#: Beside each of several pictures side by side, and the least width of one.
GAP, LEAST = 20, 190

#: What is drawn into several views, whatever they show.
MARGIN = ("warmup", "checkpoints")


def sized(chart: Chart, width: int) -> JsonObject:
    """A copy of the specification that is `width` pixels wide."""
    spec = copy.deepcopy(chart.spec)
    if "vconcat" in spec:
        if chart.chooser == "trial":
            columns_shown = chart.series[chart.chosen[0]]
            keep_drawn(spec, {source: len(columns.get("t", ())) for source, columns in columns_shown.items()})
        for view in spec["vconcat"]:
            view["width"] = width - AXIS - LEGEND
    elif "facet" in spec:
        spec["columns"] = columns = max(1, min(chart.columns, width // LEAST))
        margin = AXIS + (LEGEND if chart.legend else 0)
        spec["spec"]["width"] = (width - margin + GAP) // columns - GAP
    else:
        spec["width"] = width
        spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    if chart.chosen and chart.chooser != "trial":
        name_series(spec, chart.chosen)
    return spec


def keep_drawn(spec: JsonObject, rows: Mapping[str, int]) -> None:
    """Views over time for which the chosen trial has samples, with the time axis below the last of them.

    One sample is a point; areas above one another take two, as a point does not say which of them it is.
    """
    time = next(
        x for layer in spec["vconcat"][-1]["layer"] if "axis" in (x := layer["encoding"].get("x", {}))
    )
    views = [view for view in spec["vconcat"] if rows.get(_source(view), 0) > _stacked(view)]
    if not views:
        return
    for layer in views[-1]["layer"]:
        if "axis" in (x := layer["encoding"].get("x", {})):
            x |= {"axis": time["axis"], "title": time["title"]}
    spec["vconcat"] = views


def _source(view: JsonObject) -> str:
    """Data of a view, besides those of several views."""
    names: list[str] = [layer["data"]["name"] for layer in view["layer"]]
    return next(name for name in names if name not in MARGIN)


def _stacked(view: JsonObject) -> bool:
    return any(layer["encoding"].get("y", {}).get("stack") for layer in view["layer"])


def name_series(spec: JsonObject, names: Sequence[str]) -> None:
    """Give colours and shapes the same names in the same order, which also makes one legend of theirs."""
    for layer in spec["layer"]:
        for channel in ("color", "shape"):
            encoding = layer["encoding"].get(channel)
            if encoding is not None and encoding.get("field") == "treatment":
                encoding["scale"]["domain"] = list(names)
