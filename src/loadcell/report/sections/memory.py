"""Memory of systems under valgrind: lost memory by kind with its stacks, and the heap over time."""

from __future__ import annotations

from collections.abc import Mapping

from loadcell.model import numbers
from loadcell.model.message import Labels
from loadcell.model.profile_record import HeapRecord, LostMemory, MemoryRecord
from loadcell.report import charts
from loadcell.report.blocks import Block, Cell, Column, Paragraph, Section, Table, Tone
from loadcell.report.context import ReportContext

_KIND = Labels("column", ("definite", "indirect", "possible", "reachable"))
#: Kinds in the table of the terminal: still reachable memory is no leak.
_IN_BRIEF = ("definite", "indirect", "possible")


def section(context: ReportContext) -> Section | None:
    """None where nothing ran under valgrind."""
    blocks = [*_lost_blocks(context), *_heap_blocks(context)]
    return Section("memory", context.texts("section.memory"), blocks) if blocks else None


def _lost_blocks(context: ReportContext) -> list[Block]:
    if (block := lost_memory(context)) is None:
        return []
    blocks: list[Block] = [Paragraph(context.texts("memory.meaning"))]
    if any(record.client for _, record in _examined(context)):
        blocks.append(Paragraph(context.texts("memory.in-client"), quiet=True))
    blocks.append(block)
    blocks += [
        losses(name, record, number, context)
        for number, (name, record) in enumerate(_examined(context), 1)
        if record.records
    ]
    return blocks


def _examined(context: ReportContext) -> list[tuple[str, MemoryRecord]]:
    """Names and findings of trials whose system ran under memcheck."""
    return [(record.name, record.memory) for record in context.stored.trials if record.memory]


def lost_memory(context: ReportContext, *, brief: bool = False) -> Table | None:
    """A row a trial, and one of loadcell's part of a process that both share; None without any trial."""
    texts, records = context.texts, _examined(context)
    if not records:
        return None
    kinds = _IN_BRIEF if brief else _KIND.names
    columns = [
        Column(texts("column.trial"), code=True),
        *(Column(texts(_KIND(kind)), figure=True) for kind in kinds),
        *(() if brief else (Column(texts("column.suppressed"), figure=True),)),
        Column(texts("column.wrong-accesses"), figure=True),
    ]
    rows = []
    for name, record in records:
        suppressed = () if brief else (_count(record.suppressed, context),)
        lost = [
            _lost(record.lost.get(kind), context, tone="caution" if kind in _IN_BRIEF else "")
            for kind in kinds
        ]
        rows.append([Cell(name), *lost, *suppressed, _count(record.errors, context)])
        if record.client is not None and not brief:
            lost = [_lost(record.client.get(kind), context) for kind in kinds]
            none = _count(None, context)
            rows.append([Cell(texts("memory.of-client", trial=name)), *lost, none, none])
    return Table("table-memory", texts("table.memory"), columns, rows)


def _count(count: int | None, context: ReportContext) -> Cell:
    return Cell(context.texts("mark.none")) if count is None else Cell(numbers.whole(count), sort=count)


def _lost(lost: LostMemory | None, context: ReportContext, tone: Tone = "") -> Cell:
    if lost is None:
        return _count(None, context)
    if not lost.blocks:
        return Cell("0", sort=0)
    text = context.texts("mark.lost", bytes=numbers.whole(lost.bytes), blocks=numbers.whole(lost.blocks))
    return Cell(text, sort=lost.bytes, tone=tone)


def losses(trial: str, memory: MemoryRecord, number: int, context: ReportContext) -> Table:
    """Call stacks that allocated what one trial's system lost, or had not freed."""
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


def heaps(context: ReportContext) -> Mapping[str, HeapRecord]:
    """Heaps of trials under massif, by the trial's name."""
    return {record.name: record.heap for record in context.stored.trials if record.heap}


def _heap_blocks(context: ReportContext) -> list[Block]:
    records, texts = heaps(context), context.texts
    if not records:
        return []
    blocks: list[Block] = [Paragraph(texts("heap.meaning"))]
    if any(record.client_bytes is not None for record in records.values()):
        blocks.append(Paragraph(texts("heap.in-client"), quiet=True))
    blocks += [*charts.drawn_in("memory", context), peaks(records, context)]
    blocks += [
        allocations(name, record, number, context)
        for number, (name, record) in enumerate(records.items(), 1)
        if record.stacks
    ]
    return blocks


def peaks(records: Mapping[str, HeapRecord], context: ReportContext) -> Table:
    """The largest heap of each trial."""
    texts = context.texts
    columns = [
        Column(texts("column.trial"), code=True),
        Column(texts("column.heap-peak"), figure=True),
        Column(texts("column.heap-peak-at"), figure=True),
        Column(texts("column.heap-overhead"), figure=True),
        Column(texts("column.heap-client"), figure=True),
    ]
    rows = [
        [
            Cell(name),
            _size(record.peak_bytes, context),
            Cell(texts("mark.none") if record.peak_s is None else numbers.seconds(record.peak_s)),
            _size(record.overhead_bytes, context),
            _size(record.client_bytes, context),
        ]
        for name, record in records.items()
    ]
    return Table("table-heap", texts("table.heap"), columns, rows)


def _size(size: int | None, context: ReportContext) -> Cell:
    return Cell(context.texts("mark.none")) if size is None else Cell(numbers.size(size), sort=size)


def allocations(trial: str, heap: HeapRecord, number: int, context: ReportContext) -> Table:
    """Call stacks with the most memory at the peak."""
    texts = context.texts
    columns = [
        Column(texts("column.bytes"), figure=True),
        Column(texts("column.share"), figure=True),
        Column(texts("column.stack"), code=True),
    ]
    peak = heap.peak_bytes or 1
    rows = [
        [
            Cell(numbers.whole(stack.bytes), sort=stack.bytes),
            Cell(numbers.share(stack.bytes / peak), sort=stack.bytes, bar=stack.bytes / peak),
            Cell(" ← ".join(stack.stack)),
        ]
        for stack in heap.stacks
    ]
    note = texts("table.allocations.note", shown=len(rows), count=heap.stack_count or len(rows))
    return Table(f"table-allocations-{number}", texts("table.allocations", trial=trial), columns, rows, note)
