"""What the database server says of itself: what its sessions waited for, what it did, which statements took most time."""

from __future__ import annotations

from collections.abc import Mapping

from loadcell.analysis.waits import RUNNING, Waited
from loadcell.model import numbers
from loadcell.report import charts
from loadcell.report.blocks import Block, Cell, Column, Paragraph, Section, Table
from loadcell.report.context import Scene
from loadcell.report.sections.levels import factor_columns, treatment_cells

#: Waits that a row names; the chart has the others.
MOST_NAMED = 4


def section(scene: Scene) -> Section | None:
    """None where no monitor looked into the server."""
    blocks: list[Block] = [*charts.drawn_in("server", scene)]
    blocks += [
        found
        for found in (waits(scene), counters(scene), statements(scene), redis(scene))
        if found is not None
    ]
    for note, recorded in scene.server.notes.items():
        blocks.append(Paragraph(scene.texts.or_none(f"server-note.{note}") or recorded, quiet=True))
    title = scene.texts("section.server-did" if scene.redis else "section.server")
    return Section("server", title, blocks) if blocks else None


def waits(scene: Scene) -> Table | None:
    """A row a treatment: how many sessions were active, how many of them ran, and what the others waited for."""
    texts, factors = scene.texts, factor_columns(scene)
    if not scene.server.waited:
        return None
    columns = [
        *_head(scene, factors),
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
            Cell(_named(one, scene)),
            Cell(numbers.whole(one.looks), sort=one.looks),
        ]
        for one in scene.server.waited
    ]
    return Table("table-waits", texts("table.waits"), columns, rows, texts("table.waits.note"))


def _named(one: Waited, scene: Scene) -> str:
    """The waits that took most, with their shares."""
    waited = [name for name in one.waits if name != RUNNING][:MOST_NAMED]
    # A name and its share stay on one line.
    said = [f"{name} {numbers.share(one.share(name))}".replace(" ", "\u00a0") for name in waited]
    return scene.texts("mark.list").join(said) or scene.texts("mark.none")


def counters(scene: Scene) -> Table | None:
    """A row a treatment: what the server counted meanwhile."""
    texts, factors = scene.texts, factor_columns(scene)
    if not scene.server.served:
        return None
    names = (
        "column.commits", "column.hits", "column.blocks-read", "column.wal-per-s", "column.wal-per-commit",
        "column.temp", "column.deadlocks", "column.checkpoints",
    )  # fmt: skip
    columns = [*_head(scene, factors), *(Column(texts(name), figure=True) for name in names)]
    rows = [
        [
            Cell(str(one.treatment.index), sort=one.treatment.index),
            *treatment_cells(one.treatment, factors),
            _figure(one.commits_per_s, numbers.rate, scene),
            _figure(one.hit_share, numbers.share, scene),
            _figure(one.blocks_read_per_s, numbers.rate, scene),
            _figure(one.wal_bytes_per_s, numbers.size, scene),
            _figure(one.wal_bytes_per_commit, numbers.size, scene),
            _figure(one.temp_bytes_per_s, numbers.size, scene),
            Cell(numbers.whole(one.deadlocks), sort=one.deadlocks, tone="caution" if one.deadlocks else ""),
            Cell(numbers.whole(one.checkpoints), sort=one.checkpoints),
        ]
        for one in scene.server.served
    ]
    return Table("table-server", texts("table.server"), columns, rows, texts("table.server.note"))


def statements(scene: Scene) -> Table | None:
    """The statements that took most of the server's time."""
    texts = scene.texts
    if not scene.server.statements:
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
            _figure(one.hit_share, numbers.share, scene),
        ]
        for one in scene.server.statements
    ]
    return Table("table-statements", texts("table.statements"), columns, rows, texts("table.statements.note"))


def _product(scene: Scene) -> str:
    """Which server it was, as it said itself: Redis, or what speaks as it does."""
    said = (record.target for record in scene.stored.trials)
    names = (one.get("product") for one in said if isinstance(one, Mapping))
    return next((str(name) for name in names if name), "Redis")


def redis(scene: Scene) -> Table | None:
    """A row a treatment: what a Redis did and held meanwhile."""
    texts, factors = scene.texts, factor_columns(scene)
    if not scene.redis:
        return None
    names = (
        "column.commands", "column.key-hits", "column.server-cpu", "column.used-memory", "column.fragmentation",
        "column.evicted", "column.expired", "column.connected", "column.saving",
    )  # fmt: skip
    columns = [*_head(scene, factors), *(Column(texts(name), figure=True) for name in names)]
    rows = [
        [
            Cell(str(one.treatment.index), sort=one.treatment.index),
            *treatment_cells(one.treatment, factors),
            _figure(one.commands_per_s, numbers.rate, scene),
            _figure(one.hit_share, numbers.share, scene),
            _figure(one.cpu, numbers.significant, scene),
            _figure(one.used_memory_bytes, numbers.size, scene),
            _figure(one.fragmentation, numbers.significant, scene),
            Cell(
                numbers.whole(one.evicted_keys),
                sort=one.evicted_keys,
                tone="caution" if one.evicted_keys else "",
            ),
            Cell(numbers.whole(one.expired_keys), sort=one.expired_keys),
            _figure(one.clients, lambda value: numbers.whole(round(value)), scene),
            _figure(one.saving_share, numbers.share, scene),
        ]
        for one in scene.redis
    ]
    note = texts("table.redis.note")
    if len(rows) < sum(treatment.measured for treatment in scene.analysis.treatments):
        note = f"{note} {texts('table.redis.left-out')}"
    return Table("table-redis", texts("table.redis", product=_product(scene)), columns, rows, note)


def _head(scene: Scene, factors: list[tuple[str, str, bool]]) -> list[Column]:
    texts = scene.texts
    return [
        Column(texts("column.number"), figure=True),
        *(Column(name, figure=numeric) for _, name, numeric in factors),
        *([] if factors else [Column(texts("column.treatment"))]),
    ]


def _figure(value: float | None, write: numbers.Write, scene: Scene) -> Cell:
    return Cell(scene.texts("mark.none")) if value is None else Cell(write(value), sort=value)
