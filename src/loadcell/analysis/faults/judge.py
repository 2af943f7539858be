"""Judgement of the faults of one trial, in the order in which they were applied."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

from loadcell.analysis.faults.baseline import WINDOW, Normal, baseline
from loadcell.analysis.faults.completions import SLOT_S, Completions
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
    owned_until_s = 0.0
    by_due_time = _by_due_time(faults)
    for position, numbers in enumerate(by_due_time):
        later_s = [_began_s(faults, others) for others in by_due_time[position + 1 :]]
        began_s = _began_s(faults, numbers)
        if clean_from_s is not None:
            normal = baseline(completions, clean_from_s, began_s) or normal
        next_s = min([*later_s, completions.duration_s])
        gap = None
        if normal is not None and later_s:
            gap = interruption(completions, began_s, next_s, normal.facts.gap_s)
        until_s = next_s if gap is None else gap.end_s
        ended_s = max(until_s if gap else 0.0, *(faults[number].ended_s for number in numbers))
        span = _Span(
            owned_until_s if owned_until_s > began_s else None,
            until_s,
            None if gap is None else _first(later_s, gap.end_s, completions.duration_s),
            _first(later_s, ended_s, completions.duration_s),
            clean_from_s,
        )
        for number in numbers:
            judged[number] = _judge(faults[number], completions, normal, span, clients)
        if gap is not None:
            owned_until_s = max(owned_until_s, *(judged[number].until_s or 0.0 for number in numbers))
            for number in numbers:
                judged[number] = replace(judged[number], until_s=owned_until_s)
        if all(judged[number].unjudged == "in-outage" for number in numbers):
            continue
        recoveries = [judged[number].recovery for number in numbers]
        recovered_s = [
            recovery.at_s for recovery in recoveries if recovery is not None and recovery.at_s is not None
        ]
        clean_from_s = max(recovered_s) if len(recovered_s) == len(recoveries) else None
    return tuple(judged)


def _first(instants_s: Sequence[float], from_s: float, default_s: float) -> float:
    """The first of these instants that is not before another one."""
    return min((instant_s for instant_s in instants_s if instant_s >= from_s), default=default_s)


@dataclass(frozen=True)
class _Span:
    """The load by which faults of one due time are judged.

    It begins with each fault, or at `begin_s` if an earlier fault interrupted the load until then. It lasts
    `until_s`: the next fault, or the end of an interruption in which that is applied. Then it lasts until the
    recovery, if that comes before `settled_before_s`: the next fault after the interruption. The recovery is
    looked for until `recovery_until_s`: the next fault after the undo, too. At `clean_from_s` the load had
    recovered from earlier faults; None: it had not.
    """

    begin_s: float | None
    until_s: float
    settled_before_s: float | None
    recovery_until_s: float
    clean_from_s: float | None


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
    # the second before an effect belongs to it, unless an earlier fault may have an effect on it
    is_clean = span.clean_from_s is not None and span.clean_from_s <= begin_s - WINDOW * SLOT_S
    lowest_from = begin if is_clean else begin + WINDOW
    held_until_s = until_s if undone is None else min(undone.ended_s, until_s)
    held_end = completions.slot(held_until_s)
    failures = failed(completions, normal, begin, held_end)
    failed_s = last_failure_s(completions, normal, begin, held_end) if _is_effect(failures) else None
    effects = Effects(
        gap,
        last_outage(completions, begin_s, until_s, normal.facts.gap_s),
        lowest_second(completions, normal, lowest_from, end),
        failed_s,
    )
    slowest = None
    if span.clean_from_s is not None:
        slowest = slow(completions, normal, completions.slot(max(begin_s, span.clean_from_s)), end)
    recovered = recovery(
        completions, normal, applied, undone, effects, begin_s, completions.slot(span.recovery_until_s)
    )
    settled_s = until_s if recovered.at_s is None else _settled(recovered.at_s, gap)
    if span.settled_before_s is not None and until_s < settled_s <= span.settled_before_s:
        until_s = settled_s
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
