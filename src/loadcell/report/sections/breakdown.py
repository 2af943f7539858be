"""Tables by client group and by type of transaction, and the columns that name a treatment."""

from __future__ import annotations

from collections.abc import Sequence

from loadcell.analysis.groups import FIGURES, OfGroup, over
from loadcell.analysis.layout import PER_SECOND
from loadcell.analysis.treatments import Treatment, short_keys
from loadcell.analysis.trials import SCENARIO, OfType
from loadcell.model import numbers
from loadcell.report.blocks import Cell, Column, Table, without_empty
from loadcell.report.context import ReportContext

#: More factors than this make one column of names instead.
MOST_FACTOR_COLUMNS = 4
#: Statistics of times that are no percentiles.
_NAMED = {
    "min_ms": "column.min",
    "mean_ms": "column.mean",
    "stdev_ms": "column.stdev",
    "max_ms": "column.max",
}


def latency_title(key: str, context: ReportContext) -> str:
    """Heading of a latency column."""
    if key in _NAMED:
        return context.texts(_NAMED[key])
    return context.texts("column.percentile", percent=key.removeprefix("p").removesuffix("_ms"))


def factor_columns(context: ReportContext) -> list[tuple[str, str, bool]]:
    """A column a factor (key, name, whether its levels are numbers), where a few describe every treatment."""
    treatments = context.analysis.treatments
    keys = list(dict.fromkeys(key for treatment in treatments for key in treatment.levels))
    if not 1 <= len(keys) <= MOST_FACTOR_COLUMNS:
        return []
    if any(key not in treatment.levels for key in keys for treatment in treatments):
        return []
    short = short_keys(keys)
    return [
        (key, short[key], all(number(treatment.levels[key]) is not None for treatment in treatments))
        for key in keys
    ]


def treatment_cells(treatment: Treatment, factors: Sequence[tuple[str, str, bool]]) -> list[Cell]:
    """The treatment's levels, or without factor columns its name."""
    if not factors:
        return [Cell(treatment.label, sort=treatment.index)]
    return [
        Cell(treatment.levels[key], sort=number(treatment.levels[key]) if numeric else treatment.index)
        for key, _, numeric in factors
    ]


def numbered_cells(treatment: Treatment, factors: Sequence[tuple[str, str, bool]]) -> list[Cell]:
    """The treatment's number, and its levels."""
    return [Cell(str(treatment.index), sort=treatment.index), *treatment_cells(treatment, factors)]


def count_cell(count: int, *, problem: bool = False) -> Cell:
    """A number of things; where it is a problem to have any, one above 0 is marked."""
    return Cell(numbers.whole(count), sort=count, tone="caution" if problem and count else "")


def number(level: str) -> float | None:
    """A level as a number, if it is one, or a rate a second."""
    try:
        return float(level.removesuffix(PER_SECOND))
    except ValueError:
        return None


#: A terminal shows types of transactions, or steps, of no more treatments and of no more types than this.
_MOST_TREATMENTS = 3
_MOST_TYPES = 12
_TERMINAL_TIMES = ("p50_ms", "p99_ms")

#: What there is room for beside what a group was given.
_TIMES = ("p50_ms", "p95_ms", "p99_ms", "max_ms")


def by_group(context: ReportContext) -> Table | None:
    """A row for each group of each treatment; None where the plan has one workload."""
    texts = context.texts
    groups_of_treatments = [
        (treatment, group) for treatment in context.analysis.treatments for group in over(treatment)
    ]
    if not groups_of_treatments:
        return None
    opened = any(group.offered.median is not None for _, group in groups_of_treatments)
    workloads = {
        name: group.workload
        for record in context.stored.trials
        for name, group in (record.groups or {}).items()
    }
    columns = [
        Column(texts("column.number"), figure=True),
        Column(texts("column.treatment")),
        Column(texts("column.group"), code=True),
        Column(texts("column.workload")),
        Column(texts("column.clients"), figure=True),
        *([Column(texts("column.offered"), figure=True)] if opened else []),
        Column(texts("column.throughput"), figure=True),
        Column(texts("column.share"), figure=True),
        *(Column(latency_title(key, context), figure=True, spare=True) for key in _TIMES),
        *([Column(texts("column.backlog"), figure=True)] if opened else []),
        Column(texts("column.errors"), figure=True),
    ]
    rows = [
        _group_row(treatment, group, workloads, opened, context) for treatment, group in groups_of_treatments
    ]
    return Table(
        "table-groups", texts("table.groups"), *without_empty(columns, rows), texts("table.groups.note")
    )


