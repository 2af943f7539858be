"""Findings on trials and values that a comparison excludes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadcell.analysis.compare.compare import OVERALL, Comparison, Row
from loadcell.analysis.compare.locations import (
    MOST_NAMED,
    context_name,
    metric_name,
)
from loadcell.analysis.compare.sides import Sides, name
from loadcell.analysis.finding import Finding, FindingCode, Subject
from loadcell.analysis.trials import Trial
from loadcell.model.message import Count, Message, MessageCode, Share

TRIALS = FindingCode(
    "compare.trials", Subject.TRIALS, "problem", count=Count, of=Count, side=str, reasons=list
)
#: Why a trial does not count, by its status; `examined`: its times are not representative.
LEFT_OUT = {
    status: MessageCode(f"compare.left-out.{status}", trials=list, **arguments)
    for arguments, kinds in (
        ({"reason": Message}, ("failed", "timed-out", "aborted", "invalid")),
        ({}, ("not-run", "examined")),
    )
    for status in kinds
}
LEFT_OUT_MORE = MessageCode("compare.left-out.more", count=Count)
NO_REASON = MessageCode("compare.left-out.no-reason")
ERRORS = FindingCode("compare.errors", Subject.ERRORS, "problem", count=Count, failed_share=Share, side=str)
UNUSABLE = FindingCode("compare.unusable", Subject.FIGURES, "problem", count=Count, side=str)
NO_VALUE = FindingCode("compare.no-value", Subject.FIGURES, "problem", count=Count, places=list)
ABSENT = FindingCode("compare.absent", Subject.FIGURES, "info", metrics=list)
PLACE_WITHOUT = MessageCode("compare.place.without", context=str, metric=Message, side=str)
PLACE_WITHOUT_BARE = MessageCode("compare.place.without.bare", metric=Message, side=str)
LOST_PAIRS = FindingCode("compare.lost-pairs", Subject.TRIALS, "caution", count=Count)


def losses(comparison: Comparison) -> Iterator[Finding]:
    """Trials that do not count, failed transactions, and missing values of a side."""
    for side in comparison.sides.sides:
        trials = [trial for context in comparison.sides.contexts for trial in side.trials.get(context, ())]
        label = name(comparison.sides, side)
        bad = [trial for trial in trials if trial.status != "ok" or trial.examined]
        if bad:
            names = tuple(trial.name for trial in bad)
            yield TRIALS.finding(
                names, side=label, count=len(bad), of=len(trials), reasons=tuple(_reasons(bad))
            )
        failed = sum(trial.failed for trial in trials)
        ended = failed + sum(trial.succeeded for trial in trials)
        if failed and ended:
            yield ERRORS.finding(side=label, count=failed, failed_share=failed / ended)
    for position, side in enumerate(comparison.sides.sides):
        unusable = max(
            (row.unusable[1 if position else 0] for row in comparison.rows if position in {0, row.side}),
            default=0,
        )
        if unusable:
            yield UNUSABLE.finding(side=name(comparison.sides, side), count=unusable)
    without = comparison.one_sided
    if without:
        places = tuple(_place_without(comparison.sides, row) for row in without[:MOST_NAMED])
        yield NO_VALUE.finding(tuple(row.context for row in without), count=len(without), places=places)
    if comparison.absent:
        metrics = tuple(metric_name(metric) for metric in comparison.absent)
        yield ABSENT.finding(metrics=metrics)
    if comparison.sides.paired:
        yield from _lost_pairs(comparison)


def _reasons(trials: Sequence[Trial]) -> Iterator[Message]:
    """Why trials do not count, each reason with their names."""
    groups: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        status = "examined" if trial.status == "ok" else trial.status
        groups.setdefault((status, trial.reason or ""), []).append(trial)
    for (status, _), alike in list(groups.items())[:MOST_NAMED]:
        names = [trial.name for trial in alike[:MOST_NAMED]]
        names += ["…"] if len(alike) > MOST_NAMED else []
        code = LEFT_OUT.get(status, LEFT_OUT["failed"])
        yield code.pick(trials=names, reason=alike[0].why or NO_REASON())
    if len(groups) > MOST_NAMED:
        yield LEFT_OUT_MORE(count=sum(len(alike) for alike in list(groups.values())[MOST_NAMED:]))


def _place_without(sides: Sides, row: Row) -> Message:
    """A metric with the side that has no value of it."""
    side = name(sides, sides.sides[0 if row.medians[0] is None else row.side])
    metric, context = metric_name(row.metric), context_name(sides, row.context)
    if context:
        return PLACE_WITHOUT(metric=metric, side=side, context=context)
    return PLACE_WITHOUT_BARE(metric=metric, side=side)


def _lost_pairs(comparison: Comparison) -> Iterator[Finding]:
    first = comparison.sides.sides[0]
    lost: dict[str, int] = {}
    for row in comparison.rows:
        if row.context == OVERALL or row.metric != comparison.metrics[0]:
            continue
        counting = [
            {trial.block for trial in side.trials.get(row.context, ()) if trial.counts}
            for side in (first, comparison.sides.sides[row.side])
        ]
        lost[row.context] = max(lost.get(row.context, 0), len(counting[0] ^ counting[1]))
    total = sum(lost.values())
    if total:
        where = tuple(context for context, count in lost.items() if count)
        yield LOST_PAIRS.finding(where, count=total)
