"""Findings on the limiting resource: at the highest load and at the knee of every line of rising load."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadcell.analysis.finding import Concern, Finding, FindingCode, Subject
from loadcell.analysis.limits.judge import Judged, Limit
from loadcell.analysis.saturation import Saturation
from loadcell.analysis.sweep import Sweep
from loadcell.analysis.treatments import Treatment
from loadcell.model.message import Count, Message, MessageCode, Share

#: Level of another candidate from which on it speaks against the named one.
NEAR = 0.7
#: Treatments that a sentence names.
MOST_NAMED = 3

LIMIT = FindingCode(
    "found.limit", Subject.LIMIT, "info", (Concern.ANSWER, 300), against=Message, evidence=Message,
    limit=Message, remedy=Message, treatment=str,
)  # fmt: skip
LIMIT_OF_MANY = FindingCode(
    "found.limit.many", Subject.LIMIT, "info", (Concern.ANSWER, 300), against=Message, count=Count,
    evidence=Message, limit=Message, remedy=Message, treatment=str,
)  # fmt: skip
UNKNOWN = FindingCode(
    "found.limit.unknown", Subject.LIMIT, "info", (Concern.COST, 40), nearest=Message, treatment=str
)
#: Objections to a limit: another one near its own, trials without the sign, or neither.
CLEAR = MessageCode("limit.against.nothing", "info", level_share=Share)
ALONE = MessageCode("limit.against.alone", "info")
NEARLY = MessageCode("limit.against.near", "info", evidence=Message, limit=Message)
FEWER = MessageCode("limit.against.fewer", "info", count=Count, of=Count)
NEAREST = MessageCode("limit.nearest", "info", evidence=Message, limit=Message)
NOTHING = MessageCode("limit.nearest.nothing", "info")
SEVERAL_NAMED = MessageCode("limit.contradicting.named", "info", names=list)
NEXT = MessageCode("limit.against.next", "info", level_share=Share)
CANDIDATE = MessageCode("limit.candidate", "info", evidence=Message, limit=Message)
SEVERAL = MessageCode("limit.contradicting", "info", candidates=list)


def findings(
    limits: Sequence[Limit], lines: Sequence[Saturation | Sweep], treatments: Sequence[Treatment]
) -> Iterator[Finding]:
    """A finding for each treatment of interest; without lines of load, for each limit of any treatment."""
    chosen = _of_interest(lines)
    if chosen or len(treatments) == 1:
        chosen = chosen or {treatments[0].id}
        yield from (_finding([limit]) for limit in limits if limit.treatment.id in chosen)
        return
    by_name: dict[str, list[Limit]] = {}
    for limit in limits:
        if limit.named is not None:
            by_name.setdefault(limit.named.candidate.name, []).append(limit)
    yield from map(_finding, by_name.values())
    yield from (_finding([limit]) for limit in limits if limit.contradicting)


def objection(limit: Limit) -> Message:
    """The same for a cell of a table."""
    if limit.contradicting:
        return SEVERAL_NAMED(names=[judged.candidate.label() for judged in limit.contradicting])
    if limit.named is not None and limit.agreeing == limit.trials and limit.next is not None:
        return (
            _of(CANDIDATE, limit.next)
            if limit.next.sign.level >= NEAR
            else NEXT(level_share=limit.next.sign.level)
        )
    return against(limit)


def against(limit: Limit) -> Message:
    """The objection to the named limit, or the reason why none is named."""
    if limit.contradicting:
        return SEVERAL(candidates=[_of(CANDIDATE, judged) for judged in limit.contradicting])
    if limit.named is None:
        return NOTHING() if limit.next is None else _of(NEAREST, limit.next)
    if limit.agreeing < limit.trials:
        return FEWER(count=limit.agreeing, of=limit.trials)
    if limit.next is None:
        return ALONE()
    if limit.next.sign.level >= NEAR:
        return _of(NEARLY, limit.next)
    return CLEAR(level_share=limit.next.sign.level)


def _of(code: MessageCode, judged: Judged) -> Message:
    return code(limit=judged.candidate.label(), evidence=judged.sign.evidence)


def _of_interest(lines: Sequence[Saturation | Sweep]) -> set[str]:
    chosen = set()
    for line in lines:
        sweep = line.sweep if isinstance(line, Saturation) else line
        chosen |= {treatment.id for treatment in sweep.treatments[-1:]}
        if isinstance(line, Saturation) and line.knee is not None:
            chosen.add(sweep.treatments[line.knee.at].id)
    return chosen


def _finding(limits: Sequence[Limit]) -> Finding:
    """The limit of treatments that share one, with the evidence of the first."""
    limit, evidence = limits[0], tuple(limit.treatment.id for limit in limits)
    if limit.named is None:
        return UNKNOWN.finding(evidence, None, treatment=limit.treatment.brief, nearest=against(limit))
    candidate = limit.named.candidate
    judged = {
        "limit": candidate.label(),
        "remedy": candidate.advice(),
        "evidence": limit.named.sign.evidence,
        "against": against(limit),
    }
    if len(limits) > MOST_NAMED:
        return LIMIT_OF_MANY.finding(
            evidence, None, count=len(limits), treatment=limit.treatment.brief, **judged
        )
    names = "; ".join(limit.treatment.brief for limit in limits)
    return LIMIT.finding(evidence, None, treatment=names, **judged)