def _group_row(
    treatment: Treatment, group: OfGroup, workloads: dict[str, str], opened: bool, context: ReportContext
) -> list[Cell]:
    none = Cell(context.texts("mark.none"))

    def figure(value: float | None, write: numbers.Write) -> Cell:
        return none if value is None else Cell(write(value), sort=value)

    return [
        Cell(str(treatment.index), sort=treatment.index),
        Cell(treatment.label, sort=treatment.index),
        Cell(group.name),
        Cell(workloads.get(group.name, "")),
        figure(group.clients, numbers.whole),
        *([figure(group.offered.median, numbers.rate)] if opened else []),
        figure(group.throughput.median, numbers.rate),
        figure(group.share, numbers.share),
        *(figure(group.response[key].median, context.texts.time) for key in _TIMES),
        *([figure(group.backlog.median, numbers.whole)] if opened else []),
        Cell(numbers.whole(group.failed), sort=group.failed, tone="problem" if group.failed else ""),
    ]


def by_type(context: ReportContext) -> Table | None:
    """A row for each type, then each outcome, of each treatment; None where no workload counts by type."""
    texts, treatments = context.texts, context.analysis.treatments
    # What never came is not worth a row; a type that never came is.
    seen = dict.fromkeys(
        stats.name for treatment in treatments for stats in treatment.outcomes if stats.succeeded
    )
    tables = [
        (treatment, stats)
        for treatment in treatments
        for stats in (*treatment.types, *(outcome for outcome in treatment.outcomes if outcome.name in seen))
    ]
    if not tables:
        return None
    factors = factor_columns(context)
    failed = any(stats.failed for _, stats in tables)  # that nothing did is in the by_type above
    steps = texts.unit == SCENARIO
    rows = [_type_row(treatment, stats, factors, failed, context) for treatment, stats in tables]
    types = dict.fromkeys(stats.name for treatment in treatments for stats in treatment.types)
    notes = [
        texts("table.types.note"),
        *filter(None, (texts.or_none(f"type.{name}") for name in types)),
        *filter(None, (texts.or_none(f"outcome.{name}") for name in seen)),
    ]
    columns = [
        Column(texts("column.number"), figure=True),
        *(Column(name, figure=numeric) for _, name, numeric in factors),
        *([] if factors else [Column(texts("column.treatment"))]),
        Column(texts("column.step" if steps else "column.type"), code=True),
        Column(texts("column.requests" if steps else "column.transactions"), figure=True),
        *([] if steps else [Column(texts("column.share"), figure=True)]),
        Column(texts("column.per-second"), figure=True),
        *(
            Column(latency_title(key, context), figure=True, spare=True) for key in FIGURES
        ),  # not every tool tells a deviation
        *([Column(texts("column.errors"), figure=True)] if failed else []),
    ]
    title = texts("table.steps" if steps else "table.types")
    return Table("table-types", title, *without_empty(columns, rows), " ".join(notes))


def of_operations(context: ReportContext) -> Table | None:
    """Rate, response times and errors of each type, or step of a scenario, of each treatment, for a terminal.

    None where there is one type, which is the whole, or where there are too many rows.
    """
    texts, treatments = context.texts, context.analysis.treatments
    types = [(treatment, stats) for treatment in treatments for stats in treatment.types]
    if len(treatments) > _MOST_TREATMENTS or not 1 < len({stats.name for _, stats in types}) <= _MOST_TYPES:
        return None
    several, factors = len(treatments) > 1, factor_columns(context)
    columns = [
        *([Column(name) for _, name, _ in factors] or [Column(texts("column.treatment"))] * several),
        Column(texts("column.step" if texts.unit == SCENARIO else "column.type"), code=True),
        Column(texts("column.per-second"), figure=True),
        *(Column(latency_title(key, context), figure=True) for key in _TERMINAL_TIMES),
        Column(texts("column.errors"), figure=True),
    ]

    def figure(value: float | None, write: numbers.Write) -> Cell:
        return Cell(texts("mark.none") if value is None else write(value))

    rows = [
        [
            *(treatment_cells(treatment, factors) if several or factors else []),
            Cell(stats.name),
            figure(stats.throughput.median, numbers.rate),
            *(figure(stats.response[key].median, texts.time) for key in _TERMINAL_TIMES),
            Cell(numbers.whole(stats.failed), tone="problem" if stats.failed else ""),
        ]
        for treatment, stats in types
    ]
    return Table("table-operations", "", *without_empty(columns, rows))


def _type_row(
    treatment: Treatment,
    type_stats: OfType,
    factors: Sequence[tuple[str, str, bool]],
    failed: bool,
    context: ReportContext,
) -> list[Cell]:
    none = Cell(context.texts("mark.none"))

    def figure(value: float | None, write: numbers.Write) -> Cell:
        return none if value is None else Cell(write(value), sort=value)

    errors = Cell(
        numbers.whole(type_stats.failed), sort=type_stats.failed, tone="problem" if type_stats.failed else ""
    )
    return [
        *numbered_cells(treatment, factors),
        Cell(type_stats.name),
        figure(type_stats.succeeded, numbers.whole),
        *([] if context.texts.unit == SCENARIO else [figure(type_stats.share, numbers.share)]),
        figure(type_stats.throughput.median, numbers.rate),
        *(figure(type_stats.response[key].median, context.texts.time) for key in FIGURES),
        *([errors] if failed else []),
    ]
