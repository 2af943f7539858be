"""Series that monitors sampled by name, over time: a panel each name, a line each set of labels."""

from __future__ import annotations

from typing import Final

from loadcell.analysis import series as thinning
from loadcell.model.panels import Panel, named_series
from loadcell.plan.parts import part_name
from loadcell.report.blocks import Chart, TrialSamples
from loadcell.report.charts import chart, timeline
from loadcell.report.charts.named_panels import COLUMNS, MOST_LINES, families, wide
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
from loadcell.store.frames import Frame

#: Panels of all monitors: as many as can be looked at.
MOST_PANELS: Final = 12


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
    samples = {name: frame for name, frame in samples.items() if frame.has(*COLUMNS)}
    every = [(monitor, family) for monitor, frame in samples.items() for family in families(frame)]
    # Where there are too many, series that never change are left out before others.
    changing = [item for item in every if item[1].changes]
    chosen = (every if len(every) <= MOST_PANELS else changing or every)[:MOST_PANELS]
    panels: list[Panel] = []
    frames: dict[str, Frame] = {}
    for number, (monitor, frame) in enumerate(samples.items()):
        of_source = [family for of_monitor, family in chosen if of_monitor == monitor]
        if of_source:
            table, of_frame = wide(frame, of_source, f"named{number}", context, monitor)
            frames[f"named{number}"] = table
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
