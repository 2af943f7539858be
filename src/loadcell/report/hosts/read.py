"""Machines from what was stored of them: a baseline's run, or the JSON that `loadcell host --json` printed."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from loadcell.analysis.hosts import scores
from loadcell.analysis.hosts.compare import Machine
from loadcell.model import json as json_records
from loadcell.model.json import JsonObject
from loadcell.model.run_record import RunRecord
from loadcell.report.messages import (
    HOSTS_BAD_SCORES,
    HOSTS_NO_BASELINE,
    HOSTS_NO_JSON,
    HOSTS_NO_MACHINE,
    HOSTS_SAME,
    HOSTS_UNREADABLE,
)
from loadcell.store.errors import StoreError
from loadcell.store.find import find_run
from loadcell.store.layout import RUN
from loadcell.store.read import StoredRun, read_run


@dataclass(frozen=True)
class Source:
    """A machine, where it was read from, and the run that its scores are of (None: it is known from JSON)."""

    machine: Machine
    path: Path
    run: StoredRun | None = None


def is_document(name: str) -> bool:
    """True if this names a file rather than a run."""
    return Path(name).is_file()


def is_baseline(path: Path) -> bool:
    """True if a run's directory is a baseline's; not where its run.json cannot be read, which its reader says
    better.
    """
    try:
        return scores.probed(json_records.read(RunRecord, (path / RUN).read_bytes()))
    except (OSError, json_records.MismatchError):
        return False


def source(name: str) -> Source:
    """The machine of a run or of a JSON file. Raises StoreError, also for runs that are no baselines."""
    return _of_file(Path(name)) if is_document(name) else of_run(read_run(find_run(name)))


def of_run(stored: StoredRun) -> Source:
    """The machine that a baseline was run on. Raises StoreError when the run is of something else."""
    if not scores.probed(stored.run):
        raise StoreError(HOSTS_NO_BASELINE(path=stored.path, workload=scores.PROBE))
    host = _host(stored.environment)
    label = str(host.get("hostname") or stored.short_id)
    return Source(Machine(label, host, scores.of_run(stored.run, stored.trials)), stored.path, stored)


def pair(first: str, second: str) -> tuple[Source, Source]:
    """Two machines under names that tell them apart. Raises StoreError."""
    first_source, other = source(first), source(second)
    if first_source.path.resolve() == other.path.resolve():
        raise StoreError(HOSTS_SAME(first=first, second=second))
    if first_source.machine.label == other.machine.label:
        first_source, other = (
            replace(
                each_source,
                machine=replace(
                    each_source.machine, label=f"{each_source.machine.label} ({_name(each_source)})"
                ),
            )
            for each_source in (first_source, other)
        )
    return first_source, other


def _name(source: Source) -> str:
    """Label of the source: one machine can have two."""
    return source.run.short_id if source.run is not None else source.path.stem


def _of_file(path: Path) -> Source:
    try:
        document: Any = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise StoreError(HOSTS_UNREADABLE(path=path, said=error.strerror)) from None
    except ValueError:
        raise StoreError(HOSTS_NO_JSON(path=path)) from None
    host = _host(document) if isinstance(document, dict) else {}
    if not host:
        raise StoreError(HOSTS_NO_MACHINE(path=path))
    documents = document.get("scores") or []
    try:
        scores_read = (
            scores.of_document(documents) if isinstance(documents, list) else scores.of_document([documents])
        )
    except ValueError as error:
        raise StoreError(HOSTS_BAD_SCORES(path=path, said=error)) from None
    return Source(Machine(str(host.get("hostname") or path.stem), host, scores_read), path)


def _host(document: JsonObject) -> JsonObject:
    """The machine of `loadcell host --json`, or the first of an environment.json."""
    hosts = document.get("hosts")
    host = hosts[0] if isinstance(hosts, list) and hosts else document.get("host")
    return host if isinstance(host, dict) else {}
