"""The result table: a row a treatment, its median first, and everything that belongs beside a median."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from loadcell.analysis.expectations import ExpectationOutcome
from loadcell.analysis.import_findings import samples_alone
from loadcell.analysis.treatments import OPERATION, Treatment
from loadcell.analysis.trials import SCENARIO, STATUSES, lack
from loadcell.model import numbers
from loadcell.model.message import Labels, Message
from loadcell.report.blocks import Block, Cell, Column, Details, Section, Table, Tone, without_empty
from loadcell.report.context import ReportContext
from loadcell.report.sections import breakdown, pivot
from loadcell.report.sections.breakdown import factor_columns, numbered_cells
from loadcell.report.values import metric_name, metric_value
from loadcell.stats.repeats import FEWEST_FOR_INTERVAL

_COUNT = Labels("count", STATUSES)
_VERDICT = Labels("verdict", ("met", "missed", "unknown"))
_TONES: Mapping[str, Tone] = {"missed": "problem", "unknown": "caution", "met": "good"}
#: Response times of the result table.
_SHOWN = {"mean_ms": "column.mean", "p50_ms": "column.p50", "p95_ms": "column.p95", "p99_ms": "column.p99"}
#: What one unit of work consists of, where that is no query.
_QUERIES = {OPERATION: "column.calls-per-s", SCENARIO: "column.requests-per-s"}
#: Texts on the beginning of response times in closed loops (False), open loops (True), or both.
_LOOPS = {
    frozenset[bool](): "table.results",
    frozenset({False}): "table.results",
    frozenset({True}): "table.results.open",
    frozenset({False, True}): "table.results.both",
}
#: More metrics of the workload than this have a separate table: the columns would not fit on the page.
MOST_METRICS = 4
#: Metrics that fit into columns of a table of their own.
_MOST_COLUMNS = 8
#: Clients whose successes have a lower index of fairness were served unequally: it gets a column.
FAIR = 0.99
#: Values that differ by less are equal.
SAME_SHARE = 0.001


def section(context: ReportContext) -> Section | None:
    """The table, and expectations and errors where there are any; None for a run without treatments."""
    if samples_alone(context.stored.run):
        return None
    blocks: list[Block] = []
    if context.analysis.treatments:
        blocks += [table(context), *pivot.tables(context)]
    blocks += [
        part
        for part in (
            metrics_table(context),
            breakdown.by_group(context),
            breakdown.by_type(context),
            _expectations(context),
            errors(context),
        )
        if part is not None
    ]
    return Section("results", context.texts("section.results"), blocks) if blocks else None


def table(context: ReportContext) -> Table:
    """Medians over the succeeded repeats."""
    texts = context.texts
    queries = any(map(_has_queries, context.analysis.treatments))
    factors = factor_columns(context)
    adjacent = _adjacent_metrics(context)
    measured = any(item.measured for item in context.analysis.treatments)
    intervals = any(item.throughput.interval is not None for item in context.analysis.treatments)
    columns = [
        Column(texts("column.number"), figure=True),
        *(Column(name, figure=numeric) for _, name, numeric in factors),
        *([] if factors else [Column(texts("column.treatment"))]),
        Column(texts("column.throughput"), figure=True, spare=True),
        *([Column(texts("column.interval"), figure=True)] if intervals else []),
        Column(texts("column.repeats"), figure=True, many=True, spare=True),
        *(Column(metric_name(name, texts), figure=True) for name in adjacent),
        *([Column(texts(_QUERIES.get(texts.unit, "column.queries")), figure=True)] if queries else []),
        *(Column(texts(_SHOWN[key]), figure=True, spare=True) for key in _SHOWN),
        *([Column(texts("column.fairness"), figure=True)] if _is_unfair(context) else []),
        Column(texts("column.errors"), figure=True),
        Column(texts("column.status"), keep=True),
    ]
    best = context.best  # without a bar for values that cannot be compared
    highest = (
        0.0 if best is None else max(item.throughput.median or 0.0 for item in context.analysis.treatments)
    )
    rows = [
        _row(treatment, context, highest, queries, intervals) for treatment in context.analysis.treatments
    ]
    loops = {
        part.open_loop is not None
        for trial in context.analysis.trials
        if trial.counts
        for part in trial.groups.values() or (trial,)
    }
    reported = context.imported or {trial.reported for trial in context.analysis.trials if trial.counts} == {
        True
    }
    note = texts("table.results.reported" if reported else _LOOPS[frozenset(loops)])
    if context.mixed:
        note = texts("table.results.reported.mixed" if reported else "table.results.mixed")
    if lack(context.analysis.trials, _SHOWN):
        note = texts.joined(note, texts("table.left-out"))
    if not intervals:
        note = texts.joined(note, texts("table.no-intervals", needed=FEWEST_FOR_INTERVAL))
    return Table(
        "table-results", texts("table.treatments"), *without_empty(columns, rows), note if measured else ""
    )


def _is_unfair(context: ReportContext) -> bool:
    """True if clients of some treatment were served unequally."""
    return any((item.fairness or 1.0) < FAIR for item in context.analysis.treatments)


def _has_queries(treatment: Treatment) -> bool:
    """True if queries are reported separately: if each unit of work is one query, throughput is the same."""
    queries, throughput = treatment.queries.median, treatment.throughput.median
    if not queries or not throughput:
        return bool(queries)
    return abs(queries / throughput - 1) > SAME_SHARE


def metric_names(context: ReportContext) -> list[str]:
    """Names of the metrics of workload, tool and monitors."""
    return list(
        dict.fromkeys(name for treatment in context.analysis.treatments for name in treatment.figures)
    )


def _adjacent_metrics(context: ReportContext) -> list[str]:
    """Those that stand beside throughput; none where there are too many."""
    names = metric_names(context)
    return names if len(names) <= MOST_METRICS else []


def metrics_table(context: ReportContext) -> Table | None:
    """A row a treatment and figure, where there are too many of them to stand beside throughput.

    Of several treatments with some metrics it has a row per treatment, with a column for each metric.
    """
    names, texts = metric_names(context), context.texts
    if len(names) <= MOST_METRICS:
        return None
    factors, note = factor_columns(context), texts("table.own-figures.note")
    numbered = [
        Column(texts("column.number"), figure=True),
        *(Column(name, figure=numeric) for _, name, numeric in factors),
        *([] if factors else [Column(texts("column.treatment"))]),
    ]
    if len(names) <= _MOST_COLUMNS and len(context.analysis.treatments) > 1:
        columns = [
            *numbered,
            *(Column(metric_name(name, texts), figure=True, keep=True) for name in names),
        ]
        rows = [
            [
                *numbered_cells(treatment, factors),
                *(_metric_cell(treatment, name, texts("mark.none")) for name in names),
            ]
            for treatment in context.analysis.treatments
        ]
        return Table("table-own-figures", texts("table.own-figures"), *without_empty(columns, rows), note)
    columns = [
        *numbered,
        Column(texts("column.figure-name"), keep=True),
        Column(texts("axis.median"), figure=True),
        Column(texts("column.repeats"), figure=True, many=True, spare=True),
    ]
    rows = [
        [
            *numbered_cells(treatment, factors),
            Cell(metric_name(name, texts)),
            Cell(metric_value(name, metric.median, treatment), sort=metric.median),
            _repeats(
                [metric_value(name, value, treatment) for value in metric.values], metric.median, context
            ),
        ]
        for treatment in context.analysis.treatments
        for name in names
        if (metric := treatment.figures.get(name)) is not None and metric.median is not None
    ]
    return Table("table-own-figures", texts("table.own-figures"), *without_empty(columns, rows), note)


def _repeats(values: list[str], middle: float | None, context: ReportContext) -> Cell:
    """Each repeat's figure, to be sorted by their median; what was measured once by nothing, as the median
    says it all.
    """
    return Cell("  ".join(values) or context.texts("mark.none"), sort=middle if len(values) > 1 else None)


def _metric_cell(treatment: Treatment, name: str, none: str) -> Cell:
    value = treatment.figures.get(name)
    if value is None or value.median is None:
        return Cell(none)
    return Cell(metric_value(name, value.median, treatment), sort=value.median)


def _row(
    treatment: Treatment, context: ReportContext, highest: float, queries: bool, intervals: bool
) -> list[Cell]:
    none = context.texts("mark.none")
    middle = treatment.throughput.median
    return [
        *numbered_cells(treatment, factor_columns(context)),
        Cell(none)
        if middle is None
        else Cell(context.throughput(treatment), sort=middle, bar=middle / highest if highest else None),
        *(
            [Cell(interval(treatment, context), tone="info" if treatment.throughput.descriptive_only else "")]
            if intervals
            else []
        ),
        _repeats([numbers.rate(value) for value in treatment.throughput.values], middle, context),
        *(_metric_cell(treatment, name, none) for name in _adjacent_metrics(context)),
        *([_figure(treatment.queries.median, numbers.rate, none)] if queries else []),
        *(_figure(treatment.latency_ms(key), context.texts.time, none) for key in _SHOWN),
        *([_figure(treatment.fairness, numbers.share, none)] if _is_unfair(context) else []),
        Cell(
            numbers.whole(treatment.failed), sort=treatment.failed, tone="problem" if treatment.failed else ""
        ),
        _status(treatment, context),
    ]


def _figure(value: float | None, write: numbers.Write, none: str) -> Cell:
    return Cell(none) if value is None else Cell(write(value), sort=value)


def _status(treatment: Treatment, context: ReportContext) -> Cell:
    text = context.texts("mark.list").join(
        context.texts(_COUNT(status), count=count) for status, count in treatment.statuses.items()
    )
    well = treatment.statuses.get("ok", 0)
    return Cell(text, sort=float(well), tone="" if well == len(treatment.trials) else "problem")


def interval(treatment: Treatment, context: ReportContext) -> str:
    """The interval, or why there is none."""
    interval = treatment.throughput.interval
    if treatment.throughput.median is None:
        return context.texts("mark.none")
    if interval is None:
        return context.texts("table.descriptive")
    return f"{numbers.rate(interval.low)} – {numbers.rate(interval.high)}"


def _expectations(context: ReportContext) -> Block | None:
    """The table, folded if all were met, which the summary has."""
    table = expectations(context)
    if table is None or any(outcome.verdict != "met" for outcome in context.analysis.expectations):
        return table
    return Details(table.title, [replace(table, only=True)], instead="")


def expectations(context: ReportContext) -> Table | None:
    """Each expectation with its verdict; None when the plan has none."""
    return table_of(context.analysis.expectations, "table-expectations", context)


def table_of(outcomes: Sequence[ExpectationOutcome], name: str, context: ReportContext) -> Table | None:
    """A row for each of these expectations, with the fault that it belongs to; None without any."""
    texts = context.texts
    if not outcomes:
        return None
    of_faults = any(outcome.fault is not None for outcome in outcomes)
    all_met = all(outcome.verdict == "met" for outcome in outcomes)
    none = texts("mark.none")
    rows = [
        [
            *([Cell(outcome.fault or none)] if of_faults else []),
            Cell(outcome.expression),
            Cell(texts(_VERDICT(outcome.verdict)), tone=_TONES[outcome.verdict]),
            _least_favourable(outcome, context),
            Cell(context.labels.get(outcome.treatment or "", none)),
            *(
                []
                if all_met
                else [Cell(none if outcome.verdict == "met" else names([*outcome.trials], context))]
            ),
        ]
        for outcome in outcomes
    ]
    columns = [
        *([Column(texts("column.fault"), code=True)] if of_faults else []),
        Column(texts("column.expectation"), code=True),
        Column(texts("column.verdict")),
        Column(texts("column.least-favourable"), figure=True),
        Column(texts("column.treatment")),
        *([] if all_met else [Column(texts("column.worst"))]),
    ]
    return Table(name, texts("table.expectations"), columns, rows)


def _least_favourable(outcome: ExpectationOutcome, context: ReportContext) -> Cell:
    value = outcome.value_text or context.texts("mark.none")
    text = context.texts.message(value) if isinstance(value, Message) else value
    return Cell(text, sort=outcome.value if outcome.at_least is None else outcome.at_least)


def names(trials: list[str], context: ReportContext, most: int = 6) -> str:
    """Some names, and how many more there are."""
    listed = context.texts("mark.list").join(trials[:most])
    more = len(trials) - most
    return listed if more <= 0 else f"{listed} {context.texts('table.more', count=more)}"


def adds_nothing(code: str, meaning: str, message: str) -> bool:
    """Return True if a message only repeats its code, as an HTTP status or as the code's meaning."""
    status = f"the server answered with status {code.removeprefix('http-')}"
    return message == status or message.lower() == meaning.lower()


