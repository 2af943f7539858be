"""Resident memory of Python interpreters over time, with steps of the trial and calls of marked functions."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import altair as alt

from loadcell.model.json import JsonObject
from loadcell.model.message import Labels
from loadcell.model.python_memory import CURVE, SPANS, STEPS
from loadcell.model.trial_record import TrialRecord
from loadcell.report.blocks import Chart, DataRow
from loadcell.report.charts import chart, style
from loadcell.report.context import ReportContext
from loadcell.report.palette import SERIES

#: Trials that are drawn, and points of a curve: of more, the largest of neighbours.
MOST_TRIALS: Final = 6
_MOST_POINTS: Final = 600
#: Rows of spans of one trial.
_MOST_NAMES: Final = 10
_HEIGHT, _ROW = 120, 14
_MIB = 2**20
_STEP = Labels("resident.step", STEPS)


@dataclass(frozen=True)
class Curve:
    """One trial: seconds from the begin of the measurement and MiB, and spans of steps and functions (s)."""

    record: TrialRecord
    points: tuple[tuple[float, float], ...]
    spans: tuple[tuple[str, float, float], ...]

    @property
    def peak_mib(self) -> float:
        """Largest value."""
        return max(value for _, value in self.points)


@chart("resident", 1)
def draw(context: ReportContext) -> Chart | None:
    """None where no trial has a curve; of many treatments, those with the largest peaks."""
    largest: dict[str, Curve] = {}
    for curve in _curves(context):
        treatment = curve.record.treatment
        if treatment not in largest or curve.peak_mib > largest[treatment].peak_mib:
            largest[treatment] = curve
    if not largest:
        return None
    texts = context.texts
    shown = sorted(largest.values(), key=lambda curve: -curve.peak_mib)[:MOST_TRIALS]
    captions = [texts("caption.resident")]
    if len(shown) < len(largest):
        captions.append(texts("caption.resident.most", shown=len(shown), count=len(largest)))
    data: dict[str, list[DataRow]] = {}
    views = []
    for number, curve in enumerate(shown):
        views += _views(number, curve, _domain(shown), data, context)
    return Chart(
        "chart-resident", texts("chart.resident"), style.stacked(views), data, captions, panels=len(views)
    )


def _curves(context: ReportContext) -> Iterator[Curve]:
    for record in context.stored.trials:
        directory = context.stored.directory(record.name)
        points = [(int(row[0]), int(row[1])) for row in _rows(directory / CURVE) if len(row) == 2]
        if len(points) < 2:
            continue
        spans = [
            (row[0], int(row[1]), int(row[2]) if row[2] else points[-1][0])
            for row in _rows(directory / SPANS)
            if len(row) == 3
        ]
        begun = [begin for name, begin, _ in spans if name == "measure"]
        zero = begun[0] if begun else points[0][0]
        yield Curve(
            record,
            tuple((_seconds(instant, zero), round(size / _MIB, 3)) for instant, size in _fewer(points)),
            tuple(
                (name, _seconds(begin, zero), _seconds(min(end, points[-1][0]), zero))
                for name, begin, end in spans
            ),
        )


def _rows(file: Path) -> list[list[str]]:
    """Rows behind the header; none where the file is missing, without the last line where it was cut."""
    if not file.is_file():
        return []
    text = file.read_text(encoding="utf-8")
    return list(csv.reader(text[: text.rfind("\n") + 1].splitlines()[1:]))


def _fewer(points: list[tuple[int, int]]) -> list[tuple[int, int]]:
    step = -(-len(points) // _MOST_POINTS)
    return [
        max(points[first : first + step], key=lambda point: point[1])
        for first in range(0, len(points), step)
    ]  # fmt: skip


def _seconds(instant_ns: int, zero_ns: int) -> float:
    return round((instant_ns - zero_ns) / 1e9, 3)


def _domain(curves: list[Curve]) -> list[float]:
    """First and last second of these trials."""
    times = [at for curve in curves for at, _ in curve.points]
    times += [at for curve in curves for _, *ends in curve.spans for at in ends]
    return [min(times), max(times)]


def _views(
    number: int, curve: Curve, domain: list[float], data: dict[str, list[DataRow]], context: ReportContext
) -> list[JsonObject]:
    """The curve of a trial, and below it a row for each step and function."""
    texts = context.texts
    line, rows = f"resident{number}", f"spans{number}"
    data[line] = [{"t": at, "value": value} for at, value in curve.points]
    present = dict.fromkeys(name for name, _, _ in curve.spans)
    steps = [name for name in STEPS if name in present]
    names = [*steps, *(name for name in present if name not in STEPS)][:_MOST_NAMES]
    labels = {name: texts(_STEP(name)) if name in STEPS else name.partition(":")[2] for name in names}
    data[rows] = [
        {"t": begin, "to": end, "name": labels[name]} for name, begin, end in curve.spans if name in labels
    ]
    scale = alt.Scale(domain=domain, nice=False)

    def time_axis(title: str | None, *, labelled: bool) -> alt.X:
        axis = alt.Axis(labels=labelled, ticks=labelled, grid=False, format=",~r")
        return alt.X("t:Q", title=title, scale=scale, axis=axis)

    memory = alt.Chart(style.data(line)).mark_line(interpolate="step-after", color=SERIES[0]).encode(
        x=time_axis(None if data[rows] else texts("axis.time"), labelled=not data[rows]),
        y=alt.Y("value:Q", title="MiB", scale=alt.Scale(zero=True)),
        tooltip=[
            alt.Tooltip("t:Q", title=texts("axis.time")),
            alt.Tooltip("value:Q", title="MiB"),
        ],
    )  # fmt: skip
    views = [style.layered(memory, height=_HEIGHT, title=curve.record.name)]
    if data[rows]:
        base = alt.Chart(style.data(rows))
        y = alt.Y(
            "name:N",
            title=None,
            sort=[labels[name] for name in names],
            axis=alt.Axis(labelLimit=160, ticks=False),
        )
        x = time_axis(texts("axis.time"), labelled=True)
        tips = [
            alt.Tooltip("name:N", title=texts("column.step")),
            alt.Tooltip("t:Q", title=texts("axis.time")),
            alt.Tooltip("to:Q", title=texts("axis.ended")),
        ]
        bar = base.mark_rule(strokeWidth=8, opacity=0.5, color=SERIES[1]).encode(
            x=x, x2="to:Q", y=y, tooltip=tips
        )
        tick = base.mark_tick(thickness=1, size=10, color=SERIES[1]).encode(x=x, y=y, tooltip=tips)
        views.append(style.layered(bar, tick, height={"step": _ROW}))
    return views
