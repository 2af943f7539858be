"""Result of a search from its finished trials: its probes in order, its answer, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from loadcell.analysis.finding import Concern, Finding, FindingCode, Rank, Subject
from loadcell.analysis.treatments import short_keys
from loadcell.analysis.trials import Trial
from loadcell.design.search import Answer, Question, Seen, Standing, answer, decide, question, standing
from loadcell.design.search.model import document
from loadcell.model.json import JsonObject
from loadcell.model.message import Count, MessageCode, Rate, Severity, Share
from loadcell.model.run_record import RunRecord, SearchRecord
from loadcell.model.trial_record import ExpectationResult, TrialRecord
from loadcell.stats.repeats import Repeats, summarise

AMONG = MessageCode("found.search.among", levels=str)


def _code(name: str, severity: Severity, rank: Rank, /, **arguments: type) -> FindingCode:
    code = FindingCode(f"found.search.{name}", Subject.SEARCH, severity, rank, where=str, **arguments)
    return code.marked(unworded=("factor", "level"))


def _answer_code(name: str, position: int, severity: Severity = "good", /, **arguments: type) -> FindingCode:
    code = _code(
        name, severity, (Concern.ANSWER, position),
        factor=str, level=str, levels=Count, searched=Count, value_per_s=Rate, **arguments,
    )  # fmt: skip
    metric = ("metric",) if name.startswith("maximum") else ()
    return code.marked(unworded=("count", "high_per_s", "low_per_s", "met", "tried", "bounds", *metric))


UNFINISHED = _code("unfinished", "caution", (Concern.STANDS, 40), count=Count)
#: Where no level is the answer, by `Answer.nothing`.
NOTHING = {
    "nothing-measured": _code("nothing-measured", "problem", (Concern.STANDS, 20), factor=str, lowest=str),
    "never-met": _code("never-met", "problem", (Concern.ANSWER, 20), factor=str, lowest=str),
}
_RANGE: dict[str, type] = {"count": Count, "high_per_s": Rate, "low_per_s": Rate}
MAXIMUM = _answer_code("maximum", 0, **_RANGE)
MAXIMUM_WITHIN = _answer_code("maximum.within", 0, bounds=list, **_RANGE)
MAXIMUM_OF = _answer_code("maximum.of", 0, metric=str, **_RANGE)
MAXIMUM_OF_WITHIN = _answer_code("maximum.of.within", 0, bounds=list, metric=str, **_RANGE)
BOUND = _answer_code("bound", 10, bounds=list, count=Count, met=Count, tried=Count)
BOUND_SUSTAINED = _answer_code("bound.kept-up", 10, count=Count, met=Count, tried=Count)
#: The same where trials at a level above the answer met the bounds, too.
_ABOVE: dict[str, type] = {
    "above": str, "count": Count, "count_above": Count, "met": Count, "tried": Count, "tried_above": Count,
}  # fmt: skip
BOUND_ABOVE = _answer_code("bound.above", 10, "caution", bounds=list, **_ABOVE)
BOUND_SUSTAINED_ABOVE = _answer_code("bound.kept-up.above", 10, "caution", **_ABOVE)
#: The answer is the highest level, by `Answer.kind`.
HIGHEST = {
    "maximum": _code("highest.maximum", "caution", (Concern.ANSWER, 40), level=str),
    "bound": _code("highest.bound", "caution", (Concern.ANSWER, 40), level=str),
}
LOWEST = _code("lowest", "caution", (Concern.ANSWER, 50), level=str)
PLATEAU = _code("plateau", "info", (Concern.ANSWER, 60), factor=str, high=str, low=str, within_share=Share)
LEVELLED = _code("level", "info", (Concern.ANSWER, 70), factor=str, high=str, low=str, within_share=Share)
NOISY = _code(
    "noisy", "caution", (Concern.ANSWER, 60), factor=str, high=str, level=str, low=str, noise_share=Share
)
MISSED_MIXED = _code(
    "missed.mixed", "caution", (Concern.ANSWER, 80),
    factor=str, high=str, level=str, low=str, met=Count, missed=str, tried=Count,
)  # fmt: skip
#: The same where no level was measured that every trial missed.
MISSED_OPEN = _code(
    "missed.open", "caution", (Concern.ANSWER, 80),
    end=str, factor=str, highest=str, level=str, low=str, met=Count, missed=str, tried=Count,
)  # fmt: skip
MISSED = _code("missed", "info", (Concern.ANSWER, 80), factor=str, level=str, missed=str)
MISSED_BROKEN = _code("missed.broken", "info", (Concern.ANSWER, 80), factor=str, level=str, missed=str)
LOST = _code("lost", "caution", (Concern.WRONG, 50), count=Count, factor=str, lost=list)
UNSETTLED = _code("unsettled", "caution", (Concern.TRUST, 200), factor=str, level=str)


@dataclass(frozen=True)
class Step:
    """One trial of a search, in the order they were run: its level (and how it is called), what for, what it
    gave, and where the
    search stood after it."""

    trial: Trial
    level: int
    label: str
    stage: str
    why: str
    value: float | None
    met: bool | None
    bounds: tuple[ExpectationResult, ...]
    after: Standing


@dataclass(frozen=True)
class Searched:
    """One search: over `factor`, for the levels `among` of all other factors (written out; empty without
    any).

    `ended` says whether there was nothing left to try.
    """

    key: str
    factor: str
    among: str
    others: Mapping[str, str]
    objective: str
    bounds: tuple[str, ...]
    labels: tuple[str, ...]
    question: Question
    steps: tuple[Step, ...]
    answer: Answer
    values: Repeats
    ended: bool

    @property
    def level(self) -> str | None:
        """The answer's level."""
        return None if self.answer.level is None else self.labels[self.answer.level]

    def document(self) -> JsonObject:
        """As plain JSON."""
        return {
            "factor": self.key,
            "others": dict(self.others),
            "objective": self.objective,
            "subject_to": list(self.bounds),
            "ended": self.ended,
            "answer": document(self.answer, self.labels),
            "steps": [
                {
                    "trial": step.trial.name, "level": step.label, "stage": step.stage, "why": step.why,
                    "value": step.value, "met": step.met,
                    "bounds": [{"expression": b.expression, "verdict": b.verdict,
                    "value": b.value} for b in step.bounds],
                }
                for step in self.steps
            ],
        }  # fmt: skip


