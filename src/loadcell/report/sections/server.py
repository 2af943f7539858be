"""Server-side results: waits of its sessions, counters, statements that took most time, execution plans."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from loadcell.analysis.plans import by_statement
from loadcell.analysis.server import RUNNING, KeyValueServed, Waited
from loadcell.analysis.treatments import Treatment
from loadcell.model import numbers
from loadcell.model.panels import KeyValueTable
from loadcell.report import charts
from loadcell.report.blocks import Block, Cell, Code, Column, Details, Paragraph, Section, Table
from loadcell.report.context import ReportContext
from loadcell.report.sections.breakdown import count_cell, factor_columns, numbered_cells

#: Waits that a row names; the chart has the others.
MOST_NAMED = 4
#: Columns of a statement that a page shows without scrolling.
MOST_COLUMNS = 110


def section(context: ReportContext) -> Section | None:
    """None where no monitor looked into the server."""
    blocks: list[Block] = [*charts.drawn_in("server", context)]
    blocks += [
        table
        for table in (waits(context), counters(context), statements(context), *key_value(context))
        if table is not None
    ]
    for note, recorded in context.server.notes.items():
        blocks.append(Paragraph(context.texts.or_none(f"server-note.{note}") or recorded, quiet=True))
    title = context.texts("section.server-did" if context.key_value else "section.server")
    return Section("server", title, blocks) if blocks else None


def waits(context: ReportContext) -> Table | None:
    """A row per treatment: the active sessions, the running ones, and the wait events of the others."""
    texts, factors = context.texts, factor_columns(context)
    if not context.server.waited:
        return None
    columns = [
        *_head(context, factors),
        Column(texts("column.active"), figure=True),
        Column(texts("column.running"), figure=True),
        Column(texts("column.idle-in-transaction"), figure=True),
        Column(texts("column.waited-for")),
        Column(texts("column.looks"), figure=True),
    ]
    rows = [
        [
            *numbered_cells(wait.treatment, factors),
            Cell(numbers.significant(wait.active), sort=wait.active),
            Cell(numbers.share(wait.share(RUNNING)), sort=wait.share(RUNNING)),
            Cell(numbers.significant(wait.idle_in_transaction), sort=wait.idle_in_transaction),
            Cell(_named(wait, context)),
            count_cell(wait.looks),
        ]
        for wait in context.server.waited
    ]
    note = _note(texts("table.waits.note"), [wait.treatment for wait in context.server.waited], context)
    return Table("table-waits", texts("table.waits"), columns, rows, note)


def _named(wait: Waited, context: ReportContext) -> str:
    """The waits that took most, with their shares."""
    waited = [name for name in wait.waits if name != RUNNING][:MOST_NAMED]
    # A name and its share stay on one line.
    shares = [f"{name} {numbers.share(wait.share(name))}".replace(" ", "\u00a0") for name in waited]
    return context.texts("mark.list").join(shares) or context.texts("mark.none")


def counters(context: ReportContext) -> Table | None:
    """A row a treatment: what the server counted meanwhile."""
    texts, factors = context.texts, factor_columns(context)
    if not context.server.served:
        return None
    names = (
        "column.commits", "column.hits", "column.blocks-read", "column.wal-per-s", "column.wal-per-commit",
        "column.temp", "column.deadlocks", "column.checkpoints",
    )  # fmt: skip
    columns = [*_head(context, factors), *(Column(texts(name), figure=True) for name in names)]
    rows = [
        [
            *numbered_cells(counters.treatment, factors),
            _figure(counters.commits_per_s, numbers.rate, context),
            _figure(counters.hit_share, numbers.share, context),
            _figure(counters.blocks_read_per_s, numbers.rate, context),
            _figure(counters.wal_bytes_per_s, numbers.size, context),
            _figure(counters.wal_bytes_per_commit, numbers.size, context),
            _figure(counters.temp_bytes_per_s, numbers.size, context),
            count_cell(counters.deadlocks, problem=True),
            count_cell(counters.checkpoints),
        ]
        for counters in context.server.served
    ]
    treatments = [counters.treatment for counters in context.server.served]
    note = _note(texts("table.server.note"), treatments, context)
    return Table("table-server", texts("table.server"), columns, rows, note)


def statements(context: ReportContext) -> Table | None:
    """The statements that took most of the server's time."""
    texts = context.texts
    if not context.server.statements:
        return None
    columns = [
        Column(texts("column.statement"), code=True),
        Column(texts("column.share"), figure=True),
        Column(texts("column.calls"), figure=True),
        Column(texts("column.mean"), figure=True),
        Column(texts("column.rows-per-call"), figure=True),
        Column(texts("column.hits"), figure=True),
    ]
    rows = [
        [
            Cell(statement.query),
            Cell(numbers.share(statement.share), sort=statement.share, bar=statement.share),
            Cell(numbers.whole(round(statement.calls)), sort=statement.calls),
            Cell(texts.time(statement.total_ms / statement.calls), sort=statement.total_ms / statement.calls),
            Cell(
                numbers.significant(statement.rows / statement.calls), sort=statement.rows / statement.calls
            ),
            _figure(statement.hit_share, numbers.share, context),
        ]
        for statement in context.server.statements
    ]
    return Table("table-statements", texts("table.statements"), columns, rows, texts("table.statements.note"))


