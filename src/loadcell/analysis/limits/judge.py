"""Judge of the limiting resource: names the one candidate that all trials of a treatment support, or none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from loadcell.analysis.limits.candidate import Candidate
from loadcell.analysis.limits.candidates import all_candidates
from loadcell.analysis.treatments import Treatment
from loadcell.model.json import JsonObject
from loadcell.model.message import Message
from loadcell.model.resources import Resources


@dataclass(frozen=True)
class Supported:
    """A candidate that a trial supports, with its evidence."""

    candidate: Candidate
    evidence: tuple[Message, ...]


@dataclass(frozen=True)
class Limit:
    """The limiting resource of a treatment: `named`, or None with the candidates that contradict each other.

    `trials` is the number of judged trials, `agreeing` the number of those that support the candidate.
    """

    treatment: Treatment
    named: Supported | None
    contradicting: tuple[Candidate, ...] = ()
    trials: int = 0
    agreeing: int = 0

    def document(self) -> JsonObject:
        """As plain JSON; `limit` is None where it is not known."""
        return {
            "limit": None if self.named is None else self.named.candidate.name,
            "evidence": [] if self.named is None else [item.text for item in self.named.evidence],
            "contradicting": [candidate.name for candidate in self.contradicting],
            "trials": self.trials,
            "agreeing": self.agreeing,
        }


def supported(used: Resources) -> tuple[Supported, ...]:
    """Candidates that a trial supports, without those that others explain and those with too short a
    window.
    """
    present = [
        Supported(candidate, evidence)
        for candidate in all_candidates()
        if used.window_s >= candidate.least_window_s and (evidence := candidate.signs(used))
    ]
    explained = {name for item in present for name in item.candidate.explains}
    return tuple(item for item in present if item.candidate.name not in explained)


def judge(treatment: Treatment) -> Limit | None:
    """The limit of a treatment; None if no trial has a record of its resources.

    A candidate is named if more than half of the trials support it and no trial supports another one.
    """
    recorded = [trial.resources for trial in treatment.trials if trial.counts and trial.resources is not None]
    if not recorded:
        return None
    of_trials = [supported(used) for used in recorded]
    by_name = {item.candidate.name: item for items in of_trials for item in items}
    if len(by_name) != 1:
        candidates = tuple(item.candidate for item in by_name.values())
        return Limit(treatment, None, candidates, len(recorded))
    only = next(iter(by_name.values()))
    agreeing = sum(bool(items) for items in of_trials)
    named = only if 2 * agreeing > len(recorded) else None
    return Limit(treatment, named, (), len(recorded), agreeing)


def by_treatment(treatments: Sequence[Treatment]) -> tuple[Limit, ...]:
    """The limits of the treatments whose trials recorded resources."""
    return tuple(_limits(treatments))


def _limits(treatments: Sequence[Treatment]) -> Iterator[Limit]:
    for treatment in treatments:
        limit = judge(treatment)
        if limit is not None:
            yield limit
