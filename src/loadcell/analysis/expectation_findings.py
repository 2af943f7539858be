"""Findings on expectations: missed, not judged, or met, each with the fault that it belongs to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadcell.analysis.expectations import ExpectationOutcome, by_fault, outcomes
from loadcell.analysis.finding import Concern, Finding, FindingCode, Subject
from loadcell.analysis.treatments import Treatment
from loadcell.analysis.trials import Trial
from loadcell.model.message import Count, Message, MessageCode
from loadcell.model.trial_record import ExpectationResult

MET = FindingCode(
    "found.expect.met", Subject.EXPECTATIONS, "good", (Concern.WELL, 0), count=Count, expressions=list
)
MISSED = FindingCode(
    "found.expect.missed", Subject.EXPECTATIONS, "problem", (Concern.WRONG, 0), count=Count, expression=str,
    of=Count, treatment=str, value=str,
)  # fmt: skip
MISSED_ALONE = FindingCode(
    "found.expect.missed.alone", Subject.EXPECTATIONS, "problem", (Concern.WRONG, 0), count=Count,
    expression=str, of=Count, value=str,
).marked(unworded=("treatment",))  # fmt: skip
MISSED_MANY = FindingCode(
    "found.expect.missed.many", Subject.EXPECTATIONS, "problem", (Concern.WRONG, 0), cases=list, count=Count
)
FEW = FindingCode(
    "found.expect.few", Subject.EXPECTATIONS, "caution", (Concern.WRONG, 40), count=Count, expression=str,
    fewest=Count, needed=Count, of=Count,
)  # fmt: skip
UNKNOWN = FindingCode(
    "found.expect.unknown", Subject.EXPECTATIONS, "caution", (Concern.WRONG, 30), count=Count,
    expression=str, of=Count,
)  # fmt: skip
UNKNOWN_MANY = FindingCode(
    "found.expect.unknown.many", Subject.EXPECTATIONS, "caution", (Concern.WRONG, 30), cases=list, count=Count
)
CASE = MessageCode("found.expect.case", "info", expression=str, value=str)
MORE = MessageCode("found.expect.more", "info", count=Count)
OF_FAULT = MessageCode("found.expect.of-fault", "info", expressions=list, fault=str)


def expectations(treatments: Sequence[Treatment], all_trials: Sequence[Trial]) -> Iterator[Finding]:
    """Which of the expectations of the plan and of its faults held."""
    labels = {treatment.id: treatment.label for treatment in treatments}
    judged = outcomes(all_trials)
    for outcome in judged:
        if outcome.verdict == "missed":
            yield (MISSED if len(treatments) > 1 else MISSED_ALONE).finding(
                outcome.trials,
                expression=named(outcome),
                count=outcome.missed,
                of=_of(outcome),
                treatment=labels.get(outcome.treatment or "", outcome.treatment or "–"),
                value=outcome.value_text or "–",
            )
    for outcome in judged:
        if outcome.verdict == "unknown":
            yield _unknown(outcome, all_trials)
    met = [outcome for outcome in judged if outcome.verdict == "met"]
    if met:
        yield MET.finding(count=len(met), expressions=_by_fault(met))


def named(outcome: ExpectationOutcome) -> Message | str:
    """The expression, with the fault whose own expectation it is."""
    if outcome.fault is None:
        return outcome.expression
    return OF_FAULT(expressions=[outcome.expression], fault=outcome.fault)


def _by_fault(met: Sequence[ExpectationOutcome]) -> tuple[Message | str, ...]:
    """Expressions of the plan, then those of each fault."""
    faults = dict.fromkeys(outcome.fault for outcome in met if outcome.fault is not None)
    return (
        *(outcome.expression for outcome in met if outcome.fault is None),
        *(
            OF_FAULT(expressions=[item.expression for item in met if item.fault == fault], fault=fault)
            for fault in faults
        ),
    )


def _unknown(outcome: ExpectationOutcome, all_trials: Sequence[Trial]) -> Finding:
    arguments: dict[str, object] = {
        "expression": named(outcome), "count": outcome.unknown, "of": _of(outcome)
    }  # fmt: skip
    few: list[ExpectationResult] = [
        result
        for trial in all_trials
        for result in by_fault(trial).get((outcome.expression, outcome.fault), ())
        if result.needed is not None
    ]
    if not few:
        return UNKNOWN.finding(outcome.trials, **arguments)
    least = min(few, key=lambda result: result.count or 0)
    return FEW.finding(outcome.trials, **arguments, fewest=least.count or 0, needed=least.needed or 0)


def _of(outcome: ExpectationOutcome) -> int:
    """Number of trials that it was applied to."""
    return outcome.met + outcome.missed + outcome.unknown


#: Most findings of one verdict with a sentence each, and most cases of a sentence on more.
_MOST_SENTENCES = 2
_MOST_CASES = 5


def combined(findings: Sequence[Finding]) -> Iterator[Finding]:
    """All findings, with one sentence for many expectations that were missed, or could not be judged."""
    of_codes = {
        MISSED_MANY: [finding for finding in findings if finding.code in (MISSED, MISSED_ALONE)],
        UNKNOWN_MANY: [finding for finding in findings if finding.code is UNKNOWN],
    }
    many = {code: same for code, same in of_codes.items() if len(same) > _MOST_SENTENCES}
    for finding in findings:
        code = next((code for code, same in many.items() if finding in same), None)
        if code is None:
            yield finding
        elif finding is many[code][0]:
            yield _many(code, many[code])


def _many(code: FindingCode, findings: Sequence[Finding]) -> Finding:
    shown = findings if len(findings) <= _MOST_CASES + 1 else findings[:_MOST_CASES]
    arguments = [finding.message.arguments for finding in shown]
    cases = [
        CASE(expression=item["expression"], value=item["value"]) if "value" in item else item["expression"]
        for item in arguments
    ]
    if others := len(findings) - len(shown):
        cases.append(MORE(count=others))
    evidence = tuple(dict.fromkeys(name for finding in findings for name in finding.evidence))
    return code.finding(evidence, cases=cases, count=len(findings))
