"""Writes what was imported as a run directory: records, intervals, samples, and the sources."""

from __future__ import annotations

import platform
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from loadcell import __version__
from loadcell.analysis.error_codes import meaning
from loadcell.ingest import checks as printed_totals
from loadcell.ingest import dating, redaction
from loadcell.ingest.base import (
    IMPORT_UNREAD,
    ROWS_AT_ONCE,
    ImportProblemError,
    Part,
    Samples,
    Source,
    batched,
)
from loadcell.ingest.columns import UNJOINED, Column, Columns
from loadcell.ingest.dating import Dated
from loadcell.ingest.read import Arranged, Execution, Watched
from loadcell.ingest.redaction import Text
from loadcell.ingest.series import Intervals, Room
from loadcell.model import run_record
from loadcell.model.json import JsonObject
from loadcell.model.latency import Latency
from loadcell.model.message import Message, MessageCode
from loadcell.model.metrics import facts
from loadcell.model.numbers import utc_text
from loadcell.model.panels import Row
from loadcell.model.run_record import (
    FactorRecord,
    ImportedFile,
    LevelRecord,
    PlannedTrial,
    RunRecord,
    TreatmentRecord,
)
from loadcell.model.trial_record import (
    TRANSACTION,
    Counts,
    ErrorRecord,
    ImportedFrom,
    MonitorRecord,
    OperationStats,
    Status,
    ToolRecord,
    Totals,
    TrialRecord,
    Window,
)
from loadcell.plan.secret_patterns import REDACTED
from loadcell.store.copies import MOST_COPIED_BYTES
from loadcell.store.layout import (
    INTERVAL_COLUMNS,
    INTERVALS,
    REACH_COLUMNS,
    SAMPLE_HEAD,
    SCHEMA,
    SOURCES,
    TRIALS,
    StoreError,
    cannot_write,
    new_run_directory,
)
from loadcell.store.write import RunWriter, TrialWriter, is_free, sync_directory

IMPORT_NOTHING_MEASURED = MessageCode("import.nothing-measured", sources=list, lines=Message)
IMPORT_OUT_EXISTS = MessageCode("import.out-exists", path=str)
IMPORT_REDACTED = MessageCode("import.redacted", "info", files=list, placeholder=str)

#: Texts of a run that are not searched for secrets again: names of devices and the like, row by row.
_MOST_REMEMBERED = 4096
#: Digits behind the point in all files of a trial.
_DIGITS = 6


def write(
    arranged: Arranged,
    sources: Sequence[Source],
    *,
    results: Path,
    name: str,
    title: str,
    command: Sequence[str],
    out: Path | None = None,
    date_s: float | None = None,
    note: Callable[[Message], None] = lambda _: None,
    labels: Mapping[str, str] | None = None,
) -> Path:
    """A new run directory under `results`, or `out`; it is dated by `date_s`, by the texts, or by the files.

    `note` takes what the user is to know of it.
    Raises ImportProblemError when nothing was measured, and StoreError.
    """
    if not arranged.executions:
        unread = sum(source.reading.unread for source in sources)
        raise ImportProblemError(
            IMPORT_NOTHING_MEASURED(
                sources=[source.name for source in sources], lines=IMPORT_UNREAD(count=unread)
            )
        )
    now = datetime.now(UTC)
    dated = dating.dates(arranged.executions, date_s, now.timestamp())
    began = datetime.fromtimestamp(min(date.at_s for date in dated), UTC)
    path = out or new_run_directory(results, name, began, secrets.token_hex(3))
    if out is not None and not is_free(out):
        raise StoreError(IMPORT_OUT_EXISTS(path=out))
    record = replace(_run(arranged, sources, dated, name, title, command), labels=dict(labels or {}))
    writer = RunWriter(path)
    joined = _joined(arranged)
    reaching = max(joined) > 1
    try:
        redacted, hidden = _keep(path / SOURCES, sources)
        writer.redact = lru_cache(_MOST_REMEMBERED)(
            partial(redaction.redacted_text, hidden=dict.fromkeys(hidden, REDACTED))
        )
        if redacted:
            note(IMPORT_REDACTED(files=redacted, placeholder=REDACTED))
        writer.write_run(replace(record, ended_utc=None, state="running"))
        writer.write_environment({"schema": SCHEMA, "collected_utc": utc_text(), "hosts": []})
        for number, execution in enumerate(arranged.executions, 1):
            date = dated[number - 1]
            trial = writer.trial(_trial_name(number, execution))
            intervals = Intervals.of(execution.measured.intervals)
            if len(intervals):
                began_s = date.at_s if date.began else None
                trial.text(INTERVALS, _interval_table(intervals.columns(), began_s, reaching=reaching))
            monitors = _write_samples(trial, execution)
            trial.finish(_trial(number, execution, date, monitors, joined[number - 1]))
        writer.write_run(record)
    except BaseException:
        # The texts are still there; a directory without a whole run would be in the way of the next import.
        for begun in (path / TRIALS).glob("*"):
            shutil.rmtree(begun, ignore_errors=True)
        writer.discard()
        raise
    finally:
        writer.close()
    return path


