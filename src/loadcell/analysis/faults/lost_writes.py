"""Findings on acknowledged writes that are lost (`loadcell.model.write_metrics`), as totals of trials."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadcell.analysis.finding import Concern, Finding, FindingCode, Subject
from loadcell.analysis.treatments import Treatment
from loadcell.analysis.trials import Trial
from loadcell.model.message import Count, MessageCode
from loadcell.model.write_metrics import ACKNOWLEDGED, LOST, RECOVERED, UNCERTAIN

#: Treatments that a sentence names.
_MOST_NAMED = 4

_RANK = (Concern.ANSWER, 0)
LOSS = FindingCode("found.writes.lost", Subject.WRITES, "problem", _RANK, cases=list)
LOSS_MANY = FindingCode(
    "found.writes.lost.many", Subject.WRITES, "problem", _RANK, acknowledged=Count, count=Count, lost=Count
)
LOSS_ALONE = FindingCode(
    "found.writes.lost.alone", Subject.WRITES, "problem", _RANK, acknowledged=Count, lost=Count
)
NO_LOSS = FindingCode(
    "found.writes.none", Subject.WRITES, "good", (Concern.ANSWER, 6), acknowledged=Count, count=Count
)
NO_LOSS_ALONE = FindingCode(
    "found.writes.none.alone", Subject.WRITES, "good", (Concern.ANSWER, 6), acknowledged=Count
)
UNCERTAIN_OF = FindingCode(
    "found.writes.uncertain", Subject.WRITES, "caution", (Concern.ANSWER, 3), cases=list
)
UNCERTAIN_ALONE = FindingCode(
    "found.writes.uncertain.alone", Subject.WRITES, "caution", (Concern.ANSWER, 3), recovered=Count,
    uncertain=Count, written=Count,
)  # fmt: skip
UNCERTAIN_CASE = MessageCode(
    "found.writes.uncertain.case", "info", recovered=Count, treatment=str, uncertain=Count, written=Count
)
UNCERTAIN_MORE = MessageCode("found.writes.uncertain.more", "info", count=Count)
CASE = MessageCode("found.writes.case", "info", acknowledged=Count, lost=Count, treatment=str)


def findings(treatments: Sequence[Treatment]) -> Iterator[Finding]:
    """Treatments that lost acknowledged writes, and those that lost none, by trials with a final read.

    Those that lost none are known by trials that are ok.
    """
    totals = {
        treatment: (_total(treatment, LOST), _total(treatment, ACKNOWLEDGED))
        for treatment in treatments
        if any(LOST in trial.figures for trial in treatment.trials)
    }
    with_loss = [treatment for treatment, (lost, _) in totals.items() if lost]
    without = [
        treatment for treatment, (lost, _) in totals.items() if not lost and _read_back(treatment, ok=True)
    ]
    acknowledged = sum(_total(treatment, ACKNOWLEDGED, ok=True) for treatment in without)
    if with_loss:
        yield _loss(with_loss, totals, alone=len(treatments) == 1)
    if without:
        ids = tuple(treatment.id for treatment in without)
        if len(treatments) == 1:
            yield NO_LOSS_ALONE.finding(ids, acknowledged=acknowledged)
        else:
            yield NO_LOSS.finding(ids, acknowledged=acknowledged, count=len(without))


def uncertain(treatments: Sequence[Treatment]) -> Iterator[Finding]:
    """Treatments with more writes without an answer than the one that is on the way when a server ends."""
    having = [
        treatment
        for treatment in treatments
        if any(trial.figures.get(UNCERTAIN, 0) > 1 for trial in _read_back(treatment, ok=False))
    ]
    ids = tuple(treatment.id for treatment in having)
    if having and len(treatments) == 1:
        yield UNCERTAIN_ALONE.finding(ids, **_without_answer(having[0]))
    elif having:
        cases = [
            UNCERTAIN_CASE(treatment=treatment.label, **_without_answer(treatment))
            for treatment in having[:_MOST_NAMED]
        ]
        if others := len(having) - len(cases):
            cases.append(UNCERTAIN_MORE(count=others))
        yield UNCERTAIN_OF.finding(ids, cases=cases)


def _without_answer(treatment: Treatment) -> dict[str, int]:
    unknown = _total(treatment, UNCERTAIN)
    return {
        "recovered": _total(treatment, RECOVERED),
        "uncertain": unknown,
        "written": _total(treatment, ACKNOWLEDGED) + unknown,
    }


def _loss(
    treatments: Sequence[Treatment], totals: dict[Treatment, tuple[int, int]], *, alone: bool
) -> Finding:
    ids = tuple(treatment.id for treatment in treatments)
    lost = sum(totals[treatment][0] for treatment in treatments)
    acknowledged = sum(totals[treatment][1] for treatment in treatments)
    if alone:
        return LOSS_ALONE.finding(ids, lost=lost, acknowledged=acknowledged)
    if len(treatments) > _MOST_NAMED:
        return LOSS_MANY.finding(ids, count=len(treatments), lost=lost, acknowledged=acknowledged)
    cases = tuple(
        CASE(treatment=treatment.label, lost=totals[treatment][0], acknowledged=totals[treatment][1])
        for treatment in treatments
    )
    return LOSS.finding(ids, cases=cases)


def _read_back(treatment: Treatment, *, ok: bool) -> list[Trial]:
    """The trials that read back; `ok`: of those that are ok."""
    return [trial for trial in treatment.trials if LOST in trial.figures and (trial.status == "ok" or not ok)]


def _total(treatment: Treatment, key: str, *, ok: bool = False) -> int:
    """Total of the trials that read back."""
    return round(sum(trial.figures.get(key, 0) for trial in _read_back(treatment, ok=ok)))
