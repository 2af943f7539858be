"""Findings of a plan's history: the latest change first."""

from __future__ import annotations

from collections.abc import Iterator

from loadcell.analysis.compare.differences import Difference
from loadcell.analysis.finding import Finding
from loadcell.analysis.history.changes import FEWEST_RUNS, Event, History
from loadcell.model.message import Argument, Message, Severity

#: How many differences a sentence names before it only counts.
MOST_NAMED = 3


def find(history: History) -> Iterator[Finding]:
    """Nothing here speaks of treatments that have too few runs, but to say so."""
    yield from _judged(history)
    bare = [run.short for run in history.runs if run.without]
    if bare:
        params: dict[str, Argument] = {"count": len(bare), "runs": tuple(bare[-MOST_NAMED:])}
        yield Finding("history", Message("history.without", params).rated("caution"), tuple(bare))


def _judged(history: History) -> Iterator[Finding]:
    runs = history.runs
    judged = history.judged
    if not judged:
        params: dict[str, Argument] = {"count": sum(bool(run.values) for run in runs), "needed": FEWEST_RUNS}
        yield Finding("history", Message("history.too-few", params).rated("caution"))
        return
    for event in reversed(history.events):
        yield from _event(history, event)
    if not history.events:
        key = "history.no-change" if len(judged) == 1 else "history.no-change.many"
        yield Finding("history", Message(key, {"count": len(runs), "treatments": len(judged)}).rated("good"))
    if history.latest:
        most = max(history.latest, key=lambda change: abs(change.share))
        key = "history.latest-above" if most.share > 0 else "history.latest-below"
        params = {
            "run": runs[most.series.places[-1]].short, "treatment": most.series.label,
            "change_share": abs(most.share), "count": len(history.latest), "of": len(judged),
        }  # fmt: skip
        better = (most.share > 0) == history.metric.higher_is_better
        yield Finding("history", Message(key, params).rated("info" if better else "caution"))
    if len(judged) < len(history.series):
        params = {"count": len(history.series) - len(judged), "needed": FEWEST_RUNS}
        yield Finding("history", Message("history.some-too-few", params).rated("info"))


def _event(history: History, event: Event) -> Iterator[Finding]:
    most = event.changes[0]
    rose = most.share > 0
    better = rose == history.metric.higher_is_better
    before, after = history.runs[event.last], history.runs[event.first]
    params: dict[str, Argument] = {
        "metric": Message(f"history.metric.{history.metric.name}"), "treatment": most.series.label,
        "change_share": abs(most.share), "before": before.short, "after": after.short,
        "date": after.started_utc[:10], "count": len(event.changes), "of": len(history.judged),
    }  # fmt: skip
    severity: Severity = "good" if better else "problem"
    alone = len(history.judged) == 1
    key = ("history.rose" if rose else "history.fell") + (".alone" if alone else "")
    evidence = tuple(change.series.treatment for change in event.changes)
    yield Finding("history", Message(key, params).rated(severity), evidence)
    if not event.differences:
        yield Finding("history", Message("history.nothing-differs").rated("info"))
        return
    named = tuple(_difference(difference) for difference in event.differences[:MOST_NAMED])
    more = len(event.differences) - len(named)
    phrase = Message("history.differs", {"differences": named})
    if more:
        phrase = Message("history.differs.more", {"differences": named, "count": more})
    yield Finding("history", phrase.rated("info"))


def _difference(difference: Difference) -> Message:
    before, after = (
        Message("history.not-set") if value is None else str(value)
        for value in (difference.before, difference.after)
    )
    return Message("history.difference", {"path": difference.path, "before": before, "after": after})
