"""Cells of the tables of faults: times, verdicts, effects and values over the repeats of a treatment."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import get_args

from loadcell.analysis.faults.repeats import FROM_UNDO, RECOVERIES, FaultOfTreatment
from loadcell.model import numbers
from loadcell.model.fault_judgement import CENSORED, EFFECTS, MANAGEMENT, Censored, Unjudged
from loadcell.model.fault_metrics import RECOVERY
from loadcell.model.message import Labels
from loadcell.plan.expect import Expectation
from loadcell.report.blocks import Cell, Tone
from loadcell.report.context import ReportContext
from loadcell.stats.repeats import Repeats

_VERDICT = Labels("verdict", ("met", "missed", "unknown"))
_TONES: Mapping[str, Tone] = {"missed": "problem", "unknown": "caution", "met": "good"}
EFFECT = Labels("fault.effect", EFFECTS)
_MANAGEMENT = Labels("fault.management", MANAGEMENT)
_MANAGEMENT_TONES: Mapping[str, Tone] = {"ok": "good", "slow": "caution", "down": "problem"}
_UNJUDGED = Labels("fault.unjudged", get_args(Unjudged))
_CENSORED = Labels("fault.censored", CENSORED)
_TIMING = Labels("fault.timing", ("at", "after", "for"))
#: Between expressions, which are code in every language.
BETWEEN = "; "
#: A number with its unit, as plans have them.
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)([A-Za-zµ]+)")
#: Metric of the operations that the baseline would have completed.
LOST = "lost_operations"
#: Metrics in the table, with how their values are written.
METRICS: Mapping[str, numbers.Write] = {
    "pause": numbers.milliseconds,
    "dip": numbers.share,
    LOST: lambda value: numbers.whole(round(value)),
    "recovery": numbers.milliseconds,
    FROM_UNDO: numbers.milliseconds,
    "hung_clients": numbers.whole,
}
HEADING = Labels("column.fault", tuple(METRICS))


def when(fault: FaultOfTreatment, context: ReportContext) -> str:
    """`at 20s for 5s`, as in the plan."""

    def written(amount: re.Match[str]) -> str:
        return context.texts("fault.timing.amount", number=amount[1], measure=amount[2])

    parts = [
        context.texts(_TIMING(key), value=_AMOUNT.sub(written, str(value)))
        for key, value in fault.timing.items()
    ]
    if len(parts) != 2:
        return " ".join(parts)
    return context.texts("fault.timing.both", start=parts[0], length=parts[1])


def all_errors(fault: FaultOfTreatment) -> Counter[str]:
    """Failed operations of all trials by class."""
    return sum((Counter(item.judgement.errors or {}) for item in fault.trials), Counter[str]())


def errors(counts: Mapping[str, int], context: ReportContext) -> str:
    named = (f"{code} × {numbers.whole(count)}" for code, count in counts.items())
    return context.texts("mark.list").join(named) or context.texts("mark.none")


def verdict(fault: FaultOfTreatment, context: ReportContext) -> Cell:
    verdict = fault.verdict
    if verdict is None:
        return Cell(context.texts("mark.none"))
    missed = [text for text, outcome in fault.expected.items() if outcome == verdict != "met"]
    name = context.texts(_VERDICT(verdict))
    partly = missed and len(missed) < len(fault.expected)
    text = context.texts("fault.verdict-of", verdict=name, expectations=BETWEEN.join(missed))
    return Cell(text if partly else name, tone=_TONES[verdict])


def effect(fault: FaultOfTreatment, context: ReportContext) -> str:
    """The effects, or why they are unknown; and the reasons of failures."""
    effects = _effects(fault, context)
    reasons = dict.fromkeys(
        context.texts.recorded(item.fault.why) for item in fault.trials if item.fault.why is not None
    )
    return context.texts("mark.semicolon").join([effects, *reasons])


def _effects(fault: FaultOfTreatment, context: ReportContext) -> str:
    texts = context.texts
    if fault.effects:
        effects = texts("mark.list").join(texts(EFFECT(effect)) for effect in fault.effects)
        if not fault.times_down:
            return effects
        if len(fault.trials) == 1:
            return texts("fault.target-down", effects=effects)
        return texts("fault.target-down.of", effects=effects, count=fault.times_down, of=len(fault.trials))
    reasons = dict.fromkeys(item.judgement.unjudged for item in fault.trials)
    named = [texts(_UNJUDGED(reason)) for reason in reasons if reason is not None]
    return texts("mark.list").join(named) or texts("mark.none")


def value(fault: FaultOfTreatment, *, key: str, context: ReportContext) -> Cell:
    """The median over repeats, and their range or interval; or how often there was no recovery."""
    texts, write = context.texts, writer(key, context)
    repeats = fault.metrics[key]
    censored = fault.censored if key in RECOVERIES else ()
    if key in RECOVERIES and not _recovers(fault):
        return Cell(texts("mark.none"))
    if not repeats.values:
        return _without_recovery(censored, context)
    if repeats.median is None:
        return _sometimes_recovered(repeats, write, len(fault.trials), context)
    text = _repeats(repeats, write, context)
    if censored:
        text = texts("fault.partly-recovered", value=text, count=len(censored), of=len(fault.trials))
    return Cell(text, sort=repeats.median)


def _recovers(fault: FaultOfTreatment) -> bool:
    """Report whether it has a recovery: from its effect or, as a promotion, from an earlier fault's."""
    if set(fault.effects) != {"none"}:
        return True
    expected = (Expectation.recorded(text) for text in fault.expected)
    metrics = (expectation.metric.rpartition(".")[2] for expectation in expected if expectation is not None)
    return any(metric in RECOVERIES for metric in metrics) or (fault.metrics[RECOVERY].median or 0.0) > 0


