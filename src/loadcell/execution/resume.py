"""Resuming an interrupted run: its remaining trials, and whether the plan is unchanged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from loadcell.design.order import Trial
from loadcell.model.json import JsonObject, JsonValue, document
from loadcell.model.message import Message, MessageCode, MessageError
from loadcell.model.run_record import RunRecord, differences, written
from loadcell.model.trial_record import TrialRecord
from loadcell.store.read import StoredRun

RESUME_PLAN_CHANGED = MessageCode("resume.plan-changed")
RESUME_CHANGED = MessageCode("resume.changed", before=str, now=str, path=str)
RESUME_WITHIN = MessageCode("resume.within", difference=Message, treatments=list)
RESUME_TREATMENT_GONE = MessageCode("resume.treatment-gone", treatment=str)
RESUME_TREATMENT_NEW = MessageCode("resume.treatment-new", treatment=str)
RESUME_ORDER = MessageCode("resume.order")

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


def in_stored_order(stored: RunRecord, trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """The plan's trials as the run planned them, whose seed may have given another order in another version;
    the plan's own order where they are other trials.
    """
    by_identity = {(trial.treatment.id, trial.repeat, trial.arm): trial for trial in trials}
    stored_identities = [(trial.treatment, trial.repeat, trial.arm) for trial in stored.trials]
    if len(stored_identities) != len(trials) or set(stored_identities) != set(by_identity):
        return tuple(trials)
    return tuple(
        replace(
            by_identity[identity],
            number=trial.number,
            name=trial.name,
            block=trial.repeat if trial.block is None else trial.block,
        )
        for identity, trial in zip(stored_identities, stored.trials, strict=True)
    )


def remaining(stored: StoredRun, trials: Sequence[Trial], *, retry_failed: bool) -> Remaining:
    """Split the trials of a plan into those still to be run and those that need not be."""
    again = NOT_DONE | _NOT_GOOD if retry_failed else NOT_DONE
    finished = {trial.name: trial for trial in stored.trials if trial.status not in again}
    return Remaining(tuple(trial for trial in trials if trial.name not in finished), finished)


def compare(before: RunRecord, now: RunRecord) -> None:
    """Compare the record of a plan with that of the run it resumes. Raises PlanChangedError.

    Titles and time limits may change: they do not bear on what is measured.
    """
    changes = list(_changes(before, now))
    if changes:
        raise PlanChangedError(changes)


def _changes(before: RunRecord, now: RunRecord) -> Iterator[Message]:
    for key in ("seed", "order", "design", "repeats"):
        yield from _changed(getattr(before, key), getattr(now, key), key)
    yield from _changed(_search(before), _search(now), "search")
    old = {treatment.id: treatment.settings for treatment in before.treatments}
    new = {treatment.id: treatment.settings for treatment in now.treatments}
    for name in old.keys() - new.keys():
        yield RESUME_TREATMENT_GONE(treatment=name)
    for name in new.keys() - old.keys():
        yield RESUME_TREATMENT_NEW(treatment=name)
    treatments_of: dict[Message, list[str]] = {}
    for name in old.keys() & new.keys():
        was, is_now = (
            {key: value for key, value in document[name].items() if key not in _FREE}
            for document in (old, new)
        )
        for change in _changed(was, is_now):
            treatments_of.setdefault(change, []).append(name)
    for change, names in treatments_of.items():  # reported once, not for each treatment
        if len(names) < len(old):
            change = RESUME_WITHIN(difference=change, treatments=sorted(names)[:3])
        yield change
    if not treatments_of and old.keys() == new.keys():
        names_before = [trial.name for trial in before.trials]
        names_now = [trial.name for trial in now.trials]
        if names_before != names_now:
            yield RESUME_ORDER()


def _search(run: RunRecord) -> JsonObject | None:
    return None if run.search is None else document(run.search)


def _changed(before: JsonValue, now: JsonValue, path: str = "") -> Iterator[Message]:
    for difference in differences(before, now, path):
        yield RESUME_CHANGED(
            path=difference.path, before=written(difference.before), now=written(difference.after)
        )
