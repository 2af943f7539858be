"""The headline metric of a probe or a tool (MiB/s, access time) for every treatment, if it is not throughput."""

from __future__ import annotations

from loadcell.report import figures
from loadcell.report.blocks import Chart
from loadcell.report.charts import compare, style
from loadcell.report.context import ReportContext

SECTION, PLACE = "own", 1


def draw(context: ReportContext) -> Chart | None:
    """None without such a metric, or a factor to draw it along."""
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
