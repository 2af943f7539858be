"""The search, trial by trial: where, why there, what came of it."""

from __future__ import annotations

from typing import get_args

from loadcell.analysis.search import Searched, Step
from loadcell.model import numbers
from loadcell.model.message import Labels
from loadcell.model.trial_record import ExpectationResult, Stage, Why
from loadcell.report import charts
from loadcell.report.blocks import Block, Cell, Column, Paragraph, Section, Table
from loadcell.report.context import ReportContext

STAGE = Labels("stage", get_args(Stage))
_WHY = Labels("why", get_args(Why))


def section(context: ReportContext) -> Section | None:
    """None for other designs."""
    searches = context.analysis.searches
    if not searches:
        return None
    blocks: list[Block] = [Paragraph(context.texts("search.meaning"))]
    blocks += [*charts.drawn_in("search", context), table(context)]
    return Section("search", context.texts("section.search"), blocks)


def table(context: ReportContext) -> Table:
    """A row a trial, in the order they were run."""
    texts, searches = context.texts, context.analysis.searches
    several, bounded = (
        any(searched.among for searched in searches),
        any(searched.bounds for searched in searches),
    )
    columns = [
        Column(texts("column.number"), figure=True),
        *([Column(texts("column.treatment"))] if several else []),
        Column(searches[0].factor, figure=True),
        Column(texts("column.stage")),
        Column(texts("column.why")),
        Column(
            searches[0].objective.removeprefix("max ") if _is_custom(searches[0])
            else texts("column.throughput"),
            figure=True,
        ),
        *([Column(texts("column.bounds"))] if bounded else []),
        Column(texts("column.outcome")),
    ]  # fmt: skip
    steps = sorted(
        ((step, searched) for searched in searches for step in searched.steps),
        key=lambda pair: pair[0].trial.number,
    )
    rows = [
        [
            Cell(str(step.trial.number), sort=step.trial.number),
            *([Cell(searched.among)] if several else []),
            Cell(step.label, sort=searched.question.values[step.level]),
            Cell(texts(STAGE(step.stage))),
            Cell(texts(_WHY(step.why))),
            Cell(texts("mark.none"))
            if step.value is None
            else Cell(numbers.rate(step.value), sort=step.value),
            *(
                [Cell(texts("mark.list").join(map(_bound, step.bounds)) or texts("mark.none"))]
                if bounded else []
            ),
            _outcome(step, searched, context),
        ]
        for step, searched in steps
    ]  # fmt: skip
    return Table("table-search", texts("table.search"), columns, rows)


def _is_custom(searched: Searched) -> bool:
    """True if something else than throughput is looked for."""
    return searched.question.kind == "maximum" and searched.objective != "max throughput"


def _bound(bound: ExpectationResult) -> str:
    """`latency.p99 < 20ms: 14.2`, in the unit the metric has in a record."""
    metric = bound.expression.split()[0]
    value = "–" if bound.value is None else numbers.significant(bound.value)
    return f"{metric} {value}{' ms' if metric.partition('.')[0] in ('latency', 'service', 'pacing') else ''}"


def _outcome(step: Step, searched: Searched, context: ReportContext) -> Cell:
    if step.met is None:
        return Cell(context.texts("search.lost"), tone="problem")
    if step.met and searched.question.kind == "maximum" and not searched.bounds:
        return Cell(context.texts("search.measured"), tone="good")
    if step.met:
        return Cell(context.texts("search.met"), tone="good")
    return Cell(context.texts("search.too-high"), tone="caution")
