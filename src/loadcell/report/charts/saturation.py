"""Saturation: throughput over the load with its curve, where peak, knee and power stand, and power itself;
and a search as it closed in: each trial's level, and between which levels the answer lay after it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from loadcell.analysis.layout import MOST_SERIES, Axis, axis
from loadcell.analysis.saturation import Saturation
from loadcell.analysis.search import Searched, Step
from loadcell.analysis.sweep import LOAD, speed_of
from loadcell.model.json import JsonObject
from loadcell.model.message import Labels
from loadcell.report.blocks import Chart, DataRow
from loadcell.report.charts import chart, compare, style
from loadcell.report.charts.style import Channels
from loadcell.report.context import ReportContext
from loadcell.report.palette import SERIES
from loadcell.report.sections.saturation import STAGE
from loadcell.report.texts import Texts

#: Marks from top to bottom, by the key of their name.
MARKS = ("peak", "law", "enough", "knee", "power")
_MARK = Labels("mark.saturation", MARKS)
#: Height in pixels of a mark's row, with one line and for each further one.
MARK, MORE = 20, 8
#: Room for labels of axes, the longest of which names a mark; the same in every view to align them.
LABELS = 112


@chart("saturation", 1)
def draw(context: ReportContext) -> Chart | None:
    """None without a line of at least three loads; of many lines, those with the highest throughput."""
    lines = shown([line for line in context.analysis.saturation if isinstance(line, Saturation)])
    if not lines:
        return None
    texts = context.texts
    loads = sorted({float(load) for line in lines for load in line.sweep.loads})
    x_axis = axis(LOAD, LOAD, [f"{load:g}" for load in loads], loads)
    names = [line.sweep.where for line in lines] if len(lines) > 1 else []
    data = {
        "points": [row for line in lines for row in _points(line)],
        "curve": [row for line in lines for row in _curve(line)],
        "marks": [row for line in lines for row in _marks(line, texts)],
        "power": [row for line in lines for row in _power(line)],
    }
    captions = [texts("caption.saturation")]
    if any(line.law.identified or _banded(line) for line in lines):
        captions.append(texts("caption.saturation.band"))
    if any(line.law.curve is None for line in lines):
        captions.append(texts("caption.saturation.joined"))
    if any(line.peak.first is not None for line in lines):
        captions.append(texts("caption.saturation.marks"))
    if len(lines) < sum(isinstance(line, Saturation) for line in context.analysis.saturation):
        captions.append(texts("caption.saturation.some", count=len(lines)))
    views = [
        _throughput(x_axis, names, data["curve"], texts),
        _strip(x_axis, names, data["marks"], texts, last=not data["power"]),
        *([_power_view(x_axis, names, texts)] if data["power"] else []),
    ]
    return Chart(
        "chart-saturation",
        texts("chart.saturation"),
        style.stacked(views),
        data,
        captions,
        panels=len(views),
        legend=bool(names),
    )


def shown(lines: Sequence[Saturation]) -> list[Saturation]:
    """As many lines as are distinguishable, those with the highest throughput, in the plan's order."""
    best = sorted(lines, key=lambda line: -float(line.sweep.throughput.max()))[:MOST_SERIES]
    return [line for line in lines if line in best]


def _banded(line: Saturation) -> bool:
    return line.law.curve is not None and bool(np.isfinite(line.law.curve[0, 2]))


def _points(line: Saturation) -> list[DataRow]:
    return [
        {
            "line": line.sweep.where, "x": float(load), "value": value, "repeat": trial.repeat,
            "treatment": treatment.label,
        }
        for load, treatment in zip(line.sweep.loads, line.sweep.treatments, strict=True)
        for trial in treatment.trials
        if (value := speed_of(trial)) is not None
    ]  # fmt: skip


