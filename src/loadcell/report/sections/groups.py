"""Client groups, where several workloads ran side by side: what each was given, and how it fared."""

from __future__ import annotations

from loadcell.analysis.groups import OfGroup, over
from loadcell.analysis.treatments import Treatment
from loadcell.model import numbers
from loadcell.report.blocks import Cell, Column, Table
from loadcell.report.columns import known
from loadcell.report.context import ReportContext
from loadcell.report.sections.pictures import title

#: What there is room for beside what a group was given.
_TIMES = ("p50_ms", "p95_ms", "p99_ms", "max_ms")


def table(context: ReportContext) -> Table | None:
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
        *(Column(title(key, context), figure=True, spare=True) for key in _TIMES),
        *([Column(texts("column.backlog"), figure=True)] if opened else []),
        Column(texts("column.errors"), figure=True),
    ]
    rows = [_row(treatment, group, workloads, opened, context) for treatment, group in groups_of_treatments]
    return Table("table-groups", texts("table.groups"), *known(columns, rows), texts("table.groups.note"))


def _row(
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
