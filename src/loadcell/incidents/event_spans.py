"""Spans of events that a log is compared with: long pauses of a collector, trials and faults of a run."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from math import isfinite
from typing import Final

from loadcell.incidents.evidence.application_log import Spans
from loadcell.incidents.evidence.collections import Collections
from loadcell.store.read import StoredRun

#: Shorter pauses silence no thread noticeably.
LEAST_PAUSE_NS: Final = 500_000_000


def of_collections(evidence: Collections) -> Spans:
    """Long pauses, where the log has their time by the wall clock."""
    spans, pauses = [], evidence.log.pauses
    for pause in pauses:
        begin_ns = evidence.utc_ns(pause.start_ns)
        if pause.duration_ns >= LEAST_PAUSE_NS and begin_ns is not None:
            spans.append((begin_ns, begin_ns + pause.duration_ns))
    times_ns = [evidence.utc_ns(instant) for pause in pauses for instant in (pause.start_ns, pause.end_ns)]
    dated_ns = [instant for instant in times_ns if instant is not None]
    is_dated = dated_ns and len(dated_ns) == len(times_ns)
    covered = (min(dated_ns), max(dated_ns)) if is_dated else None
    return Spans("gc-pause", evidence.source, tuple(spans), covered, bool(dated_ns) or not times_ns)


def of_run(run: StoredRun) -> tuple[Spans, ...]:
    """Trials of a run, and the faults in them."""
    trials, faults = [], []
    for trial in run.trials:
        begin_ns, end_ns = _utc_ns(trial.started_utc), _utc_ns(trial.ended_utc)
        if begin_ns is not None and end_ns is not None:
            trials.append((begin_ns, end_ns))
        measure_ns = _utc_ns(trial.measure.started_utc) if trial.measure is not None else None
        if measure_ns is not None:
            for fault in trial.faults or ():
                if fault.applied is not None:
                    ended_s = fault.ended_s
                    end = measure_ns + round(ended_s * 1e9) if isfinite(ended_s) else end_ns
                    if end is not None:
                        faults.append((measure_ns + round(fault.applied.began_s * 1e9), end))
    return tuple(_named(run.short_id, trials, faults))


def _named(source: str, trials: list[tuple[int, int]], faults: list[tuple[int, int]]) -> Iterator[Spans]:
    if trials:
        yield Spans("trial", source, tuple(trials))
    if faults:
        yield Spans("fault", source, tuple(faults))


def _utc_ns(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return round(datetime.fromisoformat(text).timestamp() * 1e6) * 1000
    except ValueError:
        return None
