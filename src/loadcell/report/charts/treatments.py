"""Throughput, response times and metrics of every treatment: each repeat, the median, and its interval."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from loadcell.analysis.open_loop import all_results
from loadcell.analysis.treatments import Treatment
from loadcell.analysis.trials import Trial
from loadcell.report import figures
from loadcell.report.blocks import Chart, DataRow
from loadcell.report.charts import chart, compare, style
from loadcell.report.context import ReportContext

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
    shape = compare.curves if form.numeric else compare.rows
    chart = shape(form, figure, texts, groups=form.groups, group_title=form.group_title)
    return Chart(
        "chart-throughput",
        texts("chart.throughput", x=form.title) if layout.x else texts("chart.throughput.treatments"),
        style.document(chart),
        {compare.FIGURES: rows},
        [*compare.captions(form, context), *([texts("caption.logarithmic")] if figure.ticks else [])],
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
    name = figures.foremost(measured)
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
    title = figures.name(name, texts)
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
    shown = next((names for names in (SHOWN, ELSE) if _label(treatments, names)), None)
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
    figure = compare.Figure(texts("axis.latency"), compare.ticks(rows))
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
        compare.captions(form, context),
        columns=4 if form.facets else 1,
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
