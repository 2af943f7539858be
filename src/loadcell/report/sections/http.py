"""HTTP results under ab's names."""

from __future__ import annotations

import math

from loadcell.analysis import ab
from loadcell.analysis.ab import Ab, Times
from loadcell.analysis.treatments import Treatment
from loadcell.model import numbers
from loadcell.model.message import Labels
from loadcell.model.trial_record import TrialRecord
from loadcell.report.blocks import Block, Cell, Column, Section, Table
from loadcell.report.context import ReportContext
from loadcell.report.sections.breakdown import factor_columns, treatment_cells
from loadcell.store import trial_files
from loadcell.store.layout import LATENCY

_ROW = Labels("http.row", ("connect", "processing", "waiting", "total"))
#: Maximum number of trials per treatment whose histograms are read: more would cost time and change nothing.
MOST_READ = 20
#: Of less than that much time digits say nothing: a clock is read in tens of nanoseconds.
LEAST_MS = 0.001


def section(context: ReportContext) -> Section | None:
    """Three tables, a row (of times: four) for each treatment; None where nothing was HTTP."""
    measured = [
        (treatment, records)
        for treatment in context.analysis.treatments
        if (records := _records(treatment, context))
    ]
    if not measured:
        return None
    texts = context.texts
    tables = (
        _requests(measured, context),
        _times(measured, context),
        _percentages([treatment for treatment, _ in measured], context),
    )
    blocks: list[Block] = [table for table in tables if table is not None]
    return Section("http", texts("section.http"), blocks)


def _records(treatment: Treatment, context: ReportContext) -> list[Ab]:
    records = (context.records[trial.name] for trial in treatment.trials if trial.counts)
    return [figures for record in records if (figures := ab.of_record(record)) is not None]


def _head(context: ReportContext) -> list[Column]:
    factors = factor_columns(context)
    return [
        Column(context.texts("column.number"), figure=True),
        *(Column(name, figure=numeric) for _, name, numeric in factors),
        *([] if factors else [Column(context.texts("column.treatment"))]),
    ]


def _first(treatment: Treatment, context: ReportContext) -> list[Cell]:
    cells = treatment_cells(treatment, factor_columns(context))
    return [Cell(str(treatment.index), sort=treatment.index), *cells]


def _figure(value: float | None, write: numbers.Write, context: ReportContext) -> Cell:
    return Cell(context.texts("mark.none")) if value is None else Cell(write(value), sort=value)


def _requests(measured: list[tuple[Treatment, list[Ab]]], context: ReportContext) -> Table:
    texts = context.texts
    figures = [(treatment, ab.middle(records)) for treatment, records in measured]
    closed = any(middle.time_per_request_ms is not None for _, middle in figures)
    succeeded = any(middle.times["total"].mean_ms is not None for _, middle in figures)
    names = (
        "http.complete", "http.failed", "http.of-failed", "http.non-2xx", "http.requests-per-s",
        *(("http.time-per-request",) if closed else ()), *(("http.mean",) if succeeded else ()),
        "http.transfer",
    )  # fmt: skip
    rows = []
    for treatment, middle in figures:
        kinds = (middle.connect, middle.receive, middle.length, middle.exceptions)
        rows.append(
            [
                *_first(treatment, context),
                _figure(middle.complete, _count, context),
                _figure(middle.failed, _count, context),
                Cell(" / ".join(map(_count, kinds)), sort=middle.failed),
                _figure(middle.non_2xx, _count, context),
                _figure(middle.requests_per_s, numbers.rate, context),
                *([_figure(middle.time_per_request_ms, numbers.significant, context)] if closed else []),
                *(
                    [_figure(middle.times["total"].mean_ms, numbers.significant, context)]
                    if succeeded
                    else []
                ),
                _figure(middle.received_bytes_per_s, numbers.size, context),
            ]
        )
    columns = [*_head(context), *(Column(texts(name), figure=True) for name in names)]
    return Table("table-http", texts("http.table.requests"), columns, rows, texts("http.table.requests.note"))


def _count(value: float) -> str:
    return numbers.whole(round(value))


def _times(measured: list[tuple[Treatment, list[Ab]]], context: ReportContext) -> Table | None:
    texts = context.texts
    rows = []
    for treatment, records in measured:
        middle = ab.middle(records)
        for row in _ROW.names:
            if middle.times[row] == Times():
                continue  # where nothing succeeded, but answers came
            rows.append(
                [
                    *_first(treatment, context),
                    Cell(texts(_ROW(row))),
                    *_cells(middle.times[row], context),
                ]
            )
    if not rows:
        return None
    names = ("http.min", "http.mean-time", "http.sd", "http.median", "http.max")
    columns = [
        *_head(context),
        Column(texts("http.stage")),
        *(Column(texts(name), figure=True) for name in names),
    ]
    return Table("table-http-times", texts("http.table.times"), columns, rows, texts("http.table.times.note"))


def _cells(times: Times, context: ReportContext) -> list[Cell]:
    values = (times.min_ms, times.mean_ms, times.stdev_ms, times.median_ms, times.max_ms)
    return [_figure(value, _time, context) for value in values]


def _time(ms: float) -> str:
    """Milliseconds; a mean of less than a microsecond, as that of connecting is where connections are kept,
    is only said to be so.
    """
    return f"<{LEAST_MS:g}" if 0 < ms < LEAST_MS else numbers.significant(ms)


def _percentages(treatments: list[Treatment], context: ReportContext) -> Table | None:
    """Within which time each percentage of the requests was served."""
    texts = context.texts
    rows = []
    for treatment in treatments:
        times = ab.middle_served(
            [_served(trial.name, context) for trial in treatment.trials if trial.counts][:MOST_READ]
        )
        if times:
            cells = [_figure(times[percent], numbers.significant, context) for percent in ab.SERVED]
            rows.append([*_first(treatment, context), *cells])
    if not rows:
        return None
    columns = [*_head(context), *(Column(f"{percent}%", figure=True) for percent in ab.SERVED)]
    note = texts("http.table.served.note")
    return Table("table-http-served", texts("http.table.served"), columns, rows, note)


def _longest_ms(record: TrialRecord) -> float:
    service = record.totals.service if record.totals else None
    return (service.max_ms if service else None) or math.inf


def _served(trial: str, context: ReportContext) -> dict[int, float]:
    longest = _longest_ms(context.records[trial])
    try:
        return ab.served(
            *trial_files.read_histogram(context.stored.directory(trial) / LATENCY, "transaction/service"),
            longest,
        )
    except (OSError, ValueError):
        return {}
