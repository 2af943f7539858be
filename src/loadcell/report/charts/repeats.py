"""Cumulative distribution of the throughput of repeats, a step for each repeat; the reader chooses among many
treatments.
"""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from loadcell.report.blocks import Chart, DataRow
from loadcell.report.charts import chart, style
from loadcell.report.charts.percentiles import MOST_SHOWN, chosen
from loadcell.report.context import ReportContext
from loadcell.stats.repeats import FEWEST_FOR_INTERVAL

_SOURCE = "repeats"


@chart("repeats", 1)
def draw(context: ReportContext) -> Chart | None:
    """None where no treatment has as many repeats as an interval takes."""
    texts = context.texts
    drawn = [
        item for item in context.analysis.treatments if len(item.throughput.values) >= FEWEST_FOR_INTERVAL
    ]
    if not drawn or not context.analysis.comparable:
        return None
    x = alt.X("value:Q", title=texts("axis.throughput"), scale=alt.Scale(zero=False, padding=12))
    height = alt.Axis(format=".3~p", tickCount=4, labelOverlap="greedy")
    y = alt.Y("below:Q", title=texts("axis.below.repeats"), axis=height, scale=alt.Scale(domain=[0, 1]))
    colour = style.treatment_colour(drawn)
    tips = [
        alt.Tooltip("treatment:N", title=texts("axis.treatment")),
        alt.Tooltip("value:Q", title=texts("axis.throughput"), format=",.4~r"),
        alt.Tooltip("below:Q", title=texts("axis.below.repeats"), format=".3~p"),
    ]
    base = alt.Chart(style.data(_SOURCE))
    line = base.mark_line(interpolate="step-after", strokeWidth=1.8).encode(x=x, y=y, color=colour)
    dots = base.mark_point(size=22, filled=True, opacity=0.8).encode(x=x, y=y, color=colour, tooltip=tips)
    data = [{"treatment": item.brief, **row} for item in drawn for row in steps(list(item.throughput.values))]
    return Chart(
        "chart-repeats",
        texts("chart.repeats"),
        style.document(style.layered(line, dots, height=style.CHART * 2 // 3)),
        {_SOURCE: data},
        [texts("caption.repeats", count=FEWEST_FOR_INTERVAL)],
        legend=False,
        chooser="treatments" if len(drawn) > MOST_SHOWN else "",
        choices=[(item.brief, item.label) for item in drawn],
        chosen=[item.brief for item in chosen(drawn, context.best)],
        detail=True,
    )


def steps(values: Sequence[float]) -> list[DataRow]:
    """A row a value, rising, with the share of values up to it (`below`), after one with 0 at the least."""
    ordered = sorted(values)
    rows: list[DataRow] = [{"value": ordered[0], "below": 0.0}]
    return rows + [
        {"value": value, "below": number / len(ordered)} for number, value in enumerate(ordered, 1)
    ]
