"""Response times of a trial over time: how many requests of each interval fell into each class of time; the
reader chooses the trial.
"""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from loadcell.analysis.trials import Trial
from loadcell.model.json import JsonObject
from loadcell.report.blocks import Chart, TrialSamples
from loadcell.report.charts import chart, series, style, time_marks, timeline
from loadcell.report.context import ReportContext
from loadcell.store.interval_histograms import PER_DECADE, IntervalHistograms, lower_ms

#: Cells of all trials together, and columns of one.
MOST_CELLS, FEWEST_COLUMNS, MOST_COLUMNS = 4_000, 12, 60
#: Classes that become one cell: a factor of 1.26.
CLASSES_OF_CELL = 2
#: Cells of a trial, about: rows that a column usually has.
_ROWS = 16
#: Fewer intervals make no picture.
FEWEST_INTERVALS = 3
SOURCE = "heat"


@chart("heat", 1)
def draw(context: ReportContext) -> Chart | None:
    """None where no trial has three intervals with histograms."""
    texts = context.texts
    histograms = {
        name: of_trial
        for name, of_trial in context.interval_histograms.items()
        if len(of_trial.begin_s) >= FEWEST_INTERVALS and of_trial.counts.any()
    }
    if not histograms:
        return None
    intervals = max(len(of_trial.begin_s) for of_trial in histograms.values())
    most = MOST_CELLS // (min(FEWEST_COLUMNS, intervals) * _ROWS)
    trials = _shown([trial for trial in context.analysis.trials if trial.name in histograms], most)
    columns = min(MOST_COLUMNS, max(FEWEST_COLUMNS, MOST_CELLS // (len(trials) * _ROWS)))
    longest_s = max(float(histograms[trial.name].end_s.max()) for trial in trials)
    step_s = step(longest_s, max(_interval_s(histograms[trial.name]) for trial in trials), columns)
    by_trial: dict[str, TrialSamples] = {}
    for trial in trials:
        of_trial = cells(histograms[trial.name], step_s)
        of_trial["low"] = [texts.in_unit(low) for low in of_trial["low"]]
        by_trial[trial.name] = {SOURCE: of_trial}
        marks = time_marks.columns(context.marks.get(trial.name, ()), 0.0, longest_s, context.texts)
        by_trial[trial.name] |= {time_marks.SOURCE: marks} if marks else {}
    shown = series.fitting_trial(trials, context, {trial.name: 1 for trial in trials})
    clock = timeline.clock_between(0.0, longest_s)
    views = [_view(context, step_s, clock)]
    captions = [texts("caption.heat")]
    if any(time_marks.SOURCE in sources for sources in by_trial.values()):
        views.insert(0, time_marks.strip(context.texts, clock))
        captions.append(time_marks.caption(by_trial.values(), context.texts))
    every = max(histograms[trial.name].every for trial in trials)
    if every > 1:
        captions.append(texts("caption.histograms.sampled", every=every))
    if len(trials) < len(histograms):
        captions.append(texts("caption.heat.some", count=len(trials), of=len(histograms)))
    return Chart(
        "chart-heat",
        texts("chart.heat"),
        style.stacked(views, spacing=12),
        {},
        captions,
        legend=False,
        chooser="trial",
        choices=[(trial.name, series.trial_name(trial, context)) for trial in trials],
        chosen=[shown.name],
        series=by_trial,
        detail=True,
    )


def _shown(trials: list[Trial], most: int) -> list[Trial]:
    """All of a few trials; of many the first repeats."""
    repeats = sorted(trials, key=lambda trial: (trial.repeat, trial.number))[:most]
    return sorted(repeats, key=lambda trial: trial.number)


def _interval_s(histograms: IntervalHistograms) -> float:
    return float(np.median(histograms.end_s - histograms.begin_s)) * histograms.every


def step(longest_s: float, interval_s: float, columns: int) -> float:
    """Width of a column in seconds: whole intervals, so few that there are not more than `columns`."""
    interval_s = max(interval_s, 1e-3)
    return interval_s * max(1, int(np.ceil(longest_s / interval_s / columns - 1e-9)))


def cells(histograms: IntervalHistograms, step_s: float) -> dict[str, list[Any]]:
    """Cells with requests: `t` (begin, seconds), `low` (lower end of the time, ms), `count`."""
    places = np.floor(histograms.begin_s / step_s + 1e-6).astype(np.int64)
    by_column = np.zeros((int(places.max()) + 1, histograms.counts.shape[1]), dtype=np.int64)
    np.add.at(by_column, places, histograms.counts)
    joined = by_column.reshape(len(by_column), -1, CLASSES_OF_CELL).sum(axis=2)
    column, row = np.nonzero(joined)
    return {
        "t": [round(time, 3) for time in (column * step_s).tolist()],
        "low": [float(f"{low:.4g}") for low in lower_ms(row * CLASSES_OF_CELL).tolist()],
        "count": joined[column, row].tolist(),
    }


def _view(context: ReportContext, step_s: float, clock: timeline.Clock) -> JsonObject:
    texts = context.texts
    ratio = 10 ** (CLASSES_OF_CELL / PER_DECADE)
    base = (
        alt.Chart(style.data(SOURCE))
        .transform_joinaggregate(all="sum(count)", groupby=["t"])
        .transform_calculate(
            end=f"datum.t + {step_s:.6g}",
            high=f"datum.low * {ratio:.6g}",
            part="datum.count / datum.all",
        )
    )
    x = alt.X(
        "t:Q",
        title=texts(clock.title),
        axis=timeline.axis(clock),
        scale=alt.Scale(nice=False, zero=False),
    )
    y = alt.Y(
        "low:Q",
        title=None,
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(format=",.3~r", minExtent=58, maxExtent=58, labelOverlap="greedy", labelSeparation=6),
    )
    opacity = alt.FillOpacity(
        "part:Q",
        scale=alt.Scale(type="pow", exponent=0.4, domain=[0, 1], range=[0.08, 1]),
        legend=None,
    )
    tips = [
        alt.Tooltip("t:Q", title=texts("axis.begin"), format=",~r"),
        alt.Tooltip("low:Q", title=texts("axis.low"), format=",.3~r"),
        alt.Tooltip("high:Q", title=texts("axis.high"), format=",.3~r"),
        alt.Tooltip("count:Q", title=texts("axis.requests"), format=",~r"),
        alt.Tooltip("part:Q", title=texts("axis.share"), format=".3~p"),
    ]
    cell = base.mark_rect(fill="var(--c1)", stroke=None).encode(
        x=x, x2=alt.X2("end:Q"), y=y, y2=alt.Y2("high:Q"), fillOpacity=opacity, tooltip=tips
    )
    return style.layered(cell, height=style.CHART * 2 // 3, title=texts("axis.latency"))
