"""Judge of the limiting resource: names the one candidate that all trials of a treatment support, or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loadcell.analysis.limits.candidate import Candidate, Evidence, Sign
from loadcell.analysis.limits.candidates import all_candidates
from loadcell.analysis.treatments import Treatment
from loadcell.model.json import JsonObject


@dataclass(frozen=True)
class Judged:
    """A candidate in one trial, with its sign."""

    candidate: Candidate
    sign: Sign

    def document(self) -> JsonObject:
        """As plain JSON."""
        return {
            "limit": self.candidate.name,
            "evidence": self.sign.evidence.text,
            "level": self.sign.level,
        }


@dataclass(frozen=True)
class Limit:
    """The limiting resource of a treatment: `named`, or None with the candidates that contradict each other.

    `trials` is the number of judged trials, `agreeing` the number of those that support the candidate.
    `next` is the one that came nearest to its limit beside it, of the trial whose sign is shown.
    """

    treatment: Treatment
    named: Judged | None
    contradicting: tuple[Judged, ...] = ()
    trials: int = 0
    agreeing: int = 0
    next: Judged | None = None

    def document(self) -> JsonObject:
        """As plain JSON; `limit` is None where it is not known."""
        return {
            **(
                dict.fromkeys(("limit", "evidence", "level")) if self.named is None else self.named.document()
            ),
            "contradicting": [item.document() for item in self.contradicting],
            "next": None if self.next is None else self.next.document(),
            "trials": self.trials,
            "agreeing": self.agreeing,
        }


def judged(evidence: Evidence) -> tuple[Judged, ...]:
    """The signs of all candidates that the record of a trial can tell of, the strongest first."""
    signs = (
        Judged(candidate, sign)
        for candidate in all_candidates()
        if evidence.used.window_s >= candidate.least_window_s
        and (sign := candidate.signs(evidence)) is not None
    )
    return tuple(sorted(signs, key=lambda item: (-item.sign.level, item.candidate.name)))


def supported(items: Sequence[Judged]) -> tuple[Judged, ...]:
    """Candidates at their limit, without those that others explain or precede and those of a lower rank."""
    present = [item for item in items if item.sign.is_limit]
    explained = {
        name
        for item in present
        for name in (*item.candidate.explains, *item.sign.explains, *item.sign.precedes)
    }
    rank = max((item.candidate.rank for item in present), default=0)
    return tuple(
        item for item in present if item.candidate.name not in explained and item.candidate.rank == rank
    )


def judge(treatment: Treatment) -> Limit | None:
    """The limit of a treatment; None if no trial has a record of its resources.

    A candidate is named if more than half of the trials support it and no trial supports another one of its
    rank. Invalid trials are judged where there are no others: the limit may be what made them so.
    """
    trials = [trial for trial in treatment.trials if trial.counts]
    trials = trials or [trial for trial in treatment.trials if trial.status == "invalid"]
    evidence = [Evidence.of(trial) for trial in trials]
    of_trials = [judged(item) for item in evidence if item is not None]
    if not of_trials:
        return None
    limits = [supported(items) for items in of_trials]
    rank = max((item.candidate.rank for items in limits for item in items), default=0)
    limits = [tuple(item for item in items if item.candidate.rank == rank) for items in limits]
    by_name = {item.candidate.name: item for items in limits for item in items}
    agreeing = sum(bool(items) for items in limits)
    if len(by_name) != 1 or 2 * agreeing <= len(of_trials):
        contradicting = tuple(by_name.values()) if len(by_name) > 1 else ()
        return Limit(treatment, None, contradicting, len(of_trials), agreeing, _strongest(of_trials))
    items = sorted((item for items in limits for item in items), key=lambda item: item.sign.level)
    named = items[len(items) // 2]
    return Limit(treatment, named, (), len(of_trials), agreeing, _strongest(of_trials, named))


def _strongest(of_trials: Sequence[Sequence[Judged]], named: Judged | None = None) -> Judged | None:
    """The candidate of the highest level beside the named one, and beside what that explains."""
    left_out: set[str] = set()
    if named is not None:
        left_out = {named.candidate.name, *named.candidate.explains, *named.sign.explains}
    items = [
        item
        for items in of_trials
        for item in items
        if item.candidate.name not in left_out and item.candidate.rank > 1
    ]
    return max(items, key=lambda item: item.sign.level, default=None)


def by_treatment(treatments: Sequence[Treatment]) -> tuple[Limit, ...]:
    """The limits of the treatments whose trials recorded resources."""
    limits = map(judge, treatments)
    return tuple(limit for limit in limits if limit is not None)
