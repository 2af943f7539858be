"""Memory that servers under valgrind had lost when they ended: how much, and where it was asked for."""

from __future__ import annotations

from loadcell.model import numbers
from loadcell.model.message import Labels
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
