"""Findings on the effects of faults: outages, dips in throughput, failures, and faults without an effect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from loadcell.analysis.faults.repeats import FACTOR, FaultOfTreatment
from loadcell.analysis.finding import Concern, Finding, FindingCode, Subject
from loadcell.model.fault_judgement import EFFECTS, Effect
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
NONE = FindingCode(
    "found.faults.none", Subject.FAULTS, "good", (Concern.ANSWER, 4), cases=list, count=Count, of=Count
)
_CODES = {"outage": OUTAGES, "dip": DIPS, "errors": ERRORS, "none": NONE}

CASE_PAUSE = MessageCode("found.faults.case.pause", "info", fault=str, pause_ms=Milliseconds)
CASE_DIP = MessageCode("found.faults.case.dip", "info", depth_share=Share, fault=str)
CASE_ERRORS = MessageCode("found.faults.case.errors", "info", failed_share=Share, fault=str)
MORE = MessageCode("found.faults.case.more", "info", count=Count)
NOT_RECOVERED = MessageCode("found.faults.case.not-recovered", "info", case=Message)
NOT_ALL_RECOVERED = MessageCode(
    "found.faults.case.not-recovered.some", "info", case=Message, count=Count, of=Count
)


def findings(faults: Sequence[FaultOfTreatment]) -> Iterator[Finding]:
    """One finding for each effect, the worst first; a fault has the worst effect of its repeats."""
    several = len({fault.treatment.id for fault in faults}) > 1
    judged = [fault for fault in faults if fault.effects]
    for effect in reversed(EFFECTS):
        having = [fault for fault in judged if _worst(fault) == effect]
        if having:
            yield _CODES[effect].finding(
                tuple(dict.fromkeys(fault.treatment.id for fault in having)),
                cases=_cases(having, effect, judged, several=several),
                count=len(having),
                of=len(judged),
            )


def _worst(fault: FaultOfTreatment) -> Effect:
    return max(fault.effects, key=EFFECTS.index)


def _cases(
    having: Sequence[FaultOfTreatment], effect: Effect, faults: Sequence[FaultOfTreatment], *, several: bool
) -> tuple[Message | str, ...]:
    """Names with values of the first faults, and the number of the others."""
    shown = having if len(having) <= _MOST_NAMED + 1 else having[:_MOST_NAMED]
    cases = [_case(fault, effect, faults, several=several) for fault in shown]
    if others := len(having) - len(shown):
        cases.append(MORE(count=others))
    return tuple(cases)


def _case(
    fault: FaultOfTreatment, effect: Effect, faults: Sequence[FaultOfTreatment], *, several: bool
) -> Message | str:
    name = _name(fault, faults, several=several)
    pause_ms, depth = fault.metrics["pause"].median, fault.metrics["dip"].median
    failed = [item.judgement.failed.share for item in fault.trials if item.judgement.failed is not None]
    recoveries = [item.judgement.recovery for item in fault.trials]
    missing = sum(recovery is not None and recovery.censored == "not-recovered" for recovery in recoveries)
    if effect == "outage" and pause_ms is not None:
        case = CASE_PAUSE(fault=name, pause_ms=pause_ms)
    elif effect == "dip" and depth is not None:
        case = CASE_DIP(fault=name, depth_share=depth)
    elif effect == "errors" and failed:
        case = CASE_ERRORS(fault=name, failed_share=median(failed))
    else:
        return name
    if not missing:
        return case
    if missing == len(recoveries):
        return NOT_RECOVERED(case=case)
    return NOT_ALL_RECOVERED(case=case, count=missing, of=len(recoveries))


def _name(fault: FaultOfTreatment, faults: Sequence[FaultOfTreatment], *, several: bool) -> str:
    """The treatment, and the fault where that has several."""
    if not several:
        return fault.title
    levels = fault.treatment.levels
    name = levels[FACTOR] if [*levels] == [FACTOR] else fault.treatment.label
    is_only = sum(other.treatment.id == fault.treatment.id for other in faults) == 1
    return name if is_only else f"{name}: {fault.title}"
