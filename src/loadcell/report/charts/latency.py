"""Response time of every treatment: the same picture as throughput's, for the percentiles people ask for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from loadcell.analysis.treatments import Treatment
from loadcell.analysis.trials import Trial
from loadcell.report.blocks import Chart
from loadcell.report.charts import compare, style
from loadcell.report.context import ReportContext

SECTION, PLACE = "curves", 2
SHOWN = ("p50", "p95", "p99")
#: What is drawn of those that tell no percentile at all.
ELSE = ("mean",)


def draw(context: ReportContext) -> Chart | None:
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
        where = compare.place(form, layout, treatment)
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
