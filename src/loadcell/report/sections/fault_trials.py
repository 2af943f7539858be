"""Tables of the faults of each trial: when they were applied and undone, and further values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from loadcell.analysis.faults.repeats import FaultOfTreatment, FaultOfTrial, by_group
from loadcell.model import numbers
from loadcell.report.blocks import Cell, Column, Table
from loadcell.report.context import ReportContext
from loadcell.report.sections import fault_cells


def of_trials(faults: Sequence[FaultOfTreatment], context: ReportContext) -> list[Table]:
    """A row for each fault of a trial: when it was applied and undone; and its further values."""
    texts = context.texts
    names = [Column(texts("column.trial"), code=True), Column(texts("column.fault"), code=True, keep=True)]
    times = [
        *names,
        Column(texts("column.fault.applied-at"), figure=True),
        Column(texts("column.fault.late"), figure=True),
        Column(texts("column.fault.took"), figure=True),
        Column(texts("column.fault.undone-at"), figure=True),
        Column(texts("column.fault.first-effect"), figure=True, keep=True),
    ]
    values = [
        *names,
        Column(texts("column.fault.baseline-rate"), figure=True),
        Column(texts("column.fault.baseline-p99"), figure=True),
        Column(texts("column.fault.overshoot"), figure=True),
        Column(texts("column.fault.longest-request"), figure=True),
        Column(texts("column.fault.errors"), keep=True),
    ]
    items = [(fault, item) for fault in faults for item in fault.trials]
    return [
        Table(
            "table-fault-trials", texts("table.fault-trials"), times,
            [_times(fault, item, context) for fault, item in items],
        ),
        Table(
            "table-fault-trial-values", texts("table.fault-trial-values"), values,
            [_values(fault, item, context) for fault, item in items],
        ),
    ]  # fmt: skip


def _or_none(number: float | None, write: numbers.Write, context: ReportContext) -> Cell:
    return Cell(context.texts("mark.none")) if number is None else Cell(write(number), sort=number)


def _of_seconds(number_s: float) -> str:
    return numbers.milliseconds(number_s * 1e3)


def _times(fault: FaultOfTreatment, item: FaultOfTrial, context: ReportContext) -> list[Cell]:
    texts, applied, undone = context.texts, item.fault.applied, item.fault.undone
    effect_s = item.judgement.first_effect_s
    first = (
        texts("mark.none")
        if effect_s is None
        else texts("fault.between", low=_of_seconds(effect_s[0]), high=_of_seconds(effect_s[1]))
    )
    return [
        Cell(item.trial),
        Cell(fault.title),
        _or_none(applied.began_s if applied else None, numbers.seconds, context),
        _or_none(applied.began_s - applied.requested_s if applied else None, _of_seconds, context),
        _or_none(applied.ended_s - applied.began_s if applied else None, _of_seconds, context),
        _or_none(undone.began_s if undone else None, numbers.seconds, context),
        Cell(first, sort=effect_s[1] if effect_s else None),
    ]


def _values(fault: FaultOfTreatment, item: FaultOfTrial, context: ReportContext) -> list[Cell]:
    judgement = item.judgement
    baseline, hung = judgement.baseline, judgement.hung
    return [
        Cell(item.trial),
        Cell(fault.title),
        _or_none(baseline.rate_per_s if baseline else None, numbers.rate, context),
        _or_none(baseline.p99_ms if baseline else None, numbers.milliseconds, context),
        _or_none(judgement.overshoot, lambda number: numbers.whole(round(number)), context),
        _or_none(hung.longest_s if hung and hung.number else None, numbers.seconds, context),
        Cell(fault_cells.errors(judgement.errors or {}, context)),
    ]


def of_groups(faults: Sequence[FaultOfTreatment], context: ReportContext) -> list[Table]:
    """A row for each fault of a trial and client group; none of loads with one group, nor without repeats."""
    texts = context.texts
    if all(len(fault.trials) == 1 for fault in faults):
        return []
    rows = [
        [
            Cell(item.trial),
            Cell(fault.title),
            Cell(alone.group or ""),
            Cell(fault_cells.effect(alone, context)),
            *(fault_cells.value(alone, key=key, context=context) for key in fault_cells.METRICS),
        ]
        for fault in faults
        for item in fault.trials
        for alone in by_group(replace(fault, trials=(item,)))
    ]
    columns = [
        Column(texts("column.trial"), code=True),
        Column(texts("column.fault"), code=True, keep=True),
        Column(texts("column.group"), code=True),
        Column(texts("column.fault.effect")),
        *(Column(texts(fault_cells.HEADING(key)), figure=True) for key in fault_cells.METRICS),
    ]
    return [Table("table-fault-groups", texts("table.fault-groups"), columns, rows)] if rows else []
