"""Throughput, response times and metrics of every treatment: each repeat, the median, and its interval; and
waits of the server's sessions: a stacked bar per treatment, by kind of wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import cycle

import altair as alt

from loadcell.analysis.open_loop import all_results
from loadcell.analysis.server import FEW_SIGHTINGS, RUNNING
from loadcell.analysis.treatments import Treatment, shared_factors
from loadcell.analysis.trials import Trial
from loadcell.report.blocks import Chart, DataRow
from loadcell.report.charts import bounds, chart, compare, style
from loadcell.report.charts.style import Channels
from loadcell.report.context import ReportContext
from loadcell.report.palette import SERIES
from loadcell.report.values import foremost, metric_name

#: A line of which the highest point lies below this part of another's is flat at the foot of an axis that
#: begins at 0.
FAR_APART = 10


@chart("curves", 1)
def throughput(context: ReportContext) -> Chart | None:
    """None when nothing was measured, or nothing at all was done."""
    treatments, layout, texts = context.analysis.treatments, context.analysis.layout, context.texts
    if context.best is None or not any(
        trial.throughput_per_s for measured in treatments for trial in measured.trials
    ):
        return None
    form = compare.form(layout, treatments, texts)
    rows = compare.placed(
        form, layout, treatments, lambda treatment: treatment.throughput, lambda trial: trial.throughput_per_s
    )
    figure = compare.Figure(texts("axis.throughput"), _ticks(rows), format=",.4~r")
    rows += bounds.rows(context, form, rows, {"throughput": {}})
    form = compare.bounded(form, rows)
    shape = compare.curves if form.numeric else compare.rows
    chart = shape(form, figure, texts, groups=form.groups, group_title=form.group_title)
    return Chart(
        "chart-throughput",
        texts("chart.throughput", x=form.title) if layout.x else texts("chart.throughput.treatments"),
        style.document(chart),
        {compare.FIGURES: rows},
        [
            *compare.captions(form, context),
            *bounds.captions(context, rows),
            *([texts("caption.logarithmic")] if figure.ticks else []),
        ],
        columns=4 if form.facets else 1,
        legend=bool(form.groups),
    )


def _ticks(rows: Sequence[DataRow]) -> tuple[float, ...]:
    """Ticks of a logarithmic axis, if one line could not be read beside another; else none, and an axis from
    0.
    """
    highest: dict[str, float] = {}
    for row in rows:
        group = str(row.get("group"))
        highest[group] = max(highest.get(group, 0.0), row["value"])
    values = [row["value"] for row in rows]
    if not values or min(values) <= 0 or max(highest.values()) <= FAR_APART * min(highest.values()):
        return ()
    return tuple(style.log_ticks(values))


@chart("own", 1)
def custom_metric(context: ReportContext) -> Chart | None:
    """None without such a metric, or a factor to custom_metric it along."""
    layout, texts = context.analysis.layout, context.texts
    measured = [treatment for treatment in context.analysis.treatments if treatment.measured]
    name = foremost(measured)
    if name is None or layout.x is None:
        return None
    form = compare.form(layout, measured, texts)
    rows = compare.placed(
        form,
        layout,
        measured,
        lambda treatment: treatment.figures[name],
        lambda trial: trial.figures.get(name),
    )
    form = compare.drawn(form, rows)
    title = metric_name(name, texts)
    figure = compare.Figure(title, compare.ticks(rows), format=",.4~r")
    shape = compare.curves if form.numeric else compare.rows
    return Chart(
        "chart-own",
        texts("chart.own", figure=title, x=form.title),
        style.document(shape(form, figure, texts, groups=form.groups, group_title=form.group_title)),
        {compare.FIGURES: rows},
        compare.captions(form, context),
        columns=4 if form.facets else 1,
        legend=bool(form.groups),
    )


SHOWN = ("p50", "p95", "p99")
#: What is drawn of those that tell no percentile at all.
ELSE = ("mean",)


@chart("curves", 2)
def latency(context: ReportContext) -> Chart | None:
    """None when no trial that counts has a response time.

    With a second factor as lines, the reader chooses the percentile.
    """
    treatments, layout, texts = context.analysis.treatments, context.analysis.layout, context.texts
    form = compare.form(layout, treatments, texts)
    shown = next(
        (names for present in (_everywhere, _label) for names in (SHOWN, ELSE) if present(treatments, names)),
        None,
    )
    if shown is None:
        return None
    labels = {name: texts.or_none(f"series.{name}") or name for name in shown}
    rows = []
    for treatment in treatments:
        where = compare.coordinates(form, layout, treatment)
        for name in shown:
            cell = {**where, "percentile": labels[name]} if form.groups else {**where, "group": labels[name]}
            key = f"{name}_ms"
            rows += compare.figures(cell, treatment, treatment.latency[key], partial(_latency, key))
    form = compare.drawn(form, rows)
    for row in rows:
        row |= {name: texts.in_unit(row[name]) for name in ("value", "low", "high") if name in row}
    present = {row["percentile" if form.groups else "group"] for row in rows}
    names = [name for name in labels.values() if name in present]  # a tool tells but one or two of them
    choose = bool(form.groups) and len(names) > 1
    field = "percentile" if form.groups else "group"
    metrics: dict[str, DataRow] = {
        f"latency.{name}": {field: label} for name, label in labels.items() if label in present
    }
    rows += bounds.rows(context, form, rows, metrics, texts.in_unit)
    figure = compare.Figure(texts("axis.latency"), compare.ticks(rows))
    form = compare.bounded(form, rows)
    shape = compare.curves if form.numeric else compare.rows
    chart = shape(
        form, figure, texts,
        groups=form.groups or names, group_title=form.group_title if form.groups else "",
        condition="datum.percentile === percentile" if choose else None,
    )  # fmt: skip
    if choose:
        choice = {"input": "select", "options": names, "name": texts("page.choose-latency")}
        chart["params"] = [{"name": "percentile", "value": names[-1], "bind": choice}]
    return Chart(
        "chart-latency",
        texts("chart.latency", x=form.title) if layout.x else texts("chart.latency.treatments"),
        style.document(chart),
        {compare.FIGURES: rows},
        [*compare.captions(form, context), *bounds.captions(context, rows)],
        columns=4 if form.facets else 1,
    )


def _everywhere(treatments: Sequence[Treatment], names: Sequence[str]) -> bool:
    """True if every measured treatment has a median of one of these response times."""
    measured = [treatment for treatment in treatments if treatment.measured]
    return bool(measured) and all(
        any(treatment.latency_ms(f"{name}_ms") is not None for name in names) for treatment in measured
    )


def _label(treatments: Sequence[Treatment], names: Sequence[str]) -> bool:
    return any(treatment.latency[f"{name}_ms"].values for treatment in treatments for name in names)


def _latency(key: str, trial: Trial) -> float | None:
    # Of an overloaded trial it would say only how long that has lasted.
    return None if trial.overloaded else (trial.response or {}).get(key)


@chart("open-loop", 1)
def waiting(context: ReportContext) -> Chart | None:
    """The p99 of both; None without a succeeded open loop, or if a second factor needs the lines."""
    treatments, layout, texts = context.analysis.treatments, context.analysis.layout, context.texts
    form = compare.form(layout, treatments, texts)
    if form.groups:
        return None
    kinds = {"response": texts("series.response"), "service": texts("series.service")}
    rows = []
    for loop in all_results(treatments):
        where = compare.coordinates(form, layout, loop.treatment)
        figures = {"response": loop.treatment.latency["p99_ms"], "service": loop.service["p99_ms"]}
        for kind, name in kinds.items():
            cell = {**where, "group": name}
            rows += compare.figures(cell, loop.treatment, figures[kind], partial(_p99, kind))
    form = compare.drawn(form, rows)
    if not any(row["value"] > 0 for row in rows):
        return None
    figure = compare.Figure(texts("axis.p99"), compare.ticks(rows))
    shape = compare.curves if form.numeric else compare.rows
    return Chart(
        "chart-waiting",
        texts("chart.waiting"),
        style.document(shape(form, figure, texts, groups=tuple(kinds.values()))),
        {compare.FIGURES: rows},
        compare.captions(form, context),
        columns=4 if form.facets else 1,
    )


def _p99(kind: str, trial: Trial) -> float | None:
    if trial.overloaded:  # its response times say only how long it has lasted
        return None
    return ((trial.response if kind == "response" else trial.service) or {}).get("p99_ms")


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
def waits(context: ReportContext) -> Chart | None:
    """None where no active session was found."""
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
        every = alt.Scale(domain=[wait.treatment.index for wait in waited])
        axis = alt.Axis(grid=False, labelOverlap="greedy")
        x = alt.X("x:O", title=texts("axis.treatment"), scale=every, axis=axis)
        layer = base.encode(x=x, y=alt.Y("value:Q", **size), color=colour, order=order, tooltip=tips)
        height = style.CHART
    else:
        title = texts("mark.list").join(shared_factors(context.analysis.treatments))
        # Levels with idle sessions have no bar, and their place on the axis all the same.
        every = alt.Scale(domain=[wait.treatment.brief for wait in waited])
        y = alt.Y("x:N", title=title or None, scale=every, axis=compare.row_axis())
        layer = base.encode(y=y, x=alt.X("value:Q", **size), color=colour, order=order, tooltip=tips)
        height = style.ROW * len(waited)
    view = style.layered(layer, height=height, data={"name": BARS})
    captions = [texts("caption.waits")]
    if few := sum(0 < wait.sightings < FEW_SIGHTINGS for wait in waited):
        captions.append(texts("caption.waits.few", count=few, of=len(waited), least=FEW_SIGHTINGS))
    return Chart(
        "chart-waits", texts("chart.waits"), style.document(view), {BARS: rows}, captions, legend=False
    )
