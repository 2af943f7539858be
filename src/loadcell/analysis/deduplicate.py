"""Findings said once: without what another sentence says as well, and in one sentence what one can say.

For a summary only: a report's list of everything that was found keeps each of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from loadcell.analysis.finding import Concern, Evidence, Finding, FindingCode, Statement, Subject
from loadcell.analysis.findings import ERRORS_NONE, EXPECT_MET, TRIALS_ALL
from loadcell.analysis.sweep import LOAD
from loadcell.analysis.validity import CHECK, CHECK_UNKNOWN
from loadcell.model.message import Count, Message, MessageCode

#: Lines of rising load that a sentence names.
MOST_NAMED = 3

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
).marked(evidence=Evidence.RESULTS)
CHECKS = FindingCode("found.checks", Subject.CHECKS, "caution", (Concern.TRUST, 30), checks=list, count=Count)
CHECKS_BROKEN = FindingCode(
    "found.checks.broken", Subject.CHECKS, "problem", (Concern.TRUST, 30), checks=list, count=Count
)
SEVERAL_LINES = MessageCode("saturation.of-several", where=list)
MANY_LINES = MessageCode("saturation.of-lines", count=Count)
QUOTED = MessageCode("mark.quoted", text=str)


def condensed(findings: Sequence[Finding]) -> list[Finding]:
    """Without what another finding says as well, and with one sentence for what can be said in one."""
    stated = {finding.code.states for finding in findings if finding.code}
    remaining = [finding for finding in findings if not stated.intersection(_implied_by(finding))]
    return [*_combine_checks(_combine_lines(_combine_successes(remaining)))]


def _implied_by(finding: Finding) -> tuple[Statement, ...]:
    """The statements that make a finding needless; what the load does is what saturation is about."""
    implied_by = finding.code.implied_by if finding.code else ()
    of_load = finding.message.arguments.get("factor") in (LOAD, LOAD.rpartition(".")[2])
    if of_load and finding.kind == Subject.EFFECTS.label:
        return (*implied_by, Statement.SATURATION)
    return implied_by


def _combine_successes(findings: list[Finding]) -> list[Finding]:
    """That trials, transactions and expectations were all well is one sentence."""
    by_code = {finding.code: finding for finding in findings}
    trials, errors = by_code.get(TRIALS_ALL), by_code.get(ERRORS_NONE)
    if trials is None or errors is None:
        return findings
    expectations = [finding for finding in findings if finding.kind == Subject.EXPECTATIONS.label]
    met = [finding for finding in expectations if finding.code is EXPECT_MET]
    counts = {
        "count": trials.message.arguments["count"], "ended_count": errors.message.arguments["count"],
    }  # fmt: skip
    combined, parts = WELL.finding(**counts), [trials, errors]
    if met and met == expectations:
        combined = WELL_EXPECTED.finding(**counts, expected_count=met[0].message.arguments["count"])
        parts += met
    return [
        combined if finding is trials else finding
        for finding in findings
        if finding is trials or finding not in parts
    ]


def _combine_lines(findings: list[Finding]) -> Iterator[Finding]:
    """Combine equal statements about several lines of rising load into one."""
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.kind == Subject.SATURATION.label and "line" in finding.message.arguments:
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
            yield code.finding(trials, finding.severity, checks=names, count=len(trials))
