"""Appearance of every chart: type, lines, axes. Colours are names that the page defines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, TypeAlias

import altair as alt
from altair.utils.schemapi import debug_mode

from loadcell.analysis.treatments import Treatment, shared_factors
from loadcell.model.json import JsonObject
from loadcell.report.palette import SERIES

FONT = (
    'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "PingFang SC", "Hiragino Sans GB", '
    '"Microsoft YaHei", "Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", sans-serif'
)
SHAPES = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    "triangle-right",
    "triangle-left",
)
#: A logarithmic axis with fewer ticks than this is hard to read.
FEWEST_TICKS = 4
#: Writes a level as it was written: without a number of digits, ticks are rounded to the step between them,
#: and 32 reads 30.
LEVEL = ".9~r"
#: Heights in pixels.
PANEL, CHART, ROW = 84, 300, 26

#: Encoding channels and mark properties, as keywords of altair; empty where a chart does without them.
Channels: TypeAlias = JsonObject

CONFIG: JsonObject = {
    "background": None,
    "font": FONT,
    "padding": 4,
    "view": {"stroke": None},
    "axis": {
        "labelColor": "var(--soft)", "titleColor": "var(--soft)", "domainColor": "var(--line)",
        "tickColor": "var(--line)", "gridColor": "var(--grid)", "labelFontSize": 12, "titleFontSize": 12,
        "titleFontWeight": 500, "titlePadding": 10, "labelPadding": 6, "labelLimit": 260, "tickSize": 4,
        "labelOverlap": True,
    },
    "axisY": {"domain": False, "ticks": False},
    "legend": {
        "labelColor": "var(--ink)", "titleColor": "var(--soft)", "labelFontSize": 12, "titleFontSize": 12,
        "titleFontWeight": 500, "labelLimit": 220, "symbolStrokeWidth": 2,
    },
    "header": {
        "labelColor": "var(--ink)", "titleColor": "var(--soft)", "labelFontSize": 12, "labelFontWeight": 600,
    },
    "title": {"color": "var(--soft)", "fontSize": 12, "fontWeight": 500, "anchor": "start", "offset": 6},
    "line": {"strokeWidth": 2},
    "text": {"color": "var(--soft)", "fontSize": 11},
}  # fmt: skip


def unchecked() -> AbstractContextManager[None]:
    """Make charts without a check of every part against Vega-Lite's schema, which takes half of the time;
    tests paint every chart instead.
    """
    return debug_mode(False)


def log_ticks(values: Sequence[float]) -> list[float]:
    """Ticks of a logarithmic axis over these values: powers of 10, or finer where these would be too few."""
    low, high = min(values), max(values)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    inside: list[float] = []
    for steps in ((1,), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7)):
        inside = [tick for power in powers for step in steps if low <= (tick := step * 10.0**power) <= high]
        if len(inside) >= FEWEST_TICKS:
            break
    return inside if len(inside) > 1 else sorted({float(f"{end:.3g}") for end in (low, high)})


def legend_below(title: str | None = None) -> alt.Legend:
    """A legend of lines below a chart, in two columns."""
    return alt.Legend(title=title, orient="bottom", columns=2, symbolOpacity=1, symbolType="stroke")


def treatment_colour(treatments: Sequence[Treatment]) -> alt.Color:
    """The colour of each treatment that the reader chose; several have a legend, titled with the factors
    whose levels name them.
    """
    title = ", ".join(shared_factors(treatments)) or None
    legend = legend_below(title) if len(treatments) > 1 else None
    return alt.Color("treatment:N", sort=None, scale=alt.Scale(range=list(SERIES)), legend=legend)


def data(name: str) -> alt.NamedData:
    """A data source that is filled later."""
    return alt.NamedData(name=name)


def colours(domain: list[str]) -> alt.Scale:
    """Colours of named series, in order."""
    return alt.Scale(domain=domain, range=[SERIES[n % len(SERIES)] for n in range(len(domain))])


def shapes(domain: list[str]) -> alt.Scale:
    """Shapes of named series, in the same order: colour is never the only difference."""
    return alt.Scale(domain=domain, range=[SHAPES[n % len(SHAPES)] for n in range(len(domain))])


def layered(*layers: alt.Chart, **properties: Any) -> JsonObject:
    """Marks above one another in one view, as Vega-Lite.

    `alt.layer` would copy all of them several times over.
    """
    return {**properties, "layer": [_plain(layer) for layer in layers]}


def document(view: JsonObject) -> JsonObject:
    """The finished specification, without a configuration: that is the page's."""
    return {"$schema": alt.SCHEMA_URL, **view}


def stacked(
    views: Sequence[JsonObject],
    *,
    colours: Literal["shared", "independent"] = "shared",
    spacing: int = 16,
) -> JsonObject:
    """The finished specification of views below one another on one horizontal axis, each with its own
    vertical one; `spacing` in pixels.

    With `independent` colours each view has its own scale of colours, and legend.
    """
    scales = {"x": "shared", "y": "independent", "color": colours}
    return document({"vconcat": list(views), "spacing": spacing, "resolve": {"scale": scales}})


def _plain(chart: alt.Chart) -> JsonObject:
    spec = chart.to_dict(validate=False)
    without_source = chart.data is alt.Undefined
    dropped = {"$schema", "config", *(["data"] if without_source else [])}
    return {name: value for name, value in spec.items() if name not in dropped}
