"""Open loops (offered and completed load, response and service time, punctuality of the client), and charts
over time, each with its values in a table; samples of other programs in an imported run.
"""

from __future__ import annotations

from collections.abc import Mapping

from loadcell.analysis import series as trial_series
from loadcell.analysis.open_loop import OpenLoopResult, all_results
from loadcell.analysis.steadiness import Judged
from loadcell.analysis.treatments import LATENCIES
from loadcell.analysis.trials import lack
from loadcell.model import numbers
from loadcell.model.message import Labels, Unit, with_unit
from loadcell.model.panels import Aggregate, AggregateTable, aggregate_tables
from loadcell.report import charts
from loadcell.report.blocks import Block, Cell, Column, Details, Paragraph, Section, Table, without_empty
from loadcell.report.context import ReportContext
from loadcell.report.sections import named_series
from loadcell.report.sections.breakdown import factor_columns, latency_title, numbered_cells
from loadcell.stats.repeats import Repeats


def section(context: ReportContext) -> Section | None:
    """None for a run of closed loops."""
    loops = all_results(context.analysis.treatments)
    if not loops:
        return None
    blocks: list[Block] = [Paragraph(context.texts("open-loop.meaning"))]
    blocks += [table(context, loops), *charts.drawn_in("open-loop", context)]
    return Section("open-loop", context.texts("section.open-loop"), blocks)


_FIGURES = (
    "column.offered",
    "column.achieved",
    "column.kept-share",
    "column.response-p99",
    "column.service-p99",
    "column.pacing-p50",
    "column.pacing-p99",
    "column.backlog",
)


def table(context: ReportContext, loops: tuple[OpenLoopResult, ...]) -> Table:
    """A row a treatment that was an open loop."""
    texts, factors = context.texts, factor_columns(context)
    columns = [
        Column(texts("column.number"), figure=True),
        *(Column(name, figure=numeric) for _, name, numeric in factors),
        *([] if factors else [Column(texts("column.treatment"))]),
        Column(texts("column.arrivals")),
        *(Column(texts(key), figure=True) for key in _FIGURES),
        Column(texts("column.overloaded"), figure=True, spare=True),
    ]
    rows = [_row(loop, context, factors) for loop in loops]
    return Table("table-open-loop", texts("table.open-loop"), *without_empty(columns, rows), only=True)


def _row(loop: OpenLoopResult, context: ReportContext, factors: list[tuple[str, str, bool]]) -> list[Cell]:
    texts, treatment = context.texts, loop.treatment
    arrivals = {"constant": "arrivals.constant", "poisson": "arrivals.poisson"}.get(loop.arrivals)
    return [
        *numbered_cells(treatment, factors),
        Cell(texts(arrivals) if arrivals else loop.arrivals),
        _figure(loop.offered, context, numbers.rate),
        _figure(loop.achieved, context, numbers.rate),
        Cell(texts("mark.none"))
        if loop.share is None
        else Cell(numbers.share(loop.share), sort=loop.share, tone="" if loop.sustained else "caution"),
        _figure(treatment.latency["p99_ms"], context, numbers.significant),
        _figure(loop.service["p99_ms"], context, numbers.significant),
        _figure(loop.pacing["p50_ms"], context, _microseconds),
        _figure(loop.pacing["p99_ms"], context, _microseconds),
        _figure(loop.backlog, context, numbers.whole),
        Cell(
            texts("mark.of", part=loop.overloaded, whole=len(treatment.trials)),
            sort=loop.overloaded,
            tone="problem",
        )
        if loop.overloaded
        else Cell(texts("mark.none")),
    ]


def _microseconds(milliseconds: float) -> str:
    return numbers.significant(milliseconds * 1e3)


def _figure(repeats: Repeats, context: ReportContext, write: numbers.Write) -> Cell:
    value = repeats.median
    return Cell(context.texts("mark.none")) if value is None else Cell(write(value), sort=value)


_STATE = Labels("steady", ("steady", "never-settled", "trend", "too-dependent"))


def steadiness(context: ReportContext) -> Table | None:
    """A row a trial that is long enough to be judged; None without any."""
    judged = [
        judged_trial for judged_trial in context.steadiness if judged_trial.steadiness.state != "too-short"
    ]
    if not judged:
        return None
    texts = context.texts
    opened = any(judged_trial.response for judged_trial in judged)
    columns = [
        Column(texts("column.trial"), code=True),
        Column(texts("column.steady"), keep=True),
        Column(texts("column.warmup-left"), figure=True),
        Column(texts("column.mean-within"), figure=True),
        *([Column(texts("column.response-within"), figure=True)] if opened else []),
        Column(texts("column.effective"), figure=True),
        Column(texts("column.trend"), figure=True),
        Column(texts("column.dips")),
    ]
    rows = [_steadiness_row(judged_trial, context, opened=opened) for judged_trial in judged]
    return Table("table-steady", texts("table.steady"), columns, rows, texts("table.steady.note"))


def _steadiness_row(judged: Judged, context: ReportContext, *, opened: bool) -> list[Cell]:
    texts, steadiness = context.texts, judged.steadiness
    none = texts("mark.none")
    tone = {True: "good", False: "caution", None: ""}[judged.steady]
    state = steadiness.state
    if judged.response is not None and steadiness.steady:
        state = judged.response.steadiness.state
    left_s = judged.seconds(steadiness.settled_after)
    within, trend = steadiness.within, steadiness.trend
    error = within.error_share if within else None
    return [
        Cell(judged.trial.name, sort=judged.trial.number),
        Cell(texts(_STATE(state)), tone=tone),  # type: ignore[arg-type]
        Cell(numbers.seconds(left_s) if left_s else none, sort=left_s),
        Cell(none)
        if within is None or error is None
        else Cell(f"{numbers.rate(within.mean)} ± {numbers.share(error)}", sort=within.mean),
        *([_response(judged, none)] if opened else []),
        Cell(none) if within is None else Cell(numbers.whole(within.effective), sort=within.effective),
        Cell(none) if trend is None else Cell(_signed(trend.change), sort=trend.change),
        Cell(_dips(judged, context) or none),
    ]


