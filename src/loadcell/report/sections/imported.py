"""Sources of a run made of other tools' outputs: files, lines that were not understood, settings of the
tools.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from loadcell.analysis.import_findings import sources
from loadcell.model import numbers
from loadcell.model.json import JsonObject
from loadcell.model.run_record import ImportedFile, TreatmentRecord
from loadcell.report.blocks import Block, Cell, Column, Definitions, Section, Table
from loadcell.report.context import ReportContext
from loadcell.report.sections.environment import facts, said


def section(context: ReportContext) -> Section | None:
    """None for a run that loadcell made itself."""
    read = sources(context.stored.run)
    if not read:
        return None
    blocks: list[Block] = [table(read, context)]
    lines = [
        (key.partition(".")[2] or key, said(key, values, context.texts))
        for key, values in facts(_settings(treatment) for treatment in context.stored.run.treatments).items()
    ]
    if lines:
        blocks.append(Definitions(lines, context.texts("sources.settings")))
    return Section("sources", context.texts("section.sources"), blocks)


def table(read: Sequence[ImportedFile], context: ReportContext) -> Table:
    """A row a file."""
    texts = context.texts
    samples = any(source.samples for source in read)
    unread = any(source.unread for source in read)
    columns = [
        Column(texts("column.source.file"), code=True),
        Column(texts("column.source.tool")),
        Column(texts("column.source.executions"), figure=True),
        *([Column(texts("column.looks"), figure=True)] if samples else []),
        Column(texts("column.source.unread"), figure=True),
        *([Column(texts("column.source.examples"), code=True)] if unread else []),
    ]
    rows = [
        [
            Cell(source.file),
            Cell(source.tool),
            _count(source.measured),
            *([_count(source.samples)] if samples else []),
            _count(source.unread, problem=True),
            *([Cell(" ⏎ ".join(source.examples))] if unread else []),
        ]
        for source in read
    ]
    return Table("table-sources", texts("table.sources"), columns, rows, texts("table.sources.note"))


def _count(count: int, *, problem: bool = False) -> Cell:
    return Cell(numbers.whole(count), sort=count, tone="caution" if problem and count else "")


def _settings(treatment: TreatmentRecord) -> JsonObject:
    """Settings as the tool reported them, under its names; clients first."""
    settings = treatment.settings
    tool, load = settings.get("tool"), settings.get("load")
    return {**({"load": load} if load else {}), **(tool if isinstance(tool, Mapping) else {})}
