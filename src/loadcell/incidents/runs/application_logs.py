"""Logs of services that the trials of a run retained: files of the workload `tool`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from loadcell.incidents import application_logs, event_spans
from loadcell.incidents.evidence.application_log import ApplicationLog, Spans
from loadcell.incidents.evidence.base import Evidence, Missing
from loadcell.incidents.evidence.collections import Collections
from loadcell.ingest.base import ImportProblemError
from loadcell.model.message import Bytes, Count, MessageCode
from loadcell.store.layout import GC_LOG, is_reserved
from loadcell.store.read import StoredRun

TOO_LARGE = MessageCode(
    "doctor.run.logs-too-large", "info", count=Count, path=str, run=str, limit_bytes=Bytes
)

#: Logs of a run that are read: 16 MiB take about 3 s, and each report waits for it.
MOST_BYTES: Final = 16 * 1024**2


def of_evidence(stored: StoredRun, evidence: Sequence[Evidence]) -> Iterator[Evidence | Missing]:
    """The logs of each trial with any, compared with its faults and the long pauses of its JVMs.

    Those beyond the limit are reported as missing.
    """
    available = MOST_BYTES
    faults = [spans for spans in event_spans.of_run(stored) if spans.kind == "fault"]
    unread: list[str] = []
    for trial in stored.trials:
        files = [(path, f"{trial.name}/{path.name}") for path in logs_of(stored.directory(trial.name))]
        size = sum(path.stat().st_size for path, _ in files)
        if size > available:
            unread += [str(path) for path, _ in files]
            continue
        files = application_logs.readable(files)
        if not files:
            continue
        available -= size
        pauses = (item for item in evidence if isinstance(item, Collections) and item.source == trial.name)
        others: tuple[Spans, ...] = (*map(event_spans.of_collections, pauses), *faults)
        try:
            log, _ = application_logs.read(files, others=others)
        except ImportProblemError:
            continue
        yield replace(log, source=trial.name)
    if unread:
        reason = TOO_LARGE(count=len(unread), path=unread[0], run=str(stored.path), limit_bytes=MOST_BYTES)
        yield Missing(ApplicationLog, reason)


def logs_of(directory: Path) -> list[Path]:
    """Files of a trial that are logs by their names; GC logs are evidence of their own."""
    try:
        return sorted(
            path
            for path in directory.iterdir()
            if application_logs.is_log(path.name.lower())
            and not is_reserved(path.name)
            and not path.name.startswith(GC_LOG.partition(".")[0])
            and path.is_file()
        )
    except OSError:
        return []