def _curve(line: Saturation) -> list[DataRow]:
    """The fitted law, or where there is none the typical throughputs, joined."""
    where, law = line.sweep.where, line.law
    if law.curve is None:
        pairs = zip(line.sweep.loads, line.sweep.throughput, strict=True)
        return [{"line": where, "x": float(x), "value": float(y), "fitted": False} for x, y in pairs]
    rows = []
    for x, y, low, high in law.curve.tolist():
        row = {"line": where, "x": x, "value": y, "fitted": True}
        rows.append(row if math.isnan(low) else {**row, "low": low, "high": high})
    return rows


def _marks(line: Saturation, texts: Texts) -> list[DataRow]:
    rows = []
    for name, mark in (
        ("peak", line.peak), ("enough", line.enough), ("knee", line.knee), ("power", line.power),
    ):  # fmt: skip
        if mark is not None:
            ends = line.reach(mark) or (None, None)
            rows.append(_mark(line, texts(_MARK(name)), line.load(mark), *ends))
    peak = line.law.peak_load
    if peak is not None:
        last = float(line.sweep.loads[-1])
        high = None if peak.high is None else min(peak.high, last)
        rows.append(_mark(line, texts("mark.saturation.law"), peak.value, peak.low, high))
    return rows


def _mark(line: Saturation, name: str, at: float, low: float | None, high: float | None) -> DataRow:
    row = {"line": line.sweep.where, "mark": name, "x": at}
    return row if low is None or high is None else {**row, "low": low, "high": high}


def _power(line: Saturation) -> list[DataRow]:
    sweep = line.sweep
    if sweep.response is None:
        return []
    power = sweep.throughput / np.exp(sweep.response.rows)
    pairs = zip(sweep.loads, power / power.max() * 100, strict=True)
    return [{"line": sweep.where, "x": float(x), "value": float(y)} for x, y in pairs]


def _x(x_axis: Axis, texts: Texts, *, last: bool, field: str = "x:Q") -> alt.X:
    numbers = [x_axis.at[level] for level in x_axis.levels]
    few = len(numbers) <= compare.MOST_TICKS
    geometric = x_axis.scale == "geometric"
    scale: Channels = {"domain": [numbers[0], numbers[-1]], "nice": False, "padding": 12}
    return alt.X(
        field,
        title=texts("axis.clients") if last else None,
        scale=alt.Scale(type="log", base=2, **scale) if geometric else alt.Scale(zero=False, **scale),
        axis=alt.Axis(
            grid=False, labels=last, ticks=last, format=style.LEVEL, labelOverlap="greedy", labelSeparation=6,
            **({"values": numbers} if few else {"tickMinStep": 1}),
        ),
    )  # fmt: skip


def _y(field: str, **more: Any) -> alt.Y:
    axis = alt.Axis(format=",~r", tickCount=more.pop("ticks", 6), minExtent=LABELS, maxExtent=LABELS)
    return alt.Y(field, title=None, scale=alt.Scale(zero=True, nice=True), axis=axis)


def _colour(names: Sequence[str]) -> Channels:
    if not names:
        return {}
    legend = alt.Legend(title=None, symbolOpacity=1)
    return {"color": alt.Color("line:N", scale=style.colours(list(names)), legend=legend)}