def _joined(arranged: Arranged) -> list[int]:
    """Number of printed intervals one stands for in each execution, so that all together are as many as a run
    has room for.
    """
    room = Room()
    every = [execution.measured.intervals for execution in arranged.executions]
    for intervals in every:
        if isinstance(intervals, Intervals):
            room.add(intervals)
    return [intervals.joined if isinstance(intervals, Intervals) else 1 for intervals in every]


def _keep(home: Path, sources: Sequence[Source]) -> tuple[list[str], frozenset[str]]:
    """Keep copies of the files without their secrets; larger files stay where they are.

    Returns the names of the copies that had any, and the secrets. All are known before the first is written.
    Raises StoreError.
    """
    files = [
        file
        for source in sources
        for file in (*(source.stored if source.path.is_dir() else (source.path,)), *source.also)
    ]
    stored = [
        (number, file) for number, file in enumerate(files, 1) if file.stat().st_size <= MOST_COPIED_BYTES
    ]
    hidden: frozenset[str] = frozenset()
    for _, file in stored:
        hidden |= redaction.secrets_of(Text.of(file).text or b"")
    redacted: list[str] = []
    try:
        shutil.rmtree(home, ignore_errors=True)  # an import that was killed
        home.mkdir()
        for number, file in stored:
            copy = redaction.copy_of(Text.of(file), f"{number:02d}-", hidden)
            if copy is None:
                continue
            copy.write(home)
            if copy.is_redacted:
                redacted.append(f"{SOURCES}/{copy.name}")
        sync_directory(home)
    except OSError as error:
        raise cannot_write(home, error) from None
    return redacted, hidden


def _executions(source: Source) -> int:
    """Samples alone stand for an execution of which nothing is known, and are none."""
    measured = source.reading.measured
    return sum(part.throughput_per_s is not None or source.reading.samples is None for part in measured)


def _run(
    arranged: Arranged,
    sources: Sequence[Source],
    dated: Sequence[Dated],
    name: str,
    title: str,
    command: Sequence[str],
) -> RunRecord:
    """Record of the finished run, which began and ended when its executions did."""
    now = utc_text()
    pairs = list(zip(arranged.executions, dated, strict=True))
    ends = [_ended(execution, date) for execution, date in pairs]
    first: dict[str, Dated] = {}
    for execution, date in sorted(pairs, key=lambda pair: pair[1].at_s):
        first.setdefault(execution.source.name, date)
    return RunRecord(
        schema=SCHEMA,
        plan_name=name,
        title=title,
        question="",
        seed=0,
        order="as-written",
        design="full",
        repeats=arranged.repeats,
        factors=tuple(
            FactorRecord(key, tuple(LevelRecord(str(level), level) for level in levels))
            for key, levels in arranged.factors.items()
        ),
        treatments=_treatments(arranged),
        trials=tuple(
            PlannedTrial(
                number,
                _trial_name(number, execution),
                execution.treatment,
                execution.repeat,
                execution.repeat,
            )
            for number, execution in enumerate(arranged.executions, 1)
        ),
        loadcell_version=__version__,
        python=platform.python_version(),
        started_utc=min(dated, key=lambda date: date.at_s).utc,
        ended_utc=max(ends, key=lambda date: date.at_s).utc,
        state="finished",
        executions=(run_record.Execution(0, now, now, "imported"),),
        command=tuple(command),
        imported=tuple(_imported(source, first.get(source.name)) for source in sources),
    )


def _ended(execution: Execution, date: Dated) -> Dated:
    """The end of an execution: a file's time is that already."""
    length_s = execution.measured.duration_s or 0.0
    return replace(date, at_s=date.at_s + length_s) if date.began else date


