"""What the database server says of itself: what its sessions waited for, what it did, which statements took most time."""

from __future__ import annotations

from collections.abc import Mapping

from loadcell.analysis.waits import RUNNING, Waited
from loadcell.model import numbers
from loadcell.report import charts
from loadcell.report.blocks import Block, Cell, Column, Paragraph, Section, Table
from loadcell.report.context import ReportContext
from loadcell.report.sections.levels import factor_columns, treatment_cells

#: Waits that a row names; the chart has the others.
MOST_NAMED = 4


def section(context: ReportContext) -> Section | None:
    """None where no monitor looked into the server."""
    blocks: list[Block] = [*charts.drawn_in("server", context)]
    blocks += [
        found
        for found in (waits(context), counters(context), statements(context), redis(context))
        if found is not None
    ]
    for note, recorded in context.server.notes.items():
        blocks.append(Paragraph(context.texts.or_none(f"server-note.{note}") or recorded, quiet=True))
    title = context.texts("section.server-did" if context.redis else "section.server")
    return Section("server", title, blocks) if blocks else None


def waits(context: ReportContext) -> Table | None:
    """A row a treatment: how many sessions were active, how many of them ran, and what the others waited for."""
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
            Cell(str(one.treatment.index), sort=one.treatment.index),
            *treatment_cells(one.treatment, factors),
            Cell(numbers.significant(one.active), sort=one.active),
            Cell(numbers.share(one.share(RUNNING)), sort=one.share(RUNNING)),
            Cell(numbers.significant(one.idle_in_transaction), sort=one.idle_in_transaction),
            Cell(_named(one, context)),
            Cell(numbers.whole(one.looks), sort=one.looks),
        ]
        for one in context.server.waited
    ]
    return Table("table-waits", texts("table.waits"), columns, rows, texts("table.waits.note"))


def _named(one: Waited, context: ReportContext) -> str:
    """The waits that took most, with their shares."""
    waited = [name for name in one.waits if name != RUNNING][:MOST_NAMED]
    # A name and its share stay on one line.
    said = [f"{name} {numbers.share(one.share(name))}".replace(" ", "\u00a0") for name in waited]
    return context.texts("mark.list").join(said) or context.texts("mark.none")


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
            Cell(str(one.treatment.index), sort=one.treatment.index),
            *treatment_cells(one.treatment, factors),
            _figure(one.commits_per_s, numbers.rate, context),
            _figure(one.hit_share, numbers.share, context),
            _figure(one.blocks_read_per_s, numbers.rate, context),
            _figure(one.wal_bytes_per_s, numbers.size, context),
            _figure(one.wal_bytes_per_commit, numbers.size, context),
            _figure(one.temp_bytes_per_s, numbers.size, context),
            Cell(numbers.whole(one.deadlocks), sort=one.deadlocks, tone="caution" if one.deadlocks else ""),
            Cell(numbers.whole(one.checkpoints), sort=one.checkpoints),
        ]
        for one in context.server.served
    ]
    return Table("table-server", texts("table.server"), columns, rows, texts("table.server.note"))


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
            Cell(one.query),
            Cell(numbers.share(one.share), sort=one.share, bar=one.share),
            Cell(numbers.whole(round(one.calls)), sort=one.calls),
            Cell(texts.time(one.total_ms / one.calls), sort=one.total_ms / one.calls),
            Cell(numbers.significant(one.rows / one.calls), sort=one.rows / one.calls),
            _figure(one.hit_share, numbers.share, context),
        ]
        for one in context.server.statements
    ]
    return Table("table-statements", texts("table.statements"), columns, rows, texts("table.statements.note"))


def _product(context: ReportContext) -> str:
    """Which server it was, as it said itself: Redis, or what speaks as it does."""
    said = (record.target for record in context.stored.trials)
    names = (one.get("product") for one in said if isinstance(one, Mapping))
    return next((str(name) for name in names if name), "Redis")


def redis(context: ReportContext) -> Table | None:
    """A row a treatment: what a Redis did and held meanwhile."""
    texts, factors = context.texts, factor_columns(context)
    if not context.redis:
        return None
    names = (
        "column.commands", "column.key-hits", "column.server-cpu", "column.used-memory", "column.fragmentation",
        "column.evicted", "column.expired", "column.connected", "column.saving",
    )  # fmt: skip
    columns = [*_head(context, factors), *(Column(texts(name), figure=True) for name in names)]
    rows = [
        [
            Cell(str(one.treatment.index), sort=one.treatment.index),
            *treatment_cells(one.treatment, factors),
            _figure(one.commands_per_s, numbers.rate, context),
            _figure(one.hit_share, numbers.share, context),
            _figure(one.cpu, numbers.significant, context),
            _figure(one.used_memory_bytes, numbers.size, context),
            _figure(one.fragmentation, numbers.significant, context),
            Cell(
                numbers.whole(one.evicted_keys),
                sort=one.evicted_keys,
                tone="caution" if one.evicted_keys else "",
            ),
            Cell(numbers.whole(one.expired_keys), sort=one.expired_keys),
            _figure(one.clients, lambda value: numbers.whole(round(value)), context),
            _figure(one.saving_share, numbers.share, context),
        ]
        for one in context.redis
    ]
    note = texts("table.redis.note")
    if len(rows) < sum(treatment.measured for treatment in context.analysis.treatments):
        note = f"{note} {texts('table.redis.left-out')}"
    return Table("table-redis", texts("table.redis", product=_product(context)), columns, rows, note)


def _head(context: ReportContext, factors: list[tuple[str, str, bool]]) -> list[Column]:
    texts = context.texts
    return [
        Column(texts("column.number"), figure=True),
        *(Column(name, figure=numeric) for _, name, numeric in factors),
        *([] if factors else [Column(texts("column.treatment"))]),
    ]


def _figure(value: float | None, write: numbers.Write, context: ReportContext) -> Cell:
    return Cell(context.texts("mark.none")) if value is None else Cell(write(value), sort=value)
