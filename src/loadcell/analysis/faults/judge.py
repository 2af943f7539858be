"""Judgement of the faults of one trial, in the order in which they were applied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from loadcell.analysis.faults.baseline import Normal, baseline
from loadcell.analysis.faults.completions import Completions
from loadcell.analysis.faults.dip import lowest_second
from loadcell.analysis.faults.failed import failed
from loadcell.analysis.faults.first_effect import first_effect
from loadcell.analysis.faults.hung import hung_clients
from loadcell.analysis.faults.lost import excursions
from loadcell.analysis.faults.management import Answer, judge_management
from loadcell.analysis.faults.pause import Gap, last_outage, pause
from loadcell.analysis.faults.recovery import Effects, recovery
from loadcell.model.fault_judgement import Effect, Failed, FaultJudgement
from loadcell.model.fault_record import FaultRecord


def judge(
    faults: Sequence[FaultRecord],
    completions: Completions | None,
    clients: int,
    answers: Sequence[Answer] = (),
) -> tuple[FaultJudgement, ...]:
    """A judgement of each fault, in the order of the faults, by the load and by the answers of the
    management plane."""
    judged = _by_load(faults, completions, clients)
    first_s = min((fault.applied.began_s for fault in faults if fault.applied is not None), default=0.0)
    return tuple(
        replace(judgement, management=judge_management(fault, answers, first_s, judgement.until_s or inf))
        for fault, judgement in zip(faults, judged, strict=True)
    )


def _by_load(
    faults: Sequence[FaultRecord], completions: Completions | None, clients: int
) -> tuple[FaultJudgement, ...]:
    """A judgement of each fault, in the order of the faults.

    A fault is judged until the next one is applied. Its baseline begins with the measurement, or with the
    recovery of the fault before; after a fault without recovery the baseline is that of this fault.
    """
    judged = [FaultJudgement(unjudged="not-applied")] * len(faults)
    applied = sorted(
        (fault.applied.began_s, number) for number, fault in enumerate(faults) if fault.applied is not None
    )
    if completions is None:
        for _, number in applied:
            judged[number] = FaultJudgement(unjudged="no-timeline")
        return tuple(judged)
    normal: Normal | None = None
    clean_from_s: float | None = 0.0
    for position, (began_s, number) in enumerate(applied):
        following = [later for later, _ in applied[position + 1 :] if later > began_s]
        until_s = min([*following, completions.duration_s])
        if clean_from_s is not None:
            normal = baseline(completions, clean_from_s, began_s) or normal
        judged[number] = _judge(faults[number], completions, normal, until_s, clients)
        recovered = judged[number].recovery
        clean_from_s = recovered.at_s if recovered is not None else None
    return tuple(judged)


def _judge(
    fault: FaultRecord, completions: Completions, normal: Normal | None, until_s: float, clients: int
) -> FaultJudgement:
    assert fault.applied is not None
    applied, undone = fault.applied, fault.undone
    begin, end = completions.slot(applied.began_s), completions.slot(until_s)
    if begin >= end:
        return FaultJudgement(until_s, unjudged="no-timeline")
    gap = pause(completions, applied.began_s, end)
    judgement = FaultJudgement(
        until_s,
        pause_s=gap.length_s,
        hung=hung_clients(completions.slow, clients, applied.began_s, until_s),
        errors=completions.errors_between(begin, end) or None,
    )
    if normal is None:
        return replace(judgement, unjudged="no-baseline")
    effects = Effects(
        gap,
        last_outage(completions, applied.began_s, end, normal.facts.gap_s),
        lowest_second(completions, normal, begin, end),
    )
    held_until_s = until_s if undone is None else min(undone.ended_s, until_s)
    failures = failed(completions, normal, begin, completions.slot(held_until_s))
    recovered = recovery(completions, normal, applied, undone, effects, end)
    lost = excursions(
        completions,
        normal,
        min(gap.begin_s, applied.began_s),
        until_s if recovered.at_s is None else _settled(recovered.at_s, gap),
    )
    return replace(
        judgement,
        effect=_effect(effects, failures),
        baseline=normal.facts,
        first_effect_s=first_effect(completions, normal, applied, gap, end),
        dip=None if effects.lowest is None else effects.lowest.dip,
        lost=lost.lost,
        overshoot=lost.overshoot,
        failed=failures,
        recovery=recovered,
    )


def _settled(recovered_s: float, gap: Gap) -> float:
    """The recovery, or the end of a pause that is too short to delay it."""
    return max(recovered_s, gap.end_s) if gap.begin_s <= recovered_s else recovered_s


def _effect(effects: Effects, failures: Failed | None) -> Effect | None:
    if effects.last_outage is not None:
        return "outage"
    if effects.lowest is not None and effects.lowest.is_low:
        return "dip"
    if failures is not None and failures.at_least > 0:
        return "errors"
    return None if effects.lowest is None else "none"