def _imported(source: Source, date: Dated | None) -> ImportedFile:
    reading = source.reading
    return ImportedFile(
        file=source.name,
        tool=source.tool,
        also=tuple(str(file) for file in source.also),
        measured=_executions(source),
        samples=0 if reading.samples is None else len(reading.samples),
        unread=reading.unread,
        examples=tuple(reading.examples),
        missing=reading.missing or None,
        unused=reading.unused or None,
        dated=None if date is None else date.by,
        measured_utc=None if date is None else date.utc,
    )


def _at_utc(instant_s: float) -> str:
    """An instant in seconds since 1970, of which a float has no more than microseconds."""
    return utc_text(round(instant_s * 1e6) * 1000)


def _trial_name(number: int, execution: Execution) -> str:
    """As runs name theirs."""
    return f"{number:03d}-{execution.treatment}-r{execution.repeat}"


def _treatments(arranged: Arranged) -> tuple[TreatmentRecord, ...]:
    """Treatments in the order of their first executions."""
    records: dict[str, TreatmentRecord] = {}
    for execution in arranged.executions:
        levels = {key: str(level) for key, level in execution.levels.items()}
        records.setdefault(
            execution.treatment,
            TreatmentRecord(execution.treatment, levels, dict(execution.levels), _settings(execution)),
        )
    return tuple(records.values())


def _settings(execution: Execution) -> JsonObject:
    """Settings as the tool reported them."""
    load = {"clients": execution.measured.clients} if execution.measured.clients is not None else {}
    return {"tool": {execution.source.tool: dict(execution.measured.settings)}, "load": load}


def _trial(
    number: int, execution: Execution, date: Dated, monitors: Mapping[str, MonitorRecord], joined: int = 1
) -> TrialRecord:
    """Record of an imported trial; `joined` is the number of printed intervals that one of its intervals
    stands for.
    """
    measured, tool = execution.measured, execution.source.tool
    succeeded, failed = measured.succeeded or 0, measured.failed or 0
    attempted = succeeded + failed
    sampled = _sampled(execution)
    totals = Totals(
        Counts(attempted=attempted, succeeded=succeeded, failed=failed),
        throughput_per_s=measured.throughput_per_s,
        queries_per_s=measured.figures.get("queries_per_s"),
        errors=failed,
        error_rate=failed / attempted if attempted else None,
        response=_latency(measured.response, succeeded),
        figures={
            **{name: value for name, value in measured.figures.items() if name != "queries_per_s"},
            **sampled,
        },
        metrics=facts(sampled) or None,
    )
    version = measured.settings.get("version")
    agreement = printed_totals.check(execution)
    return TrialRecord(
        number,
        _trial_name(number, execution),
        execution.treatment,
        execution.repeat,
        Status.OK,
        schema=SCHEMA,
        levels={key: str(level) for key, level in execution.levels.items()},
        values=dict(execution.levels),
        block=execution.repeat,
        unit=measured.unit,
        started_utc=date.utc,
        ended_utc=_ended(execution, date).utc,
        settings=_settings(execution),
        measure=None if measured.duration_s is None else Window(measured.duration_s, 0, date.utc),
        totals=totals,
        operations={name: _operation(part, measured.duration_s) for name, part in measured.parts.items()},
        monitors=monitors,
        checks=() if agreement is None else (agreement,),
        errors=tuple(
            ErrorRecord(code, count, message="", meaning=meaning(code))
            for code, count in measured.errors.items()
        ),
        # Values that a tool printed are rounded, and its clients may have paused: what follows from the
        # engine's exact ones does not.
        tool=ToolRecord(tool, None if version is None else str(version)),
        imported=ImportedFrom(
            tool, execution.source.path.name, measured.title, joined if joined > 1 else None
        ),
    )


def _sampled(execution: Execution) -> dict[str, float]:
    """Metrics of the samples during an execution; all of them where its time is not known."""
    values: dict[str, float] = {}
    for watched in execution.watched:
        samples, length_s = watched.source.reading.samples, execution.measured.duration_s
        assert samples is not None
        if samples.absolute and execution.measured.began_s is not None and length_s is not None:
            values |= samples.figures(watched.origin_s, watched.origin_s + length_s)
        else:
            values |= samples.figures(samples.first_s, samples.last_s)
    return values


def _operation(part: Part, duration_s: float | None) -> OperationStats:
    return OperationStats(
        part.kind,
        attempted=part.succeeded + part.failed,
        succeeded=part.succeeded,
        failed=part.failed,
        throughput_per_s=part.succeeded / duration_s if duration_s else None,
        response=_latency(part.response, part.succeeded),
    )


