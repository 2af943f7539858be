"""Server-side results: waits of its sessions, counters, statements that took most time, execution plans."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from loadcell.analysis.plans import by_statement
from loadcell.analysis.server import FEW_SIGHTINGS, RUNNING, KeyValueServed, Served, Waited
from loadcell.analysis.treatments import Treatment
from loadcell.model import numbers
from loadcell.model.panels import KeyValueTable
from loadcell.report import charts
from loadcell.report.blocks import Block, Cell, Code, Column, Details, Paragraph, Section, Table, Tone
from loadcell.report.context import ReportContext
from loadcell.report.sections.breakdown import count_cell, factor_columns, numbered_cells

#: Waits that a row names; the chart has the others.
MOST_NAMED = 4
#: Columns of a statement that a page shows without scrolling.
MOST_COLUMNS = 110


@dataclass(frozen=True)
class _Counter:
    """A column: the code of its heading, its value, and how that is written.

    A value below `least` counts as none. `tone`: of any other value.
    """

    heading: str
    of: Callable[[Served], float | None]
    write: numbers.Write
    least: float = 0.0
    tone: Tone = ""

    def value(self, served: Served) -> float | None:
        """The value; None of one that is too small to matter."""
        value = self.of(served)
        return None if not value or value < self.least else value

    def cell(self, served: Served, context: ReportContext) -> Cell:
        """The value as it is written; 0 where it is too small to matter."""
        value, exact = self.value(served), self.of(served)
        if exact is None:
            return Cell(context.texts("mark.none"))
        return Cell(self.write(value or 0), sort=value or 0.0, tone=self.tone if value else "")


#: Less WAL per commit than a record of it has, and less of WAL or temporary files than an idle server writes.
_LEAST_PER_COMMIT, _LEAST_PER_S = 16.0, 1024.0
_COUNTERS = (
    _Counter("column.commits", lambda item: item.commits_per_s, numbers.rate),
    _Counter("column.hits", lambda item: item.hit_share, numbers.share),
    _Counter("column.blocks-read", lambda item: item.blocks_read_per_s, numbers.rate),
    _Counter("column.wal-per-s", lambda item: item.wal_bytes_per_s, numbers.size, _LEAST_PER_S),
    _Counter(
        "column.wal-per-commit", lambda item: item.wal_bytes_per_commit, numbers.size, _LEAST_PER_COMMIT
    ),
    _Counter("column.temp", lambda item: item.temp_bytes_per_s, numbers.size, _LEAST_PER_S),
    _Counter("column.deadlocks", lambda item: item.deadlocks, numbers.whole, tone="caution"),
    _Counter("column.checkpoints", lambda item: item.checkpoints, numbers.whole),
)


def section(context: ReportContext) -> Section | None:
    """None where no monitor looked into the server."""
    most = max((wait.sightings for wait in context.server.waited), default=0)
    few = 0 < most < FEW_SIGHTINGS
    blocks: list[Block] = []
    if few:
        text = context.texts("table.waits.none", count=most, least=FEW_SIGHTINGS)
        blocks.append(Paragraph(text, quiet=True))
    else:
        blocks += charts.drawn_in("server", context)
    tables = [counters(context), statements(context), *key_value(context)]
    blocks += [table for table in (None if few else waits(context), *tables) if table is not None]
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
            _share_of_running(wait, context),
            Cell(numbers.significant(wait.idle_in_transaction), sort=wait.idle_in_transaction),
            Cell(_named(wait, context)),
            count_cell(wait.looks),
        ]
        for wait in context.server.waited
    ]
    note = _note(texts("table.waits.note"), [wait.treatment for wait in context.server.waited], context)
    return Table("table-waits", texts("table.waits"), columns, rows, note)


def _share_of_running(wait: Waited, context: ReportContext) -> Cell:
    """Nothing where active sessions were found too rarely for a share."""
    if wait.sightings < FEW_SIGHTINGS:
        return Cell(context.texts("mark.none"))
    return Cell(numbers.share(wait.share(RUNNING)), sort=wait.share(RUNNING))


def _named(wait: Waited, context: ReportContext) -> str:
    """The waits that took most, with their shares; or that there are too few samples for shares."""
    if wait.sightings < FEW_SIGHTINGS:
        return context.texts("table.waits.few", count=wait.sightings)
    waited = [name for name in wait.waits if name != RUNNING][:MOST_NAMED]
    # A name and its share stay on one line.
    shares = [f"{name} {numbers.share(wait.share(name))}".replace(" ", "\u00a0") for name in waited]
    return context.texts("mark.list").join(shares) or context.texts("mark.none")


def counters(context: ReportContext) -> Table | None:
    """A row a treatment: what the server counted meanwhile. Columns in which nothing was counted are left
    out.
    """
    texts, factors, served = context.texts, factor_columns(context), context.server.served
    if not served:
        return None
    counted = [counter for counter in _COUNTERS if any(counter.value(item) is not None for item in served)]
    columns = [
        *_head(context, factors),
        *(Column(texts(counter.heading), figure=True) for counter in counted),
    ]
    rows = [
        [
            *numbered_cells(item.treatment, factors),
            *(counter.cell(item, context) for counter in counted),
        ]
        for item in served
    ]
    note = _note(texts("table.server.note"), [item.treatment for item in served], context)
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
