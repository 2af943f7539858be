"""Evidence from a stored run: each module of this package that defines `of_run` gathers from one source.

Each that defines `of_evidence` combines what the others gathered.
"""

from __future__ import annotations

import csv
import pkgutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TypeAlias

from loadcell.incidents import runs
from loadcell.incidents.evidence.base import Evidence, Missing, Reading
from loadcell.incidents.examination import Examination, examination
from loadcell.incidents.runs import not_recorded, retained
from loadcell.model.trial_record import TrialRecord
from loadcell.store import layout
from loadcell.store.read import StoredRun

#: The evidence of a run: its `source` is the name of a trial, or empty for all of the run.
Gatherer: TypeAlias = Callable[[StoredRun], Iterator[Evidence]]


#: Evidence from that of the single trials: of the levels of a factor, for example.
#: Those that a run has and that are too large are missing.
Combiner: TypeAlias = Callable[[StoredRun, Sequence[Evidence]], Iterator[Evidence | Missing]]


@cache
def gatherers() -> tuple[Gatherer, ...]:
    """Gatherers by the names of their modules."""
    return tuple(module.of_run for module in _modules() if hasattr(module, "of_run"))


@cache
def combiners() -> tuple[Combiner, ...]:
    """Functions `of_evidence` of the modules, which see the evidence of all gatherers."""
    return tuple(module.of_evidence for module in _modules() if hasattr(module, "of_evidence"))


@cache
def _modules() -> tuple[ModuleType, ...]:
    names = (item.name for item in pkgutil.iter_modules(runs.__path__, f"{runs.__name__}."))
    return tuple(import_module(name) for name in names)


def examined(
    stored: StoredRun, others: Sequence[Evidence] = (), readings: Sequence[Reading] = ()
) -> Examination:
    """The examination of all finished trials of a run, and of evidence of `others`: logs with `readings`."""
    items: list[Evidence | Missing] = [*gathered(stored), *others]
    names = [title_of(stored), *(name for reading in readings for name in reading.files)]
    reasons = [*(item for item in items if isinstance(item, Missing)), *not_recorded.missing(items)]
    evidence = [item for item in items if isinstance(item, Evidence)]
    return examination(", ".join(names), evidence, reasons, readings).with_subjects(retained.subjects(stored))


def title_of(stored: StoredRun) -> str:
    """The name of a run for people."""
    return f"{stored.run.plan_name}/{stored.id}".strip("/")


def gathered(stored: StoredRun) -> list[Evidence | Missing]:
    """Evidence of all types from all finished trials of a run."""
    evidence = [item for gatherer in gatherers() for item in gatherer(stored)]
    return [*evidence, *(item for combiner in combiners() for item in combiner(stored, evidence))]


def start_ns(trial: TrialRecord) -> int | None:
    """Begin of the measurement of a trial in UTC; None without one."""
    if trial.measure is None or not trial.measure.started_utc:
        return None
    started = datetime.fromisoformat(trial.measure.started_utc)
    return int(started.timestamp()) * 10**9 + started.microsecond * 1000


def numa_nodes(stored: StoredRun) -> int:
    """NUMA nodes of the machine; 1 where they are unknown."""
    hosts = stored.environment.get("hosts")
    host = hosts[0] if hosts else {}
    return int(host.get("numa_nodes") or len(host.get("numa") or ()) or 1)


def samples(
    stored: StoredRun, table: str, columns: Collection[str]
) -> Iterator[tuple[TrialRecord, Mapping[str, list[float | None]]]]:
    """Those of these columns that the table of each trial has, by name; None for a missing value.

    They are read as text: a brief report loads no frames.
    """
    for trial in stored.trials:
        file = layout.sample_files(trial).get(table)
        if file is None:
            continue
        try:
            with (stored.directory(trial.name) / file).open(encoding="utf-8", errors="replace") as lines:
                reader = csv.DictReader(lines)
                values: dict[str, list[float | None]] = {
                    name: [] for name in reader.fieldnames or () if name in columns
                }
                for row in reader:
                    for name, numbers in values.items():
                        numbers.append(_number(row[name]))
        except (OSError, csv.Error):
            continue
        yield trial, values


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None
