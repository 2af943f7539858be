"""What a plan's history says, in sentences: the latest change first."""

from __future__ import annotations

from collections.abc import Iterator

from loadcell.analysis.compare.differences import Difference
from loadcell.analysis.history.changes import FEWEST_RUNS, Event, History
from loadcell.analysis.phrase import Finding, Phrase, Severity, Value

#: How many differences a sentence names before it only counts.
MOST_NAMED = 3


def find(history: History) -> Iterator[Finding]:
    """Nothing here speaks of treatments that have too few runs, but to say so."""
    yield from _judged(history)
    bare = [run.short for run in history.runs if run.without]
    if bare:
        params: dict[str, Value] = {"count": len(bare), "runs": tuple(bare[-MOST_NAMED:])}
        yield Finding("history", "caution", Phrase("history.without", params), tuple(bare))


def _judged(history: History) -> Iterator[Finding]:
    runs = history.runs
    judged = history.judged
    if not judged:
        params: dict[str, Value] = {"count": sum(bool(run.values) for run in runs), "needed": FEWEST_RUNS}
        yield Finding("history", "caution", Phrase("history.too-few", params))
        return
    for event in reversed(history.events):
        yield from _event(history, event)
    if not history.events:
        key = "history.no-change" if len(judged) == 1 else "history.no-change.many"
        yield Finding("history", "good", Phrase(key, {"count": len(runs), "treatments": len(judged)}))
    if history.latest:
        most = max(history.latest, key=lambda one: abs(one.share))
        key = "history.latest-above" if most.share > 0 else "history.latest-below"
        params = {
            "run": runs[most.series.places[-1]].short, "treatment": most.series.label,
            "change_share": abs(most.share), "count": len(history.latest), "of": len(judged),
        }  # fmt: skip
        better = (most.share > 0) == history.metric.higher_is_better
        yield Finding("history", "info" if better else "caution", Phrase(key, params))
    if len(judged) < len(history.series):
        params = {"count": len(history.series) - len(judged), "needed": FEWEST_RUNS}
        yield Finding("history", "info", Phrase("history.some-too-few", params))


def _event(history: History, event: Event) -> Iterator[Finding]:
    most = event.changes[0]
    rose = most.share > 0
    better = rose == history.metric.higher_is_better
    before, after = history.runs[event.last], history.runs[event.first]
    params: dict[str, Value] = {
        "metric": Phrase(f"history.metric.{history.metric.name}"), "treatment": most.series.label,
        "change_share": abs(most.share), "before": before.short, "after": after.short,
        "date": after.started_utc[:10], "count": len(event.changes), "of": len(history.judged),
    }  # fmt: skip
    severity: Severity = "good" if better else "problem"
    alone = len(history.judged) == 1
    key = ("history.rose" if rose else "history.fell") + (".alone" if alone else "")
    evidence = tuple(change.series.treatment for change in event.changes)
    yield Finding("history", severity, Phrase(key, params), evidence)
    if not event.differences:
        yield Finding("history", "info", Phrase("history.nothing-differs"))
        return
    named = tuple(_said(one) for one in event.differences[:MOST_NAMED])
    more = len(event.differences) - len(named)
    phrase = Phrase("history.differs", {"differences": named})
    if more:
        phrase = Phrase("history.differs.more", {"differences": named, "count": more})
    yield Finding("history", "info", phrase)


def _said(one: Difference) -> Phrase:
    before, after = (
        Phrase("history.not-set") if value is None else str(value) for value in (one.before, one.after)
    )
    return Phrase("history.difference", {"path": one.path, "before": before, "after": after})
