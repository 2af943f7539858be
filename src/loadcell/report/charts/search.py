"""A search as it closed in: each trial's level, and between which levels the answer lay after it."""

from __future__ import annotations

import altair as alt

from loadcell.analysis.search import Searched, Step
from loadcell.model.json import JsonObject
from loadcell.report.blocks import Chart, DataRow
from loadcell.report.charts import chart, style
from loadcell.report.charts.style import Channels
from loadcell.report.context import ReportContext
from loadcell.report.palette import SERIES
from loadcell.report.sections.search import STAGE

_STEPS = "steps"


@chart("search", 1)
def draw(context: ReportContext) -> Chart | None:
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
        .encode(x=x, y=y("low"), y2="high:Q")
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
