"""Which findings a summary has room for, and in which order: what a reader must know first stands first.

A finding's code declares its rank: its concern (`finding.Concern`), and its place among the findings of that
concern; of qualms, which have no order of their own, the worse one stands first. No subject crowds out the
others (`Subject.most`, `MOST_OF_A_CONCERN`), and how far to trust the answer always has a place, as has the
limiting resource. What has none is not lost: a report lists every finding further down.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from loadcell.analysis import expectation_findings
from loadcell.analysis.disturbances import disturbances
from loadcell.analysis.error_findings import ERRORS_NONE
from loadcell.analysis.finding import LAST, Concern, Evidence, Finding, FindingCode, Statement, Subject
from loadcell.analysis.findings import TRIALS_ALL, TRIALS_SOME
from loadcell.analysis.open_loop import OVERLOADED
from loadcell.analysis.sweep import LOAD
from loadcell.analysis.trials import Trial
from loadcell.analysis.validity import CHECK, CHECK_UNKNOWN
from loadcell.model.message import Count, Message, MessageCode

#: Lines of rising load that a sentence names.
MOST_NAMED = 3
#: Expectations that the sentence on success names.
MOST_EXPECTATIONS = 2

WELL = FindingCode(
    "found.well", Subject.TRIALS, "good", (Concern.WELL, 0), count=Count, ended_count=Count
).marked(evidence=Evidence.RESULTS)
WELL_EXPECTED = FindingCode(
    "found.well.expected",
    Subject.TRIALS,
    "good",
    (Concern.WELL, 0),
    count=Count,
    ended_count=Count,
    expected_count=Count,
    expressions=list,
).marked(evidence=Evidence.RESULTS)
WELL_EXPECTED_MANY = FindingCode(
    "found.well.expected.many",
    Subject.TRIALS,
    "good",
    (Concern.WELL, 0),
    count=Count,
    ended_count=Count,
    expected_count=Count,
    expressions=list,
).marked(evidence=Evidence.RESULTS)
CHECKS = FindingCode(
    "found.checks", Subject.CHECKS, "caution", (Concern.TRUST, 30), checks=list, count=Count, of=Count
)
CHECKS_BROKEN = FindingCode(
    "found.checks.broken", Subject.CHECKS, "problem", (Concern.TRUST, 30), checks=list, count=Count, of=Count
)
SEVERAL_LINES = MessageCode("saturation.of-several", where=list)
MANY_LINES = MessageCode("saturation.of-lines", count=Count)
QUOTED = MessageCode("mark.quoted", text=str)


def condensed(findings: Sequence[Finding]) -> list[Finding]:
    """Without what another finding says as well, and with one sentence for what can be said in one."""
    remaining = without_implied(findings, findings)
    combined = _combine_checks(_combine_lines(_combine_successes(remaining)))
    return [*expectation_findings.combined([*combined])]


def without_implied(findings: Iterable[Finding], others: Iterable[Finding]) -> list[Finding]:
    """The findings that none of the others makes needless."""
    stated = {finding.code.states for finding in others if finding.code}
    return [finding for finding in findings if not stated.intersection(_implied_by(finding))]


def _implied_by(finding: Finding) -> tuple[Statement, ...]:
    """The statements that make a finding needless; what the load does is what saturation is about."""
    implied_by = finding.code.implied_by if finding.code else ()
    of_load = finding.message.arguments.get("factor") in (LOAD, LOAD.rpartition(".")[2])
    if of_load and finding.subject is Subject.EFFECTS:
        return (*implied_by, Statement.SATURATION)
    return implied_by


def _combine_successes(findings: list[Finding]) -> list[Finding]:
    """That trials, transactions and expectations were all well is one sentence."""
    by_code = {finding.code: finding for finding in findings}
    trials, errors = by_code.get(TRIALS_ALL), by_code.get(ERRORS_NONE)
    if trials is None or errors is None:
        return findings
    expectations = [finding for finding in findings if finding.subject is Subject.EXPECTATIONS]
    met = [finding for finding in expectations if finding.code is expectation_findings.MET]
    counts = {
        "count": trials.message.arguments["count"], "ended_count": errors.message.arguments["count"],
    }  # fmt: skip
    combined, parts = WELL.finding(**counts), [trials, errors]
    if met and met == expectations:
        combined = _with_expectations(met[0], counts)
        parts += met
    return [
        combined if finding is trials else finding
        for finding in findings
        if finding is trials or finding not in parts
    ]


def _with_expectations(met: Finding, counts: Mapping[str, object]) -> Finding:
    """The sentence on success with the expectations, of many the first ones."""
    expressions, count = met.message.arguments["expressions"], met.message.arguments["count"]
    named = tuple(expressions) if isinstance(expressions, tuple | list) else ()
    few = isinstance(count, int) and count <= MOST_EXPECTATIONS
    code = WELL_EXPECTED if few else WELL_EXPECTED_MANY
    return code.finding(**counts, expected_count=count, expressions=named[:MOST_EXPECTATIONS])


def _combine_lines(findings: list[Finding]) -> Iterator[Finding]:
    """Combine equal statements about several lines of rising load into one."""
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.subject is Subject.SATURATION and "line" in finding.message.arguments:
            groups.setdefault(_statement(finding), []).append(finding)
    for finding in findings:
        group = groups.get(_statement(finding), [])
        if finding not in group or len(group) == 1:
            yield finding
        elif finding is group[0]:
            evidence = tuple(name for member in group for name in member.evidence)
            arguments = {**finding.message.arguments, "line": _line_of(group)}
            yield replace(finding, message=replace(finding.message, arguments=arguments), evidence=evidence)


def _statement(finding: Finding) -> str:
    """The statement of a finding, regardless of the line."""
    other_arguments = {name: value for name, value in finding.message.arguments.items() if name != "line"}
    return f"{finding.message.code} {other_arguments}"


def _line_of(findings: Sequence[Finding]) -> Message:
    """The name of several lines: each one's own, where that can be read."""
    lines = [finding.message.arguments["line"] for finding in findings]
    wheres = [str(line.arguments.get("where", "")) for line in lines if isinstance(line, Message)]
    if len(wheres) > MOST_NAMED or any("," in where for where in wheres):
        return MANY_LINES(count=len(lines))
    return SEVERAL_LINES(where=wheres)


