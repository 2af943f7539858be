"""Which findings a summary has room for, and in which order: what a reader must know first stands first.

A finding's code declares its rank: its concern (`finding.Concern`), and its place among the findings of that
concern; of qualms, which have no order of their own, the worse one stands first. No subject crowds out the
others (`Subject.most`, `MOST_OF_A_CONCERN`), and how far to trust the answer always has a place. What has none
is not lost: a report lists every finding further down.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loadcell.analysis.deduplicate import condensed
from loadcell.analysis.finding import LAST, Concern, Finding, Subject
from loadcell.analysis.findings import TRIALS_SOME
from loadcell.analysis.open_loop_capacity import OVERLOADED
from loadcell.analysis.trials import Trial

#: Sentences a summary has room for: what is read in half a minute.
MOST = 7
#: Sentences of one concern at most.
MOST_OF_A_CONCERN: Mapping[Concern, int] = {Concern.ANSWER: 5, Concern.WRONG: 3, Concern.TRUST: 3}
#: Beside lines of rising load, which say what the first factor does, only the strongest effect has room.
MOST_EFFECTS_WITH_SATURATION = 1

_WORSE = {"problem": 0, "caution": 1, "info": 2, "good": 2}


@dataclass(frozen=True)
class Ranked:
    """A finding with what it does to the reader's conclusion, and its place there: the lowest stands first."""

    finding: Finding
    concern: Concern
    place: tuple[int, int]


def summary(
    findings: Sequence[Finding], trials: Sequence[Trial] = (), most: int = MOST
) -> tuple[Finding, ...]:
    """The findings a reader must know, the most important first; at most `most`, none said twice.

    `trials` tell whether a figure that is wrong stands in the medians, or is one of a trial that does not
    count.
    """
    candidates = ranked(condensed(findings), trials)
    subjects: Counter[str] = Counter()
    concerns: Counter[Concern] = Counter()
    rooms = {subject.label: subject.most for subject in Subject if subject.most is not None}
    if any(
        candidate.concern is Concern.ANSWER and candidate.finding.kind == Subject.SATURATION.label
        for candidate in candidates
    ):
        rooms[Subject.EFFECTS.label] = MOST_EFFECTS_WITH_SATURATION
    doubted = any(candidate.concern is Concern.TRUST for candidate in candidates)
    chosen: list[Finding] = []
    for candidate in candidates:
        reserved = 1 if doubted and candidate.concern < Concern.TRUST else 0
        subject = candidate.finding.kind
        if (
            len(chosen) + reserved < most
            and subjects[subject] < rooms.get(subject, most)
            and concerns[candidate.concern] < MOST_OF_A_CONCERN.get(candidate.concern, most)
        ):
            chosen.append(candidate.finding)
            subjects[subject] += 1
            concerns[candidate.concern] += 1
    return tuple(chosen)


def ranked(findings: Sequence[Finding], trials: Sequence[Trial] = ()) -> list[Ranked]:
    """Findings by concern, then by declared place; of qualms the worse first; else as they were found."""
    counting = {trial.name for trial in trials if trial.counts}
    overloaded = any(finding.code is OVERLOADED for finding in findings)
    ranked_findings = []
    for finding in findings:
        concern, position = finding.code.rank if finding.code else LAST
        worse = _WORSE[finding.severity]
        if finding.kind == Subject.CHECKS.label and finding.severity == "problem":
            # Of a trial that does not count, a wrong figure spoils nothing.
            lost = counting and not counting & set(finding.evidence)
            concern, position = (Concern.WRONG if lost else Concern.STANDS), 0
        elif finding.code is TRIALS_SOME and _mostly_lost(finding) and not overloaded:
            concern = Concern.STANDS
        ranked_findings.append(
            Ranked(finding, concern, (worse, position) if concern is Concern.TRUST else (position, worse))
        )
    return sorted(ranked_findings, key=lambda item: (item.concern, item.place))


def _mostly_lost(finding: Finding) -> bool:
    """True if fewer than half of the trials succeeded: the remaining ones need not be typical."""
    ok, of = finding.message.arguments["ok_count"], finding.message.arguments["count"]
    return isinstance(ok, int) and isinstance(of, int) and 2 * ok < of
