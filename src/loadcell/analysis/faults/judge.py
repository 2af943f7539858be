"""Judgement of the faults of one trial, in the order in which they were applied."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from math import inf

from loadcell.analysis.faults.baseline import WINDOW, Normal, baseline
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

    A fault is judged until one with a later due time is applied. Faults with one due time have one baseline:
    it begins with the measurement, or with the recovery from all faults before; without recovery it is the
    baseline of these.
    """
    judged = [
        FaultJudgement(unjudged="not-applied" if fault.applied is None else "no-timeline") for fault in faults
    ]
    if completions is None:
        return tuple(judged)
    normal: Normal | None = None
    clean_from_s: float | None = 0.0
    by_due_time = _by_due_time(faults)
    for position, numbers in enumerate(by_due_time):
        until_s = min(
            [*(_began_s(faults, later) for later in by_due_time[position + 1 :]), completions.duration_s]
        )
        if clean_from_s is not None:
            normal = baseline(completions, clean_from_s, _began_s(faults, numbers)) or normal
        for number in numbers:
            judged[number] = _judge(faults[number], completions, normal, until_s, clients)
        recoveries = [judged[number].recovery for number in numbers]
        recovered_s = [
            recovery.at_s for recovery in recoveries if recovery is not None and recovery.at_s is not None
        ]
        clean_from_s = max(recovered_s) if len(recovered_s) == len(recoveries) else None
    return tuple(judged)


def _by_due_time(faults: Sequence[FaultRecord]) -> list[list[int]]:
    """Numbers of the applied faults by due time, in the order in which they were applied."""
    by_due: dict[float, list[int]] = defaultdict(list)
    for number, fault in enumerate(faults):
        if fault.applied is not None:
            by_due[fault.applied.requested_s].append(number)
    return sorted(by_due.values(), key=lambda numbers: _began_s(faults, numbers))


def _began_s(faults: Sequence[FaultRecord], numbers: Sequence[int]) -> float:
    """When the first of some applied faults began."""
    return min(fault.applied.began_s for number in numbers if (fault := faults[number]).applied is not None)


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
        effect=_effect(effects, failures, end - begin),
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


def _effect(effects: Effects, failures: Failed | None, slots: int) -> Effect | None:
    """The worst effect; that there was none is unknown of less than a window."""
    if effects.last_outage is not None:
        return "outage"
    if effects.lowest is not None and effects.lowest.is_low:
        return "dip"
    if failures is not None and failures.at_least > 0:
        return "errors"
    return None if effects.lowest is None or slots < WINDOW else "none"
