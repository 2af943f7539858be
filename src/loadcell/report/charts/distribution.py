"""Distribution of response times of each treatment: histogram and cumulative distribution on one logarithmic
axis of time; the reader chooses among many.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import altair as alt
import numpy as np

from loadcell.analysis.treatments import Treatment
from loadcell.report.blocks import Chart, DataRow
from loadcell.report.charts import chart, style
from loadcell.report.charts.percentiles import MOST_SHOWN, chosen
from loadcell.report.context import ReportContext
from loadcell.store.interval_histograms import CLASSES, Counts, lower_ms

#: Rows of all treatments together.
MOST_ROWS = 4_000
#: Classes that become one where there are many treatments.
WIDTHS = (1, 2, 4, 10)
_SOURCE = "classes"


@chart("distribution", 1)
def draw(context: ReportContext) -> Chart | None:
    """None where no trial has a histogram. Repeats of a treatment are pooled."""
    totals = {
        item: total for item in context.analysis.treatments if bool((total := _pooled(item, context)).any())
    }
    if not totals:
        return None
    texts, drawn = context.texts, list(totals)
    width = next((width for width in WIDTHS if _rows_of(totals.values(), width) <= MOST_ROWS), WIDTHS[-1])
    data = [
        {"treatment": item.brief, **row, "from": texts.in_unit(row["from"])}
        for item, total in totals.items()
        for row in rows(total, width)
    ]
    captions = [texts("caption.distribution")]
    every = max(of_trial.every for of_trial in context.interval_histograms.values())
    if every > 1:
        captions.append(texts("caption.histograms.sampled", every=every))
    return Chart(
        "chart-distribution",
        texts("chart.distribution"),
        style.stacked(
            [
                _view("share:Q", "axis.share", context, drawn, "step-after", last=False),
                _view("below:Q", "axis.below", context, drawn, "linear", last=True),
            ]
        ),
        {_SOURCE: data},
        captions,
        panels=2,
        legend=False,
        chooser="treatments" if len(drawn) > MOST_SHOWN else "",
        choices=[(item.brief, item.label) for item in drawn],
        chosen=[item.brief for item in chosen(drawn, context.best)],
        detail=True,
    )


def _pooled(treatment: Treatment, context: ReportContext) -> Counts:
    total = np.zeros(CLASSES, dtype=np.int64)
    for trial in treatment.trials:
        if trial.counts and trial.name in context.interval_histograms:
            histograms = context.interval_histograms[trial.name]
            total += histograms.total * histograms.every
    return total


def _rows_of(totals: Iterable[Counts], width: int) -> int:
    return sum(len(joined(total, width)[1]) + 1 for total in totals)


def joined(total: Counts, width: int) -> tuple[int, Counts]:
    """The first class, and the counts of each `width` classes up to the last one with any."""
    sums = total.reshape(-1, width).sum(axis=1)
    filled = np.flatnonzero(sums)
    return int(filled[0]) * width, sums[filled[0] : filled[-1] + 1]


def rows(total: Counts, width: int = 1) -> list[DataRow]:
    """A row a class: `from` (its lower end in ms), `share` (of all requests) and `below` (of those that were
    shorter).

    The last row is the end of the last class.
    """
    first, sums = joined(total, width)
    shares = np.append(sums / sums.sum(), 0.0)
    below = np.concatenate(([0.0], np.cumsum(sums) / sums.sum()))
    begins = lower_ms(first + width * np.arange(len(shares)))
    columns = (begins.tolist(), shares.tolist(), below.tolist())
    return [
        {"from": begin, "share": share, "below": part} for begin, share, part in zip(*columns, strict=True)
    ]


def _view(
    field: str,
    title: str,
    context: ReportContext,
    drawn: list[Treatment],
    shape: Literal["step-after", "linear"],
    *,
    last: bool,
) -> dict[str, object]:
    texts = context.texts
    axis = alt.Axis(
        labels=last, ticks=last, grid=True, format=",.3~r", labelOverlap="greedy", labelSeparation=6
    )
    x = alt.X(
        "from:Q",
        title=texts("axis.latency") if last else None,
        axis=axis,
        scale=alt.Scale(type="log", nice=False),
    )
    height = alt.Axis(format=".3~p", tickCount=4, minExtent=58, maxExtent=58, labelOverlap="greedy")
    y = alt.Y(field, title=None, axis=height, scale=alt.Scale(zero=True, nice=True))
    colour = style.treatment_colour(drawn)
    tips = [
        alt.Tooltip("treatment:N", title=texts("axis.treatment")),
        alt.Tooltip("from:Q", title=texts("axis.latency"), format=",.3~r"),
        alt.Tooltip("share:Q", title=texts("axis.share"), format=".3~p"),
        alt.Tooltip("below:Q", title=texts("axis.below"), format=".4~p"),
    ]
    base = alt.Chart(style.data(_SOURCE))
    line = base.mark_line(interpolate=shape, strokeWidth=1.8).encode(x=x, y=y, color=colour)
    handles = base.mark_point(size=90, opacity=0, filled=True).encode(x=x, y=y, color=colour, tooltip=tips)
    return style.layered(line, handles, height=style.CHART // 2, title=texts(title))
