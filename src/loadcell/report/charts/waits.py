"""Waits of the server's sessions at each treatment: a stacked bar per treatment, by kind of wait."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle

import altair as alt

from loadcell.analysis.server import RUNNING
from loadcell.analysis.treatments import shared_factors
from loadcell.report.blocks import Chart, DataRow
from loadcell.report.charts import chart, compare, style
from loadcell.report.charts.style import Channels
from loadcell.report.context import ReportContext
from loadcell.report.palette import SERIES

BARS = "bars"
#: The third colour of the palette is green, which this has in every tool of the kind; the last one is grey.
_RUNNING, OTHERS = SERIES[2], SERIES[7]
#: The second blue comes last, as it lies near the first.
_OTHERS = tuple(SERIES[n] for n in (0, 1, 3, 4, 6, 5))


def colours(names: Sequence[str]) -> list[str]:
    """A colour for each kind of wait, the same in every chart of a run."""
    others = cycle(_OTHERS)
    return [_RUNNING if name == RUNNING else next(others) for name in names]


@chart("server", 1)
def draw(context: ReportContext) -> Chart | None:
    """None where no sessions were looked at."""
    waited, names, texts = context.server.waited, context.server.kinds, context.texts
    if not any(wait.active for wait in waited):
        return None
    many = len(waited) > compare.MOST_ROWS
    others = texts("series.rest")
    rows: list[DataRow] = []
    for wait in waited:
        parts = {name: wait.waits.get(name, 0.0) for name in names}
        parts[others] = max(0.0, wait.active - sum(parts.values()))
        rows += [
            {
                "x": wait.treatment.index if many else wait.treatment.brief,
                "treatment": wait.treatment.label,
                "name": name,
                "rank": rank,
                "value": value,
                "share": value / wait.active,
            }
            for rank, (name, value) in enumerate(parts.items())
            if value > 0
        ]
    shown = [name for name in (*names, others) if any(row["name"] == name for row in rows)]
    colour = alt.Color(
        "name:N",
        scale=alt.Scale(
            domain=shown,
            range=[OTHERS if name == others else colours(names)[names.index(name)] for name in shown],
        ),
        legend=alt.Legend(title=None, orient="top", columns=4, symbolType="square", symbolStrokeWidth=0),
    )
    tips = [
        alt.Tooltip("treatment:N", title=texts("axis.treatment")),
        alt.Tooltip("name:N", title=texts("column.wait")),
        alt.Tooltip("value:Q", title=texts("axis.sessions"), format=",.3~r"),
        alt.Tooltip("share:Q", title=texts("column.share"), format=".1%"),
    ]
    size: Channels = {
        "axis": alt.Axis(format=",~r", tickCount=6, grid=True),
        "title": texts("axis.sessions"),
    }
    order = alt.Order("rank:Q", sort="ascending")
    base = alt.Chart().mark_bar()
    if many:
        x = alt.X("x:O", title=texts("axis.treatment"), axis=alt.Axis(grid=False, labelOverlap="greedy"))
        layer = base.encode(x=x, y=alt.Y("value:Q", **size), color=colour, order=order, tooltip=tips)
        height = style.CHART
    else:
        title = texts("mark.list").join(shared_factors(context.analysis.treatments))
        names_of_rows = [wait.treatment.brief for wait in waited]
        y = alt.Y("x:N", title=title or None, sort=names_of_rows, axis=compare.row_axis())
        layer = base.encode(y=y, x=alt.X("value:Q", **size), color=colour, order=order, tooltip=tips)
        height = style.ROW * len(waited)
    view = style.layered(layer, height=height, data={"name": BARS})
    return Chart(
        "chart-waits", texts("chart.waits"), style.document(view), {BARS: rows}, [texts("caption.waits")],
        legend=False,
    )  # fmt: skip
