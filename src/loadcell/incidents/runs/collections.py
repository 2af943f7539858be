"""Garbage collections of the JVMs of a run: of a trial's GC log, or of its sampled pauses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from loadcell.incidents import gc_logs
from loadcell.incidents.evidence.base import Evidence
from loadcell.incidents.evidence.collections import Collections
from loadcell.incidents.runs.base import start_ns
from loadcell.ingest.base import ImportProblemError
from loadcell.ingest.gc_gathering import Gathering
from loadcell.model.gc_pauses import PAUSES, SOURCE, Pause
from loadcell.model.trial_record import TrialRecord
from loadcell.plan.problems import SettingError
from loadcell.plan.units import Duration
from loadcell.store.layout import GC_LOG
from loadcell.store.read import StoredRun

#: Logs of a run that are read line by line, in bytes: of larger ones the sampled pauses serve.
_MOST_BYTES: Final = 32 * 1024**2
_COLUMNS: Final = (
    "trial", "t_s", "duration_ms", "kind", "name", "cause", "before_bytes", "after_bytes", "capacity_bytes",
    "promoted_bytes",
)  # fmt: skip


def of_run(stored: StoredRun) -> Iterator[Evidence]:
    """The collections of each trial with any."""
    trials = {trial.name: trial for trial in stored.trials}
    logs: dict[str, tuple[Collections, ...]] = {}
    available = _MOST_BYTES
    # a trial that failed has a log, and perhaps no metrics of it
    for name in trials:
        path = stored.directory(name) / GC_LOG
        size = path.stat().st_size if path.is_file() else 0
        if 0 < size <= available:
            available -= size
            try:
                logs[name] = gc_logs.read([(path, f"{name}/{GC_LOG}")]).jvms
            except ImportProblemError:
                continue
    without_log = {
        name: trial for name, trial in trials.items() if name not in logs and SOURCE in trial.monitors
    }
    sampled = dict(_sampled(stored, without_log))
    timeouts_ns = dict(_timeouts_ns(stored))
    for name in trials:
        for jvm in logs.get(name, ()):
            yield replace(jvm, source=name, timeout_ns=timeouts_ns.get(name))
        if name in sampled:
            yield replace(sampled[name], timeout_ns=timeouts_ns.get(name))


def _timeouts_ns(stored: StoredRun) -> Iterator[tuple[str, int]]:
    """Time for which the clients of each trial wait for a response."""
    for trial in stored.trials:
        written = (trial.settings.get("load") or {}).get("timeout")
        with suppress(SettingError):
            if isinstance(written, str):
                yield trial.name, Duration.read(written).ns


def _sampled(stored: StoredRun, trials: Mapping[str, TrialRecord]) -> Iterator[tuple[str, Collections]]:
    """Collections of trials from the table of their pauses."""
    frame = stored.samples(f"{SOURCE}.{PAUSES}") if trials else None
    if frame is None or not frame.has(*_COLUMNS):
        return
    gathered: dict[str, Gathering] = {}
    for name, *values in frame.rows(*_COLUMNS):
        trial = trials.get(name)
        begin_ns = None if trial is None else start_ns(trial)
        if begin_ns is not None:
            of_trial = gathered.setdefault(name, Gathering(selects=True, clock="utc"))
            of_trial.pause(_pause(begin_ns, *values), "")
    for name, of_trial in gathered.items():
        yield name, Collections(name, of_trial.log())


def _pause(begin_ns: int, t_s: float, duration_ms: float, kind: Any, *values: Any) -> Pause:
    """A pause by the row of a table; instants are UTC."""
    name, cause, *sizes = values
    before, after, capacity, promoted = (None if size is None else int(size) for size in sizes)
    duration_ns = round(duration_ms * 1e6)
    end_ns = begin_ns + round(t_s * 1e9) + duration_ns
    return Pause(end_ns, duration_ns, kind, name or "", cause or "", before, after, capacity, promoted)
