"""Judgement of the faults of one trial, in the order in which they were applied."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

from loadcell.analysis.faults.baseline import WINDOW, Normal, baseline
from loadcell.analysis.faults.completions import Completions
from loadcell.analysis.faults.dip import lowest_second
from loadcell.analysis.faults.failed import failed, last_failure_s
from loadcell.analysis.faults.first_effect import first_effect
from loadcell.analysis.faults.hung import hung_clients
from loadcell.analysis.faults.lost import excursions
from loadcell.analysis.faults.management import Answer, judge_management
from loadcell.analysis.faults.pause import Gap, interruption, last_outage, pause
from loadcell.analysis.faults.recovery import Effects, recovery
from loadcell.analysis.faults.slow import SHARE as SLOW_SHARE
from loadcell.analysis.faults.slow import slow
from loadcell.model.fault_judgement import Effect, Failed, FaultJudgement, Slow
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

    A fault is judged until one with a later due time is applied. An interruption in which that happens
    belongs to the earlier fault, up to the recovery if there is one; the later one is judged from then on.
    Faults with one due time have one baseline: it begins with the measurement, or with the recovery from all
    faults before; without recovery it is the baseline of these.
    """
    judged = [
        FaultJudgement(unjudged="not-applied" if fault.applied is None else "no-timeline") for fault in faults
    ]
    if completions is None:
        return tuple(judged)
    normal: Normal | None = None
    clean_from_s: float | None = 0.0
    begin_s: float | None = None
    by_due_time = _by_due_time(faults)
    for position, numbers in enumerate(by_due_time):
        later = by_due_time[position + 1 :]
        if clean_from_s is not None:
            normal = baseline(completions, clean_from_s, _began_s(faults, numbers)) or normal
        next_s = min([*(_began_s(faults, others) for others in later), completions.duration_s])
        gap = None if normal is None or not later else interruption(completions, next_s, normal.facts.gap_s)
        span = _Span(
            begin_s,
            next_s if gap is None else gap.end_s,
            _undisturbed_until_s(faults, numbers, later, gap, completions.duration_s),
            ends_interrupted=gap is not None,
        )
        for number in numbers:
            judged[number] = _judge(faults[number], completions, normal, span, clients)
        if gap is None:
            begin_s = None
        else:
            begin_s = max(begin_s or 0.0, *(judged[number].until_s or 0.0 for number in numbers))
            for number in numbers:
                judged[number] = replace(judged[number], until_s=begin_s)
        recoveries = [judged[number].recovery for number in numbers]
        recovered_s = [
            recovery.at_s for recovery in recoveries if recovery is not None and recovery.at_s is not None
        ]
        clean_from_s = max(recovered_s) if len(recovered_s) == len(recoveries) else None
    return tuple(judged)


@dataclass(frozen=True)
class _Span:
    """The load by which faults of one due time are judged.

    It begins with each fault, or at `begin_s` if an earlier fault interrupted the load until then. It lasts
    `until_s`: the next fault, or the end of an interruption in which that is applied (`ends_interrupted`).
    The recovery is looked for until `recovery_until_s`: the next fault after the undo and the interruption.
    """

    begin_s: float | None
    until_s: float
    recovery_until_s: float
    ends_interrupted: bool


def _undisturbed_until_s(
    faults: Sequence[FaultRecord],
    numbers: Sequence[int],
    later: Sequence[Sequence[int]],
    gap: Gap | None,
    duration_s: float,
) -> float:
    """When the next fault begins that overlaps neither with these ones nor with their interruption."""
    ended_s = max(0.0 if gap is None else gap.end_s, *(faults[number].ended_s for number in numbers))
    began_s = (_began_s(faults, others) for others in later)
    return min((instant_s for instant_s in began_s if instant_s >= ended_s), default=duration_s)


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
    fault: FaultRecord, completions: Completions, normal: Normal | None, span: _Span, clients: int
) -> FaultJudgement:
    assert fault.applied is not None
    applied, undone, until_s = fault.applied, fault.undone, span.until_s
    begin_s = applied.began_s if span.begin_s is None else span.begin_s
    begin, end = completions.slot(begin_s), completions.slot(until_s)
    if begin >= end:
        return FaultJudgement(until_s, unjudged="no-timeline" if span.begin_s is None else "in-outage")
    gap = pause(completions, begin_s, until_s)
    judgement = FaultJudgement(
        until_s,
        pause_s=gap.length_s,
        hung=hung_clients(completions.slow, clients, begin_s, until_s),
        errors=completions.errors_between(begin, end) or None,
    )
    if normal is None:
        return replace(judgement, unjudged="no-baseline")
    # the second before an effect belongs to it, but not to one that begins within an outage
    lowest_from = begin if span.begin_s is None else begin + WINDOW
    held_until_s = until_s if undone is None else min(undone.ended_s, until_s)
    failures = failed(completions, normal, begin, completions.slot(held_until_s))
    effects = Effects(
        gap,
        last_outage(completions, begin_s, until_s, normal.facts.gap_s),
        lowest_second(completions, normal, lowest_from, end),
        last_failure_s(completions, begin, completions.slot(held_until_s)) if _is_effect(failures) else None,
    )
    slowest = slow(completions, normal, begin, end)
    recovered = recovery(
        completions, normal, applied, undone, effects, begin, completions.slot(span.recovery_until_s)
    )
    settled_s = until_s if recovered.at_s is None else _settled(recovered.at_s, gap)
    if span.ends_interrupted:
        until_s = max(until_s, settled_s)
    lost = excursions(completions, normal, min(gap.begin_s, begin_s), min(settled_s, until_s))
    return replace(
        judgement,
        until_s=until_s,
        errors=completions.errors_between(begin, completions.slot(until_s)) or None,
        effect=_effect(effects, failures, slowest, end - begin),
        baseline=normal.facts,
        first_effect_s=first_effect(completions, normal, applied, gap, begin, end),
        dip=None if effects.lowest is None else effects.lowest.dip,
        lost=lost.lost,
        overshoot=lost.overshoot,
        failed=failures,
        slow=slowest,
        recovery=recovered,
    )


def _settled(recovered_s: float, gap: Gap) -> float:
    """The recovery, or the end of a pause that is too short to delay it."""
    return max(recovered_s, gap.end_s) if gap.begin_s <= recovered_s else recovered_s


def _effect(effects: Effects, failures: Failed | None, slowest: Slow | None, slots: int) -> Effect | None:
    """The worst effect; that there was none is unknown of less than a window."""
    if effects.last_outage is not None:
        return "outage"
    if effects.lowest is not None and effects.lowest.is_low:
        return "dip"
    if _is_effect(failures):
        return "errors"
    if slowest is not None and slowest.at_least > SLOW_SHARE:
        return "slow"
    return None if effects.lowest is None or slots < WINDOW else "none"


def _is_effect(failures: Failed | None) -> bool:
    """Report whether certainly more operations failed than without the fault."""
    return failures is not None and failures.at_least > 0