def _product(served: Sequence[KeyValueServed], context: ReportContext) -> str:
    """Which servers these were, as they said themselves: Redis, or what speaks as it does."""
    watched = {server.treatment.id for server in served}
    targets = (record.target for record in context.stored.trials if record.treatment in watched)
    names = (target.get("product") for target in targets if isinstance(target, Mapping))
    return context.texts("mark.list").join(dict.fromkeys(str(name) for name in names if name)) or "Redis"


def _note(text: str, treatments: Sequence[Treatment], context: ReportContext) -> str:
    """The note of a table; where a factor switches the target, that treatments on others are not in it."""
    listed = {treatment.id for treatment in treatments}
    others = [system for system in context.systems if not listed & {item.id for item in system.treatments}]
    return f"{text} {context.texts('table.server.left-out')}" if others else text


def key_value(context: ReportContext) -> Iterator[Table]:
    """A table for each key-value server, with a row a treatment: what it did and held meanwhile."""
    for table, served in context.key_value:
        yield _key_value(table, served, context)


def _key_value(table: KeyValueTable, served: Sequence[KeyValueServed], context: ReportContext) -> Table:
    texts, factors = context.texts, factor_columns(context)
    names = (
        "column.commands", "column.key-hits", "column.server-cpu", "column.used-memory",
        "column.fragmentation",
        "column.evicted", "column.expired", "column.connected", "column.saving",
    )  # fmt: skip
    columns = [*_head(context, factors), *(Column(texts(name), figure=True) for name in names)]
    rows = [
        [
            *numbered_cells(server.treatment, factors),
            _figure(server.commands_per_s, numbers.rate, context),
            _figure(server.hit_share, numbers.share, context),
            _figure(server.cpu, numbers.significant, context),
            _figure(server.used_memory_bytes, numbers.size, context),
            _figure(server.fragmentation, numbers.significant, context),
            count_cell(server.evicted_keys or 0, problem=True),
            count_cell(server.expired_keys),
            _figure(server.clients, lambda value: numbers.whole(round(value)), context),
            _figure(server.saving_share, numbers.share, context),
        ]
        for server in served
    ]
    note = _note(texts(f"{table.title}.note"), [server.treatment for server in served], context)
    on_these = {
        treatment.id
        for system in context.systems
        for treatment in system.treatments
        if any(item.id == server.treatment.id for item in system.treatments for server in served)
    }
    if len(rows) < sum(item.measured and item.id in on_these for item in context.analysis.treatments):
        note = f"{note} {texts('table.key-value.left-out')}"
    name = table.title.replace(".", "-")
    return Table(name, texts(table.title, product=_product(served, context)), columns, rows, note)


def _head(context: ReportContext, factors: list[tuple[str, str, bool]]) -> list[Column]:
    texts = context.texts
    return [
        Column(texts("column.number"), figure=True),
        *(Column(name, figure=numeric) for _, name, numeric in factors),
        *([] if factors else [Column(texts("column.treatment"))]),
    ]


def _figure(value: float | None, write: numbers.Write, context: ReportContext) -> Cell:
    return Cell(context.texts("mark.none")) if value is None else Cell(write(value), sort=value)


def _wrapped(sql: str) -> Iterator[str]:
    """The lines of a statement, long ones broken at blanks."""
    for line in sql.splitlines():
        yield from textwrap.wrap(
            line, MOST_COLUMNS, replace_whitespace=False, break_long_words=False, break_on_hyphens=False
        )


def plans(context: ReportContext) -> Section | None:
    """Each different plan of each statement; those of statements with one plan are folded away."""
    texts, labels = context.texts, context.labels
    different: list[Block] = []
    alike: list[Block] = []
    for name, of_statement in by_statement(context.stored.trials).items():
        blocks = different if len(of_statement) > 1 else alike
        for plan in of_statement:
            treatments = texts("mark.list").join(labels.get(id_, id_) for id_ in plan.treatments)
            record = plan.record
            title = texts("plans.plan", statement=name, treatments=treatments)
            blocks.append(Code(title, "\n".join([*_wrapped(record.sql), "", *record.text]), "text"))
    troubles = {
        (plan.statement, plan.trouble)
        for record in context.stored.trials
        for plan in record.plans or ()
        if plan.trouble is not None
    }
    notes: list[Block] = [
        Paragraph(texts("plans.trouble", statement=name, trouble=trouble), quiet=True)
        for name, trouble in sorted(troubles)
    ]
    if not (different or alike or notes):
        return None
    if different and alike:
        alike = [Details(texts("plans.alike"), alike)]
    return Section(
        "plans", texts("section.plans"), [Paragraph(texts("plans.meaning")), *different, *alike, *notes]
    )
