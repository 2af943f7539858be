"""The JVM: pauses by treatment, response times and collections with levels as columns, native memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from loadcell.analysis.import_findings import samples_alone
from loadcell.analysis.treatments import Treatment, short_keys
from loadcell.analysis.trials import Counted, Trial, coefficient_of_variation
from loadcell.model import gc_pauses, jvm_samples, numbers
from loadcell.model.message import Labels
from loadcell.report.blocks import Block, Cell, Column, Details, Section, Table, without_empty
from loadcell.report.context import ReportContext
from loadcell.report.sections.breakdown import factor_columns, latency_title, numbered_cells

#: Levels across that fit on a page.
MOST_COLUMNS: Final = 8
#: Code of errors of requests that had no response in time.
TIMEOUT: Final = "timeout"
_WORKLOAD: Final = "workload"


def _count(value: float) -> str:
    """A median of counts, which may lie between two of them."""
    return numbers.whole(value) if value == int(value) else f"{value:,.1f}"


_WRITERS: Final[Mapping[str, numbers.Write]] = {
    gc_pauses.COUNT: _count,
    gc_pauses.TOTAL: numbers.milliseconds,
    gc_pauses.LONGEST: numbers.milliseconds,
    gc_pauses.SHARE: numbers.share,
    gc_pauses.ALLOCATION: lambda value: f"{numbers.size(value)}/s",
    gc_pauses.PROMOTION: lambda value: f"{numbers.size(value)}/s",
    gc_pauses.IN_P99: numbers.share,
    gc_pauses.IN_P999: numbers.share,
}
_HEADING = Labels("column", gc_pauses.KEYS)
#: Rows of response times by their key in a record.
_TIMES: Final = ("min_ms", "mean_ms", "p50_ms", "p90_ms", "p99_ms", "max_ms", "stdev_ms")


@dataclass(frozen=True)
class _Part:
    """All requests of trials, or those of one operation."""

    response: Callable[[Trial], Mapping[str, float] | None]
    failed: Callable[[Trial], int]
    timeouts: Callable[[Trial], int]


def section(context: ReportContext) -> Section | None:
    """None for a run without a JVM that was watched."""
    treatments = context.analysis.treatments
    blocks: list[Block] = []
    if (table := pauses(context)) is not None:
        blocks.append(table)
    if any(key in trial.figures for item in treatments for trial in item.trials for key in jvm_samples.KEYS):
        blocks += _tables(context)
    if (memory := _native_memory(context)) is not None:
        blocks.append(Details(memory.title, [memory]))
    return Section("jvm", context.texts("section.jvm"), blocks) if blocks else None


def _median(
    trials: Sequence[Trial], value: Callable[[Trial], float | None], alone: bool = False
) -> float | None:
    """Over the trials that count; over all of an import without a load, `alone`."""
    values = [figure for trial in trials if (trial.counts or alone) and (figure := value(trial)) is not None]
    return median(values) if values else None


def pauses(context: ReportContext) -> Table | None:
    """A row for each treatment with a GC log."""
    texts, factors = context.texts, factor_columns(context)
    rows = []
    shown: set[str] = set()
    alone = samples_alone(context.stored.run)
    for treatment in context.analysis.treatments:
        values = {
            key: _median(treatment.trials, lambda trial, key=key: trial.figures.get(key), alone)  # type: ignore[misc]
            for key in gc_pauses.KEYS
        }
        if values[gc_pauses.COUNT] is not None:
            shown |= {key for key, value in values.items() if value is not None}
            cells = [_cell(values[key], _WRITERS[key], context) for key in gc_pauses.KEYS]
            rows.append([*numbered_cells(treatment, factors), *cells])
    if not rows:
        return None
    columns = [
        Column(texts("column.number"), figure=True),
        *(Column(name, figure=numeric) for _, name, numeric in factors),
        *([] if factors else [Column(texts("column.treatment"))]),
        *(Column(texts(_HEADING(key)), figure=True, spare=True) for key in gc_pauses.KEYS),
    ]
    return Table(
        "table-gc",
        texts("table.gc"),
        *without_empty(columns, rows),
        "".join(texts(code) for code in _notes(shown, alone)),
    )


def _notes(shown: Collection[str], alone: bool) -> Iterator[str]:
    """Codes of the sentences below a table of pauses with these columns."""
    yield "table.gc.note.alone" if alone else "table.gc.note"
    if gc_pauses.IN_P99 in shown:
        yield "table.gc.note.slow.both" if gc_pauses.IN_P999 in shown else "table.gc.note.slow"
    if gc_pauses.ALLOCATION in shown:
        yield "table.gc.note.allocation"
    if gc_pauses.PROMOTION in shown:
        yield "table.gc.note.promotion"


def _tables(context: ReportContext) -> Iterator[Table]:
    """A table of all requests, and one of each operation, for each combination of the further factors."""
    texts = context.texts
    operations = list(
        dict.fromkeys(
            name for item in context.analysis.treatments for trial in item.trials for name in trial.types
        )
    )
    parts: dict[str, _Part] = {"": _Part(lambda trial: trial.response, lambda trial: trial.failed, _timeouts)}
    if len(operations) > 1:
        parts |= {name: _of_operation(name) for name in operations}
    number = 0
    for group, treatments in _groups(context).items():
        for operation, part in parts.items():
            title = texts("mark.list").join(word for word in (group, operation) if word)
            for first in range(0, len(treatments), MOST_COLUMNS):
                number += 1
                yield _table(number, title, part, treatments[first : first + MOST_COLUMNS], context)


def _of_operation(name: str) -> _Part:
    def counted(trial: Trial) -> Counted | None:
        return trial.types.get(name)

    def response(trial: Trial) -> Mapping[str, float] | None:
        stats = counted(trial)
        return None if stats is None else stats.response

    def failed(trial: Trial) -> int:
        stats = counted(trial)
        return 0 if stats is None else stats.failed

    def timeouts(trial: Trial) -> int:
        return sum(error.operations.get(name, 0) for error in trial.errors if error.code == TIMEOUT)

    return _Part(response, failed, timeouts)


def _timeouts(trial: Trial) -> int:
    return sum(error.count for error in trial.errors if error.code == TIMEOUT)


def _groups(context: ReportContext) -> dict[str, list[tuple[str, Treatment]]]:
    """Treatments by the levels of all factors but the one across, which is the first that is no part of the
    workload; each with its level of that factor.
    """
    treatments, factors = context.analysis.treatments, factor_columns(context)
    keys = [key for key, _, _ in factors]
    if not keys:
        return {"": [(item.label, item) for item in treatments]}
    across = next((key for key in keys if not key.startswith(_WORKLOAD)), keys[0])
    short = short_keys(keys)
    groups: dict[str, list[tuple[str, Treatment]]] = {}
    for item in treatments:
        fixed = (f"{short[key]} = {item.levels[key]}" for key in keys if key != across)
        group = groups.setdefault(context.texts("mark.list").join(fixed), [])
        group.append((f"{short[across]} = {item.levels[across]}", item))
    return groups


def _table(
    number: int, title: str, part: _Part, treatments: Sequence[tuple[str, Treatment]], context: ReportContext
) -> Table:
    texts = context.texts

    def row(heading: str, cell: Callable[[Treatment], Cell]) -> list[Cell]:
        return [Cell(heading), *(cell(treatment) for _, treatment in treatments)]

    def time(key: str) -> Callable[[Treatment], Cell]:
        return lambda item: _cell(
            _median(item.trials, lambda trial: (part.response(trial) or {}).get(key)), texts.time, context
        )

    def variation(item: Treatment) -> Cell:
        value = _median(item.trials, lambda trial: coefficient_of_variation(part.response(trial)))
        return _cell(value, numbers.share, context)

    def sum_of(count: Callable[[Trial], int]) -> Callable[[Treatment], Cell]:
        def cell(item: Treatment) -> Cell:
            total = sum(map(count, item.trials))
            return Cell(numbers.whole(total), sort=total, tone="caution" if total else "")

        return cell

    def collections(count: str, time_: str) -> Callable[[Treatment], Cell]:
        def cell(item: Treatment) -> Cell:
            collected = _median(item.trials, lambda trial: trial.figures.get(count))
            spent_ms = _median(item.trials, lambda trial: trial.figures.get(time_))
            if collected is None or spent_ms is None:
                return Cell(texts("mark.none"))
            return Cell(f"{_count(collected)} / {spent_ms / 1e3:.3f}", sort=spent_ms)

        return cell

    rows = [row(latency_title(key, context), time(key)) for key in _TIMES]
    rows += [
        row(texts("column.jvm.variation"), variation),
        row(texts("column.jvm.errors"), sum_of(part.failed)),
        row(texts("column.jvm.timeouts"), sum_of(part.timeouts)),
        row("YGC/YGCT (s)", collections(jvm_samples.YOUNG_GCS, jvm_samples.YOUNG_GC_TIME)),
        row("FGC/FGCT (s)", collections(jvm_samples.FULL_GCS, jvm_samples.FULL_GC_TIME)),
    ]
    concurrent = jvm_samples.CONCURRENT_GCS, jvm_samples.CONCURRENT_GC_TIME
    if any(trial.figures.get(concurrent[0]) for _, item in treatments for trial in item.trials):
        rows.append(row("CGC/CGCT (s)", collections(*concurrent)))
    columns = [Column(texts("column.jvm.metric")), *(Column(level, figure=True) for level, _ in treatments)]
    name = f"{texts('table.jvm')}{texts('mark.colon')}{title}" if title else texts("table.jvm")
    return Table(f"table-jvm-{number}", name, columns, rows, texts("table.jvm.note"))


def _native_memory(context: ReportContext) -> Table | None:
    """A row for each treatment and area of JVMs that track their native memory."""
    samples = context.stored.samples(f"{jvm_samples.TABLE}.native-memory")
    if not samples.has("trial", "area", "committed_bytes"):
        return None
    texts = context.texts
    treatment_of = {trial.name: item for item in context.analysis.treatments for trial in item.trials}
    committed: dict[tuple[int, str], list[tuple[float, float]]] = {}
    for trial, area, reserved, size in samples.rows("trial", "area", "reserved_bytes", "committed_bytes"):
        if trial in treatment_of:
            committed.setdefault((treatment_of[trial].index, area), []).append((reserved, size))
    labels = {item.index: item.label for item in context.analysis.treatments}
    several = len(context.analysis.treatments) > 1
    rows = []
    for (index, area), sizes in committed.items():
        reserved, size = (median(values) for values in zip(*sizes, strict=True))
        first = [Cell(labels[index], sort=index)] if several else []
        cells = (_cell(value, numbers.size, context) for value in (reserved, size))
        rows.append([*first, Cell(area), *cells])
    columns = [
        *([Column(texts("column.treatment"))] if several else []),
        Column(texts("column.jvm.area")),
        Column(texts("column.jvm.reserved"), figure=True),
        Column(texts("column.jvm.committed"), figure=True),
    ]
    return Table(
        "table-native-memory", texts("table.native-memory"), columns, rows, texts("table.native-memory.note")
    )


def _cell(value: float | None, write: numbers.Write, context: ReportContext) -> Cell:
    return Cell(context.texts("mark.none")) if value is None else Cell(write(value), sort=value)
