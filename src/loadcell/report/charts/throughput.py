"""Throughput of every treatment: each repeat, the median, and the interval or range."""

from __future__ import annotations

from collections.abc import Sequence

from loadcell.report.blocks import Chart, DataRow
from loadcell.report.charts import compare, style
from loadcell.report.context import ReportContext

SECTION, PLACE = "curves", 1
#: A line of which the highest point lies below this part of another's is flat at the foot of an axis that
#: begins at 0.
FAR_APART = 10


def draw(context: ReportContext) -> Chart | None:
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
