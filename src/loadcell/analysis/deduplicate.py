"""Findings said once: without what another sentence says as well, and in one sentence what one can say.

For a summary only: a report's list of everything that was found keeps each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from loadcell.analysis.finding import Finding
from loadcell.analysis.sweep import LOAD
from loadcell.model.message import Argument, Message

#: Lines of rising load that a sentence names.
MOST_NAMED = 3


def condensed(findings: Sequence[Finding]) -> list[Finding]:
    """Without what another finding says as well, and with one sentence for what can be said in one."""
    remaining = list(findings)
    keys = {finding.message.code for finding in remaining}
    for unneeded, why in _REDUNDANT:
        if why(keys, remaining):
            remaining = [finding for finding in remaining if not unneeded(finding)]
    return [*_combine_checks(_combine_lines(_combine_successes(remaining)))]


def _is(*names: str) -> Callable[[Finding], bool]:
    return lambda finding: finding.message.code in names


def _begins(prefix: str) -> Callable[[Finding], bool]:
    return lambda finding: finding.message.code.startswith(prefix)


def _any(*names: str) -> Callable[[set[str], list[Finding]], bool]:
    return lambda keys, _: bool(keys & set(names))


def _saturates(_: set[str], remaining: list[Finding]) -> bool:
    """True if a line of rising load got its statement, which says where the best level is and what is tied
    with it.
    """
    few = (
        "found.saturation.few",
        "found.saturation.why",
        "found.saturation.more",
        "found.saturation.rebound",
    )
    return any(
        finding.kind == "saturation" and not finding.message.code.startswith(few) for finding in remaining
    )


def _effect_of_load(finding: Finding) -> bool:
    return finding.kind == "effects" and finding.message.arguments.get("factor") in (
        LOAD,
        LOAD.rpartition(".")[2],
    )


def _says_highest(keys: set[str], _: list[Finding]) -> bool:
    return any(key.startswith("found.highest") for key in keys)


#: What is not said, and when: another sentence says it as well.
_REDUNDANT: Sequence[
    tuple[Callable[[Finding], bool], Callable[[set[str], list[Finding]], bool]]
] = (
    # The treatment to choose is the highest one, which has a sentence; or it is not, and that sentence names
    # both.
    (_is("found.recommend", "found.recommend.no-latency"), _says_highest),
    (_begins("found.highest"), _any("found.recommend.trade")),
    # "Descriptive only" says what single measurements are worth; each analysis says it again for itself.
    (
        _is("found.spread.none", "found.saturation.why.one-repeat", "found.effects.once"),
        _any("found.descriptive", "found.descriptive.varied"),
    ),
    (_begins("found.tied"), _saturates),
    (_begins("found.tied"), _any("found.recommend.none")),
    # What the load does is what saturation is about.
    (_effect_of_load, _saturates),
    (_is("found.dips.alone"), _any("found.dips")),
)  # fmt: skip


def _combine_successes(findings: list[Finding]) -> list[Finding]:
    """That trials, transactions and expectations were all well is one sentence."""
    by_key = {finding.message.code: finding for finding in findings}
    trials, errors = by_key.get("found.trials.all"), by_key.get("found.errors.none")
    if trials is None or errors is None:
        return findings
    expectations = [finding for finding in findings if finding.kind == "expectations"]
    met = [finding for finding in expectations if finding.message.code == "found.expect.met"]
    params: dict[str, Argument] = {
        "count": trials.message.arguments["count"], "ended_count": errors.message.arguments["count"],
    }  # fmt: skip
    key, parts = "found.well", [trials, errors]
    if met and met == expectations:
        key, parts = "found.well.expected", [*parts, *met]
        params["expected_count"] = met[0].message.arguments["count"]
    combined = Finding("trials", Message(key, params).rated("good"))
    return [combined if one is trials else one for one in findings if one is trials or one not in parts]


def _combine_lines(findings: list[Finding]) -> Iterator[Finding]:
    """Combine equal statements about several lines of rising load into one."""
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.kind == "saturation" and "line" in finding.message.arguments:
            groups.setdefault(_statement(finding), []).append(finding)
    for finding in findings:
        group = groups.get(_statement(finding), [])
        if finding not in group or len(group) == 1:
            yield finding
        elif finding is group[0]:
            evidence = tuple(name for member in group for name in member.evidence)
            phrase = Message(finding.message.code, {**finding.message.arguments, "line": _line_of(group)})
            yield Finding(finding.kind, phrase.rated(finding.severity), evidence)


def _statement(finding: Finding) -> str:
    """The statement of a finding, regardless of the line."""
    other_arguments = {name: value for name, value in finding.message.arguments.items() if name != "line"}
    return f"{finding.message.code} {other_arguments}"


def _line_of(findings: Sequence[Finding]) -> Message:
    """The name of several lines: each one's own, where that can be read."""
    lines = [finding.message.arguments["line"] for finding in findings]
    wheres = [str(line.arguments.get("where", "")) for line in lines if isinstance(line, Message)]
    if len(wheres) > MOST_NAMED or any("," in where for where in wheres):
        return Message("saturation.of-lines", {"count": len(lines)})
    return Message("saturation.of", {"where": tuple(wheres)})


def _combine_checks(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Combine the findings of several checks, one for each severity; the evidence is that of all."""
    findings = list(findings)
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.message.code in ("found.check", "found.check.advice"):
            groups.setdefault(finding.severity, []).append(finding)
    for finding in findings:
        group = groups.get(finding.severity, [])
        if finding not in group or len(group) == 1:
            yield finding
        elif finding is group[0]:
            names = tuple(Message("mark.quoted", {"text": one.message.arguments["check"]}) for one in group)
            trials = tuple(dict.fromkeys(name for one in group for name in one.evidence))
            params: dict[str, Argument] = {"checks": names, "count": len(trials)}
            key = "found.checks.broken" if finding.severity == "problem" else "found.checks"
            yield Finding("checks", Message(key, params).rated(finding.severity), trials)
