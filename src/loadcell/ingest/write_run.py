"""Writes what was imported as a run directory, with every source beside it."""

from __future__ import annotations

import platform
import secrets
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from loadcell import __version__
from loadcell.ingest import benchmarksql_folder, intervals, records, write_samples
from loadcell.ingest.arrange import Arranged
from loadcell.ingest.base import ImportProblemError
from loadcell.ingest.formats import Source
from loadcell.ingest.messages import IMPORT_NOTHING_MEASURED, IMPORT_UNREAD
from loadcell.ingest.series import Intervals, Room
from loadcell.model.instants import utc_text
from loadcell.model.run_record import (
    Execution,
    FactorRecord,
    ImportedFile,
    LevelRecord,
    PlannedTrial,
    RunRecord,
)
from loadcell.store.durable import sync_directory
from loadcell.store.layout import INTERVALS, SCHEMA, new_run_directory
from loadcell.store.write import RunWriter

#: Where a run keeps the files it was made of. Larger ones stay where they are, and are only named.
SOURCES = "sources"
MOST_STORED_BYTES = 64 * 2**20


def write(
    arranged: Arranged,
    sources: Sequence[Source],
    *,
    results: Path,
    name: str,
    title: str,
    command: Sequence[str],
) -> Path:
    """A new run directory under `results`.

    Raises ImportProblemError when nothing was measured, and StoreError.
    """
    if not arranged.executions:
        unread = sum(source.reading.unread for source in sources)
        raise ImportProblemError(
            IMPORT_NOTHING_MEASURED(
                sources=[source.name for source in sources], lines=IMPORT_UNREAD(count=unread)
            )
        )
    path = new_run_directory(results, name, datetime.now(UTC), secrets.token_hex(3))
    writer = RunWriter(path)
    joined = _joined(arranged)
    reaching = max(joined) > 1
    try:
        writer.write_run(_run(arranged, sources, name, title, command, state="running"))
        writer.write_environment({"schema": SCHEMA, "collected_utc": utc_text(), "hosts": []})
        for number, execution in enumerate(arranged.executions, 1):
            when_ns = execution.source.path.stat().st_mtime_ns
            trial = writer.trial(records.trial_name(number, execution))
            if rows := intervals.table(execution, reaching=reaching):
                trial.text(INTERVALS, rows)
            watched = write_samples.write(trial, execution)
            trial.finish(records.trial(number, execution, utc_text(when_ns), watched, joined[number - 1]))
        _keep(path, sources)
        writer.write_run(_run(arranged, sources, name, title, command, state="finished"))
    finally:
        writer.close()
    return path


def _joined(arranged: Arranged) -> list[int]:
    """Number of printed intervals one stands for in each execution, so that all together are as many as a run
    has room for.
    """
    room = Room()
    for execution in arranged.executions:
        if isinstance(execution.measured.intervals, Intervals):
            room.add(execution.measured.intervals)
    return [getattr(planned.measured.intervals, "joined", 1) for planned in arranged.executions]


def _keep(path: Path, sources: Sequence[Source]) -> None:
    home = path / SOURCES
    home.mkdir(exist_ok=True)
    files = [file for source in sources for file in (*benchmarksql_folder.files(source.path), *source.also)]
    for number, file in enumerate(files, 1):
        if file.stat().st_size <= MOST_STORED_BYTES:
            shutil.copyfile(file, home / f"{number:02d}-{file.name}")
    sync_directory(home)


def _executions(source: Source) -> int:
    """Samples alone stand for an execution of which nothing is known, and are none."""
    measured = source.reading.measured
    return sum(part.throughput_per_s is not None or source.reading.samples is None for part in measured)


def _run(
    arranged: Arranged,
    sources: Sequence[Source],
    name: str,
    title: str,
    command: Sequence[str],
    *,
    state: str,
) -> RunRecord:
    now = utc_text()
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
        treatments=records.treatments(arranged),
        trials=tuple(
            PlannedTrial(
                number,
                records.trial_name(number, execution),
                execution.treatment,
                execution.repeat,
                execution.repeat,
            )
            for number, execution in enumerate(arranged.executions, 1)
        ),
        loadcell_version=__version__,
        python=platform.python_version(),
        started_utc=now,
        ended_utc=now if state == "finished" else None,
        state=state,
        executions=(Execution(0, now, now, "imported"),),
        command=tuple(command),
        imported=tuple(map(_imported, sources)),
    )


def _imported(source: Source) -> ImportedFile:
    reading = source.reading
    return ImportedFile(
        file=source.name,
        tool=source.tool,
        also=tuple(str(file) for file in source.also),
        measured=_executions(source),
        samples=0 if reading.samples is None else len(reading.samples),
        unread=reading.unread,
        examples=tuple(reading.examples),
    )
