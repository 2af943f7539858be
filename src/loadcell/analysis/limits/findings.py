"""Findings on the limiting resource: at the highest load and at the knee of every line of rising load."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadcell.analysis.finding import Concern, Finding, FindingCode, Subject
from loadcell.analysis.limits.judge import Limit
from loadcell.analysis.saturation import Saturation
from loadcell.analysis.sweep import Sweep
from loadcell.analysis.treatments import Treatment
from loadcell.model.message import Message

LIMIT = FindingCode(
    "found.limit", Subject.LIMIT, "info", (Concern.ANSWER, 300), evidence=list, limit=Message,
    remedy=Message, treatment=str,
)  # fmt: skip
UNKNOWN = FindingCode("found.limit.unknown", Subject.LIMIT, "info", (Concern.COST, 40), treatment=str)
CONTRADICTION = FindingCode(
    "found.limit.contradiction", Subject.LIMIT, "info", (Concern.COST, 40), candidates=list, treatment=str
)


def findings(
    limits: Sequence[Limit], lines: Sequence[Saturation | Sweep], treatments: Sequence[Treatment]
) -> Iterator[Finding]:
    """A finding for each treatment of interest; without lines of load, for the only treatment."""
    chosen = _of_interest(lines) or {item.id for item in treatments if len(treatments) == 1}
    for limit in limits:
        if limit.treatment.id in chosen:
            yield _finding(limit)


def _of_interest(lines: Sequence[Saturation | Sweep]) -> set[str]:
    chosen = set()
    for line in lines:
        sweep = line.sweep if isinstance(line, Saturation) else line
        chosen |= {treatment.id for treatment in sweep.treatments[-1:]}
        if isinstance(line, Saturation) and line.knee is not None:
            chosen.add(sweep.treatments[line.knee.at].id)
    return chosen


def _finding(limit: Limit) -> Finding:
    treatment, evidence = limit.treatment, (limit.treatment.id,)
    if limit.named is not None:
        candidate = limit.named.candidate
        return LIMIT.finding(
            evidence, None, treatment=treatment.brief, limit=candidate.label(), remedy=candidate.advice(),
            evidence=list(limit.named.evidence),
        )  # fmt: skip
    if limit.contradicting:
        names = [candidate.label() for candidate in limit.contradicting]
        return CONTRADICTION.finding(evidence, None, treatment=treatment.brief, candidates=names)
    return UNKNOWN.finding(evidence, None, treatment=treatment.brief)
