"""Time of a call over the size of the data, on logarithmic axes: a line for each alternative."""

from __future__ import annotations

import altair as alt

from loadcell.analysis.scaling import Scaling
from loadcell.model.json import JsonObject
from loadcell.report.blocks import Chart, DataRow
from loadcell.report.charts import chart, style
from loadcell.report.context import ReportContext

_HEIGHT = 240


@chart("scaling", 1)
def draw(context: ReportContext) -> Chart | None:
    """A view for each combination of the other factors; None without a size."""
    lines = [scaling for scaling in context.analysis.scalings if _points(scaling)]
    if not lines:
        return None
    texts = context.texts
    names = list(
        dict.fromkeys(alternative.level for scaling in lines for alternative in scaling.alternatives)
    )
    data = {f"view{number}": _points(scaling) for number, scaling in enumerate(lines)}
    views = [
        _view(f"view{number}", scaling, data[f"view{number}"], names, context)
        for number, scaling in enumerate(lines)
    ]
    captions = [texts("caption.scaling")]
    if any(
        len(alternative.points) > _timed(alternative.level, data) for alternative in lines[0].alternatives
    ):
        captions.append(texts("caption.scaling.ended"))
    return Chart(
        "chart-scaling",
        texts("chart.scaling", size=lines[0].size_factor),
        style.stacked(views),
        data,
        captions,
        panels=len(views),
        legend=True,
    )


def _timed(level: str, data: dict[str, list[DataRow]]) -> int:
    return sum(row["line"] == level for row in data["view0"])


def _points(scaling: Scaling) -> list[DataRow]:
    rows: list[DataRow] = []
    for alternative in scaling.alternatives:
        for point in alternative.points:
            if (median_ms := point.median_ms) is None or point.time is None:
                continue
            low, high = point.time.reach or (median_ms, median_ms)
            row: DataRow = {"line": alternative.level, "x": point.size, "value": median_ms}
            rows.append({**row, "low": max(low, 1e-9), "high": high})
    return rows


def _view(
    name: str, scaling: Scaling, rows: list[DataRow], names: list[str], context: ReportContext
) -> JsonObject:
    texts = context.texts
    x = alt.X(
        "x:Q",
        title=scaling.size_factor,
        scale=alt.Scale(type="log", nice=False, padding=12),
        axis=alt.Axis(format="~s", values=style.log_ticks([row["x"] for row in rows]), labelOverlap="greedy"),
    )
    y = alt.Y(
        "value:Q",
        title=texts("axis.call-time"),
        scale=alt.Scale(type="log", nice=False, padding=8),
        axis=alt.Axis(
            format=",.3~r", values=style.log_ticks([row["value"] for row in rows]), labelOverlap="greedy"
        ),
    )
    legend = alt.Legend(title=scaling.factor, orient="right", symbolOpacity=1)
    colour = alt.Color("line:N", scale=style.colours(names), legend=legend)
    shape = alt.Shape("line:N", scale=style.shapes(names), legend=legend)
    tips = [
        alt.Tooltip("line:N", title=scaling.factor),
        alt.Tooltip("x:Q", title=scaling.size_factor, format=",.6~r"),
        alt.Tooltip("value:Q", title=texts("axis.call-time"), format=",.4~r"),
    ]
    base = alt.Chart(style.data(name))
    line = base.mark_line(strokeWidth=1.6).encode(x=x, y=y, color=colour)
    reach = base.mark_rule(opacity=0.5).encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=colour)
    dots = base.mark_point(size=36, opacity=1, filled=True).encode(
        x=x, y=y, color=colour, shape=shape, tooltip=tips
    )
    return style.layered(
        line, reach, dots, height=_HEIGHT, **({"title": scaling.where} if scaling.where else {})
    )
