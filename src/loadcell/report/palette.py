"""Colours of the report: one set for light, one for dark, under the same names.

Series colours are those of Okabe and Ito (2008), distinguishable with any colour vision, shifted in lightness
until each has a contrast of 3:1 or more to the background. A chart names a colour as `var(--c1)`: the page
decides what it is.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence

from loadcell.model.json import JsonObject
from loadcell.report.blocks import Chart

SERIES = tuple(f"var(--c{number})" for number in range(1, 9))

LIGHT = {
    "page": "#ffffff",
    "surface": "#ffffff",
    "raised": "#f6f7f9",
    "ink": "#1b1f24",
    "soft": "#57606a",
    "line": "#d8dde3",
    "grid": "#e9ecef",
    "shade": "#eef0f3",
    "accent": "#0b62a8",
    "bar": "#dbe9f5",
    "good": "#1a7f4b",
    "info": "#57606a",
    "caution": "#9a5b00",
    "problem": "#b3261e",
    "c1": "#0072b2",
    "c2": "#c8500a",
    "c3": "#00865f",
    "c4": "#b0558a",
    "c5": "#a87400",
    "c6": "#3a94c9",
    "c7": "#5b4a9c",
    "c8": "#6b7280",
}

DARK = {
    "page": "#14171b",
    "surface": "#14171b",
    "raised": "#1c2127",
    "ink": "#e6e9ed",
    "soft": "#a3acb6",
    "line": "#353c45",
    "grid": "#272d34",
    "shade": "#1f252c",
    "accent": "#6cb6ff",
    "bar": "#1f3a55",
    "good": "#4cc38a",
    "info": "#a3acb6",
    "caution": "#e0a83e",
    "problem": "#ff8a80",
    "c1": "#56a9e8",
    "c2": "#f28a4a",
    "c3": "#2fc49a",
    "c4": "#e29cc3",
    "c5": "#f0c04f",
    "c6": "#9bd3f5",
    "c7": "#a99bea",
    "c8": "#a3acb6",
}

_VARIABLE = re.compile(r"var\(--(\w+)\)")


def resolved(text: str, colours: dict[str, str] = LIGHT) -> str:
    """`text` (a specification as JSON) with every colour's name replaced by the colour."""
    return _VARIABLE.sub(lambda match: colours.get(match[1], match[0]), text)


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
    layers = [layer for view in spec.get("vconcat") or [spec] for layer in view["layer"]]
    for layer in layers:
        for channel in ("color", "shape"):
            encoding = layer["encoding"].get(channel)
            if encoding is not None and encoding.get("field") in ("treatment", "trial"):
                encoding["scale"]["domain"] = list(names)
