"""The faults of a run: each fault of a treatment over its repeats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite
from statistics import median
from typing import Any, Final

from loadcell.analysis.treatments import Treatment
from loadcell.model import fault_metrics
from loadcell.model.fault_judgement import Censored, Effect, FaultJudgement
from loadcell.model.fault_record import TARGET_DOWN, FaultRecord
from loadcell.model.json import JsonObject
from loadcell.model.trial_record import ExpectationResult, Status, TrialRecord
from loadcell.plan.expect import WORST_FIRST, Outcome
from loadcell.stats.repeats import Repeats, summarise

#: Name of the factor whose levels are lists of faults.
FACTOR: Final = "faults"
#: Metrics that are unknown of a trial in which the load did not recover.
FROM_UNDO: Final = "recovery_from_undo"
RECOVERIES: Final = ("recovery", FROM_UNDO)


@dataclass(frozen=True)
class FaultOfTrial:
    """A fault in one trial; `target_down`: the target was down after the load. `is_ok`: of the trial."""

    trial: str
    fault: FaultRecord
    judgement: FaultJudgement
    target_down: bool = False
    is_ok: bool = True


@dataclass(frozen=True)
class FaultOfTreatment:
    """A fault of a treatment over its repeats; `number` is its place in the plan, from 0.

    `timing` are the keys of its entry in the plan that say when. `metrics` are those of
    `loadcell.model.fault_metrics`; `expected` are its own expectations with the worst verdict of its trials.
    A recovery that did not come is longer than all others; from the undo, one before it is negative. `group`
    is the client group whose load alone is judged; None for that of all clients.
    """

    treatment: Treatment
    number: int
    action: str
    subject: str
    timing: Mapping[str, Any]
    trials: tuple[FaultOfTrial, ...]
    metrics: Mapping[str, Repeats]
    expected: Mapping[str, Outcome]
    group: str | None = None

    @property
    def title(self) -> str:
        """As people name it: `hang redis`."""
        return f"{self.action} {self.subject}"

    @property
    def verdict(self) -> Outcome | None:
        """The worst verdict of its expectations; None without any."""
        verdicts = self.expected.values()
        return next((verdict for verdict in WORST_FIRST if verdict in verdicts), None)

    @property
    def effects(self) -> tuple[Effect, ...]:
        """The different effects in its trials."""
        effects = (item.judgement.effect for item in self.trials)
        return tuple(dict.fromkeys(effect for effect in effects if effect is not None))

    @property
    def times_down(self) -> int:
        """Number of trials after whose load the target was down."""
        return sum(item.target_down for item in self.trials)

    @property
    def censored(self) -> tuple[Censored, ...]:
        """The reason of each trial in which the load did not recover, as far as it was measured."""
        recoveries = (item.judgement.recovery for item in self.trials)
        return tuple(item.censored for item in recoveries if item is not None and item.censored is not None)


def faults_of(
    treatments: Sequence[Treatment], records: Mapping[str, TrialRecord]
) -> tuple[FaultOfTreatment, ...]:
    """The faults of all treatments, in the order of the plan; of trials that were judged."""
    return tuple(
        fault
        for treatment in treatments
        for fault in _of_treatment(
            treatment, [records[trial.name] for trial in treatment.trials if trial.name in records]
        )
    )


def _of_treatment(treatment: Treatment, records: Sequence[TrialRecord]) -> list[FaultOfTreatment]:
    count = max((len(record.faults or ()) for record in records), default=0)
    return [_fault(treatment, number, records) for number in range(count)]


def _fault(treatment: Treatment, number: int, records: Sequence[TrialRecord]) -> FaultOfTreatment:
    having = [record for record in records if number < len(record.faults or ())]
    faults = [(record, (record.faults or ())[number]) for record in having]
    first, planned = faults[0][1], _planned(faults[0][0], number)
    trials = tuple(
        FaultOfTrial(
            record.name,
            fault,
            fault.judgement or FaultJudgement(unjudged="no-timeline"),
            any(check.name == TARGET_DOWN and check.verdict == "noticed" for check in record.checks or ()),
            record.status is Status.OK,
        )
        for record, fault in faults
    )
    metrics = _metrics(trials)
    results = [result for record in having for result in record.expect if result.fault == number]
    return FaultOfTreatment(
        treatment, number, first.action, first.subject,
        {key: planned[key] for key in ("at", "after", "for") if key in planned},
        trials,
        metrics,
        _expected(results),
    )  # fmt: skip


def by_group(fault: FaultOfTreatment) -> tuple[FaultOfTreatment, ...]:
    """The fault by the load of each client group alone; none where there is one group."""
    names = dict.fromkeys(name for item in fault.trials for name in item.fault.groups or {})
    return tuple(_of_group(fault, name) for name in names)


def _of_group(fault: FaultOfTreatment, name: str) -> FaultOfTreatment:
    trials = tuple(
        replace(item, judgement=item.fault.groups[name])
        for item in fault.trials
        if item.fault.groups and name in item.fault.groups
    )
    return replace(fault, trials=trials, metrics=_metrics(trials), expected={}, group=name)


def _metrics(trials: Sequence[FaultOfTrial]) -> dict[str, Repeats]:
    judgements = [item.judgement for item in trials]
    values = [fault_metrics.of_fault(judgement) for judgement in judgements]
    metrics = {key: summarise([of_trial[key] for of_trial in values]) for key in fault_metrics.KEYS}
    metrics[FROM_UNDO] = summarise([_from_undo_ms(item) for item in trials])
    recoveries = (judgement.recovery for judgement in judgements)
    censored = [recovery.censored for recovery in recoveries if recovery is not None and recovery.censored]
    if censored:
        for key in RECOVERIES:
            metrics[key] = _partly_recovered(metrics[key], censored.count("not-recovered"))
    return metrics


def _from_undo_ms(item: FaultOfTrial) -> float | None:
    """Time from the undo to the recovery; negative for a recovery before it."""
    recovery, undone = item.judgement.recovery, item.fault.undone
    if recovery is None or recovery.from_undo_s is None:
        return None
    if recovery.from_undo_s > 0 or recovery.at_s is None or undone is None:
        return recovery.from_undo_s * 1e3
    return (recovery.at_s - undone.ended_s) * 1e3


def _partly_recovered(recovered: Repeats, missing: int) -> Repeats:
    """The repeats with a number of others whose recovery takes longer than all of them.

    The median is None where it is one of those. As some repeats are unknown, there is no interval.
    """
    middle = median([*recovered.values, *[inf] * missing]) if recovered.values else inf
    return replace(recovered, median=middle if isfinite(middle) else None, interval=None)


def _planned(record: TrialRecord, number: int) -> JsonObject:
    """The fault's entry in the settings of its trial."""
    entries = record.settings.get("faults")
    entry = entries[number] if isinstance(entries, list) and number < len(entries) else None
    return entry if isinstance(entry, dict) else {}


def _expected(results: Sequence[ExpectationResult]) -> dict[str, Outcome]:
    verdicts: dict[str, set[str]] = {}
    for result in results:
        verdicts.setdefault(result.expression, set()).add(result.verdict)
    return {
        expression: next(verdict for verdict in WORST_FIRST if verdict in seen or verdict == "met")
        for expression, seen in verdicts.items()
    }
