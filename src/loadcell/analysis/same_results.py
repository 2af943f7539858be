"""Results of functions that have to be equal: trials with another result than most are not compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from loadcell.analysis.finding import Concern, Finding, FindingCode, Subject
from loadcell.analysis.trials import Trial
from loadcell.model.message import Count, MessageCode
from loadcell.model.result_summary import OPAQUE, ResultSummary
from loadcell.model.trial_record import TrialRecord

DIFFERENT = FindingCode(
    "found.different-results",
    Subject.TRIALS,
    "problem",
    (Concern.STANDS, 5),
    treatments=list,
    others=list,
    tolerance=str,
)
EQUAL = FindingCode(
    "found.equal-results", Subject.TRIALS, "good", (Concern.WELL, 20), count=Count, tolerance=str
)
OPAQUE_RESULTS = FindingCode(
    "found.opaque-results", Subject.TRIALS, "caution", (Concern.TRUST, 8), treatments=list, type=str
)
REASON = MessageCode("check.different-result", type=str)
_INVALID = "invalid"
_MOST_NAMES = 6


@dataclass(frozen=True)
class _Result:
    trial: str
    treatment: str
    number: int
    summary: ResultSummary


@dataclass(frozen=True)
class Outcome:
    """Trials by the comparison of their results: those with that of most treatments, and others."""

    equal: tuple[_Result, ...]
    different: tuple[_Result, ...]
    opaque: tuple[_Result, ...]


def compared(records: Sequence[TrialRecord]) -> Outcome:
    """Compare the results within each group.

    The right result is that of most treatments; of several, that of the first trial.
    """
    results = [
        _Result(record.name, record.treatment, record.number, record.value)
        for record in sorted(records, key=lambda record: record.number)
        if record.value is not None
    ]
    opaque = tuple(result for result in results if result.summary.kind == OPAQUE)
    by_group: dict[str, list[_Result]] = {}
    for result in results:
        if result.summary.kind != OPAQUE:
            by_group.setdefault(result.summary.group, []).append(result)
    equal: list[_Result] = []
    different: list[_Result] = []
    for group in by_group.values():
        clusters = _clusters(group)
        right = max(clusters, key=lambda cluster: len({result.treatment for result in cluster}))
        for cluster in clusters:
            (equal if cluster is right else different).extend(cluster)
    return Outcome(tuple(equal), tuple(different), opaque)


def _clusters(results: Sequence[_Result]) -> list[list[_Result]]:
    """Results in lists of equal ones, each in the order of the first."""
    clusters: list[list[_Result]] = []
    for result in results:
        for cluster in clusters:
            if cluster[0].summary.equals(result.summary):
                cluster.append(result)
                break
        else:
            clusters.append([result])
    return clusters


def without_different(trials: Sequence[Trial], outcome: Outcome) -> tuple[Trial, ...]:
    """The trials, of which those with a different result are invalid."""
    types = {result.trial: result.summary.type for result in outcome.different}
    return tuple(
        replace(trial, status=_INVALID, why=REASON(type=types[trial.name]), remedy=None)
        if trial.name in types and trial.status == "ok"
        else trial
        for trial in trials
    )


def findings(outcome: Outcome, labels: Mapping[str, str]) -> Iterator[Finding]:
    """Treatments with different results, and with results that cannot be compared; `labels` are by id."""
    tolerances = [result.summary.tolerance for result in (*outcome.equal, *outcome.different)]
    if outcome.different:
        groups = {result.summary.group for result in outcome.different}
        others = [result for result in outcome.equal if result.summary.group in groups]
        yield DIFFERENT.finding(
            tuple(result.trial for result in outcome.different),
            treatments=_names(outcome.different, labels),
            others=_names(others, labels),
            tolerance=f"{max(tolerances):g}",
        )
    elif outcome.equal:
        count = len({result.treatment for result in outcome.equal})
        yield EQUAL.finding(
            tuple(result.trial for result in outcome.equal), count=count, tolerance=f"{max(tolerances):g}"
        )
    if outcome.opaque:
        yield OPAQUE_RESULTS.finding(
            tuple(result.trial for result in outcome.opaque),
            treatments=_names(outcome.opaque, labels),
            type=outcome.opaque[0].summary.type,
        )


def _names(results: Sequence[_Result], labels: Mapping[str, str]) -> list[str]:
    names = list(dict.fromkeys(labels.get(result.treatment, result.treatment) for result in results))
    return names[:_MOST_NAMES]
