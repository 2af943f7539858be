"""Single cores, disks, interfaces, threads and standbys over time: a line for each of the busiest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from loadcell.model.panels import Panel, all_panels
from loadcell.report.blocks import Chart
from loadcell.report.charts import chart, series
from loadcell.report.context import ReportContext
from loadcell.report.palette import SERIES
from loadcell.store.frames import Column, Frame

#: Lines of a panel: as many as there are colours.
MOST_LINES = len(SERIES)
#: Points of one panel over all trials: each has a value for every line.
_POINTS = 3_000


@chart("parts", 1)
def draw(context: ReportContext) -> Chart | None:
    """None where no trial has samples of parts."""
    panels: list[Panel] = []
    frames: dict[str, Frame] = {}
    for panel in all_panels():
        samples = context.samples(panel.source) if panel.by else None
        if samples is not None and samples.has("trial", "t_s", panel.by, panel.lines[0].column):
            source = f"part{len(panels)}"
            drawn, frames[source] = by_part(panel, samples)
            panels.append(replace(drawn, source=source))
    caption = context.texts("caption.parts", count=MOST_LINES)
    drawn_chart = series.over_time("parts", panels, frames, [caption], context, _POINTS)
    return None if drawn_chart is None else replace(drawn_chart, detail=True)


def by_part(panel: Panel, samples: Frame) -> tuple[Panel, Frame]:
    """The panel with a line for each of the busiest parts, and a row for each instant with their values.

    Of parts with one name at one instant it is the largest value; a part without a row then has none.
    """
    (line,) = panel.lines
    if samples.has("tid"):
        samples = samples.take(samples.numbers("tid") > 0)
    instants, texts, values = (
        samples.groups("trial", "t_s"),
        samples.text(panel.by),
        samples.numbers(line.column),
    )
    sums = {
        name: float(np.nansum(values[texts.isin(name)])) for name in texts.values if texts.isin(name).any()
    }
    names = sorted(sums, key=lambda name: -sums[name])[:MOST_LINES]
    columns: dict[str, Column] = {}
    for number, name in enumerate(names):
        column = np.full(len(instants), np.nan)
        of_name = texts.isin(name)
        np.fmax.at(column, instants.index[of_name], values[of_name])
        columns[f"p{number}"] = column
    lines = tuple(replace(line, column=f"p{number}", proper=name) for number, name in enumerate(names))
    rows = samples.select("trial", "t_s").take(instants.first)
    return replace(panel, lines=lines, legend=True), rows.adding(columns)
