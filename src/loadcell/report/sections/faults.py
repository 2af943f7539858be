"""Faults: what was expected of each against what was observed, its values, and the load around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from loadcell.analysis.faults.repeats import FaultOfTreatment, FaultOfTrial, faults_of
from loadcell.model import fault_metrics, numbers
from loadcell.model.fault_judgement import EFFECTS, MANAGEMENT, FaultJudgement
from loadcell.model.message import Labels
from loadcell.report import charts
from loadcell.report.blocks import Block, Cell, Column, Details, Paragraph, Section, Table, Tone
from loadcell.report.context import ReportContext
from loadcell.report.sections import numbered_writes
from loadcell.stats.repeats import Repeats

_VERDICT = Labels("verdict", ("met", "missed", "unknown"))
_TONES: Mapping[str, Tone] = {"missed": "problem", "unknown": "caution", "met": "good"}
_EFFECT = Labels("fault.effect", EFFECTS)
_MANAGEMENT = Labels("fault.management", MANAGEMENT)
_MANAGEMENT_TONES: Mapping[str, Tone] = {"ok": "good", "slow": "caution", "down": "problem"}
_UNJUDGED = Labels("fault.unjudged", ("not-applied", "no-timeline", "no-baseline"))
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
    blocks: list[Block] = [Paragraph(texts("faults.meaning")), table(faults, context)]
    if (writes := numbered_writes.table(context)) is not None:
        blocks.append(writes)
    blocks += charts.drawn_in("faults", context)
    blocks.append(Details(trials.title, [trials, *by_group(faults, context)]))
    return Section("faults", texts("section.faults"), blocks)


def _without_faults(context: ReportContext) -> Section | None:
    """The numbered writes of a run in which nothing was broken."""
    writes = numbered_writes.table(context)
    return None if writes is None else Section("faults", writes.title, [writes])


def brief(context: ReportContext) -> Table | None:
    """The table for a terminal; None for a run without faults."""
    faults = faults_of(context.analysis.treatments, context.records)
    return table(faults, context) if faults else None


def when(fault: FaultOfTreatment, context: ReportContext) -> str:
    """`at 20s for 5s`, as in the plan."""
    parts = [context.texts(_TIMING(key), value=str(value)) for key, value in fault.timing.items()]
    return " ".join(parts)


def table(faults: Sequence[FaultOfTreatment], context: ReportContext) -> Table:
    """A row for each fault of a treatment: expected against observed."""
    texts = context.texts
    several = len({fault.treatment.id for fault in faults}) > 1
    managed = any(item.judgement.management for fault in faults for item in fault.trials)
    is_judged = any(fault.expected for fault in faults)
    expected = (
        [
            Column(texts("column.fault.expected"), code=True, many=True, yields=5),
            Column(texts("column.verdict")),
        ]
        if is_judged
        else []
    )
    columns = [
        *([Column(texts("column.treatment"))] if several else []),
        Column(texts("column.fault"), code=True, keep=True),
        Column(texts("column.fault.when"), yields=1),
        *expected,
        Column(texts("column.fault.effect")),
        *(Column(texts(_HEADING(key)), figure=True, yields=_YIELDING.get(key, 0)) for key in _METRICS),
        *([Column(texts("column.fault.management"), many=True)] if managed else []),
    ]
    rows = [
        [
            *([Cell(fault.treatment.label, sort=fault.treatment.index)] if several else []),
            Cell(fault.title),
            Cell(when(fault, context)),
            *(_expected(fault, context) if is_judged else ()),
            Cell(_effect(fault, context)),
            *(_value(fault, key, context) for key in _METRICS),
            *([_management(fault, context)] if managed else []),
        ]
        for fault in faults
    ]
    repeated = any(len(fault.trials) > 1 for fault in faults)
    note = texts("table.faults.repeats") if repeated else ""
    return Table("table-faults", texts("table.faults"), columns, rows, note)


def _expected(fault: FaultOfTreatment, context: ReportContext) -> tuple[Cell, Cell]:
    """Expectations of a fault, and their verdict."""
    texts = context.texts
    return Cell(texts("mark.semicolon").join(fault.expected) or texts("mark.none")), _verdict(fault, context)


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
    texts = context.texts
    if fault.effects:
        return texts("mark.list").join(texts(_EFFECT(effect)) for effect in fault.effects)
    reasons = dict.fromkeys(item.judgement.unjudged for item in fault.trials)
    named = [texts(_UNJUDGED(reason)) for reason in reasons if reason is not None]
    return texts("mark.list").join(named) or texts("mark.none")


def _value(fault: FaultOfTreatment, key: str, context: ReportContext) -> Cell:
    """The median over repeats, and their range or interval; or how often there was no recovery."""
    texts, write = context.texts, _METRICS[key]
    repeats = fault.metrics[key]
    censored = fault.censored if key in ("recovery", "recovery_from_undo") else 0
    if repeats.median is None:
        return Cell(texts("fault.not-recovered") if censored else texts("mark.none"))
    text = _repeats(repeats, write, context)
    if censored:
        text = texts("fault.partly-recovered", value=text, count=censored, of=len(fault.trials))
    return Cell(text, sort=repeats.median)


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


def of_trials(faults: Sequence[FaultOfTreatment], context: ReportContext) -> Table:
    """A row for each fault of a trial: when it was applied and undone, its baseline, and further values."""
    texts = context.texts
    columns = [
        Column(texts("column.trial"), code=True),
        Column(texts("column.fault"), code=True, keep=True),
        Column(texts("column.fault.applied-at"), figure=True),
        Column(texts("column.fault.late"), figure=True),
        Column(texts("column.fault.took"), figure=True),
        Column(texts("column.fault.undone-at"), figure=True),
        Column(texts("column.fault.first-effect"), figure=True),
        Column(texts("column.fault.baseline-rate"), figure=True),
        Column(texts("column.fault.baseline-p99"), figure=True),
        Column(texts("column.fault.overshoot"), figure=True),
        Column(texts("column.fault.longest-request"), figure=True),
        Column(texts("column.fault.errors"), many=True),
    ]
    rows = [_trial_row(fault, item, context) for fault in faults for item in fault.trials]
    return Table("table-fault-trials", texts("table.fault-trials"), columns, rows)


def _trial_row(fault: FaultOfTreatment, item: FaultOfTrial, context: ReportContext) -> list[Cell]:
    texts, judgement = context.texts, item.judgement
    applied, undone, baseline = item.fault.applied, item.fault.undone, judgement.baseline
    late_s = applied.began_s - applied.requested_s if applied else None
    took_s = applied.ended_s - applied.began_s if applied else None
    effect_s = judgement.first_effect_s

    def value(number: float | None, write: numbers.Write) -> Cell:
        return Cell(texts("mark.none")) if number is None else Cell(write(number), sort=number)

    def milliseconds(number_s: float) -> str:
        return numbers.milliseconds(number_s * 1e3)

    first = (
        texts("mark.none")
        if effect_s is None
        else texts("fault.between", low=milliseconds(effect_s[0]), high=milliseconds(effect_s[1]))
    )
    errors = (f"{code} × {numbers.whole(count)}" for code, count in (judgement.errors or {}).items())
    return [
        Cell(item.trial),
        Cell(fault.title),
        value(applied.began_s if applied else None, numbers.seconds),
        value(late_s, milliseconds),
        value(took_s, milliseconds),
        value(undone.began_s if undone else None, numbers.seconds),
        Cell(first, sort=effect_s[1] if effect_s else None),
        value(baseline.rate_per_s if baseline else None, numbers.rate),
        value(baseline.p99_ms if baseline else None, numbers.milliseconds),
        value(judgement.overshoot, lambda number: numbers.whole(round(number))),
        value(
            judgement.hung.longest_s if judgement.hung and judgement.hung.number else None, numbers.seconds
        ),
        Cell(texts("mark.list").join(errors) or texts("mark.none")),
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
    censored = key in ("recovery", "recovery_from_undo") and judgement.recovery is not None
    return Cell(context.texts("fault.not-recovered" if censored else "mark.none"))
