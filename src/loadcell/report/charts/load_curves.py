"""Throughput against p99 as the load rises: past the knee the curve bends upwards."""

from __future__ import annotations

import math
from collections.abc import Sequence

import altair as alt

from loadcell.analysis import load_curves
from loadcell.analysis.layout import MOST_SERIES
from loadcell.analysis.load_curves import LoadCurve
from loadcell.report.blocks import Chart, DataRow
from loadcell.report.charts import chart, style
from loadcell.report.charts.style import Channels
from loadcell.report.context import ReportContext
from loadcell.report.palette import SERIES

#: A curve takes three points.
FEWEST_POINTS = 3
#: The shares of width and height that a label takes up.
LABEL_WIDTH, LABEL_HEIGHT = 0.09, 0.06
#: The label of a knee is a word longer.
KNEE_WIDTH = 0.2


@chart("saturation", 2)
def of_clients(context: ReportContext) -> Chart | None:
    """None without a curve of three numbers of clients."""
    curves = load_curves.of_clients(context.analysis.saturation)
    return _chart("chart-load-curve", curves, context.texts("axis.clients"), context)


@chart("open-loop", 2)
def of_rates(context: ReportContext) -> Chart | None:
    """None without a curve of three offered rates at which the target kept up."""
    curves = load_curves.of_rates(context.analysis.treatments)
    return _chart("chart-rate-curve", curves, context.texts("column.offered"), context)


def _chart(name: str, lines: Sequence[LoadCurve], load: str, context: ReportContext) -> Chart | None:
    usable = [curve for curve in lines if len(curve.points) >= FEWEST_POINTS]
    highest = sorted(usable, key=lambda curve: -max(point.throughput_per_s for point in curve.points))[
        :MOST_SERIES
    ]
    curves = [curve for curve in usable if curve in highest]
    if not curves:
        return None
    texts = context.texts
    names = [curve.where for curve in curves] if len(curves) > 1 else []
    rows = points(curves, context)
    captions = [texts("caption.load-curve", load=load)]
    if any(row["knee"] for row in rows):
        captions.append(texts("caption.load-curve.knee"))
    if len(curves) < len(usable):
        captions.append(texts("caption.saturation.some", count=len(curves)))
    times = [row["p99"] for row in rows]
    repeats: list[DataRow] = [
        {"line": curve.where, "load": point.load, "throughput": speed, "p99": texts.in_unit(time)}
        for curve in curves
        for point in curve.points
        if len(point.repeats) > 1
        for speed, time in point.repeats
    ]
    ticks = style.log_ticks([*times, *(row["p99"] for row in repeats)])
    return Chart(
        name,
        texts("chart.load-curve"),
        style.document(_view(names, load, ticks, context, rows, repeated=bool(repeats))),
        {"points": rows, "repeats": repeats},
        captions,
        legend=bool(names),
        detail=True,
    )


def points(curves: Sequence[LoadCurve], context: ReportContext) -> list[DataRow]:
    """A row a point: `line`, `load`, `throughput`, `p99`, `knee` (true at the knee), `label` (empty where
    labels would overlap; those of knees come first).
    """
    rows: list[DataRow] = [
        {
            "line": curve.where,
            "treatment": point.treatment.label,
            "load": point.load,
            "throughput": point.throughput_per_s,
            "p99": context.texts.in_unit(point.p99_ms),
            "knee": point.load == curve.knee,
            "label": "",
        }
        for curve in curves
        for point in curve.points
    ]
    knee = context.texts("mark.saturation.knee")
    for row, labelled in zip(rows, labels(rows), strict=True):
        if labelled:
            row["label"] = f"{row['load']:.6g} ({knee})" if row["knee"] else f"{row['load']:.6g}"
    return rows


def labels(rows: Sequence[DataRow]) -> list[bool]:
    """True for each row that has room for its label; rows in front, and knees before all, have precedence."""
    most = max(row["throughput"] for row in rows)
    heights = [math.log10(row["p99"]) for row in rows]
    span = max(heights) - min(heights) or 1.0
    taken: list[tuple[float, float, float]] = []
    shown = [False] * len(rows)
    for number in sorted(range(len(rows)), key=lambda number: not rows[number]["knee"]):
        x, y = rows[number]["throughput"] / most, (heights[number] - min(heights)) / span
        width = KNEE_WIDTH if rows[number]["knee"] else LABEL_WIDTH
        # a label ends at its point
        if all(x - width > a or a - other > x or abs(y - b) > LABEL_HEIGHT for a, b, other in taken):
            taken.append((x, y, width))
            shown[number] = True
    return shown


def _view(
    names: Sequence[str],
    load: str,
    ticks: Sequence[float],
    context: ReportContext,
    rows: Sequence[DataRow],
    *,
    repeated: bool,
) -> dict[str, object]:
    texts = context.texts
    x = alt.X(
        "throughput:Q",
        title=texts("axis.throughput"),
        scale=alt.Scale(zero=True, nice=True),
        axis=alt.Axis(format=",~r", tickCount=6, labelOverlap="greedy", labelSeparation=6),
    )
    y = alt.Y(
        "p99:Q",
        title=texts("axis.latency.p99"),
        scale=alt.Scale(type="log", nice=False, padding=16),
        axis=alt.Axis(format=",.3~r", values=list(ticks), labelOverlap="greedy"),
    )
    colour: Channels = {}
    shape: Channels = {}
    plain: Channels = {} if names else {"color": SERIES[0]}
    if names:
        legend = alt.Legend(title=None, symbolOpacity=1)
        colour = {"color": alt.Color("line:N", scale=style.colours(list(names)), legend=legend)}
        shape = {"shape": alt.Shape("line:N", scale=style.shapes(list(names)), legend=legend)}
    tips = [
        alt.Tooltip("treatment:N", title=texts("axis.treatment")),
        alt.Tooltip("load:Q", title=load, format=",.6~r"),
        alt.Tooltip("throughput:Q", title=texts("axis.throughput"), format=",.4~r"),
        alt.Tooltip("p99:Q", title=texts("axis.latency.p99"), format=",.4~r"),
    ]
    base = alt.Chart(style.data("points"))
    at = dict(x=x, y=y, **colour)
    line = base.mark_line(strokeWidth=1.8, **plain).encode(order=alt.Order("load:Q"), **at)
    repeats = (
        alt.Chart(style.data("repeats")).mark_point(size=16, opacity=0.45, filled=True, **plain).encode(**at)
    )
    dots = base.mark_point(size=40, opacity=1, filled=True, **plain).encode(tooltip=tips, **at, **shape)
    ring = (
        base.transform_filter("datum.knee")
        .mark_point(size=190, strokeWidth=2, opacity=1, filled=False, shape="circle", **plain)
        .encode(**at)
    )
    text = base.transform_filter("datum.label").mark_text(align="right", dx=-9, dy=-7).encode(
        x=x, y=y, text=alt.Text("label:N")
    )  # fmt: skip
    # Vega complains of marks without any rows
    rings = [ring] if any(row["knee"] for row in rows) else []
    layers = [line, *([repeats] if repeated else []), dots, *rings, text]
    return style.layered(*layers, height=style.CHART)
