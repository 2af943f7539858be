"""Coverage of a test suite: the total, a table by file, and the page with all lines."""

from __future__ import annotations

from loadcell.model import numbers
from loadcell.model.coverage_record import lowest_first
from loadcell.report.blocks import Block, Cell, Column, Details, Paragraph, Section, Table
from loadcell.report.context import ReportContext

#: More files than this are folded away.
MOST_OPEN = 15


def section(context: ReportContext) -> Section | None:
    """None of a run without coverage."""
    coverage = context.stored.run.coverage
    if coverage is None:
        return None
    texts = context.texts
    total = texts(
        "coverage.total",
        covered_share=coverage.share,
        statements=coverage.statements,
        missing=coverage.missing,
    )
    columns = [
        Column(texts("env.file"), code=True),
        Column(texts("coverage.statements"), figure=True),
        Column(texts("coverage.missing"), figure=True),
        Column(texts("coverage.share"), figure=True),
    ]
    rows = [
        [
            Cell(file.file),
            Cell(numbers.whole(file.statements), sort=file.statements),
            Cell(numbers.whole(file.missing), sort=file.missing),
            Cell(numbers.share(file.share), sort=file.share, bar=file.share),
        ]
        for file in lowest_first(coverage.files)
    ]
    table = Table("table-coverage", texts("coverage.files"), columns, rows)
    shown: list[Block] = [Details(table.title, [table])] if len(rows) > MOST_OPEN else [table]
    page = [] if coverage.page is None else [Paragraph(texts("coverage.page"), file=coverage.page)]
    return Section("coverage", texts("section.coverage"), [Paragraph(total), *page, *shown])
