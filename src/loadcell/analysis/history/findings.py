"""Findings of a plan's history: the latest change first."""

from __future__ import annotations

from collections.abc import Iterator

from loadcell.analysis.compare.differences import Difference
from loadcell.analysis.finding import Finding, FindingCode, Subject
from loadcell.analysis.history.changes import FEWEST_RUNS, METRICS, Event, History
from loadcell.model.message import Count, Message, MessageCode, Share

#: How many differences a sentence names before it only counts.
MOST_NAMED = 3

METRIC_NAMES = {name: MessageCode(f"history.metric.{name}") for name in METRICS}
TOO_FEW = FindingCode("history.too-few", Subject.HISTORY, "caution", count=Count, needed=Count)
SOME_TOO_FEW = FindingCode("history.some-too-few", Subject.HISTORY, "info", count=Count, needed=Count)
WITHOUT = FindingCode("history.without", Subject.HISTORY, "caution", count=Count, runs=list)
NO_CHANGE = FindingCode("history.no-change", Subject.HISTORY, "good", count=Count)
NO_CHANGE_MANY = FindingCode("history.no-change.many", Subject.HISTORY, "good", count=Count, treatments=Count)
FELL = FindingCode(
    "history.fell", Subject.HISTORY, "problem", after=str, before=str, change_share=Share, count=Count,
    date=str, metric=Message, of=Count, treatment=str,
)  # fmt: skip
FELL_ALONE = FindingCode(
    "history.fell.alone", Subject.HISTORY, "problem", after=str, before=str, change_share=Share, date=str,
    metric=Message,
)  # fmt: skip
ROSE = FindingCode(
    "history.rose", Subject.HISTORY, "good", after=str, before=str, change_share=Share, count=Count,
    date=str, metric=Message, of=Count, treatment=str,
)  # fmt: skip
ROSE_ALONE = FindingCode(
    "history.rose.alone", Subject.HISTORY, "good", after=str, before=str, change_share=Share, date=str,
    metric=Message,
)  # fmt: skip
DIFFERS = FindingCode("history.differs", Subject.HISTORY, "info", differences=list)
DIFFERS_MORE = FindingCode("history.differs.more", Subject.HISTORY, "info", count=Count, differences=list)
DIFFERENCE = MessageCode("history.difference", after=str, before=str, path=str)
NOT_SET = MessageCode("history.not-set")
NOTHING_DIFFERS = FindingCode("history.nothing-differs", Subject.HISTORY, "info")
LATEST_BELOW = FindingCode(
    "history.latest-below", Subject.HISTORY, "caution", change_share=Share, count=Count, of=Count, run=str,
    treatment=str,
)  # fmt: skip
LATEST_ABOVE = FindingCode(
    "history.latest-above", Subject.HISTORY, "caution", change_share=Share, count=Count, of=Count, run=str,
    treatment=str,
)  # fmt: skip


def find(history: History) -> Iterator[Finding]:
    """Nothing here speaks of treatments that have too few runs, but to say so."""
    yield from _judged(history)
    bare = [run.short for run in history.runs if run.without]
    if bare:
        yield WITHOUT.finding(tuple(bare), count=len(bare), runs=bare[-MOST_NAMED:])


def _judged(history: History) -> Iterator[Finding]:
    runs = history.runs
    judged = history.judged
    if not judged:
        yield TOO_FEW.finding(count=sum(bool(run.values) for run in runs), needed=FEWEST_RUNS)
        return
    for event in reversed(history.events):
        yield from _event(history, event)
    if not history.events:
        code = NO_CHANGE if len(judged) == 1 else NO_CHANGE_MANY
        yield code.finding(count=len(runs), treatments=len(judged))
    if history.latest:
        most = max(history.latest, key=lambda change: abs(change.share))
        better = (most.share > 0) == history.metric.higher_is_better
        yield (LATEST_ABOVE if most.share > 0 else LATEST_BELOW).finding(
            (),
            "info" if better else "caution",
            run=runs[most.series.places[-1]].short,
            treatment=most.series.label,
            change_share=abs(most.share),
            count=len(history.latest),
            of=len(judged),
        )
    if len(judged) < len(history.series):
        yield SOME_TOO_FEW.finding(count=len(history.series) - len(judged), needed=FEWEST_RUNS)


def _event(history: History, event: Event) -> Iterator[Finding]:
    most = event.changes[0]
    rose = most.share > 0
    better = rose == history.metric.higher_is_better
    before, after = history.runs[event.last], history.runs[event.first]
    several = len(history.judged) > 1
    code = (ROSE if several else ROSE_ALONE) if rose else (FELL if several else FELL_ALONE)
    yield code.finding(
        tuple(change.series.treatment for change in event.changes),
        "good" if better else "problem",
        metric=METRIC_NAMES[history.metric.name](),
        treatment=most.series.label,
        change_share=abs(most.share),
        before=before.short,
        after=after.short,
        date=after.started_utc[:10],
        count=len(event.changes),
        of=len(history.judged),
    )
    if not event.differences:
        yield NOTHING_DIFFERS.finding()
        return
    named = tuple(_difference(difference) for difference in event.differences[:MOST_NAMED])
    more = len(event.differences) - len(named)
    yield (DIFFERS_MORE if more else DIFFERS).finding(differences=named, count=more)


def _difference(difference: Difference) -> Message:
    before, after = (
        NOT_SET() if value is None else str(value) for value in (difference.before, difference.after)
    )
    return DIFFERENCE(path=difference.path, before=before, after=after)
