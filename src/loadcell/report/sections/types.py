"""Types of transaction, where a workload has several: how often each came, and how long it took."""

from __future__ import annotations

from collections.abc import Sequence

from loadcell.analysis.treatments import Treatment
from loadcell.analysis.types import FIGURES, OfType
from loadcell.model import numbers
from loadcell.report.blocks import Cell, Column, Table
from loadcell.report.columns import known
from loadcell.report.context import ReportContext
from loadcell.report.sections.levels import factor_columns, treatment_cells
from loadcell.report.sections.pictures import title


def table(context: ReportContext) -> Table | None:
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
    failed = any(stats.failed for _, stats in tables)  # that nothing did is in the table above
    rows = [_row(treatment, stats, factors, failed, context) for treatment, stats in tables]
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
        Column(texts("column.type"), code=True),
        Column(texts("column.transactions"), figure=True),
        Column(texts("column.share"), figure=True),
        Column(texts("column.per-second"), figure=True),
        *(
            Column(title(key, context), figure=True, spare=True) for key in FIGURES
        ),  # not every tool tells a deviation
        *([Column(texts("column.errors"), figure=True)] if failed else []),
    ]
    return Table("table-types", texts("table.types"), *known(columns, rows), " ".join(notes))


def _row(
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
        Cell(str(treatment.index), sort=treatment.index),
        *treatment_cells(treatment, factors),
        Cell(type_stats.name),
        figure(type_stats.succeeded, numbers.whole),
        figure(type_stats.share, numbers.share),
        figure(type_stats.throughput.median, numbers.rate),
        *(figure(type_stats.response[key].median, context.texts.time) for key in FIGURES),
        *([errors] if failed else []),
    ]
