"""Faults: what was expected of each against what was observed, its values, and the load around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from loadcell.analysis.expectations import ExpectationOutcome
from loadcell.analysis.faults.repeats import RECOVERIES, FaultOfTreatment, by_group, faults_of
from loadcell.model import fault_metrics
from loadcell.plan.expect import Expectation
from loadcell.report import charts
from loadcell.report.blocks import Block, Cell, Column, Details, Paragraph, Section, Table
from loadcell.report.context import ReportContext
from loadcell.report.sections import breakdown, fault_cells, fault_trials, numbered_writes, results

#: Columns that a narrow terminal leaves out, in this order.
_YIELDING = {"recovery_from_undo": 2, "dip": 3, "hung_clients": 5}


def section(context: ReportContext) -> Section | None:
    """None for a run without faults."""
    faults = faults_of(context.analysis.treatments, context.records)
    if not faults:
        return _without_faults(context)
    texts = context.texts
    trials = fault_trials.of_trials(faults, context)
    blocks: list[Block] = [Paragraph(texts("faults.meaning")), *tables(faults, context)]
    if (expected := of_plan(context)) is not None:
        blocks.append(expected)
    if (writes := numbered_writes.table(context)) is not None:
        blocks.append(writes)
    blocks += charts.drawn_in("faults", context)
    blocks.append(Details(trials[0].title, [*trials, *fault_trials.of_groups(faults, context)]))
    return Section("faults", texts("section.faults"), blocks)


def _without_faults(context: ReportContext) -> Section | None:
    """The numbered writes of a run in which nothing was broken."""
    writes = numbered_writes.table(context)
    return None if writes is None else Section("faults", writes.title, [writes])


def brief(context: ReportContext) -> list[Table]:
    """The tables for a terminal; none for a run without faults."""
    faults = faults_of(context.analysis.treatments, context.records)
    if not faults:
        return []
    expected = of_plan(context)
    return [*tables(faults, context), *([] if expected is None else [expected])]


def of_plan(context: ReportContext) -> Table | None:
    """Expectations of the plan on metrics of faults, of all faults of a trial together; None without any."""
    outcomes = [outcome for outcome in context.analysis.expectations if _is_on_faults(outcome)]
    table = results.table_of(outcomes, "table-fault-expectations", context)
    return table and replace(
        table,
        title=context.texts("table.fault-expectations"),
        note=context.texts("table.fault-expectations.note"),
    )


def _is_on_faults(outcome: ExpectationOutcome) -> bool:
    expectation = Expectation.recorded(outcome.expression) if outcome.fault is None else None
    return expectation is not None and expectation.metric in fault_metrics.KEYS


@dataclass(frozen=True)
class _Part:
    """A column with its cell of each fault."""

    column: Column
    cell: Callable[[FaultOfTreatment], Cell]


def _names(faults: Sequence[FaultOfTreatment], context: ReportContext) -> list[_Part]:
    """Treatment, where there are several, and fault."""
    texts = context.texts
    several = len({fault.treatment.id for fault in faults}) > 1
    factors = breakdown.factor_columns(context)
    name = factors[0][1] if len(factors) == 1 else texts("column.treatment")
    treatment = _Part(
        Column(name),
        lambda fault: breakdown.treatment_cells(fault.treatment, factors if len(factors) == 1 else ())[0],
    )
    title = _Part(
        Column(texts("column.fault"), code=True, keep=True, folds=True), lambda fault: Cell(fault.title)
    )
    group = _Part(
        Column(texts("column.group"), code=True, keep=True),
        lambda fault: Cell(texts("fault.all-groups") if fault.group is None else fault.group),
    )
    grouped = any(fault.group is not None for fault in faults)
    return [*([treatment] if several else []), title, *([group] if grouped else [])]


def _of_all(cell: Callable[[FaultOfTreatment], Cell]) -> Callable[[FaultOfTreatment], Cell]:
    """The cell of a fault; empty in the rows of its client groups."""
    return lambda fault: cell(fault) if fault.group is None else Cell("")


def _outcome(faults: Sequence[FaultOfTreatment], context: ReportContext) -> list[_Part]:
    """When, what was expected, and the effect."""
    texts = context.texts
    planned = Column(texts("column.fault.when"), folds=True, yields=1)
    parts = [_Part(planned, _of_all(lambda fault: Cell(fault_cells.when(fault, context))))]
    if any(fault.expected for fault in faults):
        none = texts("mark.none")
        expected = Column(texts("column.fault.expected"), code=True, many=True, folds=True, yields=7)
        verdict = Column(texts("column.verdict"), folds=True)
        parts += [
            _Part(expected, _of_all(lambda fault: Cell(fault_cells.BETWEEN.join(fault.expected) or none))),
            _Part(verdict, _of_all(lambda fault: fault_cells.verdict(fault, context))),
        ]
    effect = Column(texts("column.fault.effect"), folds=True)
    return [*parts, _Part(effect, lambda fault: Cell(fault_cells.effect(fault, context)))]


def _extent(faults: Sequence[FaultOfTreatment], context: ReportContext) -> list[_Part]:
    """Values of the metrics, and errors by class."""
    texts = context.texts
    parts = [part for key in fault_cells.METRICS for part in _of_metric(key, context)]
    if any(item.judgement.errors for fault in faults for item in fault.trials):
        column = Column(texts("column.fault.errors"), keep=True, folds=True, yields=6)
        parts.append(
            _Part(column, lambda fault: Cell(fault_cells.errors(fault_cells.all_errors(fault), context)))
        )
    return parts


def _of_metric(key: str, context: ReportContext) -> list[_Part]:
    """A metric's values; beside missing operations those that were made up."""
    column = Column(
        context.texts(fault_cells.HEADING(key)),
        figure=True, keep=True, folds=key in RECOVERIES, yields=_YIELDING.get(key, 0),
    )  # fmt: skip
    part = _Part(column, partial(fault_cells.value, key=key, context=context))
    if key != fault_cells.LOST:
        return [part]
    made_up = Column(context.texts("column.fault.made-up"), figure=True, keep=True, yields=4)
    return [part, _Part(made_up, partial(fault_cells.made_up, context=context))]


