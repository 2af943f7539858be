"""Steadiness of each trial, in a table below the charts over time."""

from __future__ import annotations

from loadcell.analysis.steadiness import Judged
from loadcell.model import numbers
from loadcell.model.message import Labels
from loadcell.report.blocks import Cell, Column, Table
from loadcell.report.context import ReportContext

_STATE = Labels("steady", ("steady", "never-settled", "trend", "too-dependent"))


def table(context: ReportContext) -> Table | None:
    """A row a trial that is long enough to be judged; None without any."""
    judged = [
        judged_trial for judged_trial in context.steadiness if judged_trial.steadiness.state != "too-short"
    ]
    if not judged:
        return None
    texts = context.texts
    columns = [
        Column(texts("column.trial"), code=True),
        Column(texts("column.steady"), keep=True),
        Column(texts("column.warmup-left"), figure=True),
        Column(texts("column.mean-within"), figure=True),
        Column(texts("column.effective"), figure=True),
        Column(texts("column.trend"), figure=True),
        Column(texts("column.dips")),
    ]
    rows = [_row(judged_trial, context) for judged_trial in judged]
    return Table("table-steady", texts("table.steady"), columns, rows, texts("table.steady.note"))


def _row(judged: Judged, context: ReportContext) -> list[Cell]:
    texts, steadiness = context.texts, judged.steadiness
    none = texts("mark.none")
    tone = {True: "good", False: "caution", None: ""}[steadiness.steady]
    left_s = judged.seconds(steadiness.settled_after)
    within, trend = steadiness.within, steadiness.trend
    error = within.error_share if within else None
    return [
        Cell(judged.trial.name, sort=judged.trial.number),
        Cell(texts(_STATE(steadiness.state)), tone=tone),  # type: ignore[arg-type]
        Cell(numbers.seconds(left_s) if left_s else none, sort=left_s),
        Cell(none)
        if within is None or error is None
        else Cell(f"{numbers.rate(within.mean)} ± {numbers.share(error)}", sort=within.mean),
        Cell(none) if within is None else Cell(numbers.whole(within.effective), sort=within.effective),
        Cell(none) if trend is None else Cell(_signed(trend.change), sort=trend.change),
        Cell(_dips(judged, context) or none),
    ]


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