def _response(judged: Judged, none: str) -> Cell:
    within = judged.response.steadiness.within if judged.response else None
    error = within.error_share if within else None
    if within is None or error is None:
        return Cell(none)
    return Cell(f"{numbers.significant(within.mean)} ± {numbers.share(error)}", sort=within.mean)


def _signed(share: float) -> str:
    return ("+" if share > 0 else "") + numbers.share(share)


def _dips(judged: Judged, context: ReportContext) -> str:
    dips = judged.steadiness.dips
    if dips is None:
        return ""
    params = {"count": len(dips.dips), "depth_share": dips.depth, "length_s": judged.seconds(dips.length)}
    if dips.period is None:
        return context.texts("dips.some", **params)
    return context.texts("dips.periodic", **params, period_s=round(judged.seconds(dips.period), 1))


#: Trials that make a picture: one alone is the figure that stands in the table.
FEWEST = 2


def curves(context: ReportContext) -> Section | None:
    """Throughput, response time and other metrics along the factors; None if nothing was measured.

    Of different quantities only the
    last: a pass over twice the memory is no more of the same, and MiB/s are MiB/s."""
    measured = sum(trial.throughput_per_s is not None for trial in context.analysis.trials)
    if measured < FEWEST:
        return None
    drawn = charts.drawn_in("curves", context) if context.analysis.comparable else []
    drawn += charts.drawn_in("own", context)
    folded = [Details(chart.title, [chart]) for chart in charts.drawn_in("repeats", context)]
    if not drawn:
        return None
    return Section("curves", context.texts("section.curves"), [*drawn, *folded])


def percentiles(context: ReportContext) -> Section | None:
    """The tail of the response time; None when none was recorded."""
    measured = [treatment for treatment in context.analysis.treatments if treatment.measured]
    if all(
        measured_treatment.latency_ms(key) is None for measured_treatment in measured for key in LATENCIES
    ):
        return None
    drawn: list[Block] = [*charts.drawn_in("percentiles", context)]
    drawn += [Details(chart.title, [chart]) for chart in charts.drawn_in("distribution", context)]
    figures = values_table(context)
    drawn.append(Details(context.texts("page.figures"), [figures], instead="") if drawn else figures)
    return Section("percentiles", context.texts("section.percentiles"), drawn)


def series(context: ReportContext) -> Section | None:
    """Trials over time; None when nothing was sampled."""
    drawn: list[Block] = [*charts.drawn_in("series", context)]
    drawn += named_series.blocks(context)
    for section_part in ("overlay", "heat", "parts"):
        drawn += [Details(chart.title, [chart]) for chart in charts.drawn_in(section_part, context)]
    judged = steadiness(context)
    if judged is not None:
        drawn.append(Details(judged.title, [judged]))
    return Section("series", context.texts("section.series"), drawn) if drawn else None


def values_table(context: ReportContext) -> Table:
    """Every latency figure of every treatment, as far as any has it."""
    texts = context.texts
    titles = [latency_title(key, context) for key in LATENCIES]
    columns = [
        Column(texts("column.number"), figure=True),
        Column(texts("column.treatment")),
        *(Column(name, figure=True, spare=True) for name in titles),
    ]
    rows = [
        [
            Cell(str(treatment.index), sort=treatment.index),
            Cell(treatment.label, sort=treatment.index),
            *(
                Cell(texts("mark.none")) if value is None else Cell(texts.time(value), sort=value)
                for value in (treatment.latency_ms(key) for key in LATENCIES)
            ),
        ]
        for treatment in context.analysis.treatments
        if treatment.measured
    ]
    note = texts("table.left-out") if lack(context.analysis.trials, LATENCIES) else ""
    return Table("table-percentiles", texts("table.percentiles"), *without_empty(columns, rows), note)


def sampled(context: ReportContext) -> Section | None:
    """None where no trial has samples of another program."""
    imported = {
        name
        for record in context.stored.trials
        for name, monitor in record.monitors.items()
        if monitor.imported
    }
    if not imported:
        return None
    blocks: list[Block] = []
    for aggregates in aggregate_tables():
        if aggregates.source in imported:
            values = trial_series.aggregates(context.stored.samples(aggregates.source), aggregates.columns)
            if values:
                blocks.append(samples(aggregates, values, context))
    return Section("sampled", context.texts("section.sampled"), blocks) if blocks else None


def samples(
    aggregates: AggregateTable, values: Mapping[str, Mapping[Aggregate, float]], context: ReportContext
) -> Table:
    """Columns without any value are left out."""
    texts = context.texts
    shown = [column for column in aggregates.columns if any(column in row for row in values.values())]
    columns = [
        Column(texts("column.trial"), code=True),
        *(Column(texts(column.heading), figure=True) for column in shown),
    ]
    rows = [
        [Cell(trial), *(_value_cell(row.get(column), column.unit, context) for column in shown)]
        for trial, row in values.items()
    ]
    note = texts(f"{aggregates.title}.note")
    return Table(f"table-sampled-{aggregates.source}", texts(aggregates.title), columns, rows, note)


def _value_cell(value: float | None, unit: Unit, context: ReportContext) -> Cell:
    return Cell(context.texts("mark.none")) if value is None else Cell(with_unit(unit, value), sort=value)
