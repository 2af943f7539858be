"""Findings on the limiting resource: at the highest load and at the knee of every line of rising load.

Each resource is named once, with all the positions where it is the limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from loadcell.analysis.finding import Concern, Finding, FindingCode, Subject
from loadcell.analysis.limits.judge import Judged, Limit, needed_window_s
from loadcell.analysis.limits.unobserved import unobserved
from loadcell.analysis.saturation import Saturation
from loadcell.analysis.sweep import LOAD, Sweep
from loadcell.analysis.treatments import Treatment
from loadcell.model.message import Count, Message, MessageCode, Seconds, as_written

#: Level of another candidate from which on it is evidence against the named one.
NEAR = 0.8
#: Treatments that a sentence names; with their limits, more.
MOST_NAMED = 3
_MOST_CASES = 8

_RANK = (Concern.ANSWER, 300)
_NAMED: dict[str, type] = {"against": Message, "evidence": Message, "limit": Message, "remedy": Message}
LIMIT = FindingCode("found.limit", Subject.LIMIT, "info", _RANK, positions=list, **_NAMED)
LIMIT_ALONE = FindingCode("found.limit.alone", Subject.LIMIT, "info", _RANK, **_NAMED)
LIMIT_OF_SEVERAL = FindingCode(
    "found.limit.several", Subject.LIMIT, "info", _RANK, positions=list, position=Message, **_NAMED
)
LIMIT_OF_MANY = FindingCode(
    "found.limit.many", Subject.LIMIT, "info", _RANK, count=Count, position=Message, **_NAMED
)
#: One sentence for several resources; `limit.case` is a treatment with its limit.
BY_TREATMENT = FindingCode("found.limit.by-treatment", Subject.LIMIT, "info", _RANK, cases=list)
CASE = MessageCode("limit.case", "info", limit=Message, position=Message)
#: From this number of different limits on there is such a sentence.
_SEVERAL = 3
#: The limit of no treatment of interest is known: that is the answer.
NONE_ALONE = FindingCode("found.limit.none.alone", Subject.LIMIT, "info", _RANK, nearest=Message)
NONE = FindingCode("found.limit.none", Subject.LIMIT, "info", _RANK, positions=list, nearest=Message)
NONE_OF_SEVERAL = FindingCode(
    "found.limit.none.several",
    Subject.LIMIT,
    "info",
    _RANK,
    positions=list,
    position=Message,
    nearest=Message,
)
NONE_OF_MANY = FindingCode(
    "found.limit.none.many", Subject.LIMIT, "info", _RANK, count=Count, position=Message, nearest=Message
)
#: The limit of some treatments is known, that of others is not.
_INCIDENTAL = (Concern.COST, 40)
UNKNOWN = FindingCode(
    "found.limit.unknown", Subject.LIMIT, "info", _INCIDENTAL, positions=list, nearest=Message
)
UNKNOWN_OF_SEVERAL = FindingCode(
    "found.limit.unknown.several",
    Subject.LIMIT,
    "info",
    _INCIDENTAL,
    positions=list,
    position=Message,
    nearest=Message,
)
UNKNOWN_OF_MANY = FindingCode(
    "found.limit.unknown.many",
    Subject.LIMIT,
    "info",
    _INCIDENTAL,
    count=Count,
    position=Message,
    nearest=Message,
)
#: Where it is the limit: a treatment, of a line of load alone its clients, and its part in its line.
POSITION_CLIENTS = MessageCode("limit.position.clients", "info", clients=str)
POSITION_AT_KNEE = MessageCode("limit.position.knee", "info", position=Message)
POSITION_HIGHEST = MessageCode("limit.position.highest", "info", position=Message)
#: Objections to a limit: another one near its own, trials without the sign, or neither.
CLEAR = MessageCode("limit.against.nothing", "info", evidence=Message, limit=Message)
ALONE = MessageCode("limit.against.alone", "info")
NOT_OBSERVED = MessageCode("limit.against.unobserved", "info", why=Message)
NEARLY = MessageCode("limit.against.near", "info", evidence=Message, limit=Message)
NEARLY_LACKING = MessageCode(
    "limit.against.near.lacking", "info", evidence=Message, limit=Message, lacking=list
)
FEWER = MessageCode("limit.against.fewer", "info", count=Count, of=Count)
FEWER_LACKING = MessageCode(
    "limit.against.fewer.lacking", "info", count=Count, of=Count, evidence=Message, lacking=list
)
NEAREST = MessageCode("limit.nearest", "info", evidence=Message, limit=Message, lacking=list)
NEAREST_IN_SOME = MessageCode(
    "limit.nearest.some", "info", count=Count, of=Count, evidence=Message, limit=Message, lacking=list
)
SOME = MessageCode("limit.nearest.some.alone", "info", count=Count, of=Count, evidence=Message, limit=Message)
TOO_SHORT = MessageCode("limit.nearest.short", "info", window_s=Seconds, needed_s=Seconds)
SEVERAL_NAMED = MessageCode("limit.contradicting.named", "info", names=list)
NEXT = MessageCode("limit.against.next", "info", evidence=Message, limit=Message)
CANDIDATE = MessageCode("limit.candidate", "info", evidence=Message, limit=Message)
CANDIDATE_LACKING = MessageCode(
    "limit.candidate.lacking", "info", evidence=Message, limit=Message, lacking=list
)
SEVERAL = MessageCode("limit.contradicting", "info", candidates=list)


def findings(
    limits: Sequence[Limit], lines: Sequence[Saturation | Sweep], treatments: Sequence[Treatment]
) -> Iterator[Finding]:
    """A finding for each resource that limits treatments of interest: of lines of load the highest load and
    the knee, else every treatment. One more for those whose limit is unknown.
    """
    parts = _parts(lines)
    chosen = [limit for limit in limits if limit.treatment.id in parts] if parts else list(limits)
    by_name: dict[str, list[Limit]] = {}
    for limit in chosen:
        if limit.named is not None:
            by_name.setdefault(limit.named.candidate.name, []).append(limit)
    if len(by_name) >= _SEVERAL:
        yield _by_treatment([limit for limit in chosen if limit.named is not None], parts)
    for group in by_name.values():
        yield _named(group, parts, alone=len(treatments) == 1)
    unknown = [limit for limit in chosen if limit.named is None]
    if unknown:
        yield _unknown(unknown, parts, alone=len(treatments) == 1, has_limits=bool(by_name))


def objection(limit: Limit) -> Message:
    """The same for a cell of a table."""
    if limit.contradicting:
        return SEVERAL_NAMED(names=[judged.label for judged in limit.contradicting])
    if limit.named is not None and limit.agreeing == limit.trials and limit.next is not None:
        return (
            _near(CANDIDATE, CANDIDATE_LACKING, limit.next)
            if limit.next.sign.level >= NEAR
            else _of(NEXT, limit.next)
        )
    return against(limit)


def against(limit: Limit) -> Message:
    """The objection to the named limit, or the reason why none is named."""
    if limit.contradicting:
        return SEVERAL(candidates=[_of(CANDIDATE, judged) for judged in limit.contradicting])
    if limit.named is None:
        return _unknown_because(limit)
    if limit.agreeing < limit.trials:
        return _fewer(limit)
    if not limit.is_observed:
        return NOT_OBSERVED(why=unobserved(limit.unobserved))
    if limit.next is None:
        return ALONE()
    if limit.next.sign.level >= NEAR:
        return _near(NEARLY, NEARLY_LACKING, limit.next)
    return _of(CLEAR, limit.next)


def _unknown_because(limit: Limit) -> Message:
    """The reason why no limit is known: the target was not observed, the measurement was too short, or no
    candidate has all its signs.
    """
    if not limit.is_observed:
        return unobserved(limit.unobserved)
    if limit.missing is not None:
        return NEAREST_IN_SOME(
            count=limit.agreeing,
            of=limit.trials,
            limit=limit.missing.label,
            evidence=limit.missing.sign.evidence,
            lacking=limit.missing.sign.lacking,
        )
    if limit.next is None:
        return TOO_SHORT(window_s=limit.window_s, needed_s=needed_window_s())
    sign = limit.next.sign
    if limit.agreeing:
        return SOME(count=limit.agreeing, of=limit.trials, limit=limit.next.label, evidence=sign.evidence)
    return NEAREST(limit=limit.next.label, evidence=sign.evidence, lacking=sign.lacking)


def _fewer(limit: Limit) -> Message:
    if limit.missing is None or not limit.missing.sign.lacking:
        return FEWER(count=limit.agreeing, of=limit.trials)
    sign = limit.missing.sign
    return FEWER_LACKING(count=limit.agreeing, of=limit.trials, evidence=sign.evidence, lacking=sign.lacking)


def _of(code: MessageCode, judged: Judged) -> Message:
    return code(limit=judged.label, evidence=judged.sign.evidence)


def _near(plain: MessageCode, lacking: MessageCode, judged: Judged) -> Message:
    """A candidate near its limit, or at it while another of its conditions is not met."""
    if not judged.sign.lacking:
        return _of(plain, judged)
    return lacking(limit=judged.label, evidence=judged.sign.evidence, lacking=judged.sign.lacking)


def _parts(lines: Sequence[Saturation | Sweep]) -> dict[str, MessageCode | None]:
    """The treatments of interest by id, each with its part in its line; the only load of a line has none."""
    parts: dict[str, MessageCode | None] = {}
    for line in lines:
        sweep = line.sweep if isinstance(line, Saturation) else line
        if isinstance(line, Saturation) and line.knee is not None:
            parts[sweep.treatments[line.knee.at].id] = POSITION_AT_KNEE
        for treatment in sweep.treatments[-1:]:
            parts[treatment.id] = POSITION_HIGHEST if len(sweep.treatments) > 1 else None
    return parts


def _position(limit: Limit, parts: Mapping[str, MessageCode | None]) -> Message:
    treatment = limit.treatment
    clients = treatment.levels.get(LOAD)
    only_load = clients is not None and len(treatment.levels) == 1
    position = POSITION_CLIENTS(clients=clients) if only_load else as_written(treatment.label)
    part = parts.get(treatment.id)
    return position if part is None else part(position=position)


def _named(limits: Sequence[Limit], parts: Mapping[str, MessageCode | None], *, alone: bool) -> Finding:
    """The limit of treatments that share one, with the evidence of the last: of a line its highest load."""
    shown = limits[-1]
    assert shown.named is not None
    code = _code(limits, alone, LIMIT_ALONE, LIMIT, LIMIT_OF_SEVERAL, LIMIT_OF_MANY)
    return code.finding(
        tuple(limit.treatment.id for limit in limits),
        None,
        **_where(limits, parts),
        limit=shown.named.label,
        remedy=shown.named.advice,
        evidence=shown.named.sign.evidence,
        against=against(shown),
    )


def _by_treatment(limits: Sequence[Limit], parts: Mapping[str, MessageCode | None]) -> Finding:
    """The treatments with their limits, in the order of the plan."""
    positions = [
        as_written(limit.treatment.brief) if len(limit.treatment.levels) == 1 else _position(limit, parts)
        for limit in limits
    ]
    return BY_TREATMENT.finding(
        tuple(limit.treatment.id for limit in limits),
        cases=[
            CASE(position=position, limit=limit.named.label)
            for position, limit in zip(positions[:_MOST_CASES], limits[:_MOST_CASES], strict=True)
            if limit.named is not None
        ],
    )


def _unknown(
    limits: Sequence[Limit], parts: Mapping[str, MessageCode | None], *, alone: bool, has_limits: bool
) -> Finding:
    """Treatments of interest whose limit is unknown; contradictions are last, and shown if there are any."""
    ordered = sorted(limits, key=lambda limit: bool(limit.contradicting))
    if has_limits:
        code = _code(limits, alone, UNKNOWN, UNKNOWN, UNKNOWN_OF_SEVERAL, UNKNOWN_OF_MANY)
    else:
        code = _code(limits, alone, NONE_ALONE, NONE, NONE_OF_SEVERAL, NONE_OF_MANY)
    ids = tuple(limit.treatment.id for limit in limits)
    return code.finding(ids, None, **_where(ordered, parts), nearest=against(ordered[-1]))


def _code(
    limits: Sequence[Limit],
    alone: bool,
    only: FindingCode,
    single: FindingCode,
    several: FindingCode,
    many: FindingCode,
) -> FindingCode:
    """The code for this number of treatments; `alone` if the run has no other. Names of two or more levels
    have commas of their own: a list of them is not readable.
    """
    if alone:
        return only
    has_long_names = len(limits) > 1 and any(len(limit.treatment.levels) > 1 for limit in limits)
    if len(limits) > MOST_NAMED or has_long_names:
        return many
    return single if len(limits) == 1 else several


def _where(limits: Sequence[Limit], parts: Mapping[str, MessageCode | None]) -> dict[str, object]:
    positions = [_position(limit, parts) for limit in limits]
    if not any(parts.get(limit.treatment.id) for limit in limits):  # `rate = 50/s, 100/s`
        positions[1:] = [
            as_written(limit.treatment.brief) if len(limit.treatment.levels) == 1 else position
            for limit, position in zip(limits[1:], positions[1:], strict=True)
        ]
    return {"positions": tuple(positions), "position": _position(limits[-1], {}), "count": len(limits)}