def searched(run: RunRecord, records: Sequence[TrialRecord], trials: Sequence[Trial]) -> tuple[Searched, ...]:
    """Every search of a run, from its run.json and the records of its finished trials; none in
    other designs.
    """
    search = run.search
    if search is None:
        return ()
    asked = question(search, run.repeats or 1, run.seed or 0, run.order or "")
    by_name = {trial.name: trial for trial in trials}
    groups: dict[int, list[TrialRecord]] = {}
    for record in records:
        if record.search is not None:
            groups.setdefault(record.search.group, []).append(record)
    return tuple(
        _searched(search, asked, groups[group], by_name, finished=run.state == "finished")
        for group in sorted(groups)
    )


def _searched(
    search: SearchRecord,
    asked: Question,
    records: Sequence[TrialRecord],
    by_name: Mapping[str, Trial],
    *,
    finished: bool,
) -> Searched:
    key = search.factor
    levels = records[0].levels
    short = short_keys(list(levels))
    others = {name: label for name, label in levels.items() if name != key}
    seen: list[Seen] = []
    steps = []
    for record in records:
        observed = record.search
        assert observed is not None
        seen.append(Seen.of(observed))
        steps.append(
            Step(
                by_name[record.name],
                observed.level,
                observed.label,
                observed.stage,
                observed.why,
                observed.value,
                observed.met,
                observed.bounds,
                standing(asked, seen),
            )
        )
    search_answer = answer(asked, seen)
    return Searched(
        key=key,
        factor=short[key],
        among=", ".join(f"{short[name]} = {label}" for name, label in others.items()),
        others=others,
        objective=search.objective,
        bounds=search.subject_to,
        labels=search.levels,
        question=asked,
        steps=tuple(steps),
        answer=search_answer,
        values=summarise(search_answer.values),
        ended=finished or decide(asked, seen) is None,
    )


def findings(searches: Sequence[Searched]) -> Iterator[Finding]:
    """Findings of each search, its answer first."""
    for search in searches:
        yield from _findings(search)


