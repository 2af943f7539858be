"""Open loops: what was due beside what was achieved, response beside service time, and how punctual the client was."""

from __future__ import annotations

from loadcell.analysis.open_loop_capacity import Kept, all_kept
from loadcell.model import numbers
from loadcell.report import charts
from loadcell.report.blocks import Block, Cell, Column, Paragraph, Section, Table
from loadcell.report.context import ReportContext
from loadcell.report.sections.levels import factor_columns, treatment_cells
from loadcell.stats.repeats import Repeats


def section(context: ReportContext) -> Section | None:
    """None for a run of closed loops."""
    loops = all_kept(context.analysis.treatments)
    if not loops:
        return None
    blocks: list[Block] = [Paragraph(context.texts("open-loop.meaning"))]
    blocks += [table(context, loops), *charts.drawn_in("open-loop", context)]
    return Section("open-loop", context.texts("section.open-loop"), blocks)


_FIGURES = (
    "column.offered",
    "column.achieved",
    "column.kept-share",
    "column.response-p99",
    "column.service-p99",
    "column.pacing-p50",
    "column.pacing-p99",
    "column.backlog",
    "column.overloaded",
)


def table(context: ReportContext, loops: tuple[Kept, ...]) -> Table:
    """A row a treatment that was an open loop."""
    texts, factors = context.texts, factor_columns(context)
    columns = [
        Column(texts("column.number"), figure=True),
        *(Column(name, figure=numeric) for _, name, numeric in factors),
        *([] if factors else [Column(texts("column.treatment"))]),
        Column(texts("column.arrivals")),
        *(Column(texts(key), figure=True) for key in _FIGURES),
    ]
    rows = [_row(one, context, factors) for one in loops]
    return Table("table-open-loop", texts("table.open-loop"), columns, rows, only=True)


def _row(one: Kept, context: ReportContext, factors: list[tuple[str, str, bool]]) -> list[Cell]:
    texts, treatment = context.texts, one.treatment
    arrivals = {"constant": "arrivals.constant", "poisson": "arrivals.poisson"}.get(one.arrivals)
    return [
        Cell(str(treatment.index), sort=treatment.index),
        *treatment_cells(treatment, factors),
        Cell(texts(arrivals) if arrivals else one.arrivals),
        _figure(one.offered, context, numbers.rate),
        _figure(one.achieved, context, numbers.rate),
        Cell(texts("mark.none"))
        if one.share is None
        else Cell(numbers.share(one.share), sort=one.share, tone="" if one.kept_up else "caution"),
        _figure(treatment.latency["p99_ms"], context, numbers.significant),
        _figure(one.service["p99_ms"], context, numbers.significant),
        _figure(one.pacing["p50_ms"], context, _microseconds),
        _figure(one.pacing["p99_ms"], context, _microseconds),
        _figure(one.backlog, context, numbers.whole),
        Cell(
            texts("mark.of", part=one.overloaded, whole=len(treatment.trials)),
            sort=one.overloaded,
            tone="problem" if one.overloaded else "",
        ),
    ]


def _microseconds(milliseconds: float) -> str:
    return numbers.significant(milliseconds * 1e3)


def _figure(repeats: Repeats, context: ReportContext, write: numbers.Write) -> Cell:
    value = repeats.median
    return Cell(context.texts("mark.none")) if value is None else Cell(write(value), sort=value)
