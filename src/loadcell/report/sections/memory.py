"""Samples of other programs in an imported run, and memory that servers under valgrind had lost."""

from __future__ import annotations

from collections.abc import Mapping

from loadcell.analysis import series
from loadcell.model import numbers
from loadcell.model.message import Labels
from loadcell.model.panels import Aggregate, AggregateTable, aggregate_tables, unit_of_column
from loadcell.model.trial_record import LostMemory, MemoryRecord
from loadcell.report.blocks import Block, Cell, Column, Paragraph, Section, Table
from loadcell.report.context import ReportContext

_KIND = Labels("column", ("definite", "indirect", "possible"))


def section(context: ReportContext) -> Section | None:
    """None where no target was run under valgrind."""
    if (block := summary(context)) is None:
        return None
    blocks: list[Block] = [Paragraph(context.texts("memory.meaning")), block]
    blocks += [
        losses(name, memory, number, context)
        for number, (name, memory) in enumerate(_examined(context), 1)
        if memory.records
    ]
    return Section("memory", context.texts("section.memory"), blocks)


def _examined(context: ReportContext) -> list[tuple[str, MemoryRecord]]:
    """Names and findings of trials whose target ran under valgrind."""
    return [(record.name, record.memory) for record in context.stored.trials if record.memory]


def summary(context: ReportContext) -> Table | None:
    """A row a trial; None where there is none to speak of."""
    texts, records = context.texts, _examined(context)
    if not records:
        return None
    columns = [
        Column(texts("column.trial"), code=True),
        *(Column(texts(_KIND(kind)), figure=True) for kind in _KIND.names),
        Column(texts("column.wrong-accesses"), figure=True),
    ]
    rows = [
        [
            Cell(name),
            *(_lost(memory.lost[kind], context) for kind in _KIND.names),
            Cell(numbers.whole(memory.errors), sort=memory.errors),
        ]
        for name, memory in records
    ]
    return Table("table-memory", texts("table.memory"), columns, rows)


def _lost(lost: LostMemory, context: ReportContext) -> Cell:
    if not lost.blocks:
        return Cell("0", sort=0)
    text = context.texts("mark.lost", bytes=numbers.whole(lost.bytes), blocks=numbers.whole(lost.blocks))
    return Cell(text, sort=lost.bytes, tone="caution" if lost.bytes else "")


def losses(trial: str, memory: MemoryRecord, number: int, context: ReportContext) -> Table:
    """Call stacks that allocated what one trial's server lost."""
    texts = context.texts
    columns = [
        Column(texts("column.kind")),
        Column(texts("column.bytes"), figure=True),
        Column(texts("column.blocks"), figure=True),
        Column(texts("column.stack"), code=True),
    ]
    rows = [
        [
            Cell(texts(_KIND(loss.kind))),
            Cell(numbers.whole(loss.bytes), sort=loss.bytes),
            Cell(numbers.whole(loss.blocks), sort=loss.blocks),
            Cell(" ← ".join(loss.stack)),
        ]
        for loss in memory.records
    ]
    note = texts("table.losses.note", shown=len(rows), count=memory.record_count or len(rows))
    title = texts("table.losses", trial=trial)
    return Table(f"table-losses-{number}", title, columns, rows, note)


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
