"""Judge of the limiting resource: names the one candidate that all trials of a treatment support, or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from loadcell.analysis.limits.candidate import Candidate, Evidence, Sign
from loadcell.analysis.limits.candidates import all_candidates
from loadcell.analysis.limits.typical import typical
from loadcell.analysis.treatments import Treatment, treatments
from loadcell.analysis.trials import of_run
from loadcell.model.json import JsonObject
from loadcell.model.message import Message
from loadcell.model.resources import Unobserved
from loadcell.model.run_record import RunRecord
from loadcell.model.trial_record import TrialRecord

#: Keys of a judged candidate as JSON.
_KEYS = ("limit", "evidence", "level", "measured", "needed", "lacking")


@dataclass(frozen=True)
class Judged:
    """A candidate in one trial, with its sign."""

    candidate: Candidate
    sign: Sign

    @property
    def label(self) -> Message:
        """Its name in a sentence."""
        return (self.sign.label or self.candidate.label)()

    @property
    def advice(self) -> Message:
        """The remedy."""
        return (self.sign.advice or self.candidate.advice)()

    def document(self) -> JsonObject:
        """As plain JSON."""
        return {
            "limit": self.candidate.name,
            "evidence": self.sign.evidence.text,
            "level": self.sign.level,
            "measured": None if self.sign.binding is None else self.sign.binding.measured,
            "needed": None if self.sign.binding is None else self.sign.binding.needed,
            "lacking": [text.text for text in self.sign.lacking],
        }


@dataclass(frozen=True)
class Limit:
    """The limiting resource of a treatment: `named`, or None with the candidates that contradict each other.

    `trials` is the number of judged trials, `agreeing` the number of those that support the candidate.
    `next` is the one nearest to its limit beside it. Evidence of `named` and `next` is that of all trials
    (`typical`). `missing` is the sign of the named candidate, or of the one that some trials support, in a
    trial without support.
    `window_s` is the longest window of a trial. `is_observed`: the target was observed in a trial;
    `unobserved` is the reason of one where it was not.
    """

    treatment: Treatment
    named: Judged | None
    contradicting: tuple[Judged, ...] = ()
    trials: int = 0
    agreeing: int = 0
    next: Judged | None = None
    missing: Judged | None = None
    window_s: float = 0.0
    is_observed: bool = True
    unobserved: Unobserved | None = None

    def document(self) -> JsonObject:
        """As plain JSON; `limit` is None where it is not known."""
        return {
            **(dict.fromkeys(_KEYS) if self.named is None else self.named.document()),
            "contradicting": [item.document() for item in self.contradicting],
            "next": None if self.next is None else self.next.document(),
            "trials": self.trials,
            "agreeing": self.agreeing,
            "observed": self.is_observed,
            "window_s": self.window_s,
        }


def needed_window_s() -> float:
    """The shortest window in seconds in which every candidate is judged."""
    return max(candidate.least_window_s for candidate in all_candidates())


def judged(evidence: Evidence) -> tuple[Judged, ...]:
    """The signs of all candidates that the record of a trial can tell of, the strongest first."""
    signs = (
        Judged(candidate, sign)
        for candidate in all_candidates()
        if evidence.used.window_s >= candidate.least_window_s
        and (sign := candidate.signs(evidence)) is not None
    )
    return tuple(sorted(signs, key=lambda item: (-item.sign.strength, item.candidate.name)))


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
    records = [record for trial in trials if (record := Evidence.of(trial)) is not None]
    if not records:
        return None
    of_trials = [judged(record) for record in records]
    limits = [supported(items) for items in of_trials]
    rank = max((item.candidate.rank for items in limits for item in items), default=0)
    limits = [tuple(item for item in items if item.candidate.rank == rank) for items in limits]
    by_name = {item.candidate.name: item for items in limits for item in items}
    agreeing = sum(bool(items) for items in limits)
    without = [items for items, supporting in zip(of_trials, limits, strict=True) if not supporting]
    is_observed = any(record.used.served is not None for record in records)
    limit = Limit(
        treatment,
        None,
        trials=len(of_trials),
        agreeing=agreeing,
        missing=_nearest_of(without, next(iter(by_name))) if len(by_name) == 1 else None,
        window_s=max(record.used.window_s for record in records),
        is_observed=is_observed,
        unobserved=next((record.used.unobserved for record in records if record.used.unobserved), None),
    )
    if len(by_name) != 1 or 2 * agreeing <= len(of_trials):
        contradicting = tuple(by_name.values()) if len(by_name) > 1 else ()
        nearest = _strongest(of_trials, is_observed=is_observed)
        return replace(limit, contradicting=contradicting, next=nearest)
    signs = [item.sign for items in of_trials for item in items if item.candidate.name in by_name]
    candidate = next(iter(by_name.values())).candidate
    named = Judged(candidate, typical(signs, [item.sign for items in limits for item in items]))
    return replace(limit, named=named, next=_strongest(of_trials, named, is_observed=is_observed))


def _nearest_of(of_trials: Sequence[Sequence[Judged]], name: str) -> Judged | None:
    """The sign of one candidate, of the trial in which it is nearest to its limit."""
    items = [item for items in of_trials for item in items if item.candidate.name == name]
    return max(items, key=lambda item: item.sign.strength, default=None)


def _strongest(
    of_trials: Sequence[Sequence[Judged]], named: Judged | None = None, *, is_observed: bool
) -> Judged | None:
    """The candidate nearest to its limit beside the named one, and beside what that explains: by its median
    over the trials.

    Without an observed target the load generator is no answer: the target may be nearer to a limit.
    """
    left_out: set[str] = set()
    if named is not None:
        sign = named.sign
        left_out = {named.candidate.name, *named.candidate.explains, *sign.explains, *sign.precedes}
    by_name: dict[str, list[Judged]] = {}
    for item in (item for items in of_trials for item in items):
        candidate = item.candidate
        is_compared = candidate.rank > 1 and (is_observed or not candidate.needs_target)
        if is_compared and candidate.name not in left_out:
            by_name.setdefault(candidate.name, []).append(item)
    typical_items = [
        Judged(items[0].candidate, typical([item.sign for item in items])) for items in by_name.values()
    ]
    return max(typical_items, key=lambda item: item.sign.strength, default=None)


def by_treatment(treatments_of_run: Sequence[Treatment]) -> tuple[Limit, ...]:
    """The limits of the treatments whose trials recorded resources."""
    limits = map(judge, treatments_of_run)
    return tuple(limit for limit in limits if limit is not None)


def documents(limits: Sequence[Limit]) -> JsonObject:
    """Limits by treatment id, as plain JSON."""
    return {limit.treatment.id: limit.document() for limit in limits}


def documents_of_run(run: RunRecord, records: Sequence[TrialRecord]) -> JsonObject:
    """The same of a run's record and those of its finished trials."""
    return documents(by_treatment(treatments(run, of_run(run, records))))