def _throughput(x_axis: Axis, names: Sequence[str], rows: Sequence[DataRow], texts: Texts) -> JsonObject:
    """Points, and of curve and band what there are `rows` for: Vega complains of marks without any."""
    x, colour = _x(x_axis, texts, last=False), _colour(names)
    plain: Channels = {} if names else {"color": SERIES[0]}
    tips = [
        *([alt.Tooltip("line:N", title=texts("column.held"))] if names else []),
        alt.Tooltip("x:Q", title=texts("axis.clients"), format=",.3~r"),
        alt.Tooltip("value:Q", title=texts("axis.throughput"), format=",.4~r"),
    ]
    curve = alt.Chart(style.data("curve"))
    band = (
        curve.transform_filter("isValid(datum.low)")
        .mark_area(opacity=0.16, **plain)
        .encode(x=x, y=_y("low:Q"), y2=alt.Y2("high:Q"), **colour)
    )
    fitted = (
        curve.transform_filter("datum.fitted")
        .mark_line(**plain)
        .encode(x=x, y=_y("value:Q"), tooltip=tips, **colour)
    )
    joined = (
        curve.transform_filter("!datum.fitted")
        .mark_line(strokeDash=[4, 4], **plain)
        .encode(x=x, y=_y("value:Q"), **colour)
    )
    shape: Channels = {}
    if names:
        legend = alt.Legend(title=None, symbolOpacity=1)
        shape = {"shape": alt.Shape("line:N", scale=style.shapes(list(names)), legend=legend)}
    repeat = alt.Tooltip("repeat:N", title=texts("axis.repeat"))
    points = (
        alt.Chart(style.data("points"))
        .mark_point(size=26, opacity=0.85, filled=True, **plain)
        .encode(x=x, y=_y("value:Q"), tooltip=[*tips, repeat], **colour, **shape)
    )
    layers = [
        *([band] if any("low" in row for row in rows) else []),
        *([fitted] if any(row["fitted"] for row in rows) else []),
        *([joined] if not all(row["fitted"] for row in rows) else []),
        points,
    ]
    return style.layered(*layers, height=style.CHART - 60, title=texts("axis.throughput"))


def _order(marks: Sequence[DataRow], texts: Texts) -> list[str]:
    """The names of the marks there are, from top to bottom."""
    there = {row["mark"] for row in marks}
    return [name for mark in MARKS if (name := texts(_MARK(mark))) in there]


def _strip(
    x_axis: Axis, names: Sequence[str], rows: Sequence[DataRow], texts: Texts, *, last: bool
) -> JsonObject:
    """Position and interval of each mark: a row per mark, within it one line for each line of load."""
    order = _order(rows, texts)
    y = alt.Y(
        "mark:N", title=None, sort=order, scale=alt.Scale(domain=order),
        axis=alt.Axis(grid=True, labelOverlap=False, minExtent=LABELS, maxExtent=LABELS, labelLimit=LABELS),
    )  # fmt: skip
    x, colour = _x(x_axis, texts, last=last), _colour(names)
    plain: Channels = {} if names else {"color": SERIES[0]}
    offset = {"yOffset": alt.YOffset("line:N", sort=list(names))} if names else {}
    tips = [
        alt.Tooltip("mark:N", title=texts("column.mark")),
        alt.Tooltip("x:Q", title=texts("axis.clients"), format=",.3~r"),
        alt.Tooltip("low:Q", title=texts("axis.low"), format=",.3~r"),
        alt.Tooltip("high:Q", title=texts("axis.high"), format=",.3~r"),
    ]
    marks = alt.Chart(style.data("marks"))
    at = dict(y=y, **colour, **offset)
    bar = (
        marks.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=5, opacity=0.28, strokeCap="round", **plain)
        .encode(x=_x(x_axis, texts, last=last, field="low:Q"), x2=alt.X2("high:Q"), tooltip=tips, **at)
    )
    dot = marks.mark_point(size=46, filled=True, opacity=1, **plain).encode(x=x, tooltip=tips, **at)
    row = MARK + MORE * max(0, len(names) - 1)
    layers = [*([bar] if any("low" in point for point in rows) else []), dot]
    return style.layered(*layers, height=row * len(order), title=texts("chart.saturation.marks"))


def _power_view(x_axis: Axis, names: Sequence[str], texts: Texts) -> JsonObject:
    x, colour = _x(x_axis, texts, last=True), _colour(names)
    plain: Channels = {} if names else {"color": SERIES[0]}
    tips = [
        alt.Tooltip("x:Q", title=texts("axis.clients"), format=",.3~r"),
        alt.Tooltip("value:Q", title=texts("axis.power"), format=",.3~r"),
    ]
    line = (
        alt.Chart(style.data("power"))
        .mark_line(point=alt.OverlayMarkDef(size=22), **plain)
        .encode(x=x, y=_y("value:Q", ticks=3), tooltip=tips, **colour)
    )
    return style.layered(line, height=style.PANEL, title=texts("axis.power"))


