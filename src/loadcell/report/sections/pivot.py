"""Pivot tables of two factors: the levels of one down, those of the other across."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from loadcell.analysis.treatments import Treatment
from loadcell.model import numbers
from loadcell.report.blocks import Cell, Column, Table
from loadcell.report.context import ReportContext
from loadcell.report.sections.breakdown import factor_columns, number

#: Levels across that fit on a page.
MOST_COLUMNS = 8


def tables(context: ReportContext) -> Iterator[Table]:
    """Throughput and, where it is known, p99 of a run with two factors that have several levels each."""
    factors, texts = factor_columns(context), context.texts
    if len(factors) != 2 or context.best is None:
        return
    levels = {key: _levels(context, key) for key, _, _ in factors}
    down, across = sorted(factors, key=lambda factor: -len(levels[factor[0]]))
    if len(levels[across[0]]) < 2 or len(levels[across[0]]) > MOST_COLUMNS:
        return
    names = {"down": down[1], "across": across[1]}
    yield _table(
        "table-pivot", texts("table.pivot-throughput", **names), down, across, levels,
        lambda item: item.throughput.median, numbers.rate, context,
    )  # fmt: skip
    if any(item.latency_ms("p99_ms") is not None for item in context.analysis.treatments):
        yield _table(
            "table-pivot-p99", texts("table.pivot-p99", **names), down, across, levels,
            lambda item: item.latency_ms("p99_ms"), texts.time, context,
        )  # fmt: skip


def _levels(context: ReportContext, key: str) -> list[str]:
    return list(dict.fromkeys(treatment.levels[key] for treatment in context.analysis.treatments))


def _table(
    name: str,
    title: str,
    down: tuple[str, str, bool],
    across: tuple[str, str, bool],
    levels: dict[str, list[str]],
    value: Callable[[Treatment], float | None],
    write: numbers.Write,
    context: ReportContext,
) -> Table:
    values = {
        (item.levels[down[0]], item.levels[across[0]]): value(item) for item in context.analysis.treatments
    }
    columns = [
        Column(down[1], figure=down[2]),
        *(Column(f"{across[1]} = {level}", figure=True) for level in levels[across[0]]),
    ]
    rows = [
        [
            Cell(row, sort=number(row) if down[2] else position),
            *(_cell(values.get((row, level)), write, context) for level in levels[across[0]]),
        ]
        for position, row in enumerate(levels[down[0]])
    ]
    return Table(name, title, columns, rows)


def _cell(value: float | None, write: numbers.Write, context: ReportContext) -> Cell:
    return Cell(context.texts("mark.none")) if value is None else Cell(write(value), sort=value)
