"""Details of garbage collections: facts, curves, pauses by kind and cause, full collections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadcell.incidents import jvm_record as records
from loadcell.incidents.evidence.collections import Collections
from loadcell.incidents.jvm_record import DurationsRecord, FullRecord
from loadcell.model import numbers
from loadcell.model.message import Labels
from loadcell.report.blocks import Block, Cell, Column, Definitions, Section, Table
from loadcell.report.charts import collections as charts
from loadcell.report.texts import Texts

NEEDS = Collections
KIND = Labels("pause-kind", ("young", "mixed", "full", "degenerated", "cycle"))
#: Rows of a table on a terminal, and on a page.
_BRIEF_ROWS, _PAGE_ROWS = 6, 200


def sections(evidence: Collections, number: int, texts: Texts, *, is_page: bool) -> Iterator[Section]:
    """Sections of a JVM; `number` distinguishes their anchors."""
    yield Section(
        f"collections-{number}", texts("doctor.collections"), [Definitions(tuple(_facts(evidence, texts)))]
    )
    drawings = charts.draw(evidence, number, texts) if is_page else []
    if drawings:
        yield Section(f"time-{number}", texts("doctor.over-time"), drawings)
    tables = [*_pauses(evidence, number, texts, is_page=is_page)]
    if (full := _full(evidence, number, texts, is_page=is_page)) is not None:
        tables.append(full)
    yield Section(f"pauses-{number}", texts("doctor.pauses"), tables)


def _facts(evidence: Collections, texts: Texts) -> Iterator[tuple[str, str]]:
    log = evidence.log
    yield texts("doctor.collector"), log.collector or texts("mark.none")
    if log.around.vm:
        yield texts("doctor.vm"), log.around.vm
    yield texts("doctor.duration"), numbers.seconds(evidence.duration_ns / 1e9)
    if (share := records.running_share(evidence)) is not None:
        yield texts("doctor.running"), numbers.share(share)
    pauses = records.pauses(evidence)
    yield (
        texts("doctor.pauses"),
        texts("doctor.pauses.sum", count=pauses.count, total=_time(pauses.stopped_s)),
    )
    quantiles = (pauses.median_s, pauses.p90_s, pauses.p99_s, pauses.longest_s)
    if pauses.count:
        yield texts("doctor.distribution"), " / ".join(_time(value or 0.0) for value in quantiles)
    for key, total in (
        ("doctor.allocation", log.totals.allocated_bytes),
        ("doctor.promotion", log.totals.promoted_bytes),
    ):
        if (rate := records.per_second(evidence, total)) is not None:
            yield texts(key), texts("doctor.per-second", size=numbers.size(rate))
    if evidence.capacity_bytes:
        yield texts("doctor.capacity"), numbers.size(evidence.capacity_bytes)
    if live := log.around.live_sets:
        yield (
            texts("doctor.live"),
            texts(
                "doctor.live.values", count=len(live), first=numbers.size(live[0].used_bytes),
                last=numbers.size(live[-1].used_bytes),
            ),
        )  # fmt: skip
    if log.around.reaching.count:
        yield (
            texts("doctor.safepoints"),
            texts(
                "doctor.safepoints.values",
                count=sum(item.count for item in log.around.safepoints.values()),
                longest=_time(max(item.longest_ns for item in log.around.safepoints.values()) / 1e9),
                reaching=_time(log.around.reaching.longest_ns / 1e9),
            ),
        )


def _time(seconds: float) -> str:
    return numbers.milliseconds(seconds * 1e3) if seconds < 1 else numbers.seconds(seconds)


def _pauses(evidence: Collections, number: int, texts: Texts, *, is_page: bool) -> Iterator[Block]:
    pauses = records.pauses(evidence)
    rows = [(texts(KIND(row.name)) if row.name in KIND else row.name, row) for row in pauses.by_kind]
    yield _durations(f"kinds-{number}", texts("doctor.by-kind"), texts("doctor.column.kind"), rows, texts)
    # some collectors state no cause
    if any(row.name for row in pauses.by_cause):
        causes = [(row.name or texts("mark.none"), row) for row in pauses.by_cause]
        most = _PAGE_ROWS if is_page else _BRIEF_ROWS
        column = texts("doctor.column.cause")
        yield _durations(f"causes-{number}", texts("doctor.by-cause"), column, causes[:most], texts)
    if is_page:
        for key, column, durations in (
            ("doctor.concurrent", texts("doctor.column.phase"), evidence.log.around.concurrent),
            ("doctor.safepoints", texts("doctor.column.operation"), evidence.log.around.safepoints),
        ):
            rows = [
                (row.name or texts("mark.none"), row) for row in records.durations_by_name(dict(durations))
            ]
            if rows:
                yield _durations(f"{key.partition('.')[2]}-{number}", texts(key), column, rows, texts)


def _durations(
    anchor: str, title: str, column: str, rows: Sequence[tuple[str, DurationsRecord]], texts: Texts
) -> Table:
    columns = [
        Column(column),
        Column(texts("doctor.column.count"), figure=True),
        Column(texts("doctor.column.total"), figure=True),
        Column(texts("doctor.column.longest"), figure=True),
    ]
    cells = [
        [
            Cell(name),
            Cell(numbers.whole(row.count), sort=row.count),
            Cell(_time(row.total_s), sort=row.total_s),
            Cell(_time(row.longest_s), sort=row.longest_s),
        ]
        for name, row in rows
    ]
    return Table(anchor, title, columns, cells)


def _full(evidence: Collections, number: int, texts: Texts, *, is_page: bool) -> Table | None:
    """Full collections over time: interval, bytes freed; a terminal has the last ones."""
    rows = records.full(evidence)
    if not rows:
        return None
    shown = rows[-(_PAGE_ROWS if is_page else _BRIEF_ROWS) :]
    columns = [
        Column(texts("doctor.column.time"), figure=True),
        Column(texts("doctor.column.interval"), figure=True),
        Column(texts("doctor.column.duration"), figure=True),
        Column(texts("doctor.column.freed"), figure=True),
        Column(texts("doctor.column.after"), figure=True),
        Column(texts("doctor.column.cause"), yields=1),
    ]
    key = "doctor.full.last-on-page" if is_page else "doctor.full.last"
    note = texts(key, shown=len(shown), count=len(rows)) if len(shown) < len(rows) else ""
    return Table(
        f"full-{number}", texts("doctor.full"), columns, [_full_row(row, texts) for row in shown], note
    )


def _full_row(row: FullRecord, texts: Texts) -> list[Cell]:
    def size(value: int | None) -> Cell:
        return Cell(texts("mark.none")) if value is None else Cell(numbers.size(value), sort=value)

    interval = texts("mark.none") if row.interval_s is None else _time(row.interval_s)
    return [
        Cell(numbers.instant(row.t_s), sort=row.t_s),
        Cell(interval, sort=row.interval_s),
        Cell(_time(row.duration_s), sort=row.duration_s),
        size(row.freed_bytes),
        size(row.after_bytes),
        Cell(row.cause or texts("mark.none")),
    ]
