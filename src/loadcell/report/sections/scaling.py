"""Times by the size of the data: curves, speed-ups against the first alternative, and crossover points."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from loadcell.analysis.scaling import Alternative, Crossover, Point, Scaling, speedup
from loadcell.model import numbers
from loadcell.report import charts
from loadcell.report.blocks import Block, Cell, Column, Section, Table
from loadcell.report.context import ReportContext

#: Statuses of trials in the place of a speed-up.
_WITHOUT_TIME: Final[Mapping[str, str]] = {
    "timed-out": "cell.scaling.timed-out", "failed": "cell.scaling.failed", "invalid": "cell.scaling.invalid",
}  # fmt: skip


def section(context: ReportContext) -> Section | None:
    """None without alternatives over a size."""
    lines = context.analysis.scalings
    if not lines:
        return None
    blocks: list[Block] = [*charts.drawn_in("scaling", context)]
    blocks += [_speedups(number, scaling, context) for number, scaling in enumerate(lines, 1)]
    if (crossovers := _crossovers(lines, context)) is not None:
        blocks.append(crossovers)
    return Section("scaling", context.texts("section.scaling"), blocks)


def _speedups(number: int, scaling: Scaling, context: ReportContext) -> Table:
    texts = context.texts
    baseline = scaling.alternatives[0]
    columns = [
        Column(scaling.factor),
        *(Column(f"{scaling.size_factor} = {point.label}", figure=True) for point in baseline.points),
        Column(texts("column.mean-speedup"), figure=True),
    ]
    rows = [_row(alternative, baseline, context) for alternative in scaling.alternatives]
    where = f" ({scaling.where})" if scaling.where else ""
    title = texts("table.speedups", baseline=baseline.level) + where
    return Table(f"table-speedups-{number}", title, columns, rows, texts("table.speedups.note"))


def _row(alternative: Alternative, baseline: Alternative, context: ReportContext) -> list[Cell]:
    pairs = list(zip(baseline.points, alternative.points, strict=True))
    ratios = [speedup(first, point) for first, point in pairs]
    logs = [math.log(ratio) for ratio in ratios if ratio is not None]
    mean = math.exp(math.fsum(logs) / len(logs)) if logs else None
    return [
        Cell(alternative.level),
        *(_ratio(ratio, point, context) for ratio, (_, point) in zip(ratios, pairs, strict=True)),
        _ratio(mean, None, context),
    ]


def _ratio(ratio: float | None, point: Point | None, context: ReportContext) -> Cell:
    if ratio is not None:
        return Cell(f"{numbers.significant(ratio)}×", sort=ratio)
    for status, key in _WITHOUT_TIME.items():
        if point is not None and point.statuses.get(status):
            return Cell(context.texts(key), tone="caution")
    if point is not None and point.median_ms is not None:
        return Cell(numbers.milliseconds(point.median_ms), sort=None)
    return Cell(context.texts("mark.none"))


def _crossovers(lines: tuple[Scaling, ...], context: ReportContext) -> Table | None:
    texts = context.texts
    rows = [
        _crossover(scaling, crossover, context) for scaling in lines for crossover in scaling.crossovers()
    ]
    if not rows:
        return None
    columns = [
        Column(texts("column.held"), keep=True),
        Column(texts("column.crossover"), figure=True),
        Column(texts("column.faster-above")),
        Column(texts("column.faster-below")),
        Column(texts("column.crossover-known")),
    ]
    return Table("table-crossovers", texts("table.crossovers"), columns, rows, texts("table.crossovers.note"))


def _crossover(scaling: Scaling, crossover: Crossover, context: ReportContext) -> list[Cell]:
    texts = context.texts
    certain = texts("cell.crossover.known" if crossover.is_certain else "cell.crossover.unknown")
    return [
        Cell(scaling.where or texts("table.saturation.all")),
        Cell(numbers.significant(crossover.size), sort=crossover.size),
        Cell(crossover.faster),
        Cell(crossover.slower),
        Cell(certain),
    ]