def _combine_checks(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Combine the findings of several checks, one for each severity; the evidence is that of all."""
    findings = list(findings)
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.code in (CHECK, CHECK_UNKNOWN):
            groups.setdefault(finding.severity, []).append(finding)
    for finding in findings:
        group = groups.get(finding.severity, [])
        if finding not in group or len(group) == 1:
            yield finding
        elif finding is group[0]:
            names = tuple(QUOTED(text=member.message.arguments["check"]) for member in group)
            trials = tuple(dict.fromkeys(name for member in group for name in member.evidence))
            code = CHECKS_BROKEN if finding.severity == "problem" else CHECKS
            of = finding.message.arguments["of"]
            yield code.finding(trials, finding.severity, checks=names, count=len(trials), of=of)


#: Sentences a summary has room for: what is read in half a minute.
MOST = 7
#: Sentences of one concern at most.
MOST_OF_A_CONCERN: Mapping[Concern, int] = {Concern.ANSWER: 5, Concern.WRONG: 3, Concern.TRUST: 3}
#: Beside lines of rising load, which say what the first factor does, only the strongest effect has room.
MOST_EFFECTS_WITH_SATURATION = 1
#: Sentences on expectations that were missed or not judged, for which there is always room.
_MOST_NOT_MET = 4
#: Places by which expectations that were not met precede the effects of faults.
_PRECEDENCE = 100

#: Place of the warning that the machine disturbed most trials, behind the qualms that are declared.
_DISTURBED = 60
_WORSE = {"problem": 0, "caution": 1, "info": 2, "good": 2}


@dataclass(frozen=True)
class Ranked:
    """A finding with what it does to the reader's conclusion, and its place there: the lowest
    stands first.
    """

    finding: Finding
    concern: Concern
    position: tuple[int, int]


def summary(
    findings: Sequence[Finding], trials: Sequence[Trial] = (), most: int = MOST
) -> tuple[Finding, ...]:
    """The findings a reader must know, the most important first; at most `most`, none said twice.

    `trials` tell whether a value that is wrong stands in the medians, or is one of a trial that does not
    count.
    """
    candidates = ranked(condensed(findings), trials)
    subjects: Counter[Subject] = Counter()
    concerns: Counter[Concern] = Counter()
    rooms = {subject: subject.most for subject in Subject if subject.most is not None}
    if any(
        candidate.concern is Concern.ANSWER and candidate.finding.subject is Subject.SATURATION
        for candidate in candidates
    ):
        rooms[Subject.EFFECTS] = MOST_EFFECTS_WITH_SATURATION
    doubted = any(candidate.concern is Concern.TRUST for candidate in candidates)
    not_met = [candidate for candidate in candidates if _is_not_met(candidate)][:_MOST_NOT_MET]
    of_met = (expectation_findings.MET, WELL_EXPECTED, WELL_EXPECTED_MANY)
    met = next((item for item in candidates if item.finding.code in of_met), None)
    limit = next((item for item in candidates if _is_limit(item)), None)
    if of_faults(findings):
        limit = None  # it is not what the plan asked
    chosen: list[Finding] = []
    for number, candidate in enumerate(candidates):
        subject, concern = candidate.finding.subject, candidate.concern
        if candidate in not_met:
            chosen.append(candidate.finding)
            continue
        for_limit = int(limit is not None and subject is not Subject.LIMIT and not subjects[Subject.LIMIT])
        reserved = int(doubted and concern < Concern.TRUST) + (for_limit if concern <= Concern.ANSWER else 0)
        reserved += int(met in candidates[number + 1 :])
        reserved += sum(later in not_met for later in candidates[number + 1 :])
        most_answers = MOST_OF_A_CONCERN.get(concern, most) - (for_limit if concern is Concern.ANSWER else 0)
        if (
            len(chosen) + reserved < most
            and subjects[subject] < rooms.get(subject, most)
            and concerns[concern] < most_answers
        ):
            chosen.append(candidate.finding)
            subjects[subject] += 1
            concerns[concern] += 1
    return tuple(chosen)


def of_faults(findings: Iterable[Finding]) -> bool:
    """True if the plan asks for the effects of faults."""
    return any(finding.subject is Subject.FAULTS for finding in findings)


def _is_not_met(candidate: Ranked) -> bool:
    """True of an expectation that was missed or could not be judged."""
    return candidate.finding.subject is Subject.EXPECTATIONS and candidate.finding.severity != "good"


def _is_limit(candidate: Ranked) -> bool:
    """True of the answer to what limits the system."""
    return candidate.concern is Concern.ANSWER and candidate.finding.subject is Subject.LIMIT


def ranked(findings: Sequence[Finding], trials: Sequence[Trial] = ()) -> list[Ranked]:
    """Findings by concern, then by declared place; of qualms the worse first; else as they were found.

    Checks that noticed disturbances in more than half of the trials that count precede the answer. In a run
    with faults the answer comes first: expectations that were not met, then the effects of the faults.
    """
    broken = of_faults(findings)
    counting = {trial.name for trial in trials if trial.counts}
    disturbed = {trial.name for trial in trials if trial.counts and disturbances(trial)}
    overloaded = any(finding.code is OVERLOADED for finding in findings)
    ranked_findings = []
    for finding in findings:
        concern, position = finding.code.rank if finding.code else LAST
        worse = _WORSE[finding.severity]
        if finding.subject is Subject.CHECKS and finding.severity == "problem":
            # Of a trial that does not count, a wrong figure spoils nothing.
            lost = counting and not counting & set(finding.evidence)
            concern, position = (Concern.WRONG if lost else Concern.STANDS), 0
        elif broken and finding.subject is Subject.EXPECTATIONS and finding.severity != "good":
            concern, position = Concern.ANSWER, position - _PRECEDENCE
        elif (
            not broken
            and finding.subject is Subject.CHECKS
            and 2 * len(disturbed & set(finding.evidence)) > len(counting)
        ):
            concern, position = Concern.STANDS, _DISTURBED
        elif finding.code is TRIALS_SOME and _mostly_lost(finding) and not overloaded:
            concern = Concern.STANDS
        ranked_findings.append(
            Ranked(finding, concern, (worse, position) if concern is Concern.TRUST else (position, worse))
        )
    return sorted(ranked_findings, key=lambda item: (item.concern, item.position))


def _mostly_lost(finding: Finding) -> bool:
    """True if fewer than half of the trials succeeded: the remaining ones need not be typical."""
    ok, of = finding.message.arguments["ok_count"], finding.message.arguments["count"]
    return isinstance(ok, int) and isinstance(of, int) and 2 * ok < of
