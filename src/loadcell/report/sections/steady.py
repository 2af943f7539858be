"""How steady each trial was, in a table below the pictures over time."""

from __future__ import annotations

from loadcell.analysis.steadiness import Judged
from loadcell.model import numbers
from loadcell.report.blocks import Cell, Column, Table
from loadcell.report.context import ReportContext


def table(context: ReportContext) -> Table | None:
    """A row a trial that is long enough to be judged; None without any."""
    judged = [one for one in context.steadiness if one.steadiness.state != "too-short"]
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
    rows = [_row(one, context) for one in judged]
    return Table("table-steady", texts("table.steady"), columns, rows, texts("table.steady.note"))


def _row(one: Judged, context: ReportContext) -> list[Cell]:
    texts, found = context.texts, one.steadiness
    none = texts("mark.none")
    tone = {True: "good", False: "caution", None: ""}[found.steady]
    left_s = one.seconds(found.settled_after)
    within, trend = found.within, found.trend
    error = within.error_share if within else None
    return [
        Cell(one.trial.name, sort=one.trial.number),
        Cell(texts(f"steady.{found.state}"), tone=tone),  # type: ignore[arg-type]
        Cell(numbers.seconds(left_s) if left_s else none, sort=left_s),
        Cell(none)
        if within is None or error is None
        else Cell(f"{numbers.rate(within.mean)} ± {numbers.share(error)}", sort=within.mean),
        Cell(none) if within is None else Cell(numbers.whole(within.effective), sort=within.effective),
        Cell(none) if trend is None else Cell(_signed(trend.change), sort=trend.change),
        Cell(_dips(one, context) or none),
    ]


def _signed(share: float) -> str:
    return ("+" if share > 0 else "") + numbers.share(share)


def _dips(one: Judged, context: ReportContext) -> str:
    dips = one.steadiness.dips
    if dips is None:
        return ""
    params = {"count": len(dips.dips), "depth_share": dips.depth, "length_s": one.seconds(dips.length)}
    if dips.period is None:
        return context.texts("dips.some", **params)
    return context.texts("dips.periodic", **params, period_s=round(one.seconds(dips.period), 1))
