"""Samples of other programs' monitors in an imported run: a row per trial."""

from __future__ import annotations

from collections.abc import Mapping

from loadcell.model import numbers
from loadcell.model.message import Labels
from loadcell.report.blocks import Block, Cell, Column, Section, Table
from loadcell.report.context import ReportContext

#: How each figure is written, by monitor, in the order of the columns.
HOST: Mapping[str, numbers.Write] = {
    "cpu-mean": numbers.significant, "cpu-max": numbers.significant, "iowait": numbers.significant, "steal": numbers.significant,
    "disk-read": numbers.size, "disk-write": numbers.size, "disk-busy": numbers.significant, "received": numbers.size,
    "sent": numbers.size,
}  # fmt: skip
JVM: Mapping[str, numbers.Write] = {
    "young-gcs": lambda value: numbers.whole(round(value)), "young-gc-ms": numbers.significant,
    "full-gcs": lambda value: numbers.whole(round(value)), "full-gc-ms": numbers.significant,
    "concurrent-gcs": lambda value: numbers.whole(round(value)), "concurrent-gc-ms": numbers.significant,
    "old": numbers.significant, "metaspace": numbers.significant, "heap": numbers.size,
}  # fmt: skip

_COLUMN = Labels("column.sampled", (*HOST, *JVM))
_TABLE = Labels("table.sampled", ("host", "host.note", "jvm", "jvm.note"))


def section(context: ReportContext) -> Section | None:
    """None where no trial has samples of another program."""
    imported = {
        name
        for record in context.stored.trials
        for name, monitor in record.monitors.items()
        if monitor.imported
    }
    if not imported:
        return None
    from loadcell.analysis import sampled  # frames: the terminal does without

    blocks: list[Block] = []
    for monitor, figures, writes in (("host", sampled.HOST, HOST), ("jvm", sampled.JVM, JVM)):
        if monitor in imported:
            values = sampled.by_trial(context.stored.samples(monitor), figures)
            if values:
                blocks.append(table(monitor, values, writes, context))
    return Section("sampled", context.texts("section.sampled"), blocks) if blocks else None


def table(
    monitor: str,
    values: Mapping[str, Mapping[str, float]],
    writes: Mapping[str, numbers.Write],
    context: ReportContext,
) -> Table:
    """Columns without any value are left out."""
    texts = context.texts
    shown = [name for name in writes if any(name in figures for figures in values.values())]
    columns = [
        Column(texts("column.trial"), code=True),
        *(Column(texts(_COLUMN(name)), figure=True) for name in shown),
    ]
    rows = [
        [Cell(trial), *(_cell(figures.get(name), writes[name], context) for name in shown)]
        for trial, figures in values.items()
    ]
    return Table(
        f"table-sampled-{monitor}",
        texts(_TABLE(monitor)),
        columns,
        rows,
        texts(_TABLE(f"{monitor}.note")),
    )


def _cell(value: float | None, write: numbers.Write, context: ReportContext) -> Cell:
    return Cell(context.texts("mark.none")) if value is None else Cell(write(value), sort=value)