def _managed(faults: Sequence[FaultOfTreatment], context: ReportContext) -> list[_Part]:
    """The management plane, where it was asked."""
    if not any(item.judgement.management for fault in faults for item in fault.trials):
        return []
    column = Column(context.texts("column.fault.management"), many=True)
    return [_Part(column, _of_all(lambda fault: fault_cells.management(fault, context)))]


def _title(faults: Sequence[FaultOfTreatment]) -> str:
    """Key of the title: with expectations, or of effects alone."""
    return "table.faults" if any(fault.expected for fault in faults) else "table.faults.observed"


def tables(faults: Sequence[FaultOfTreatment], context: ReportContext) -> list[Table]:
    """Expected against observed, and the values: two tables, each of which fits on a page.

    A row for each fault of a treatment, then one for each client group, where there are several.
    """
    rows = [row for fault in faults for row in (fault, *by_group(fault))]
    names = _names(rows, context)
    outcome = [*names, *_outcome(rows, context), *_managed(rows, context)]
    extent = [*names, *_extent(rows, context)]
    return [
        replace(_table("table-faults", _title(faults), outcome, rows, context), note=""),
        _table("table-fault-extent", "table.fault-extent", extent, rows, context),
    ]


def _table(
    name: str, title: str, parts: Sequence[_Part], faults: Sequence[FaultOfTreatment], context: ReportContext
) -> Table:
    rows = [[part.cell(fault) for part in parts] for fault in faults]
    repeated = any(len(fault.trials) > 1 for fault in faults)
    note = context.texts("table.faults.repeats") if repeated else ""
    return Table(name, context.texts(title), [part.column for part in parts], rows, note)
