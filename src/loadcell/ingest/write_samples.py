"""Writes a monitor's samples beside the execution they belong to, as loadcell's own monitors leave them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from loadcell.ingest.arrange import Execution, Watched
from loadcell.ingest.records import at_utc
from loadcell.ingest.samples import OTHER_COLUMNS, ROWS_AT_ONCE, Samples, batched
from loadcell.store.layout import SAMPLE_HEAD
from loadcell.store.write import TrialWriter


def write(trial: TrialWriter, execution: Execution) -> dict[str, Any]:
    """The files, and what trial.json says of them under `monitors`."""
    records: dict[str, Any] = {}
    for watched in execution.watched:
        samples = watched.source.reading.samples
        assert samples is not None
        records[samples.monitor] = _one(trial, watched, samples)
    return records


def _one(trial: TrialWriter, watched: Watched, samples: Samples) -> dict[str, Any]:
    count = 0
    for rows in batched(_rows(watched, samples), ROWS_AT_ONCE):
        trial.rows(samples.file, (*SAMPLE_HEAD, *samples.columns), rows)
        count += len(rows)
    file, more = f"{samples.file.removesuffix('.csv')}-{samples.table}.csv", 0
    for rows in batched(_others(watched, samples), ROWS_AT_ONCE):
        trial.rows(file, (*SAMPLE_HEAD, *OTHER_COLUMNS), rows)
        more += len(rows)
    # What another program's sampling cost, and how late it was, is not known.
    document: dict[str, Any] = {"samples": count, "imported": watched.source.tool}
    if count:
        document["file"] = samples.file
    if more:
        document["tables"] = {samples.table: file}
        document["text_columns"] = {file: ["name", "object"]}
    if samples.assumed_interval_s is not None:
        document["assumed_interval_s"] = samples.assumed_interval_s
    return document


def _rows(watched: Watched, samples: Samples) -> Iterator[Mapping[str, Any]]:
    for at_s, values in samples.rows():
        if watched.begin_s <= at_s <= watched.end_s:
            yield {**_head(at_s, watched, samples), **values}


def _others(watched: Watched, samples: Samples) -> Iterator[Mapping[str, Any]]:
    for at_s, samples_of_instant in samples.others():
        if watched.begin_s <= at_s <= watched.end_s:
            yield {
                **_head(at_s, watched, samples),
                "object": samples_of_instant.object,
                "name": samples_of_instant.name,
                "value": samples_of_instant.value,
            }


def _head(at_s: float, watched: Watched, samples: Samples) -> dict[str, Any]:
    since_s = at_s - watched.origin_s
    utc = at_utc(at_s) if samples.absolute else ""
    return {"t_s": since_s, "mono_ns": round(since_s * 1e9), "utc": utc}
