"""Which findings a summary has room for, and in which order: what a reader must know first stands first.

The order is that of what each finding does to the reader's conclusion:

1. **stands**: what makes the answer one not to be relied on, or only a part of one. Who stops after one
sentence must
   have read this one.
2. **answer**: what the plan asked: where a search ended, which rate was kept up with, where the load
saturates, what
   factors do, which treatment was highest.
3. **wrong**: what went wrong beside that: expectations missed, work that failed, trials lost.
4. **trust**: how far the answer reaches: repeats, drift, no steady state, what the checks noticed.
5. **well**: that all was well, which is worth one sentence, after whatever was not.
6. **cost**: where time went, and what else there is to know.

Within one of these a finding stands as `ORDER` lists its text; of qualms, which have no order of their own,
the worse one stands first. No subject crowds out the others (`MOST_OF_A_SUBJECT`, `MOST_OF_A_CONCERN`), and
how far to trust the answer always has a place. What has none is not lost: a report lists every finding
further down.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from loadcell.analysis.deduplicate import condensed
from loadcell.analysis.finding import Finding
from loadcell.analysis.trials import Trial

#: Sentences a summary has room for: what is read in half a minute.
MOST = 7


class Concern(IntEnum):
    """Effect of a finding on the reader's conclusion; the module explains the order."""

    STANDS = 0
    ANSWER = 1
    WRONG = 2
    TRUST = 3
    WELL = 4
    COST = 5


#: Texts by concern, in order. A name stands for itself and for all that continue it after a dot; the longest
#: one counts.
ORDER: Mapping[Concern, Sequence[str]] = {
    Concern.STANDS: (
        "found.given-up", "found.nothing-measured", "found.search.nothing-measured", "found.trials.empty",
        "found.search.unfinished", "found.unfinished",
    ),
    Concern.ANSWER: (
        "found.search.maximum", "found.search.bound", "found.search.never-met", "found.search.metastable",
        "found.search.highest", "found.search.lowest", "found.search.plateau", "found.search.level",
        "found.search.missed",
        "found.kept-up", "found.overloaded", "found.behind", "found.behind.others",
        "found.saturation", "found.saturation.more",
        "found.effects", "found.effects.noise", "found.effects.hardly",
        "found.recommend", "found.lost", "found.unlike", "found.highest", "found.alike", "found.throughput", "found.figure", "found.group", "found.at-edge", "found.falls",
        "found.tied",
    ),
    Concern.WRONG: (
        "found.expect.missed", "found.trials.some", "found.errors", "found.expect.unknown", "found.expect.few", "found.search.lost",
    ),
    Concern.TRUST: (
        "found.unread", "found.same-place", "found.check", "found.checks", "found.saturation.few", "found.steady.never", "found.steady.fell", "found.steady.rose", "found.run-fell",
        "found.run-rose", "found.drift", "found.descriptive", "found.spread.none", "found.partly-descriptive",
        "found.intervals", "found.saturation.why", "found.effects.once", "found.effects.no-spread", "found.effects.invisible", "found.dips",
        "found.search.unsettled", "found.spread", "found.saturation.rebound", "found.steady.warmup",
        "found.steady.all.rough", "found.steady.unclear", "found.steady.too-short",
        "found.dips.with", "found.dips.alone",
    ),
    Concern.WELL: (
        "found.well", "found.held", "found.trials.all", "found.errors.none", "found.expect.met",
        "found.search.recovered", "found.steady.all",
    ),
    Concern.COST: (
        "found.waiting", "found.retried", "found.pacing", "found.lowest", "found.search.not-overloaded", "done",
    ),
}  # fmt: skip

#: Sentences of one subject (a finding's kind) at most, and of one concern.
MOST_OF_A_SUBJECT: Mapping[str, int] = {
    "throughput": 3, "saturation": 4, "effects": 4, "search": 4, "open-loop": 3, "steady": 3, "spread": 2, "groups": 3,
    "done": 1,
}  # fmt: skip
MOST_OF_A_CONCERN: Mapping[Concern, int] = {Concern.ANSWER: 5, Concern.WRONG: 3, Concern.TRUST: 3}
#: Beside lines of rising load, which say what the first factor does, only the strongest effect has room.
MOST_EFFECTS_WITH_SATURATION = 1

_PLACES = {name: (concern, place) for concern, names in ORDER.items() for place, name in enumerate(names)}
_LAST = (Concern.COST, len(ORDER[Concern.COST]))
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
    rooms = dict(MOST_OF_A_SUBJECT)
    if any(
        candidate.concern is Concern.ANSWER and candidate.finding.kind == "saturation"
        for candidate in candidates
    ):
        rooms["effects"] = MOST_EFFECTS_WITH_SATURATION
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
    """Findings by concern, then as `ORDER` has them; of qualms the worse first; else as they were found."""
    counting = {trial.name for trial in trials if trial.counts}
    overloaded = any(finding.message.code == "found.overloaded" for finding in findings)
    ranked_findings = []
    for finding in findings:
        concern, position = place_of(finding.message.code)
        worse = _WORSE[finding.severity]
        if finding.kind == "checks" and finding.severity == "problem":
            # Of a trial that does not count, a wrong figure spoils nothing.
            lost = counting and not counting & set(finding.evidence)
            concern, position = (Concern.WRONG if lost else Concern.STANDS), 0
        elif finding.message.code == "found.trials.some" and _mostly_lost(finding) and not overloaded:
            concern = Concern.STANDS
        ranked_findings.append(
            Ranked(finding, concern, (worse, position) if concern is Concern.TRUST else (position, worse))
        )
    return sorted(ranked_findings, key=lambda item: (item.concern, item.place))


def place_of(key: str) -> tuple[Concern, int]:
    """A text's concern and its place there; the very last for a text that `ORDER` does not know."""
    name = key
    while name and name not in _PLACES:
        name = name.rpartition(".")[0]
    return _PLACES.get(name, _LAST)


def _mostly_lost(finding: Finding) -> bool:
    """True if fewer than half of the trials succeeded: the remaining ones need not be typical."""
    ok, of = finding.message.arguments["ok_count"], finding.message.arguments["count"]
    return isinstance(ok, int) and isinstance(of, int) and 2 * ok < of