_STEPS = "steps"


@chart("search", 1)
def search(context: ReportContext) -> Chart | None:
    """One picture a search, side by side; None in other designs."""
    searches, texts = context.analysis.searches, context.texts
    rows = [_row(search, step, context) for search in searches for step in search.steps]
    if not rows:
        return None
    geometric = all(search.question.values[0] > 0 for search in searches)
    stages = [texts(STAGE(stage)) for stage in STAGE.names if any(row["key"] == stage for row in rows)]
    x = alt.X(
        "trial:Q", title=texts("axis.trial"), axis=alt.Axis(grid=False, format="d", tickMinStep=1),
        scale=alt.Scale(padding=14, nice=False, zero=False),
    )  # fmt: skip
    ticks = (
        style.log_ticks([row[name] for row in rows for name in ("low", "high", "level")]) if geometric else ()
    )
    scale = alt.Scale(type="log", nice=False, padding=10) if geometric else alt.Scale(zero=False, padding=10)
    values: Channels = {"values": list(ticks)} if ticks else {}
    axis = alt.Axis(format=",~r", grid=True, labelOverlap="greedy", **values)

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", title=searches[0].factor, scale=scale, axis=axis)

    legend = alt.Legend(title=None, symbolOpacity=1)
    tips = [
        alt.Tooltip("trial:Q", title=texts("axis.trial")),
        alt.Tooltip("label:N", title=searches[0].factor),
        alt.Tooltip("stage:N", title=texts("column.stage")),
        alt.Tooltip("value:Q", title=texts("axis.throughput"), format=",.4~r"),
    ]
    reach = (
        alt.Chart()
        .mark_rule(strokeWidth=9, opacity=0.18, strokeCap="round", color=SERIES[7])
        .encode(x=x, y=y("low"), y2=alt.Y2("high:Q"))
    )
    colour = alt.Color("stage:N", scale=style.colours(stages), legend=legend)
    shape = alt.Shape("stage:N", scale=style.shapes(stages), legend=legend)
    good = alt.Chart(transform=[alt.FilterTransform(filter="datum.met")])
    dots = good.mark_point(size=64, opacity=0.95, filled=True).encode(
        x=x, y=y("level"), color=colour, shape=shape, tooltip=tips
    )
    bad = alt.Chart(transform=[alt.FilterTransform(filter="!datum.met")])
    crosses = bad.mark_point(
        shape="M-1,-1L1,1M-1,1L1,-1", size=40, strokeWidth=2, color="var(--problem)"
    ).encode(x=x, y=y("level"), tooltip=tips)
    layers = [reach, dots, *([crosses] if any(not row["met"] for row in rows) else [])]
    view: JsonObject
    if len(searches) > 1:
        facet = {
            "field": "facet",
            "type": "nominal",
            "title": None,
            "sort": [search.among for search in searches],
        }
        bare = style.layered(*layers, height=style.CHART // 2)
        view = {"data": {"name": _STEPS}, "facet": facet, "columns": 4, "spec": bare}
    else:
        view = style.layered(*layers, height=style.CHART, data={"name": _STEPS})
    return Chart(
        "chart-search",
        texts("chart.search"),
        style.document(view),
        {_STEPS: rows},
        [texts("caption.search")],
        columns=4 if len(searches) > 1 else 1,
        legend=True,
    )


def _row(searched: Searched, step: Step, context: ReportContext) -> DataRow:
    values = searched.question.values
    high = searched.question.top if step.after.high is None else step.after.high
    return {
        "trial": step.trial.number,
        "level": values[step.level],
        "label": step.label,
        "key": step.stage,
        "stage": context.texts(STAGE(step.stage)),
        "value": step.value,
        "met": bool(step.met),
        "low": values[step.after.low],
        "high": values[high],
        "facet": searched.among,
    }
