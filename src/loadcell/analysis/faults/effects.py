"""Findings on the effects of faults: outages, dips in throughput, failures, and faults without an effect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from loadcell.analysis.faults.repeats import FACTOR, FaultOfTreatment
from loadcell.analysis.finding import Concern, Finding, FindingCode, Subject
from loadcell.model.fault_judgement import EFFECTS, Effect, FaultJudgement
from loadcell.model.message import Count, Message, MessageCode, Milliseconds, Share

#: Faults that a sentence names.
_MOST_NAMED = 6

OUTAGES = FindingCode(
    "found.faults.outage", Subject.FAULTS, "caution", (Concern.ANSWER, 1), cases=list, count=Count, of=Count
)
DIPS = FindingCode(
    "found.faults.dip", Subject.FAULTS, "info", (Concern.ANSWER, 2), cases=list, count=Count, of=Count
)
ERRORS = FindingCode(
    "found.faults.errors", Subject.FAULTS, "info", (Concern.ANSWER, 3), cases=list, count=Count, of=Count
)
SLOW = FindingCode(
    "found.faults.slow", Subject.FAULTS, "info", (Concern.ANSWER, 4), cases=list, count=Count, of=Count
)
NONE = FindingCode(
    "found.faults.none", Subject.FAULTS, "good", (Concern.ANSWER, 5), cases=list, count=Count, of=Count
)
_CODES = {"outage": OUTAGES, "dip": DIPS, "errors": ERRORS, "slow": SLOW, "none": NONE}

CASE = MessageCode("found.faults.case", "info", extent=Message, fault=str)
PAUSE = MessageCode("found.faults.extent.pause", "info", pause_ms=Milliseconds)
DEPTH = MessageCode("found.faults.extent.dip", "info", depth_share=Share)
FAILED = MessageCode("found.faults.extent.errors", "info", failed_share=Share)
SLOWER = MessageCode("found.faults.extent.slow", "info", before_ms=Milliseconds, p99_ms=Milliseconds)
NOT_IN_ALL = MessageCode("found.faults.extent.some", "info", count=Count, extent=Message, of=Count)
MORE = MessageCode("found.faults.case.more", "info", count=Count)
NOT_RECOVERED = MessageCode("found.faults.case.not-recovered", "info", case=Message)
NOT_ALL_RECOVERED = MessageCode(
    "found.faults.case.not-recovered.some", "info", case=Message, count=Count, of=Count
)


def findings(faults: Sequence[FaultOfTreatment]) -> Iterator[Finding]:
    """One finding for each effect, the worst first; a fault has the worst effect of its repeats.

    That it had none takes a trial that is ok.
    """
    judged = [fault for fault in faults if fault.effects and _is_certain(fault)]
    for effect in reversed(EFFECTS):
        having = [fault for fault in judged if worst(fault) == effect]
        if having:
            yield _CODES[effect].finding(
                tuple(dict.fromkeys(fault.treatment.id for fault in having)),
                cases=_cases(having, effect, judged),
                count=len(having),
                of=len(judged),
            )


def _is_certain(fault: FaultOfTreatment) -> bool:
    return worst(fault) != "none" or any(item.is_ok for item in fault.trials if item.judgement.effect)


def worst(fault: FaultOfTreatment) -> Effect:
    """The worst effect in its trials, of which at least one is known."""
    return max(fault.effects, key=EFFECTS.index)


def _cases(
    having: Sequence[FaultOfTreatment], effect: Effect, faults: Sequence[FaultOfTreatment]
) -> tuple[Message | str, ...]:
    """Names with values of the first faults, and the number of the others."""
    shown = having if len(having) <= _MOST_NAMED + 1 else having[:_MOST_NAMED]
    cases = [_case(fault, effect, faults) for fault in shown]
    if others := len(having) - len(shown):
        cases.append(MORE(count=others))
    return tuple(cases)


def _case(fault: FaultOfTreatment, effect: Effect, faults: Sequence[FaultOfTreatment]) -> Message | str:
    name = name_of(fault, faults)
    trials = len(fault.trials)
    having = [item.judgement for item in fault.trials if item.judgement.effect == effect]
    extent = extent_of(effect, having)
    if extent is None:
        return name
    if len(having) < trials:
        extent = NOT_IN_ALL(count=len(having), extent=extent, of=trials)
    case = CASE(extent=extent, fault=name)
    missing = fault.censored.count("not-recovered")
    if not missing:
        return case
    if missing == trials:
        return NOT_RECOVERED(case=case)
    return NOT_ALL_RECOVERED(case=case, count=missing, of=trials)


def extent_of(effect: Effect, having: Sequence[FaultJudgement]) -> Message | None:
    """The median over the repeats that have this effect; None for no effect."""
    pauses_ms = [judged.pause_s * 1e3 for judged in having if judged.pause_s is not None]
    depths = [judged.dip.depth for judged in having if judged.dip is not None]
    failed = [judged.failed.share for judged in having if judged.failed is not None]
    if effect == "outage" and pauses_ms:
        return PAUSE(pause_ms=median(pauses_ms))
    if effect == "dip" and depths:
        return DEPTH(depth_share=median(depths))
    if effect == "errors" and failed:
        return FAILED(failed_share=median(failed))
    slow = [(judged.slow, judged.baseline) for judged in having]
    pairs_ms = [
        (slow.p99_ms, before.p99_ms) for slow, before in slow if slow is not None and before is not None
    ]
    if effect == "slow" and pairs_ms:
        after_ms, before_ms = (median(values) for values in zip(*pairs_ms, strict=True))
        return SLOWER(before_ms=before_ms, p99_ms=after_ms)
    return None


def name_of(fault: FaultOfTreatment, faults: Sequence[FaultOfTreatment]) -> str:
    """The treatment where there are several, and the fault where that has several."""
    if len({other.treatment.id for other in faults}) == 1:
        return fault.title
    levels = fault.treatment.levels
    name = levels[FACTOR] if [*levels] == [FACTOR] else fault.treatment.label
    is_only = sum(other.treatment.id == fault.treatment.id for other in faults) == 1
    return name if is_only else f"{name}: {fault.title}"
