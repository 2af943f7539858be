"""Logs of services that the trials of a run retained: files of the workload `tool`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from loadcell.incidents import application_logs, event_spans
from loadcell.incidents.evidence.application_log import ApplicationLog, Spans
from loadcell.incidents.evidence.base import Evidence, Missing
from loadcell.incidents.evidence.collections import Collections
from loadcell.ingest.base import ImportProblemError
from loadcell.ingest.inputs import unpacker
from loadcell.ingest.log_files import DAMAGES, blocks_of
from loadcell.model.message import Bytes, Count, MessageCode
from loadcell.store.layout import GC_LOG, is_reserved
from loadcell.store.read import StoredRun

TOO_LARGE = MessageCode(
    "doctor.run.logs-too-large", "info", count=Count, path=str, run=str, limit_bytes=Bytes
)

#: Logs of a run that are read, after decompression: 16 MiB take about 3 s, and each report waits for it.
MOST_BYTES: Final = 16 * 1024**2


def of_evidence(stored: StoredRun, evidence: Sequence[Evidence]) -> Iterator[Evidence | Missing]:
    """The logs of each trial with any, compared with its faults and the long pauses of its JVMs.

    Logs beyond the limit are reported as missing.
    """
    available = MOST_BYTES
    faults = [spans for spans in event_spans.of_run(stored) if spans.kind == "fault"]
    unread: list[str] = []
    for trial in stored.trials:
        files = [(path, f"{trial.name}/{path.name}") for path in logs_of(stored.directory(trial.name))]
        logs = []
        for path, shown in application_logs.readable(files):
            size = _size(path, available)
            if size > available:
                unread.append(str(path))
            else:
                available -= size
                logs.append((path, shown))
        if not logs:
            continue
        pauses = (item for item in evidence if isinstance(item, Collections) and item.source == trial.name)
        others: tuple[Spans, ...] = (*map(event_spans.of_collections, pauses), *faults)
        try:
            log, _ = application_logs.read(logs, others=others)
        except ImportProblemError:
            continue
        yield replace(log, source=trial.name)
    if unread:
        reason = TOO_LARGE(count=len(unread), path=unread[0], run=str(stored.path), limit_bytes=MOST_BYTES)
        yield Missing(ApplicationLog, reason)


def _size(path: Path, most: int) -> int:
    """Bytes of a log after decompression; those beyond `most` are not counted."""
    size = path.stat().st_size
    if size > most or unpacker(path) is None:
        return size
    unpacked = 0
    with contextlib.suppress(*DAMAGES):
        for block in blocks_of(path):
            unpacked += len(block)
            if unpacked > most:
                break
    return unpacked


def logs_of(directory: Path) -> list[Path]:
    """Files of a trial that are logs by their names; GC logs are evidence of their own."""
    try:
        return sorted(
            path
            for path in directory.iterdir()
            if application_logs.is_log(path.name.lower())
            and not is_reserved(path.name)
            and path.name != GC_LOG
            and not path.name.startswith(f"{GC_LOG}.")
            and path.is_file()
        )
    except OSError:
        return []
