"""The strongest interaction of two factors: lines that are not parallel show that the one changes what the
other does.
"""

from __future__ import annotations

import altair as alt

from loadcell.analysis.effects import Interaction
from loadcell.analysis.layout import MOST_SERIES, axis
from loadcell.report.blocks import Chart, DataRow
from loadcell.report.charts import style
from loadcell.report.context import ReportContext

SECTION, PLACE = "effects", 2


def draw(context: ReportContext) -> Chart | None:
    """None without a pair of factors of which one has few enough levels to be lines."""
    effects, texts = context.analysis.effects, context.texts
    drawn = next((pair for pair in effects.together if _fewest(pair) <= MOST_SERIES), None)
    if drawn is None:
        return None
    of, at = (list(dict.fromkeys(cell[n] for cell in drawn.cells)) for n in (0, 1))
    turned = len(at) > MOST_SERIES or (len(of) < len(at) and len(of) <= MOST_SERIES)
    across, lines = (at, of) if turned else (of, at)
    across_name, lines_name = (
        effects.names[key] for key in ((drawn.at, drawn.of) if turned else (drawn.of, drawn.at))
    )
    chart = axis("across", across_name, across, [None] * len(across))
    rows: list[DataRow] = []
    for (of_level, at_level), ratio in drawn.cells.items():
        level, name = (at_level, of_level) if turned else (of_level, at_level)
        row: DataRow = {"x": level, "line": name, "value": ratio.value}
        rows.append(row if ratio.low is None else {**row, "low": ratio.low, "high": ratio.high})
    values = [row[end] for row in rows for end in ("value", "low", "high") if end in row]
    low, high = min(*values, 0.98), max(*values, 1.02)
    scale = alt.Scale(type="log", nice=False, padding=10, domain=[low, high])
    ticks = sorted({1.0, *style.log_ticks([low, high])})
    y_axis = alt.Axis(values=ticks, format=",.2~f", grid=True, labelOverlap="greedy")
    y = alt.Y("value:Q", title=texts("axis.against-mean"), scale=scale, axis=y_axis)
    x = alt.X(
        "x:N", title=across_name, sort=list(chart.levels), scale=alt.Scale(padding=0.5),
        axis=alt.Axis(labelAngle=0, grid=False, labelOverlap="greedy"),
    )  # fmt: skip
    legend = alt.Legend(title=lines_name, symbolOpacity=1)
    colour = alt.Color("line:N", scale=style.colours(lines), legend=legend)
    shape = alt.Shape("line:N", scale=style.shapes(lines), legend=legend)
    tips = [
        alt.Tooltip("x:N", title=across_name),
        alt.Tooltip("line:N", title=lines_name),
        alt.Tooltip("value:Q", title=texts("column.times"), format=",.3~r"),
        alt.Tooltip("low:Q", title=texts("axis.low"), format=",.3~r"),
        alt.Tooltip("high:Q", title=texts("axis.high"), format=",.3~r"),
    ]
    base = alt.Chart(style.data("cells"))
    bar = base.transform_filter("isValid(datum.low)").mark_rule(
        strokeWidth=7, opacity=0.22, strokeCap="round"
    ).encode(x=x, y=alt.Y("low:Q", scale=scale, axis=y_axis, title=texts("axis.against-mean")), y2="high:Q", color=colour)  # fmt: skip
    line = base.mark_line().encode(x=x, y=y, color=colour)
    dot = base.mark_point(size=46, filled=True, opacity=1).encode(
        x=x, y=y, color=colour, shape=shape, tooltip=tips
    )
    return Chart(
        "chart-interaction",
        texts("chart.interaction", of=lines_name, at=across_name),
        style.document(
            style.layered(*([bar] if effects.repeated else []), line, dot, height=style.CHART - 60)
        ),
        {"cells": rows},
        [texts("caption.interaction" if effects.repeated else "caption.interaction.once")],
    )


def _fewest(pair: Interaction) -> int:
    return min(len({cell[n] for cell in pair.cells}) for n in (0, 1))