def _findings(search: Searched) -> Iterator[Finding]:
    search_answer = search.answer
    steps = tuple(step.trial.name for step in search.steps)
    where = AMONG(levels=search.among) if search.among else ""
    if not search.ended:
        yield UNFINISHED.finding(where=where, factor=search.factor, count=len(steps))
    if search_answer.level is None or search.level is None or search.values.median is None:
        code = NOTHING[search_answer.nothing]
        yield code.finding(steps, where=where, factor=search.factor, lowest=search.labels[0])
        return
    evidence = tuple(step.trial.name for step in search.steps if step.level == search_answer.level)
    params: dict[str, object] = {"where": where, "factor": search.factor, "level": search.level}
    above = _above(search)
    code = _answer(search, above=bool(above))
    doubtful = search_answer.kind == "bound" and 2 * search_answer.met <= search_answer.tried
    yield code.finding(
        evidence,
        "caution" if doubtful else None,
        **params,
        above=above[0].label if above else "",
        count_above=sum(bool(step.met) for step in above),
        tried_above=len(above),
        value_per_s=search.values.median,
        low_per_s=search.values.low or 0.0,
        high_per_s=search.values.high or 0.0,
        count=len(search.values.values),
        searched=search_answer.searched,
        levels=len(search.labels),
        met=search_answer.met,
        tried=search_answer.tried,
        bounds=search.bounds,
        metric=search.objective.removeprefix("max "),
    )
    yield from _remarks(search, params)
    if not search_answer.settled:
        yield UNSETTLED.finding(steps, **params)
    if search_answer.lost:
        names = tuple(search.labels[level] for level in search_answer.lost)
        yield LOST.finding(**params, count=len(names), lost=names)


def _above(search: Searched) -> tuple[Step, ...]:
    """Trials of the highest level above a bound's answer at which one met the bounds; none without such."""
    met = {step.level for step in search.steps if step.met and step.level > (search.answer.level or 0)}
    if search.answer.kind != "bound" or not met:
        return ()
    return tuple(step for step in search.steps if step.level == max(met) and step.met is not None)


def _answer(search: Searched, *, above: bool) -> FindingCode:
    if search.answer.kind != "maximum":
        if above:
            return BOUND_ABOVE if search.bounds else BOUND_SUSTAINED_ABOVE
        return BOUND if search.bounds else BOUND_SUSTAINED
    if search.objective == "max throughput":
        return MAXIMUM_WITHIN if search.bounds else MAXIMUM
    return MAXIMUM_OF_WITHIN if search.bounds else MAXIMUM_OF


def _remarks(search: Searched, params: Mapping[str, object]) -> Iterator[Finding]:
    """Possible distance of the answer from the true one."""
    search_answer, labels = search.answer, search.labels
    alike = search_answer.alike
    if search_answer.noise is not None and alike is not None and alike != search_answer.plateau:
        low, high = (labels[level] for level in alike)
        yield NOISY.finding(**params, low=low, high=high, noise_share=search_answer.noise)
    elif search_answer.plateau is not None and search_answer.plateau[0] != search_answer.plateau[1]:
        low, high = (labels[level] for level in search_answer.plateau)
        code = LEVELLED if search_answer.plateau[1] == len(labels) - 1 else PLATEAU
        yield code.finding(**params, low=low, high=high, within_share=search.question.tolerance)
    above = search_answer.missed
    if above is None and search_answer.kind == "bound" and search_answer.level not in (None, len(labels) - 1):
        following = (search_answer.level or 0) + 1  # missed by the search, and met by repeats
        above = following if any(step.level == following for step in search.steps) else None
    if above is not None:
        yield _missed(search, above, params)
    if search_answer.edge == "highest":
        yield HIGHEST[search_answer.kind].finding(**params)
    elif search_answer.edge == "lowest":
        yield LOWEST.finding(**params)


def _missed(search: Searched, missed: int, params: Mapping[str, object]) -> Finding:
    """Place of the limit, as far as trials of the same level agree."""
    search_answer, labels = search.answer, search.labels
    there = [step for step in search.steps if step.level == missed and step.met is not None]
    if search_answer.limits not in (None, (search_answer.level, missed)):
        low, high = search_answer.limits or (None, None)
        return (MISSED_OPEN if high is None else MISSED_MIXED).finding(
            **params,
            missed=labels[missed],
            met=sum(bool(step.met) for step in there),
            tried=len(there),
            low=labels[0 if low is None else low],
            high=labels[-1 if high is None else high],
            highest=labels[max(step.level for step in search.steps)],
            end=labels[-1],
        )
    broken = all(step.value is None for step in search.steps if step.level == missed)
    return (MISSED_BROKEN if broken else MISSED).finding(**params, missed=labels[missed])
