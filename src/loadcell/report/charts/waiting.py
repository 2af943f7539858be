"""Response beside service time of open loops: what lies between the two is time that requests waited to be
sent.
"""

from __future__ import annotations

from functools import partial

from loadcell.analysis.open_loop import all_results
from loadcell.analysis.trials import Trial
from loadcell.report.blocks import Chart
from loadcell.report.charts import compare, style
from loadcell.report.context import ReportContext

SECTION, PLACE = "open-loop", 1


def draw(context: ReportContext) -> Chart | None:
    """The p99 of both; None without a succeeded open loop, or if a second factor needs the lines."""
    treatments, layout, texts = context.analysis.treatments, context.analysis.layout, context.texts
    form = compare.form(layout, treatments, texts)
    if form.groups:
        return None
    kinds = {"response": texts("series.response"), "service": texts("series.service")}
    rows = []
    for loop in all_results(treatments):
        where = compare.place(form, layout, loop.treatment)
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