def errors(context: ReportContext) -> Table | None:
    """Errors by code, most frequent first, with what helps where that is known; None when there were none."""
    texts = context.texts
    counts: dict[str, int] = {}
    first: dict[str, tuple[str, str]] = {}
    where: dict[str, list[str]] = {}
    helps: dict[str, str] = {}
    for trial in context.analysis.trials:
        for error in trial.errors:
            counts[error.code] = counts.get(error.code, 0) + error.count
            first.setdefault(error.code, (texts.value("meaning", error.meaning), error.message))
            if error.remedy is not None:
                helps.setdefault(error.code, texts.recorded(error.remedy))
            if trial.name not in where.setdefault(error.code, []):
                where[error.code].append(trial.name)
    if not counts:
        return None
    messages = {
        code: explanation[1] for code, explanation in first.items() if not adds_nothing(code, *explanation)
    }
    none = texts("mark.none")
    rows = [
        [
            Cell(code),
            Cell(first[code][0]),
            Cell(numbers.whole(counts[code]), sort=counts[code]),
            *([Cell(messages.get(code, none))] if messages else []),
            Cell(names(where[code], context)),
            *([Cell(helps.get(code, none))] if helps else []),
        ]
        for code in sorted(counts, key=lambda code: -counts[code])
    ]
    columns = [
        Column(texts("column.code"), code=True),
        Column(texts("column.meaning")),
        Column(texts("column.count"), figure=True),
        *([Column(texts("column.message"))] if messages else []),
        Column(texts("column.trials")),
        *([Column(texts("column.advice"), sentences=True)] if helps else []),
    ]
    return Table("table-errors", texts("table.errors"), columns, rows)
