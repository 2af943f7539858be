"""Findings on the return from an overload: a search's trials at its answer, right after one above it.

A claim that the target does not come back needs an overload each time, trials that the machine did not
disturb, and a value that is worse than before by more than the noise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from loadcell.analysis.disturbances import disturbances
from loadcell.analysis.finding import Concern, Finding, FindingCode, Subject
from loadcell.analysis.search import AMONG, Searched, Step
from loadcell.analysis.trials import Trial
from loadcell.analysis.validity import check_name, doubts
from loadcell.design.search.confirm import DESCENTS
from loadcell.design.search.model import SUSTAINED_SHARE
from loadcell.model.message import Count, Milliseconds, Number, Rate, Severity

#: The check of the load generator's delay, which is in the times of a trial.
_PACING = "pacing"
#: A metric whose values are this close, as a share, is not worse: the share that keeping up allows for.
MARGIN = 1 - SUSTAINED_SHARE
#: Metrics of expectations that a record has in milliseconds, by the first part of their names.
_TIMES = ("latency", "service", "pacing")


def _code(name: str, severity: Severity, rank: int, /, **arguments: type) -> FindingCode:
    concern = Concern.COST if severity == "info" else Concern.WELL if severity == "good" else Concern.ANSWER
    return FindingCode(
        f"found.search.{name}", Subject.SEARCH, severity, (concern, rank), where=str, level=str, **arguments
    ).marked(unworded=("factor", "level"))


_WORSE: dict[str, type] = {"bound": str, "count": Count, "factor": str, "metric": str, "overload": str}
METASTABLE = _code("metastable", "problem", 30, after_per_s=Rate, before_per_s=Rate, factor=str, overload=str)
METASTABLE_NOTHING = _code("metastable.nothing", "problem", 30, factor=str, overload=str)
METASTABLE_BOUND = _code("metastable.bound", "problem", 30, after=Number, before=Number, **_WORSE)
METASTABLE_TIME = _code(
    "metastable.time", "problem", 30, after_ms=Milliseconds, before_ms=Milliseconds, **_WORSE
)
UNDECIDED = _code("undecided", "caution", 35, factor=str, overload=str)
DISTURBED = _code("undecided.disturbed", "caution", 35, checks=list, factor=str, overload=str)
RECOVERED = _code("recovered", "good", 50, factor=str, overload=str)
NOT_OVERLOADED = _code("not-overloaded", "info", 40)
#: The level above the answer that was to overload the target met the bounds.
NO_OVERLOAD = _code("no-overload", "info", 40, factor=str, overload=str)


@dataclass(frozen=True)
class _Worse:
    """A bound that trials missed after an overload, with its metric's medians after and before."""

    bound: str
    count: int
    after: float
    before: float

    @property
    def metric(self) -> str:
        """The metric's name."""
        return _parts(self.bound)[0]


def findings(searches: Sequence[Searched]) -> Iterator[Finding]:
    """Findings on the return from an overload of each search that has an answer."""
    for search in searches:
        if search.level is not None and search.values.median is not None:
            yield from _findings(search)


def _findings(search: Searched) -> Iterator[Finding]:
    answer = search.answer
    params: dict[str, object] = {
        "where": AMONG(levels=search.among) if search.among else "",
        "factor": search.factor,
        "level": search.level,
    }
    if answer.overload is None:
        if search.ended:
            yield NOT_OVERLOADED.finding(**params)
        return
    params["overload"] = search.labels[answer.overload]
    evidence = tuple(step.trial.name for step in search.steps if step.stage in ("overload", "after"))
    if answer.recovered is None:
        yield NO_OVERLOAD.finding(evidence, **params)
    elif answer.recovered:
        yield RECOVERED.finding(evidence, **params)
    else:
        yield _worse(search, evidence, params)


def _disturbances(trial: Trial) -> frozenset[str]:
    """Checks that make a worse value no evidence against the target."""
    late = frozenset(doubt.name for doubt in doubts(trial) if doubt.name == _PACING)
    return disturbances(trial) | late


def _worse(search: Searched, evidence: tuple[str, ...], params: dict[str, object]) -> Finding:
    """The finding of a worse value after the overload, or why it is undecided."""
    after = [step for step in search.steps if step.stage == "after"][-search.answer.descents :]
    checks = sorted({name for step in after for name in _disturbances(step.trial)})
    if checks:
        return DISTURBED.finding(evidence, **params, checks=tuple(map(check_name, checks)))
    if len(after) < DESCENTS:
        return UNDECIDED.finding(evidence, **params)
    values = [step.value for step in after if step.value is not None]
    if not values:
        return METASTABLE_NOTHING.finding(evidence, **params)
    before = [
        step
        for step in search.steps
        if step.level == search.answer.level and step.stage not in ("overload", "after")
    ]
    lowest = min(step.value for step in before if step.value is not None)
    if max(values) < (1 - max(MARGIN, search.question.tolerance)) * lowest:
        return METASTABLE.finding(
            evidence, **params, after_per_s=max(values), before_per_s=search.values.median
        )
    for bound in search.bounds:
        if worse := _missed(bound, before, after):
            return _of_bound(worse, evidence, params)
    return UNDECIDED.finding(evidence, **params)


def _missed(bound: str, before: Sequence[Step], after: Sequence[Step]) -> _Worse | None:
    """A bound that every trial after the overload missed, by more than its metric scattered before."""
    verdicts = [result for step in after for result in step.bounds if result.expression == bound]
    missed = [result.value for result in verdicts if result.verdict == "missed" and result.value is not None]
    earlier = [
        result.value
        for step in before
        for result in step.bounds
        if result.expression == bound and result.value is not None
    ]
    if len(missed) < DESCENTS or len(missed) < len(verdicts) or len(earlier) < 2:
        return None
    upward = not _parts(bound)[1].startswith(">")
    gap = min(missed) - max(earlier) if upward else min(earlier) - max(missed)
    if gap <= max(max(earlier) - min(earlier), MARGIN * abs(median(earlier))):
        return None
    return _Worse(bound, len(missed), median(missed), median(earlier))


def _parts(bound: str) -> tuple[str, str]:
    """Metric and comparator of an expectation."""
    match = re.match(r"([^<>=!\s]+)\s*([<>=!]+)", bound)
    return (match[1], match[2]) if match else (bound, "")


def _of_bound(worse: _Worse, evidence: tuple[str, ...], params: dict[str, object]) -> Finding:
    named = {**params, "bound": worse.bound, "metric": worse.metric, "count": worse.count}
    if worse.metric.partition(".")[0] in _TIMES:
        return METASTABLE_TIME.finding(evidence, **named, after_ms=worse.after, before_ms=worse.before)
    return METASTABLE_BOUND.finding(evidence, **named, after=worse.after, before=worse.before)
