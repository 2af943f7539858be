"""The GC log of a trial in its record: pauses as samples, and metrics of pauses and slow requests."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from loadcell.analysis import gc_pauses
from loadcell.analysis.faults.completions import Completions
from loadcell.ingest.gc_log import files, in_measurement, is_uptime, read_files
from loadcell.model import jvm_samples
from loadcell.model.gc_pauses import PAUSES, PAUSES_TABLE, SOURCE, TABLE, GcLog
from loadcell.model.load_result import LoadResult, MeasuredWindow
from loadcell.model.message import Count, Message, MessageCode, Share
from loadcell.model.metrics import facts
from loadcell.model.numbers import utc_text
from loadcell.model.panels import Row, SampleTable
from loadcell.model.trial_record import MonitorRecord, TrialRecord
from loadcell.monitors.jvm import JvmOptions
from loadcell.plan.model import Resolved
from loadcell.store.layout import GC_LOG, SAMPLE_HEAD
from loadcell.store.write import TrialWriter

GC_LOG_CLOCK = MessageCode("gc-log.clock", "caution")
GC_LOG_UNREAD = MessageCode("gc-log.unread", "caution", count=Count, unread_share=Share)
GC_LOG_LEFT_OUT = MessageCode("gc-log.left-out", "caution", count=Count)
GC_LOG_NOTHING_READ = MessageCode("gc-log.nothing-read", "caution", path=str)

#: A log of which more lines are not understood is perhaps none.
_UNREAD_SHARE = 0.01


def of_trial(
    record: TrialRecord, result: LoadResult | None, resolved: Resolved, writer: TrialWriter
) -> TrialRecord:
    """The record with the pauses of the target's JVM: of the log that the plan names, or of the target's."""
    options = resolved.monitors.get(jvm_samples.TABLE)
    named = options.gc_log if isinstance(options, JvmOptions) else None
    path = Path(named) if named else writer.path / GC_LOG
    return with_gc_log(record, result, path, float(resolved.load.warmup), writer, required=named is not None)


def with_gc_log(
    record: TrialRecord,
    result: LoadResult | None,
    path: Path,
    warmup_s: float,
    writer: TrialWriter,
    *,
    required: bool = False,
) -> TrialRecord:
    """The record with the pauses of the GC log `path` and its rotated files; unchanged without a log or
    a measurement. A log that the plan gives is `required`. Raises StoreError.
    """
    if result is None or result.window is None or not (required or files(path.parent, path.name)):
        return record
    start_mono_ns, start_utc_ns = result.window.start_mono_ns, result.window.start_utc_ns
    begin_s = -warmup_s - 1
    begin_ns = round(begin_s * 1e9)
    log = read_files(
        path.parent,
        path.name,
        {"monotonic": start_mono_ns + begin_ns, "utc": start_utc_ns + begin_ns},
    )
    if is_uptime(log, path.parent, path.name, start_mono_ns, start_utc_ns):
        log = replace(log, clock="uptime")
    remarks = list(_remarks(log))
    if required and not log.lines:
        remarks.append(GC_LOG_NOTHING_READ(path=str(path)))
    aligned = in_measurement(log, start_mono_ns, start_utc_ns)
    monitor = MonitorRecord(
        notes=tuple(
            {"note": remark.code, "text": remark.text, "count": 1, **remark.document()} for remark in remarks
        )
        or None,
    )
    if aligned is None:
        return replace(record, monitors={**record.monitors, SOURCE: monitor})
    aligned = _within(aligned, begin_s, result.seconds + 1)
    rows = list(
        _rows(gc_pauses.per_second(aligned, math.floor(-warmup_s), math.ceil(result.seconds)), result.window)
    )
    _write(TABLE, rows, writer)
    _write(PAUSES_TABLE, _rows(gc_pauses.rows(aligned), result.window), writer)
    monitor = replace(
        monitor,
        samples=len(rows),
        file=TABLE.file,
        tables={PAUSES: PAUSES_TABLE.file},
        text_columns={TABLE.file: (), PAUSES_TABLE.file: tuple(sorted(PAUSES_TABLE.text))},
    )
    record = replace(record, monitors={**record.monitors, SOURCE: monitor})
    if record.totals is None:
        return record
    completions = Completions.of(result.timelines, result.seconds) if result.timelines else None
    values = gc_pauses.metrics(aligned, result.seconds, completions)
    totals = replace(
        record.totals,
        figures={**record.totals.figures, **values},
        metrics={**(record.totals.metrics or {}), **facts(values)},
    )
    return replace(record, totals=totals)


def _within(log: GcLog, begin_s: float, end_s: float) -> GcLog:
    """A log of a JVM may be older than the trial."""
    begin_ns, end_ns = begin_s * 1e9, end_s * 1e9
    return replace(
        log,
        pauses=tuple(pause for pause in log.pauses if begin_ns <= pause.end_ns and pause.start_ns <= end_ns),
        changes=tuple(change for change in log.changes if begin_ns <= change.end_ns <= end_ns),
    )


def _remarks(log: GcLog) -> Iterator[Message]:
    if log.clock == "uptime" and log.lines > log.unread:
        yield GC_LOG_CLOCK()
    if log.unread > _UNREAD_SHARE * log.lines:
        yield GC_LOG_UNREAD(count=log.unread, unread_share=log.unread / log.lines)
    if log.left_out:
        yield GC_LOG_LEFT_OUT(count=log.left_out)


def _rows(rows: Iterable[tuple[float, Row]], window: MeasuredWindow) -> Iterator[Row]:
    """Rows with their times, which are given from the start of the measurement."""
    for t_s, row in rows:
        since_ns = round(t_s * 1e9)
        times: Row = {
            "t_s": t_s,
            "mono_ns": window.start_mono_ns + since_ns,
            "utc": utc_text(window.start_utc_ns + since_ns),
        }
        yield {**times, **row}


def _write(table: SampleTable, rows: Iterable[Row], writer: TrialWriter) -> None:
    writer.rows(table.file, (*SAMPLE_HEAD, *table.columns), rows)
