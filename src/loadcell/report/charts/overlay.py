"""Trials on one time axis: the repeats of a treatment, or any trials that the reader chooses.

The values are those of the chart of single trials over time; the page holds them once.
"""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from loadcell.model.json import JsonObject
from loadcell.monitors.panels import RESPONSE_TIMES, TRANSACTIONS
from loadcell.report.blocks import Chart, DataRow
from loadcell.report.charts import chart, style, time_marks, timeline
from loadcell.report.charts.percentiles import MOST_SHOWN
from loadcell.report.context import ReportContext
from loadcell.report.palette import SERIES
from loadcell.report.texts import Texts

#: The source of the chart over time that is drawn here, and its columns: title of the panel -> column.
SOURCE = "load"
THROUGHPUT, TAIL = "throughput_per_s", "response_p99_ms"
#: A line takes two points.
FEWEST_POINTS = 2


@chart("overlay", 1)
def draw(context: ReportContext) -> Chart | None:
    """None where fewer than two trials have values over time."""
    of_trials = context.drawn.get("chart-series")
    if of_trials is None:
        return None
    drawn = {
        name: sources[SOURCE]
        for name, sources in of_trials.series.items()
        if len(sources.get(SOURCE, {}).get("t", ())) >= FEWEST_POINTS
    }
    if len(drawn) < 2:
        return None
    texts = context.texts
    titles = {THROUGHPUT: texts(_title(context)), TAIL: texts(RESPONSE_TIMES.title)}
    columns = {
        column: title
        for column, title in titles.items()
        if any(value is not None for values in drawn.values() for value in values.get(column, ()))
    }
    repeats = {
        item.label: [trial.name for trial in item.trials if trial.name in drawn][:MOST_SHOWN]
        for item in context.analysis.treatments
    }
    repeats = {label: names for label, names in repeats.items() if names}
    best = context.best.label if context.best is not None else ""
    first = best if best in repeats else max(repeats, key=lambda label: len(repeats[label]))
    briefs = {item.id: item.brief for item in context.analysis.treatments}
    last_s = max(values["t"][-1] for values in drawn.values())
    first_s = min(values["t"][0] for values in drawn.values())
    clock = timeline.clock_between(min(0.0, first_s), last_s)
    captions = [texts("caption.overlay")]
    if TAIL in columns:
        captions.append(texts("caption.overlay.tail"))
    views = [
        view(column, title, clock, texts, last=column == [*columns][-1]) for column, title in columns.items()
    ]
    if any(time_marks.SOURCE in sources for sources in of_trials.series.values()):
        views.insert(0, time_marks.strip(context.texts, clock, colour=colour()))
        captions.append(time_marks.caption(of_trials.series.values(), context.texts))
    return Chart(
        "chart-overlay",
        texts("chart.overlay"),
        style.stacked(views),
        {},
        captions,
        panels=len(views),
        legend=False,
        chooser="trials",
        choices=[
            (trial.name, f"{trial.number} (r{trial.repeat}): {briefs.get(trial.treatment, trial.treatment)}")
            for trial in context.analysis.trials
            if trial.name in drawn
        ],
        chosen=repeats[first],
        repeats=repeats,
        shares=of_trials.id,
        detail=True,
    )


def _title(context: ReportContext) -> str:
    return "axis.transactions.mixed" if context.mixed else TRANSACTIONS.title


def rows(chart: Chart, of_trials: Chart) -> list[DataRow]:
    """Rows of the chosen trials, as the page builds them too."""
    labels = dict(chart.choices)
    return [
        {"trial": labels[name], **dict(zip(columns, values, strict=True))}
        for name in chart.chosen
        for columns in [of_trials.series[name][SOURCE]]
        for values in zip(*columns.values(), strict=True)
    ]


def colour(names: Sequence[str] = ()) -> alt.Color:
    """The colour of each trial; without names that of those that the reader chose."""
    scale = style.colours(list(names)) if names else alt.Scale(range=list(SERIES))
    return alt.Color("trial:N", sort=None, scale=scale, legend=style.legend_below())


def view(
    column: str, title: str, clock: timeline.Clock, texts: Texts, *, last: bool, names: Sequence[str] = ()
) -> JsonObject:
    """One view of a column of the trials, named `title`, on the axis of time."""
    x = alt.X(
        "t:Q",
        title=texts(clock.title) if last else None,
        axis=timeline.axis(clock, labels=last),
        scale=alt.Scale(nice=False),
    )
    axis = alt.Axis(tickCount=4, format=",~r", minExtent=58, maxExtent=58, labelOverlap="greedy")
    y = alt.Y(f"{column}:Q", title=None, axis=axis, scale=alt.Scale(zero=True, nice=True))
    tips = [
        alt.Tooltip("trial:N", title=texts("axis.trial")),
        alt.Tooltip("t:Q", title=texts("axis.time"), format=",~r"),
        alt.Tooltip(f"{column}:Q", title=title, format=",.4~r"),
    ]
    base = alt.Chart(style.data(SOURCE))
    at = {"x": x, "y": y, "color": colour(names)}
    line = base.mark_line(strokeWidth=1.6).encode(**at)
    handles = base.mark_point(size=90, opacity=0, filled=True).encode(tooltip=tips, **at)
    warmup = alt.Chart(style.data("warmup"))
    shade = warmup.mark_rect(color="var(--shade)").encode(x=alt.X("from:Q"), x2=alt.X2("to:Q"))
    return style.layered(shade, line, handles, height=style.CHART // 2, title=title)
