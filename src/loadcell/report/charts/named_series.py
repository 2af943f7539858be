"""Series that monitors sampled by name, over time: a panel each name, a line each set of labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from loadcell.analysis import series as thinning
from loadcell.model.message import Labels
from loadcell.model.panels import Line, Panel, named_series
from loadcell.plan.parts import part_name
from loadcell.report.blocks import Chart, TrialSamples
from loadcell.report.charts import chart, timeline
from loadcell.report.charts.series import (
    FEWEST_POINTS,
    MOST_POINTS,
    POINTS_IN_ALL,
    by_trial,
    fitting_trial,
    in_units,
    trial_name,
    views,
)
from loadcell.report.context import ReportContext
from loadcell.store.frames import Frame, Rows

#: Panels of all monitors together, and lines of a panel: as many as can be looked at.
MOST_PANELS: Final = 12
MOST_LINES: Final = 6
_NAME_SHOWN: Final = 48
_TITLE = Labels("axis.named-series", ("value", "rate", "mean"))


@dataclass(frozen=True)
class _Family:
    """Series of one name: `rows` of each set of labels, the largest first; whether any of them changes."""

    name: str
    measure: str
    rows: tuple[tuple[str, Rows], ...]
    changes: bool


@chart("named-series", 1)
def draw(context: ReportContext) -> Chart | None:
    """None where no monitor sampled series by name."""
    texts = context.texts
    monitors = dict.fromkeys(
        name
        for record in context.stored.trials
        for name in record.monitors
        if part_name(name) in named_series()
    )
    samples = {name: context.stored.samples(name) for name in monitors}
    samples = {
        name: frame for name, frame in samples.items() if frame.has("t_s", "name", "labels", "measure")
    }
    every = [(monitor, family) for monitor, frame in samples.items() for family in _families(frame)]
    # Where there are too many, series that never change are left out before others.
    changing = [item for item in every if item[1].changes]
    chosen = (every if len(every) <= MOST_PANELS else changing or every)[:MOST_PANELS]
    panels: list[Panel] = []
    frames: dict[str, Frame] = {}
    for number, (monitor, frame) in enumerate(samples.items()):
        families = [family for of_monitor, family in chosen if of_monitor == monitor]
        if families:
            wide, of_frame = _wide(frame, families, f"named{number}", context, monitor)
            frames[f"named{number}"] = wide
            panels += of_frame
    frames = timeline.drawable(frames)
    panels = [panel for panel in panels if panel.source in frames]
    if not panels:
        return None
    trials = max(len(frame.groups("trial")) for frame in frames.values())
    at_most = min(MOST_POINTS, max(FEWEST_POINTS, POINTS_IN_ALL // trials))
    data: dict[str, TrialSamples] = {}
    for source, frame in frames.items():
        columns = {
            line.column: line.how for panel in panels if panel.source == source for line in panel.lines
        }
        thin = thinning.thin(frame, columns, at_most)
        for trial, values in by_trial(in_units(thin, panels, source)).items():
            data.setdefault(trial, {})[source] = values
    lengths = {name: sum(len(of["t"]) > 1 for of in sources.values()) for name, sources in data.items()}
    trials_shown = [trial for trial in context.analysis.trials if trial.name in data]
    if not trials_shown:
        return None
    lone = {source for source, frame in frames.items() if timeline.alone(frame)}
    captions = [texts("caption.named-series")]
    if len(chosen) < len(every):
        captions.append(texts("caption.named-series.some", count=len(chosen), of=len(every)))
    if any(len(family.rows) > MOST_LINES for _, family in chosen):
        captions.append(texts("caption.named-series.largest", count=MOST_LINES))
    return Chart(
        "chart-named-series",
        texts("chart.named-series", monitors=texts("mark.list").join(samples)),
        views(panels, context, set(), lone, timeline.clock_of(frames)),
        {},
        captions,
        panels=len(panels),
        chooser="trial",
        choices=[(trial.name, trial_name(trial, context)) for trial in trials_shown],
        chosen=[fitting_trial(trials_shown, context, lengths).name],
        series=data,
    )


def _families(frame: Frame) -> Iterator[_Family]:
    """Series of a table by name, in the order of their first rows."""
    names, measures, labels = (frame.text(name).tolist() for name in ("name", "measure", "labels"))
    values = frame.numbers("value")
    groups = frame.groups("name", "measure")
    for rows in groups.parts():
        first = int(rows[0])
        of_labels: dict[str, list[int]] = {}
        for row in rows.tolist():
            of_labels.setdefault(labels[row] or "", []).append(row)
        lines = [(label, np.array(those, dtype=np.intp)) for label, those in of_labels.items()]
        changes = any(float(np.ptp(values[those])) > 0 for _, those in lines)
        lines.sort(key=lambda line: -float(np.abs(values[line[1]]).mean()))
        yield _Family(names[first] or "", measures[first] or "", tuple(lines), changes)


def _wide(
    frame: Frame, families: list[_Family], source: str, context: ReportContext, monitor: str
) -> tuple[Frame, list[Panel]]:
    """The table with a column for each line and a row for each sample, and its panels."""
    texts = context.texts
    samples = frame.groups("trial", "t_s")
    wide = frame.select("trial", "t_s").take(samples.first)
    values = frame.numbers("value")
    panels = []
    for index, family in enumerate(families):
        lines = []
        for number, (labels, rows) in enumerate(family.rows[:MOST_LINES]):
            column = np.full(len(samples), np.nan)
            column[samples.index[rows]] = values[rows]
            name = f"s{index}_{number}"
            wide = wide.adding({name: column})
            lines.append(Line(name, "", proper=_short(labels or family.name)))
        heading = texts(_TITLE(family.measure), name=_short(family.name), monitor=monitor)
        panels.append(
            Panel(
                source,
                "",
                tuple(lines),
                position=0,
                proper=heading,
                legend_below=len(lines) > 1,
                colour=index,
            )
        )
    return wide, panels


def _short(name: str) -> str:
    return name if len(name) <= _NAME_SHOWN else f"{name[: _NAME_SHOWN - 1]}…"
