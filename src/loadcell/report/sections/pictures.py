"""The sections with charts, each with its values in a table; samples of other programs in an imported run."""

from __future__ import annotations

from collections.abc import Mapping

from loadcell.analysis import series as trial_series
from loadcell.analysis.treatments import LATENCIES
from loadcell.analysis.trials import lack
from loadcell.model import numbers
from loadcell.model.panels import Aggregate, AggregateTable, aggregate_tables, unit_of_column
from loadcell.report import charts
from loadcell.report.blocks import Block, Cell, Column, Details, Section, Table, without_empty
from loadcell.report.context import ReportContext
from loadcell.report.sections import open_loop
from loadcell.report.sections.breakdown import latency_title

#: Trials that make a picture: one alone is the figure that stands in the table.
FEWEST = 2


def curves(context: ReportContext) -> Section | None:
    """Throughput, response time and other metrics along the factors; None if nothing was measured.

    Of different quantities only the
    last: a pass over twice the memory is no more of the same, and MiB/s are MiB/s."""
    measured = sum(trial.throughput_per_s is not None for trial in context.analysis.trials)
    if measured < FEWEST:
        return None
    drawn = charts.drawn_in("curves", context) if context.analysis.comparable else []
    drawn += charts.drawn_in("own", context)
    return Section("curves", context.texts("section.curves"), drawn) if drawn else None


def percentiles(context: ReportContext) -> Section | None:
    """The tail of the response time; None when none was recorded."""
    measured = [treatment for treatment in context.analysis.treatments if treatment.measured]
    if all(
        measured_treatment.latency_ms(key) is None for measured_treatment in measured for key in LATENCIES
    ):
        return None
    drawn: list[Block] = [*charts.drawn_in("percentiles", context)]
    figures = table(context)
    drawn.append(Details(context.texts("page.figures"), [figures]) if drawn else figures)
    return Section("percentiles", context.texts("section.percentiles"), drawn)


def series(context: ReportContext) -> Section | None:
    """Trials over time; None when nothing was sampled."""
    drawn: list[Block] = [*charts.drawn_in("series", context)]
    judged = open_loop.steadiness(context)
    if judged is not None:
        drawn.append(Details(judged.title, [judged]))
    return Section("series", context.texts("section.series"), drawn) if drawn else None


def table(context: ReportContext) -> Table:
    """Every latency figure of every treatment, as far as any has it."""
    texts = context.texts
    titles = [latency_title(key, context) for key in LATENCIES]
    columns = [
        Column(texts("column.number"), figure=True),
        Column(texts("column.treatment")),
        *(Column(name, figure=True, spare=True) for name in titles),
    ]
    rows = [
        [
            Cell(str(treatment.index), sort=treatment.index),
            Cell(treatment.label, sort=treatment.index),
            *(
                Cell(texts("mark.none")) if value is None else Cell(texts.time(value), sort=value)
                for value in (treatment.latency_ms(key) for key in LATENCIES)
            ),
        ]
        for treatment in context.analysis.treatments
        if treatment.measured
    ]
    note = texts("table.left-out") if lack(context.analysis.trials, LATENCIES) else ""
    return Table("table-percentiles", texts("table.percentiles"), *without_empty(columns, rows), note)


def sampled(context: ReportContext) -> Section | None:
    """None where no trial has samples of another program."""
    imported = {
        name
        for record in context.stored.trials
        for name, monitor in record.monitors.items()
        if monitor.imported
    }
    if not imported:
        return None
    blocks: list[Block] = []
    for aggregates in aggregate_tables():
        if aggregates.source in imported:
            values = trial_series.aggregates(context.stored.samples(aggregates.source), aggregates.columns)
            if values:
                blocks.append(samples(aggregates, values, context))
    return Section("sampled", context.texts("section.sampled"), blocks) if blocks else None


def samples(
    aggregates: AggregateTable, values: Mapping[str, Mapping[Aggregate, float]], context: ReportContext
) -> Table:
    """Columns without any value are left out."""
    texts = context.texts
    shown = [column for column in aggregates.columns if any(column in row for row in values.values())]
    columns = [
        Column(texts("column.trial"), code=True),
        *(Column(texts(column.heading), figure=True) for column in shown),
    ]
    rows = [
        [Cell(trial), *(_value_cell(row.get(column), _writer(column), context) for column in shown)]
        for trial, row in values.items()
    ]
    note = texts(f"{aggregates.title}.note")
    return Table(f"table-sampled-{aggregates.source}", texts(aggregates.title), columns, rows, note)


def _writer(aggregate: Aggregate) -> numbers.Write:
    """The format of a value by the unit of its column; counts have none."""
    unit = unit_of_column(aggregate.column)
    if unit is None:
        return lambda value: numbers.whole(round(value))
    return numbers.size if unit.startswith("B") else numbers.significant


def _value_cell(value: float | None, write: numbers.Write, context: ReportContext) -> Cell:
    return Cell(context.texts("mark.none")) if value is None else Cell(write(value), sort=value)
