"""Product functions on records, called with JSON documents: a test writes only the keys that matter to it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from loadcell.analysis import ab as _ab
from loadcell.analysis import analyse as _analyse
from loadcell.analysis import comparability as _placements
from loadcell.analysis import comparability as _unit
from loadcell.analysis import error_codes as _failure_reasons
from loadcell.analysis import findings as _findings
from loadcell.analysis import flames as _leaks
from loadcell.analysis import history as _series
from loadcell.analysis import import_findings as _import_findings
from loadcell.analysis import search as _search
from loadcell.analysis import server as _server
from loadcell.analysis import treatments as _treatments
from loadcell.analysis import trials as _trials
from loadcell.analysis import types as _types
from loadcell.analysis.compare import differences as _differences
from loadcell.analysis.compare import sides as _sides
from loadcell.analysis.hosts import scores as _scores
from loadcell.design.search import decide as _decide
from loadcell.execution import failures as _abort_policy
from loadcell.execution import failures as _all_failed
from loadcell.execution import outcome as _outcome
from loadcell.execution import profiling as _profiling
from loadcell.execution import progress as _progress
from loadcell.execution import record as _trial_metrics
from loadcell.execution import resume as _resume
from loadcell.execution.load_order import GroupOrder, LoadOrder
from loadcell.model.json import convert, document
from loadcell.model.load_result import LoadResult, read_event
from loadcell.model.run_record import (
    RunRecord,
    SearchRecord,
    TreatmentRecord,
)
from loadcell.model.trial_record import TrialRecord
from loadcell.store.read import read_run as read_records
from specifications import complete

#: Keys that only the documents of one kind have.
_TRIAL = {
    "status",
    "target",
    "groups",
    "totals",
    "measure",
    "operations",
    "errors",
    "checks",
    "memory",
    "unit",
    "affinity",
    "monitors",
}


def trial(values: Mapping[str, Any]) -> TrialRecord:
    """Trial record; what the document does not name is number 1, repeat 1, status ok."""
    defaults = {"number": 1, "name": "1", "treatment": "t", "repeat": 1, "status": "ok"}
    return convert(TrialRecord, {**defaults, **values})


def run(values: Mapping[str, Any]) -> RunRecord:
    """Run record; what the document does not name of a trial is number 1, repeat 1."""
    defaults = {"number": 1, "treatment": "t", "repeat": 1}
    trials = [{**defaults, **entry} for entry in values.get("trials") or ()]
    return convert(RunRecord, {**values, "trials": trials})


def treatment(values: Mapping[str, Any]) -> TreatmentRecord:
    """Treatment as a run record lists it."""
    return convert(TreatmentRecord, {"id": "t", **values})


def search(values: Mapping[str, Any]) -> SearchRecord:
    """Question of a search."""
    defaults = {"factor": "load.clients", "objective": "max throughput", "metric": "throughput"}
    return convert(SearchRecord, {**defaults, **values})


def load_result(values: Mapping[str, Any]) -> LoadResult:
    """Result of a load; what the document does not name: it completed, in a window that began at 0."""
    values = {"outcome": "completed", **values}
    if values.get("window"):
        values["window"] = {"start_mono_ns": 0, "start_utc_ns": 0, **values["window"]}
    return convert(LoadResult, values)


def load_order(spec: Mapping[str, Any], made_by: str | None = None) -> LoadOrder:
    """Order of a load with one group from the engine's specification of it."""
    spec = complete(spec)
    group = GroupOrder("", spec["workload"], {})
    return LoadOrder(spec["target"], (group,), spec["load"], spec["seed"], made_by)


def load_event(values: Mapping[str, Any]) -> Any:
    """Event of a load."""
    return read_event(json.dumps(values))


def _record(value: Any) -> Any:
    if isinstance(value, dict):
        if "id" in value and "trials" not in value:
            return treatment(value)
        return trial(value) if _TRIAL & value.keys() or {"number", "name"} <= value.keys() else run(value)
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return type(value)(map(_record, value))
    return value


def typed(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function; dictionaries among its arguments become records."""

    @wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        return function(*map(_record, arguments), **{name: _record(value) for name, value in named.items()})

    return call


analyse = typed(_analyse.analyse)
of_run = typed(_trials.of_run)
from_record = typed(_trials.from_record)
treatments = typed(_treatments.treatments)
counted = typed(_types.counted)
searched = typed(_search.searched)
evidence = typed(_server.evidence)
given_up = typed(_findings.given_up)
why, remedy = typed(_failure_reasons.why), typed(_failure_reasons.remedy)
should_abort = typed(_abort_policy.should_abort)
all_requests_failed = typed(_all_failed.all_requests_failed)
exit_status, verdicts = typed(_outcome.exit_status), typed(_outcome.verdicts)
outcome, profiled = typed(_progress.outcome), typed(_progress.profiled)
metrics = typed(_trial_metrics.metrics)
ab = SimpleNamespace(**{**vars(_ab), "of_record": typed(_ab.of_record)})
unit = SimpleNamespace(
    **{**vars(_unit), "of": lambda records: _unit.unit_of([trial(record) for record in records])}
)
placements = SimpleNamespace(findings=typed(_placements.placement_findings))
sides = SimpleNamespace(
    **{name: typed(getattr(_sides, name)) for name in ("arms", "levels", "runs", "factors")}
)
plans, designs, tools, targets = (
    typed(getattr(_differences, name)) for name in ("plans", "designs", "tools", "targets")
)
resume = SimpleNamespace(**{**vars(_resume), "compare": typed(_resume.compare)})
profiling = SimpleNamespace(**{**vars(_profiling), "wanted": typed(_profiling.wanted)})
leaks = SimpleNamespace(**{**vars(_leaks), "from_record": typed(_leaks.lost_memory)})
scores = SimpleNamespace(
    **{
        **vars(_scores),
        **{n: typed(getattr(_scores, n)) for n in ("of_run", "probed", "asked_for", "name_of")},
    }
)
import_findings = SimpleNamespace(
    **{
        **vars(_import_findings),
        **{n: typed(getattr(_import_findings, n)) for n in ("sources", "done", "findings")},
    }
)


def question(values: Mapping[str, Any], *arguments: Any) -> Any:
    """Problem of a search from the document that a run stores."""
    return _decide.question(search(values), *arguments)


def run_of(
    name: str,
    state: str,
    document: Mapping[str, Any],
    records: list[dict[str, Any]],
    environment: Any,
    metric: Any,
) -> Any:
    """Run of a history from documents."""
    return _series.run_of(
        name, state, run(document), [trial(record) for record in records], environment, metric
    )


class StoredDocuments:
    """A run directory with the run and its trials as JSON objects; the rest as `records` has it."""

    def __init__(self, path: Path) -> None:
        self.records = read_records(path)
        self.run = document(self.records.run)
        self.planned = self.run["trials"]
        self.trials = [document(record) for record in self.records.trials]
        self.unscored = [document(record) for record in self.records.unscored]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.records, name)


def read_run(path: Path) -> StoredDocuments:
    """Read a run directory as documents."""
    return StoredDocuments(path)
