"""Resuming an interrupted run: its remaining trials, and whether the plan is unchanged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadcell.design.order import Trial
from loadcell.execution.messages import (
    RESUME_CHANGED,
    RESUME_NOT_SET,
    RESUME_ORDER,
    RESUME_PLAN_CHANGED,
    RESUME_TREATMENT_GONE,
    RESUME_TREATMENT_NEW,
    RESUME_WITHIN,
)
from loadcell.model.json import JsonObject, document
from loadcell.model.message import Message, MessageError
from loadcell.model.run_record import RunRecord
from loadcell.model.trial_record import TrialRecord
from loadcell.store.read import StoredRun

#: Not measured, but interrupted by the user: run again without being asked for.
NOT_DONE = frozenset({"aborted"})
#: Results, though not good ones: done again only with --retry-failed.
_NOT_GOOD = frozenset({"failed", "timed-out", "invalid"})
#: Sections of a treatment's settings that do not bear on what is measured.
_FREE = frozenset({"limits"})


class PlanChangedError(MessageError):
    """The plan is not the one the run was begun with; `differences` say where, one a line."""

    def __init__(self, differences: Sequence[Message]) -> None:
        super().__init__(RESUME_PLAN_CHANGED())
        self.differences = tuple(differences)


@dataclass(frozen=True)
class Remaining:
    """Trials to run of a resumed run (`todo`), and its finished trials by name."""

    todo: tuple[Trial, ...]
    reusable: dict[str, TrialRecord]


def remaining(stored: StoredRun, trials: Sequence[Trial], *, retry_failed: bool) -> Remaining:
    """Split the trials of a plan into those still to be run and those that need not be."""
    again = NOT_DONE | _NOT_GOOD if retry_failed else NOT_DONE
    finished = {trial.name: trial for trial in stored.trials if trial.status not in again}
    return Remaining(tuple(trial for trial in trials if trial.name not in finished), finished)


def compare(before: RunRecord, now: RunRecord) -> None:
    """Compare the record of a plan with that of the run it resumes. Raises PlanChangedError.

    Titles and time limits may change: they do not bear on what is measured.
    """
    differences = list(_differences(before, now))
    if differences:
        raise PlanChangedError(differences)


def _differences(before: RunRecord, now: RunRecord) -> Iterator[Message]:
    for key in ("seed", "order", "design", "repeats"):
        yield from _between(getattr(before, key), getattr(now, key), key)
    yield from _between(_search(before), _search(now), "search")
    old = {treatment.id: treatment.settings for treatment in before.treatments}
    new = {treatment.id: treatment.settings for treatment in now.treatments}
    for name in old.keys() - new.keys():
        yield RESUME_TREATMENT_GONE(treatment=name)
    for name in new.keys() - old.keys():
        yield RESUME_TREATMENT_NEW(treatment=name)
    differences: dict[Message, list[str]] = {}
    for name in old.keys() & new.keys():
        was, is_now = (
            {key: value for key, value in document[name].items() if key not in _FREE}
            for document in (old, new)
        )
        for difference in _between(was, is_now, ""):
            differences.setdefault(difference, []).append(name)
    for difference, names in differences.items():  # reported once, not for each treatment
        if len(names) < len(old):
            difference = RESUME_WITHIN(difference=difference, treatments=sorted(names)[:3])
        yield difference
    if not differences and old.keys() == new.keys():
        names_before = [trial.name for trial in before.trials]
        names_now = [trial.name for trial in now.trials]
        if names_before != names_now:
            yield RESUME_ORDER()


def _search(run: RunRecord) -> JsonObject | None:
    return None if run.search is None else document(run.search)


def _between(before: Any, now: Any, path: str) -> Iterator[Message]:
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for key in sorted({*before, *now}):
            yield from _between(before.get(key), now.get(key), f"{path}.{key}".lstrip("."))
    elif before != now:
        yield RESUME_CHANGED(path=path, before=_shown(before), now=_shown(now))


def _shown(value: Any) -> str | Message:
    return RESUME_NOT_SET() if value is None else str(value)