def _latency(response: Mapping[str, float], count: int) -> Latency | None:
    """A distribution, with its count where the tool prints it: redis-benchmark's table has percentiles and no
    count.
    """
    return Latency.from_values({"count": count or None, **response}) if response else None


def _write_samples(trial: TrialWriter, execution: Execution) -> dict[str, MonitorRecord]:
    """Write the files, and return the record of each monitor."""
    records = {}
    for watched in execution.watched:
        samples = watched.source.reading.samples
        assert samples is not None
        records[samples.monitor] = _write_monitor(trial, watched, samples)
    return records


def _write_monitor(trial: TrialWriter, watched: Watched, samples: Samples) -> MonitorRecord:
    count = _append(trial, samples.file, samples.columns, _rows(watched, samples))
    table = f"{samples.file.removesuffix('.csv')}-{samples.table}.csv"
    other_count = _append(trial, table, samples.table_columns, _table_rows(watched, samples))
    # What another program's sampling cost, and how late it was, is not known.
    return MonitorRecord(
        samples=count,
        file=samples.file if count else None,
        tables={samples.table: table} if other_count else None,
        text_columns={table: tuple(sorted(samples.text))} if other_count else None,
        imported=watched.source.tool,
        assumed_interval_s=samples.assumed_interval_s,
    )


def _append(trial: TrialWriter, file: str, columns: Iterable[str], rows: Iterable[Row]) -> int:
    count = 0
    for batch in batched(rows, ROWS_AT_ONCE):
        trial.rows(file, (*SAMPLE_HEAD, *columns), batch)
        count += len(batch)
    return count


def _rows(watched: Watched, samples: Samples) -> Iterator[Row]:
    for at_s, values in samples.rows():
        if watched.begin_s <= at_s <= watched.end_s:
            yield {**_head(at_s, watched, samples), **values}


def _table_rows(watched: Watched, samples: Samples) -> Iterator[Row]:
    for at_s, values in samples.table_rows():
        if watched.begin_s <= at_s <= watched.end_s:
            yield {**_head(at_s, watched, samples), **values}


def _head(at_s: float, watched: Watched, samples: Samples) -> Row:
    since_s = at_s - watched.origin_s
    utc = _at_utc(at_s) if samples.absolute else ""
    return {"t_s": since_s, "mono_ns": round(since_s * 1e9), "utc": utc}


def _interval_table(columns: Columns, began_s: float | None, *, reaching: bool) -> str:
    """Text of intervals.csv. Times count from the execution's start, which was at `began_s` since 1970.

    `reaching` adds the columns of the lowest and highest throughput of joined intervals, as all executions of
    a run have the same columns.
    """
    start, duration, rate = (columns[name] for name in ("start", "duration", "rate"))
    texts: dict[str, Sequence[str]] = {
        "t_s": _decimals(start),
        "mono_ns": _integers(start * 1e9),
        "duration_s": _decimals(duration),
        "phase": ["measure"] * len(start),
        "operation": [TRANSACTION] * len(start),
        "kind": ["transaction"] * len(start),
        "succeeded": _integers(rate * duration),
        "failed": _integers(columns["failed"]),
        "throughput_per_s": _decimals(rate),
        **{f"response_{key}": _decimals(column) for key, column in columns.items() if key not in UNJOINED},
    }
    if began_s is not None:
        instants = np.rint((start + began_s) * 1e6).astype(np.int64).astype("datetime64[us]")
        texts["utc"] = [f"{instant}Z" for instant in np.datetime_as_string(instants).tolist()]
    if reaching:
        for name, key in zip(REACH_COLUMNS, ("lowest", "highest"), strict=True):
            texts[name] = _decimals(columns.get(key, rate))
    names = (*INTERVAL_COLUMNS, *(REACH_COLUMNS if reaching else ()))
    empty = [""] * len(start)
    rows = zip(*(texts.get(name, empty) for name in names), strict=True)
    return "".join(f"{','.join(row)}\n" for row in (names, *rows))


def _integers(values: Column) -> list[str]:
    """Rounded numbers as text; empty where missing."""
    return ["" if value != value else f"{value:.0f}" for value in np.rint(values).tolist()]


def _decimals(values: Column) -> list[str]:
    """Column as text with at most `_DIGITS` digits behind the point; empty where missing."""
    texts = map(repr, np.round(values, _DIGITS).tolist())
    return [
        "" if text == "nan" else text if "e" not in text else f"{float(text):.{_DIGITS}f}" for text in texts
    ]
