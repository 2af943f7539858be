"""Open loops: offered and completed load, response and service time, and punctuality of the client."""

from __future__ import annotations

from loadcell.analysis.open_loop import OpenLoopResult, all_results
from loadcell.analysis.steadiness import Judged
from loadcell.model import numbers
from loadcell.model.message import Labels
from loadcell.report import charts
from loadcell.report.blocks import Block, Cell, Column, Paragraph, Section, Table
from loadcell.report.context import ReportContext
from loadcell.report.sections.breakdown import factor_columns, treatment_cells
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
    "column.overloaded",
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
    ]
    rows = [_row(loop, context, factors) for loop in loops]
    return Table("table-open-loop", texts("table.open-loop"), columns, rows, only=True)


def _row(loop: OpenLoopResult, context: ReportContext, factors: list[tuple[str, str, bool]]) -> list[Cell]:
    texts, treatment = context.texts, loop.treatment
    arrivals = {"constant": "arrivals.constant", "poisson": "arrivals.poisson"}.get(loop.arrivals)
    return [
        Cell(str(treatment.index), sort=treatment.index),
        *treatment_cells(treatment, factors),
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
            tone="problem" if loop.overloaded else "",
        ),
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
