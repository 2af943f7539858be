"""Faults: what was expected of each against what was observed, its values, and the load around it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from loadcell.analysis.expectations import ExpectationOutcome
from loadcell.analysis.faults.repeats import RECOVERIES, FaultOfTreatment, FaultOfTrial, faults_of
from loadcell.model import fault_metrics, numbers
from loadcell.model.fault_judgement import CENSORED, EFFECTS, MANAGEMENT, Censored, Effect, FaultJudgement
from loadcell.model.message import Labels
from loadcell.plan.expect import Expectation
from loadcell.report import charts
from loadcell.report.blocks import Block, Cell, Column, Details, Paragraph, Section, Table, Tone
from loadcell.report.context import ReportContext
from loadcell.report.sections import numbered_writes, results
from loadcell.stats.repeats import Repeats

_VERDICT = Labels("verdict", ("met", "missed", "unknown"))
_TONES: Mapping[str, Tone] = {"missed": "problem", "unknown": "caution", "met": "good"}
_EFFECT = Labels("fault.effect", EFFECTS)
_MANAGEMENT = Labels("fault.management", MANAGEMENT)
_MANAGEMENT_TONES: Mapping[str, Tone] = {"ok": "good", "slow": "caution", "down": "problem"}
_UNJUDGED = Labels("fault.unjudged", ("not-applied", "no-timeline", "no-baseline", "in-outage"))
_CENSORED = Labels("fault.censored", CENSORED)
_TIMING = Labels("fault.timing", ("at", "after", "for"))
#: Metrics in the table, with how their values are written.
_METRICS: Mapping[str, numbers.Write] = {
    "pause": numbers.milliseconds,
    "dip": numbers.share,
    "lost_operations": lambda value: numbers.whole(round(value)),
    "recovery": numbers.milliseconds,
    "recovery_from_undo": numbers.milliseconds,
    "hung_clients": numbers.whole,
}
_HEADING = Labels("column.fault", tuple(_METRICS))
#: Columns that a narrow terminal leaves out, in this order.
_YIELDING = {"recovery_from_undo": 2, "dip": 3, "hung_clients": 4}


def section(context: ReportContext) -> Section | None:
    """None for a run without faults."""
    faults = faults_of(context.analysis.treatments, context.records)
    if not faults:
        return _without_faults(context)
    texts = context.texts
    trials = of_trials(faults, context)
    blocks: list[Block] = [Paragraph(texts("faults.meaning")), *tables(faults, context)]
    if (expected := of_plan(context)) is not None:
        blocks.append(expected)
    if (writes := numbered_writes.table(context)) is not None:
        blocks.append(writes)
    blocks += charts.drawn_in("faults", context)
    blocks.append(Details(trials[0].title, [*trials, *by_group(faults, context)]))
    return Section("faults", texts("section.faults"), blocks)


def _without_faults(context: ReportContext) -> Section | None:
    """The numbered writes of a run in which nothing was broken."""
    writes = numbered_writes.table(context)
    return None if writes is None else Section("faults", writes.title, [writes])


def brief(context: ReportContext) -> list[Table]:
    """The tables for a terminal; none for a run without faults."""
    faults = faults_of(context.analysis.treatments, context.records)
    if not faults:
        return []
    expected = of_plan(context)
    return [table(faults, context), *([] if expected is None else [expected])]


def of_plan(context: ReportContext) -> Table | None:
    """Expectations of the plan on metrics of faults, of all faults of a trial together; None without any."""
    outcomes = [outcome for outcome in context.analysis.expectations if _is_on_faults(outcome)]
    table = results.table_of(outcomes, "table-fault-expectations", context)
    return table and replace(
        table,
        title=context.texts("table.fault-expectations"),
        note=context.texts("table.fault-expectations.note"),
    )


def _is_on_faults(outcome: ExpectationOutcome) -> bool:
    expectation = Expectation.recorded(outcome.expression) if outcome.fault is None else None
    return expectation is not None and expectation.metric in fault_metrics.KEYS


def when(fault: FaultOfTreatment, context: ReportContext) -> str:
    """`at 20s for 5s`, as in the plan."""
    parts = [context.texts(_TIMING(key), value=str(value)) for key, value in fault.timing.items()]
    if len(parts) != 2:
        return " ".join(parts)
    return context.texts("fault.timing.both", start=parts[0], length=parts[1])


@dataclass(frozen=True)
class _Part:
    """A column with its cell of each fault."""

    column: Column
    cell: Callable[[FaultOfTreatment], Cell]


def _names(faults: Sequence[FaultOfTreatment], context: ReportContext) -> list[_Part]:
    """Treatment, where there are several, and fault."""
    texts = context.texts
    several = len({fault.treatment.id for fault in faults}) > 1
    treatment = _Part(
        Column(texts("column.treatment")),
        lambda fault: Cell(fault.treatment.label, sort=fault.treatment.index),
    )
    title = _Part(Column(texts("column.fault"), code=True, keep=True), lambda fault: Cell(fault.title))
    return [*([treatment] if several else []), title]


def _outcome(faults: Sequence[FaultOfTreatment], context: ReportContext) -> list[_Part]:
    """When, what was expected, and the effect."""
    texts = context.texts
    parts = [_Part(Column(texts("column.fault.when"), yields=1), lambda fault: Cell(when(fault, context)))]
    if any(fault.expected for fault in faults):
        parts += [
            _Part(
                Column(texts("column.fault.expected"), code=True, many=True, yields=6),
                lambda fault: Cell(texts("mark.semicolon").join(fault.expected) or texts("mark.none")),
            ),
            _Part(Column(texts("column.verdict")), lambda fault: _verdict(fault, context)),
        ]
    effect = _Part(Column(texts("column.fault.effect")), lambda fault: Cell(_effect(fault, context)))
    return [*parts, effect]


def _extent(faults: Sequence[FaultOfTreatment], context: ReportContext) -> list[_Part]:
    """Values of the metrics, and errors by class."""
    texts = context.texts
    parts = [
        _Part(
            Column(texts(_HEADING(key)), figure=True, keep=True, yields=_YIELDING.get(key, 0)),
            partial(_value, key=key, context=context),
        )
        for key in _METRICS
    ]
    if any(item.judgement.errors for fault in faults for item in fault.trials):
        column = Column(texts("column.fault.errors"), keep=True, yields=5)
        parts.append(_Part(column, lambda fault: Cell(_errors(_all_errors(fault), context))))
    return parts


def _managed(faults: Sequence[FaultOfTreatment], context: ReportContext) -> list[_Part]:
    """The management plane, where it was asked."""
    if not any(item.judgement.management for fault in faults for item in fault.trials):
        return []
    column = Column(context.texts("column.fault.management"), many=True)
    return [_Part(column, lambda fault: _management(fault, context))]


def table(faults: Sequence[FaultOfTreatment], context: ReportContext) -> Table:
    """A row for each fault of a treatment: expected against observed, with all values."""
    parts = [
        *_names(faults, context), *_outcome(faults, context), *_extent(faults, context),
        *_managed(faults, context),
    ]  # fmt: skip
    return _table("table-faults", _title(faults), parts, faults, context)


def _title(faults: Sequence[FaultOfTreatment]) -> str:
    """Key of the title: with expectations, or of effects alone."""
    return "table.faults" if any(fault.expected for fault in faults) else "table.faults.observed"


def tables(faults: Sequence[FaultOfTreatment], context: ReportContext) -> list[Table]:
    """The same as two tables, each of which fits on a page."""
    names = _names(faults, context)
    outcome = [*names, *_outcome(faults, context), *_managed(faults, context)]
    extent = [*names, *_extent(faults, context)]
    return [
        replace(_table("table-faults", _title(faults), outcome, faults, context), note=""),
        _table("table-fault-extent", "table.fault-extent", extent, faults, context),
    ]


def _table(
    name: str, title: str, parts: Sequence[_Part], faults: Sequence[FaultOfTreatment], context: ReportContext
) -> Table:
    rows = [[part.cell(fault) for part in parts] for fault in faults]
    repeated = any(len(fault.trials) > 1 for fault in faults)
    note = context.texts("table.faults.repeats") if repeated else ""
    return Table(name, context.texts(title), [part.column for part in parts], rows, note)


def _all_errors(fault: FaultOfTreatment) -> Counter[str]:
    """Failed operations of all trials by class."""
    return sum((Counter(item.judgement.errors or {}) for item in fault.trials), Counter[str]())


def _errors(errors: Mapping[str, int], context: ReportContext) -> str:
    named = (f"{code} × {numbers.whole(count)}" for code, count in errors.items())
    return context.texts("mark.list").join(named) or context.texts("mark.none")


def _verdict(fault: FaultOfTreatment, context: ReportContext) -> Cell:
    verdict = fault.verdict
    if verdict is None:
        return Cell(context.texts("mark.none"))
    missed = [text for text, outcome in fault.expected.items() if outcome == verdict != "met"]
    name = context.texts(_VERDICT(verdict))
    partly = missed and len(missed) < len(fault.expected)
    text = context.texts(
        "fault.verdict-of", verdict=name, expectations=context.texts("mark.semicolon").join(missed)
    )
    return Cell(text if partly else name, tone=_TONES[verdict])


def _effect(fault: FaultOfTreatment, context: ReportContext) -> str:
    """The effects, or why they are unknown; and the reasons of failures."""
    effects = _effects(fault, context)
    reasons = dict.fromkeys(
        context.texts.recorded(item.fault.why) for item in fault.trials if item.fault.why is not None
    )
    return context.texts("mark.semicolon").join([effects, *reasons])


def _effects(fault: FaultOfTreatment, context: ReportContext) -> str:
    texts = context.texts
    if fault.effects:
        effects = texts("mark.list").join(texts(_EFFECT(effect)) for effect in fault.effects)
        if not fault.times_down:
            return effects
        if len(fault.trials) == 1:
            return texts("fault.target-down", effects=effects)
        return texts("fault.target-down.of", effects=effects, count=fault.times_down, of=len(fault.trials))
    reasons = dict.fromkeys(item.judgement.unjudged for item in fault.trials)
    named = [texts(_UNJUDGED(reason)) for reason in reasons if reason is not None]
    return texts("mark.list").join(named) or texts("mark.none")


def _value(fault: FaultOfTreatment, *, key: str, context: ReportContext) -> Cell:
    """The median over repeats, and their range or interval; or how often there was no recovery."""
    texts, write = context.texts, _METRICS[key]
    repeats = fault.metrics[key]
    censored = fault.censored if key in RECOVERIES else ()
    if not repeats.values:
        return _without_recovery(censored, fault.effects, context)
    missing = repeats.median is None
    text = texts(_CENSORED("not-recovered")) if missing else _repeats(repeats, write, context)
    if censored:
        text = texts("fault.partly-recovered", value=text, count=len(censored), of=len(fault.trials))
    return Cell(text, sort=repeats.median)


def _without_recovery(
    censored: Sequence[Censored], effects: Sequence[Effect | None], context: ReportContext
) -> Cell:
    """The most certain reason why no recovery was seen; nothing recovers where there was no effect."""
    if not censored or set(effects) == {"none"}:
        return Cell(context.texts("mark.none"))
    return Cell(context.texts(_CENSORED(min(censored, key=CENSORED.index))))


def _management(fault: FaultOfTreatment, context: ReportContext) -> Cell:
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


def of_trials(faults: Sequence[FaultOfTreatment], context: ReportContext) -> list[Table]:
    """A row for each fault of a trial: when it was applied and undone; and its further values."""
    texts = context.texts
    names = [Column(texts("column.trial"), code=True), Column(texts("column.fault"), code=True, keep=True)]
    times = [
        *names,
        Column(texts("column.fault.applied-at"), figure=True),
        Column(texts("column.fault.late"), figure=True),
        Column(texts("column.fault.took"), figure=True),
        Column(texts("column.fault.undone-at"), figure=True),
        Column(texts("column.fault.first-effect"), figure=True, keep=True),
    ]
    values = [
        *names,
        Column(texts("column.fault.baseline-rate"), figure=True),
        Column(texts("column.fault.baseline-p99"), figure=True),
        Column(texts("column.fault.overshoot"), figure=True),
        Column(texts("column.fault.longest-request"), figure=True),
        Column(texts("column.fault.errors"), keep=True),
    ]
    items = [(fault, item) for fault in faults for item in fault.trials]
    return [
        Table(
            "table-fault-trials", texts("table.fault-trials"), times,
            [_times(fault, item, context) for fault, item in items],
        ),
        Table(
            "table-fault-trial-values", texts("table.fault-trial-values"), values,
            [_values(fault, item, context) for fault, item in items],
        ),
    ]  # fmt: skip


def _or_none(number: float | None, write: numbers.Write, context: ReportContext) -> Cell:
    return Cell(context.texts("mark.none")) if number is None else Cell(write(number), sort=number)


def _of_seconds(number_s: float) -> str:
    return numbers.milliseconds(number_s * 1e3)


def _times(fault: FaultOfTreatment, item: FaultOfTrial, context: ReportContext) -> list[Cell]:
    texts, applied, undone = context.texts, item.fault.applied, item.fault.undone
    effect_s = item.judgement.first_effect_s
    first = (
        texts("mark.none")
        if effect_s is None
        else texts("fault.between", low=_of_seconds(effect_s[0]), high=_of_seconds(effect_s[1]))
    )
    return [
        Cell(item.trial),
        Cell(fault.title),
        _or_none(applied.began_s if applied else None, numbers.seconds, context),
        _or_none(applied.began_s - applied.requested_s if applied else None, _of_seconds, context),
        _or_none(applied.ended_s - applied.began_s if applied else None, _of_seconds, context),
        _or_none(undone.began_s if undone else None, numbers.seconds, context),
        Cell(first, sort=effect_s[1] if effect_s else None),
    ]


def _values(fault: FaultOfTreatment, item: FaultOfTrial, context: ReportContext) -> list[Cell]:
    judgement = item.judgement
    baseline, hung = judgement.baseline, judgement.hung
    return [
        Cell(item.trial),
        Cell(fault.title),
        _or_none(baseline.rate_per_s if baseline else None, numbers.rate, context),
        _or_none(baseline.p99_ms if baseline else None, numbers.milliseconds, context),
        _or_none(judgement.overshoot, lambda number: numbers.whole(round(number)), context),
        _or_none(hung.longest_s if hung and hung.number else None, numbers.seconds, context),
        Cell(_errors(judgement.errors or {}, context)),
    ]


def by_group(faults: Sequence[FaultOfTreatment], context: ReportContext) -> list[Table]:
    """A row for each fault of a trial and client group; none of loads with one group."""
    texts = context.texts
    rows = [
        [
            Cell(item.trial),
            Cell(fault.title),
            Cell(group),
            Cell(texts("mark.none") if judged.effect is None else texts(_EFFECT(judged.effect))),
            *(_of_group(judged, key, context) for key in _METRICS),
        ]
        for fault in faults
        for item in fault.trials
        for group, judged in (item.fault.groups or {}).items()
    ]
    columns = [
        Column(texts("column.trial"), code=True),
        Column(texts("column.fault"), code=True, keep=True),
        Column(texts("column.group"), code=True),
        Column(texts("column.fault.effect")),
        *(Column(texts(_HEADING(key)), figure=True) for key in _METRICS),
    ]
    return [Table("table-fault-groups", texts("table.fault-groups"), columns, rows)] if rows else []


def _of_group(judgement: FaultJudgement, key: str, context: ReportContext) -> Cell:
    value = fault_metrics.of_fault(judgement)[key]
    if value is not None:
        return Cell(_METRICS[key](value), sort=value)
    recovery = judgement.recovery if key in RECOVERIES else None
    censored = () if recovery is None or recovery.censored is None else (recovery.censored,)
    return _without_recovery(censored, (judgement.effect,), context)
