"""Samples of other programs' monitors in an imported run: a row per trial."""

from __future__ import annotations

from collections.abc import Mapping

from loadcell.model import numbers
from loadcell.model.panels import Aggregate, AggregateTable, aggregate_tables
from loadcell.model.tables import unit_of_column
from loadcell.report.blocks import Block, Cell, Column, Section, Table
from loadcell.report.context import ReportContext


def section(context: ReportContext) -> Section | None:
    """None where no trial has samples of another program."""
    imported = {
        name
        for record in context.stored.trials
        for name, monitor in record.monitors.items()
        if monitor.imported
    }
    if not imported:
        return None
    from loadcell.analysis import series  # frames: the terminal does without

    blocks: list[Block] = []
    for aggregates in aggregate_tables():
        if aggregates.source in imported:
            values = series.aggregates(context.stored.samples(aggregates.source), aggregates.columns)
            if values:
                blocks.append(table(aggregates, values, context))
    return Section("sampled", context.texts("section.sampled"), blocks) if blocks else None


def table(
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
        [Cell(trial), *(_cell(row.get(column), _write(column), context) for column in shown)]
        for trial, row in values.items()
    ]
    note = texts(f"{aggregates.title}.note")
    return Table(f"table-sampled-{aggregates.source}", texts(aggregates.title), columns, rows, note)


def _write(aggregate: Aggregate) -> numbers.Write:
    """How a value is written, by the unit of its column; counts have none."""
    unit = unit_of_column(aggregate.column)
    if unit is None:
        return lambda value: numbers.whole(round(value))
    return numbers.size if unit.startswith("B") else numbers.significant


def _cell(value: float | None, write: numbers.Write, context: ReportContext) -> Cell:
    return Cell(context.texts("mark.none")) if value is None else Cell(write(value), sort=value)