def writer(key: str, context: ReportContext) -> numbers.Write:
    """Writer of a metric's values; a negative time from the undo is one before it."""
    write = METRICS[key]

    def signed(number: float) -> str:
        return context.texts("fault.before", value=write(-number)) if number < 0 else write(number)

    return signed if key == FROM_UNDO else write


def _sometimes_recovered(repeats: Repeats, write: numbers.Write, of: int, context: ReportContext) -> Cell:
    """The values of the repeats that recovered, where these are too few for a median."""
    low, high = write(min(repeats.values)), write(max(repeats.values))
    values = low if low == high else context.texts("fault.between", low=low, high=high)
    return Cell(context.texts("fault.sometimes-recovered", count=len(repeats.values), of=of, values=values))


def made_up(fault: FaultOfTreatment, context: ReportContext) -> Cell:
    """Those of the missing operations that were completed later: the median of the overshoot over repeats."""
    judgements = [item.judgement for item in fault.trials]
    later = [
        min(judged.lost, judged.overshoot)
        for judged in judgements
        if judged.lost is not None and judged.overshoot is not None
    ]
    if not later or not any(round(judged.lost or 0.0) for judged in judgements):
        return Cell(context.texts("mark.none"))
    return Cell(METRICS[LOST](median(later)), sort=median(later))


def _without_recovery(censored: Sequence[Censored], context: ReportContext) -> Cell:
    """The most certain reason why no recovery was seen."""
    if not censored:
        return Cell(context.texts("mark.none"))
    return Cell(context.texts(_CENSORED(min(censored, key=CENSORED.index))))


def management(fault: FaultOfTreatment, context: ReportContext) -> Cell:
    """The worst verdict on the management plane, the operations that failed, and the longest answer."""
    texts = context.texts
    judged = [item.judgement.management for item in fault.trials if item.judgement.management is not None]
    if not judged:
        return Cell(texts("mark.none"))
    verdict = max((item.verdict for item in judged), key=MANAGEMENT.index)
    failed = dict.fromkeys(operation for item in judged for operation in item.failed)
    longest = max(judged, key=lambda item: item.longest_s)
    text = texts(
        "fault.management-answer",
        verdict=texts(_MANAGEMENT(verdict)),
        longest=numbers.milliseconds(longest.longest_s * 1e3),
        operation=longest.operation,
    )
    if failed:
        text = texts("fault.management-failed", answer=text, operations=texts("mark.list").join(failed))
    return Cell(text, tone=_MANAGEMENT_TONES[verdict])


def _repeats(repeats: Repeats, write: Callable[[float], str], context: ReportContext) -> str:
    value, reach = write(repeats.median or 0.0), repeats.reach
    if reach is None or len(repeats.values) == 1 or write(reach[0]) == write(reach[1]):
        return value
    return context.texts("fault.range", value=value, low=write(reach[0]), high=write(reach[1]))
