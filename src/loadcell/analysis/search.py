"""Result of a search from its finished trials: its probes in order, its answer, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadcell.analysis.finding import Finding
from loadcell.analysis.treatments import short_keys
from loadcell.analysis.trials import Trial
from loadcell.design.search import Answer, Question, Seen, Standing, answer, decide, standing
from loadcell.design.search.decide import question
from loadcell.design.search.model import document
from loadcell.model.message import Argument, Message
from loadcell.model.run_record import RunRecord, SearchRecord
from loadcell.model.trial_record import ExpectationResult, TrialRecord
from loadcell.stats.repeats import Repeats, summarise


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

    def document(self) -> dict[str, Any]:
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
                    "bounds": [{"expression": b.expression, "verdict": b.verdict, "value": b.value} for b in step.bounds],
                }
                for step in self.steps
            ],
        }  # fmt: skip


def searched(run: RunRecord, records: Sequence[TrialRecord], trials: Sequence[Trial]) -> tuple[Searched, ...]:
    """Every search of a run, from its run.json and the records of its finished trials; none in other designs."""
    search = run.search
    if search is None:
        return ()
    asked = question(search, run.repeats or 1, run.seed or 0, run.order or "")
    by_name = {trial.name: trial for trial in trials}
    groups: dict[int, list[TrialRecord]] = {}
    for record in records:
        if record.search is not None:
            groups.setdefault(record.search.group, []).append(record)
    return tuple(_searched(search, asked, groups[group], by_name) for group in sorted(groups))


def _searched(
    search: SearchRecord,
    asked: Question,
    records: Sequence[TrialRecord],
    by_name: Mapping[str, Trial],
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
        ended=decide(asked, seen) is None,
    )


def findings(searches: Sequence[Searched]) -> Iterator[Finding]:
    """Findings of each search, its answer first."""
    for search in searches:
        yield from _findings(search)


def _findings(search: Searched) -> Iterator[Finding]:
    search_answer = search.answer
    steps = tuple(step.trial.name for step in search.steps)
    where: Message | str = Message("found.search.among", {"levels": search.among}) if search.among else ""
    params: dict[str, Argument] = {"where": where, "factor": search.factor}
    if not search.ended:
        yield Finding(
            "search", Message("found.search.unfinished", {**params, "count": len(steps)}).rated("caution")
        )
    if search_answer.level is None or search.level is None or search.values.median is None:
        lowest = search.labels[0]
        yield Finding(
            "search",
            Message(f"found.search.{search_answer.nothing}", {**params, "lowest": lowest}).rated("problem"),
            steps,
        )
        return
    evidence = tuple(step.trial.name for step in search.steps if step.level == search_answer.level)
    params |= {"level": search.level}
    yield Finding("search", _answer(search, params).rated("good"), evidence)
    yield from _remarks(search, params)
    if not search_answer.settled:
        yield Finding("search", Message("found.search.unsettled", params).rated("caution"), steps)
    if search_answer.lost:
        names = tuple(search.labels[level] for level in search_answer.lost)
        yield Finding(
            "search",
            Message("found.search.lost", {**params, "count": len(names), "lost": names}).rated("caution"),
        )
    yield from _descent(search, params)


def _answer(search: Searched, params: Mapping[str, Argument]) -> Message:
    search_answer, values = search.answer, search.values
    full: dict[str, Argument] = {
        **params,
        "value_per_s": values.median or 0.0,
        "low_per_s": values.low or 0.0,
        "high_per_s": values.high or 0.0,
        "count": len(values.values),
        "searched": search_answer.searched,
        "levels": len(search.labels),
        "met": search_answer.met,
        "tried": search_answer.tried,
        "bounds": search.bounds,
    }
    if search_answer.kind == "maximum":
        name = "" if search.objective == "max throughput" else ".of"
        key = f"found.search.maximum{name}" + (".within" if search.bounds else "")
        return Message(key, {**full, "metric": search.objective.removeprefix("max ")})
    return Message("found.search.bound" + ("" if search.bounds else ".kept-up"), full)


def _remarks(search: Searched, params: Mapping[str, Argument]) -> Iterator[Finding]:
    """Possible distance of the answer from the true one."""
    search_answer, labels = search.answer, search.labels
    if search_answer.plateau is not None and search_answer.plateau[0] != search_answer.plateau[1]:
        low, high = (labels[level] for level in search_answer.plateau)
        levelled = search_answer.plateau[1] == len(labels) - 1
        key = "found.search.level" if levelled else "found.search.plateau"
        full = {**params, "low": low, "high": high, "within_share": search.question.tolerance}
        yield Finding("search", Message(key, full).rated("info"))
    if search_answer.missed is not None:
        full = {**params, "missed": labels[search_answer.missed]}
        broken = all(step.value is None for step in search.steps if step.level == search_answer.missed)
        yield Finding(
            "search", Message("found.search.missed" + (".broken" if broken else ""), full).rated("info")
        )
    if search_answer.edge == "highest":
        yield Finding(
            "search", Message(f"found.search.highest.{search_answer.kind}", params).rated("caution")
        )
    elif search_answer.edge == "lowest":
        yield Finding("search", Message("found.search.lowest", params).rated("caution"))


def _descent(search: Searched, params: Mapping[str, Argument]) -> Iterator[Finding]:
    search_answer = search.answer
    if search_answer.overload is None or search_answer.recovered is None:
        if search.ended:
            yield Finding("search", Message("found.search.not-overloaded", params).rated("info"))
        return
    full: dict[str, Argument] = {**params, "overload": search.labels[search_answer.overload]}
    evidence = tuple(step.trial.name for step in search.steps if step.stage in ("overload", "after"))
    if search_answer.recovered:
        yield Finding("search", Message("found.search.recovered", full).rated("good"), evidence)
        return
    gave = [value for value in search_answer.after if value is not None]
    if gave and search.values.median:
        full |= {"after_per_s": max(gave), "before_per_s": search.values.median}
    key = "found.search.metastable" + ("" if gave else ".nothing")
    yield Finding("search", Message(key, full).rated("problem"), evidence)
