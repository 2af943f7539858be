"""Findings on faults that affected client groups differently, and on the management plane meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadcell.analysis.faults.effects import extent_of, name_of, worst
from loadcell.analysis.faults.repeats import FaultOfTreatment, by_group
from loadcell.analysis.finding import Concern, Finding, FindingCode, Subject
from loadcell.model.fault_judgement import MANAGEMENT
from loadcell.model.message import Count, Message, MessageCode, Milliseconds

#: Faults that a sentence names.
_MOST_NAMED = 4

GROUPS = FindingCode("found.faults.groups", Subject.FAULTS, "caution", (Concern.ANSWER, 1), cases=list)
SLOW = FindingCode("found.faults.management.slow", Subject.FAULTS, "caution", (Concern.ANSWER, 3), cases=list)
DOWN = FindingCode("found.faults.management.down", Subject.FAULTS, "caution", (Concern.ANSWER, 3), cases=list)
CASE = MessageCode("found.faults.groups.case", "info", effects=list, fault=str)
OUTAGE = MessageCode("found.faults.groups.outage", "info", extent=Message, group=str)
DIP = MessageCode("found.faults.groups.dip", "info", extent=Message, group=str)
ERRORS = MessageCode("found.faults.groups.errors", "info", extent=Message, group=str)
SLOWER = MessageCode("found.faults.groups.slow", "info", extent=Message, group=str)
NONE = MessageCode("found.faults.groups.none", "info", group=str)
_EFFECTS = {"outage": OUTAGE, "dip": DIP, "errors": ERRORS, "slow": SLOWER}
MORE = MessageCode("found.faults.groups.more", "info", count=Count)
ANSWER = MessageCode("found.faults.management.case", "info", answer_ms=Milliseconds, fault=str, operation=str)
_MANAGED = {"slow": SLOW, "down": DOWN}


def findings(faults: Sequence[FaultOfTreatment]) -> Iterator[Finding]:
    """Effects by client group where these differ, and where the management plane was slow or down."""
    differing = [fault for fault in faults if len({worst(group) for group in _judged(fault)}) > 1]
    if differing:
        cases: list[Message | str] = [
            CASE(effects=[_effect(group) for group in _judged(fault)], fault=name_of(fault, faults))
            for fault in differing[:_MOST_NAMED]
        ]
        yield GROUPS.finding(_ids(differing), cases=_shortened(cases, len(differing)))
    for verdict, code in _MANAGED.items():
        having = [fault for fault in faults if _management(fault) == verdict]
        if having:
            cases = [_answer(fault, faults) for fault in having[:_MOST_NAMED]]
            yield code.finding(_ids(having), cases=_shortened(cases, len(having)))


def _ids(faults: Sequence[FaultOfTreatment]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(fault.treatment.id for fault in faults))


def _shortened(cases: Sequence[Message | str], count: int) -> tuple[Message | str, ...]:
    """The named cases, and the number of the others."""
    others = count - len(cases)
    return (*cases, MORE(count=others)) if others else tuple(cases)


def _judged(fault: FaultOfTreatment) -> list[FaultOfTreatment]:
    """Its client groups with a known effect."""
    return [group for group in by_group(fault) if group.effects]


def _effect(group: FaultOfTreatment) -> Message:
    """The worst effect on a group, with the median over the repeats that had it."""
    effect, name = worst(group), group.group or ""
    extent = extent_of(effect, [item.judgement for item in group.trials if item.judgement.effect == effect])
    return NONE(group=name) if extent is None else _EFFECTS[effect](extent=extent, group=name)


def _management(fault: FaultOfTreatment) -> str:
    """The worst verdict on the management plane."""
    verdicts = [item.judgement.management.verdict for item in fault.trials if item.judgement.management]
    return max(verdicts, key=MANAGEMENT.index, default="ok")


def _answer(fault: FaultOfTreatment, faults: Sequence[FaultOfTreatment]) -> Message:
    judged = [item.judgement.management for item in fault.trials if item.judgement.management]
    longest = max(judged, key=lambda item: (MANAGEMENT.index(item.verdict), item.longest_s))
    return ANSWER(
        answer_ms=longest.longest_s * 1e3, fault=name_of(fault, faults), operation=longest.operation
    )
