"""Bricks of a distributed storage: files and bytes before and after, and files that moved between nodes."""

from __future__ import annotations

from collections.abc import Iterator

from loadcell.model import numbers, panels
from loadcell.model.message import Labels
from loadcell.report.blocks import Block, Cell, Column, Section, Table
from loadcell.report.context import ReportContext
from loadcell.report.sections.breakdown import count_cell
from loadcell.store.frames import Frame

_BRICK_VALUES = ("files-before", "files-after", "size-before", "size-after", "descriptors")
_BRICK = Labels("column.brick", _BRICK_VALUES)
_PROGRESS = (
    "node", "task", "status", "files", "size_bytes", "scanned", "failures", "skipped", "run_time_s",
    "files_per_s",
)  # fmt: skip
_TASK = Labels("column.progress", _PROGRESS)
#: Columns of words.
_WORDS = ("node", "task", "status")


def section(context: ReportContext) -> Section | None:
    """None for a run whose storage was not watched."""
    blocks: list[Block] = []
    for tables in panels.brick_tables():
        bricks, progress = (context.stored.samples(name) for name in (tables.bricks, tables.progress))
        if len(bricks):
            blocks.append(_bricks(bricks, context))
        if len(progress):
            blocks.append(_progress(progress, context))
    return Section("bricks", context.texts("section.bricks"), blocks) if blocks else None


def _bricks(samples: Frame, context: ReportContext) -> Table:
    """A row for each brick of a trial: its contents before and after, and the most open descriptors."""
    texts = context.texts
    columns = [
        Column(texts("column.trial"), code=True),
        Column(texts("column.brick"), figure=True),
        *(Column(texts(_BRICK(value)), figure=True) for value in _BRICK_VALUES),
    ]
    rows = []
    begins: dict[str, float] = {}
    for trial, mono_ns in samples.rows("trial", "mono_ns"):
        begins.setdefault(trial, mono_ns)
    for part in samples.groups("trial", "brick").parts():
        brick = samples.take(part)
        [(trial, number), *_] = brick.rows("trial", "brick")
        # a brick that was added later, or removed, has one count
        counts = {
            mono_ns == begins[trial]: (files, size)
            for mono_ns, files, size in brick.rows("mono_ns", "files", "size_bytes")
            if files is not None
        }
        first, last = counts.get(True, (None, None)), counts.get(False, (None, None))
        descriptors = [value for (value,) in brick.rows("open_descriptors") if value is not None]
        rows.append([
            Cell(trial),
            count_cell(round(number)),
            _value(first[0], context), _value(last[0], context),
            _size(first[1], context), _size(last[1], context),
            _value(max(descriptors, default=None), context),
        ])  # fmt: skip
    return Table("table-bricks", texts("table.bricks"), columns, rows, texts("table.bricks.note"))


def _progress(samples: Frame, context: ReportContext) -> Table:
    """A row for each node and task of a trial: its last status."""
    texts = context.texts
    columns = [
        Column(texts("column.trial"), code=True),
        *(Column(texts(_TASK(name)), figure=name not in _WORDS, keep=name in _WORDS) for name in _PROGRESS),
    ]
    rows = []
    for last in samples.groups("trial", "node", "task").last().tolist():
        [(trial, *values)] = samples.take(slice(last, last + 1)).rows("trial", *_PROGRESS)
        rows.append([Cell(trial), *_progress_cells(values, context)])
    rows.sort(key=lambda row: [cell.text for cell in row[:3]])
    return Table("table-progress", texts("table.progress"), columns, rows)


def _progress_cells(values: list[object], context: ReportContext) -> Iterator[Cell]:
    for name, value in zip(_PROGRESS, values, strict=True):
        if isinstance(value, str):
            yield Cell(value)
        elif not isinstance(value, int | float):
            yield Cell(context.texts("mark.none"))
        elif name == "size_bytes":
            yield _size(value, context)
        elif name == "run_time_s":
            yield Cell(numbers.seconds(value), sort=value)
        elif name == "files_per_s":
            yield Cell(numbers.rate(value), sort=value)
        else:
            yield count_cell(round(value), problem=name == "failures")


def _value(value: float | None, context: ReportContext) -> Cell:
    return Cell(context.texts("mark.none")) if value is None else count_cell(round(value))


def _size(value: float | None, context: ReportContext) -> Cell:
    return Cell(context.texts("mark.none")) if value is None else Cell(numbers.size(value), sort=value)
