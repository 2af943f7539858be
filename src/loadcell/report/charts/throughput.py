"""Throughput of every treatment: each repeat, the median, and the interval or range."""

from __future__ import annotations

from loadcell.report.blocks import Chart
from loadcell.report.charts import compare, style
from loadcell.report.scene import Scene

SECTION, PLACE = "curves", 1


def draw(scene: Scene) -> Chart | None:
    """None when nothing was measured, or nothing at all was done."""
    treatments, layout, texts = scene.analysis.treatments, scene.analysis.layout, scene.texts
    if scene.best is None or not any(trial.throughput_per_s for one in treatments for trial in one.trials):
        return None
    form = compare.form(layout, treatments, texts)
    rows = compare.placed(
        form, layout, treatments, lambda treatment: treatment.throughput, lambda trial: trial.throughput_per_s
    )
    figure = compare.Figure(texts("axis.throughput"), format=",.4~r")
    shape = compare.curves if form.numeric else compare.rows
    chart = shape(form, figure, texts, groups=form.groups, group_title=form.group_title)
    return Chart(
        "chart-throughput",
        texts("chart.throughput", x=form.title) if layout.x else texts("chart.throughput.treatments"),
        style.document(chart),
        {compare.FIGURES: rows},
        compare.captions(form, scene),
        columns=4 if form.facets else 1,
        legend=bool(form.groups),
    )
