"""Writes a monitor's samples beside the execution they belong to, as loadcell's own monitors leave them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from loadcell.ingest.arrange import Execution, Watched
from loadcell.ingest.records import at_utc
from loadcell.ingest.samples import OTHER_COLUMNS, ROWS_AT_ONCE, Samples, batched
from loadcell.model.trial_record import MonitorRecord
from loadcell.store.layout import SAMPLE_HEAD
from loadcell.store.write import TrialWriter

Row = Mapping[str, str | float]


def write(trial: TrialWriter, execution: Execution) -> dict[str, MonitorRecord]:
    """Write the files, and return the record of each monitor."""
    records = {}
    for watched in execution.watched:
        samples = watched.source.reading.samples
        assert samples is not None
        records[samples.monitor] = _write(trial, watched, samples)
    return records


def _write(trial: TrialWriter, watched: Watched, samples: Samples) -> MonitorRecord:
    count = _append(trial, samples.file, samples.columns, _rows(watched, samples))
    table = f"{samples.file.removesuffix('.csv')}-{samples.table}.csv"
    other_count = _append(trial, table, OTHER_COLUMNS, _other_rows(watched, samples))
    # What another program's sampling cost, and how late it was, is not known.
    return MonitorRecord(
        samples=count,
        file=samples.file if count else None,
        tables={samples.table: table} if other_count else None,
        text_columns={table: ("name", "object")} if other_count else None,
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


def _other_rows(watched: Watched, samples: Samples) -> Iterator[Row]:
    for at_s, other in samples.others():
        if watched.begin_s <= at_s <= watched.end_s:
            values: Row = {"object": other.object, "name": other.name, "value": other.value}
            yield {**_head(at_s, watched, samples), **values}


def _head(at_s: float, watched: Watched, samples: Samples) -> Row:
    since_s = at_s - watched.origin_s
    utc = at_utc(at_s) if samples.absolute else ""
    return {"t_s": since_s, "mono_ns": round(since_s * 1e9), "utc": utc}
