"""Records of streams: the run time of each trial with its processor use, and what became of the records."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from statistics import median
from typing import Final

from loadcell.analysis.treatments import Treatment
from loadcell.analysis.trials import Trial
from loadcell.model import numbers
from loadcell.model import stream_metrics as metrics
from loadcell.model.message import Labels
from loadcell.model.trial_record import TrialRecord
from loadcell.report.blocks import Cell, Column, Section, Table, Tone, without_empty
from loadcell.report.context import ReportContext
from loadcell.report.sections.breakdown import factor_columns, numbered_cells


def _count(value: float) -> str:
    return numbers.whole(round(value))


_WRITERS: Final[Mapping[str, numbers.Write]] = {
    metrics.SENT: _count,
    metrics.RESULTS: _count,
    metrics.LOST: _count,
    metrics.DUPLICATED: _count,
    metrics.LATE: _count,
    metrics.REORDERED: _count,
    metrics.UNKNOWN: _count,
    metrics.OVERACKNOWLEDGED: _count,
    metrics.BLOCKED_SHARE: numbers.share,
    metrics.OUTSTANDING_MAX: _count,
    metrics.UNACKNOWLEDGED_MAX: numbers.size,
}
_HEADING = Labels("column.records", _WRITERS)
#: Sums over the trials of a treatment; the others are medians.
_SUMMED: Final = frozenset({metrics.SENT, metrics.RESULTS, *metrics.FAULTY})


def section(context: ReportContext) -> Section | None:
    """None for a run without streams."""
    treatments = [item for item in context.analysis.treatments if _streamed(item)]
    if not treatments:
        return None
    tables = [_trials(treatments, context), _treatments(treatments, context)]
    return Section("records", context.texts("section.records"), tables)


def _streamed(treatment: Treatment) -> list[Trial]:
    return [trial for trial in treatment.trials if metrics.SENT in trial.figures]


def _trials(treatments: list[Treatment], context: ReportContext) -> Table:
    """A row for each trial: start, end, run time, mean and maximum of the processors."""
    texts, factors = context.texts, factor_columns(context)
    columns = [
        Column(texts("column.number"), figure=True),
        *(Column(name, figure=numeric) for _, name, numeric in factors),
        *([] if factors else [Column(texts("column.treatment"))]),
        Column(texts("column.trial"), figure=True),
        Column(texts("column.records.start")),
        Column(texts("column.records.end")),
        Column(texts("column.records.run-time"), figure=True, keep=True),
        Column(texts("column.records.rate"), figure=True, keep=True),
        Column(texts("column.records.cpu-mean"), figure=True),
        Column(texts("column.records.cpu-max"), figure=True),
    ]
    rows = []
    for treatment in treatments:
        for trial in _streamed(treatment):
            cells = [*numbered_cells(treatment, factors), Cell(str(trial.number), sort=trial.number)]
            rows.append([*cells, *_run(trial, context.records[trial.name], context)])
    return Table(
        "table-record-trials",
        texts("table.record-trials"),
        *without_empty(columns, rows),
        texts("table.record-trials.note"),
    )


def _run(trial: Trial, record: TrialRecord, context: ReportContext) -> list[Cell]:
    run_time_ms = trial.figures.get(metrics.RUN_TIME)
    host = None if trial.resources is None else trial.resources.host
    start = None
    if record.measure is not None and record.measure.started_utc is not None:
        start = datetime.fromisoformat(record.measure.started_utc)
    end = None if start is None or run_time_ms is None else start + timedelta(milliseconds=run_time_ms)
    rate = trial.succeeded / (run_time_ms / 1e3) if run_time_ms else trial.throughput_per_s
    return [
        _instant(start, context),
        _instant(end, context),
        _cell(run_time_ms, lambda value: numbers.seconds(value / 1e3), context),
        _cell(rate, numbers.rate, context),
        _cell(None if host is None or host.cpu is None else host.cpu.busy, numbers.share, context),
        _cell(None if host is None else host.cpu_max, numbers.share, context),
    ]


def _treatments(treatments: list[Treatment], context: ReportContext) -> Table:
    """A row for each treatment: what the service did with the records."""
    texts, factors = context.texts, factor_columns(context)
    columns = [
        Column(texts("column.number"), figure=True),
        *(Column(name, figure=numeric) for _, name, numeric in factors),
        *([] if factors else [Column(texts("column.treatment"))]),
        *(Column(texts(_HEADING(key)), figure=True, spare=key not in metrics.FAULTY) for key in _WRITERS),
    ]
    rows = [
        [*numbered_cells(item, factors), *(_figure(item, key, context) for key in _WRITERS)]
        for item in treatments
    ]
    return Table(
        "table-records", texts("table.records"), *without_empty(columns, rows), texts("table.records.note")
    )


def _figure(treatment: Treatment, key: str, context: ReportContext) -> Cell:
    values = [trial.figures[key] for trial in _streamed(treatment) if key in trial.figures]
    if not values:
        return Cell(context.texts("mark.none"))
    value = sum(values) if key in _SUMMED else median(values)
    tone: Tone = "problem" if key in metrics.FAULTY and value else ""
    return Cell(_WRITERS[key](value), sort=value, tone=tone)


def _instant(at: datetime | None, context: ReportContext) -> Cell:
    return Cell(context.texts("mark.none")) if at is None else Cell(f"{at:%Y-%m-%d %H:%M:%S}")


def _cell(value: float | None, write: numbers.Write, context: ReportContext) -> Cell:
    return Cell(context.texts("mark.none")) if value is None else Cell(write(value), sort=value)
