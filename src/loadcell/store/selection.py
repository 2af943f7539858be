"""Selection of runs by plan, labels, state and age: what `list` shows and `clean` removes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from loadcell.model.message import Message
from loadcell.model.run_record import RunRecord
from loadcell.plan.labels import holds
from loadcell.store.find import runs_under, started_utc
from loadcell.store.layout import StoreError, short_id
from loadcell.store.read import read_record, state_of

#: State of a run whose record cannot be read.
UNREADABLE = "unreadable"
STATES = ("running", "finished", "interrupted", "failed", "killed", UNREADABLE)


@dataclass(frozen=True)
class StoredRecord:
    """A run directory with its record, or what is wrong with that."""

    path: Path
    record: RunRecord | None
    state: str
    finding: Message | None = None

    @property
    def id(self) -> str:
        """The part of the directory's name after the time."""
        return short_id(self.path.absolute().name)

    @property
    def plan(self) -> str:
        """Name of the plan; the parent directory's name if the record is unreadable."""
        return (self.record.plan_name if self.record else "") or self.path.parent.name

    @property
    def labels(self) -> Mapping[str, str]:
        """The run's labels by name."""
        return (self.record.labels if self.record else None) or {}

    @property
    def written_utc(self) -> str:
        """When the run began, or was imported: measurements of years ago may have been imported today."""
        return (self.record.imported_utc if self.record else None) or started_utc(self.path)

    def age_s(self, now_s: float) -> float:
        """Seconds since the run began, or was imported; 0 where that is not known."""
        try:
            return max(0.0, now_s - datetime.fromisoformat(self.written_utc).timestamp())
        except (ValueError, OverflowError):
            return 0.0


@dataclass(frozen=True)
class Selection:
    """Conditions on runs, all of which have to hold; ages in seconds. A label without a value has any."""

    plan: str | None = None
    labels: Mapping[str, str | None] = field(default_factory=dict)
    states: tuple[str, ...] = ()
    older_than_s: float | None = None
    younger_than_s: float | None = None

    def holds(self, run: StoredRecord, now_s: float) -> bool:
        """True if the run meets all conditions."""
        age_s = run.age_s(now_s)
        return (
            (self.plan is None or run.plan.lower() == self.plan.lower())
            and holds(run.labels, self.labels)
            and (not self.states or run.state in self.states)
            and (self.older_than_s is None or age_s > self.older_than_s)
            and (self.younger_than_s is None or age_s <= self.younger_than_s)
        )


def records_under(results: Path) -> list[StoredRecord]:
    """Every run under a results directory, the oldest first."""
    return [_stored(path) for path in runs_under(results)]


def _stored(path: Path) -> StoredRecord:
    try:
        record = read_record(path)
    except StoreError as error:
        return StoredRecord(path, None, UNREADABLE, error.message)
    return StoredRecord(path, record, state_of(path, record))


def selected(
    runs: list[StoredRecord], selection: Selection, now_s: float | None = None
) -> list[StoredRecord]:
    """The runs that meet the conditions, in their order."""
    now_s = time.time() if now_s is None else now_s
    return [run for run in runs if selection.holds(run, now_s)]


def size_bytes(path: Path) -> int:
    """Bytes of all files below a directory."""
    total = 0
    for file in path.rglob("*"):
        try:
            total += file.lstat().st_size if file.is_file() else 0
        except OSError:  # removed meanwhile by the run that writes there
            continue
    return total
