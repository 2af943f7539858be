"""Typical trials of all sides on one time axis; the reader chooses the treatment."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any

from loadcell.analysis import marks
from loadcell.analysis import series as thinning
from loadcell.analysis.compare.compare import OVERALL
from loadcell.analysis.trials import Trial
from loadcell.report.blocks import Chart, TrialSamples
from loadcell.report.charts import overlay, series, style, time_marks, timeline
from loadcell.report.charts.overlay import SOURCE, TAIL, THROUGHPUT
from loadcell.report.comparison.gather import Gathered
from loadcell.report.comparison.words import Words
from loadcell.store.read import StoredRun

#: Points of all sides and treatments together, and the fewest of one line.
MOST_POINTS, FEWEST_POINTS = 6_000, 40
#: Treatments to choose from.
MOST_CONTEXTS = 30


def draw(gathered: Gathered, words: Words) -> Chart | None:
    """None where no two sides have values over time for one treatment."""
    texts, sides = words.texts, gathered.comparison.sides
    contexts = list(sides.contexts)[:MOST_CONTEXTS]
    points = max(FEWEST_POINTS, MOST_POINTS // (len(contexts) * len(sides.sides)))
    by_context: dict[str, TrialSamples] = {}
    for context in contexts:
        merged: dict[str, dict[str, list[Any]]] = {}
        lines = 0
        for side in range(len(sides.sides)):
            for run, trial in _typical(gathered, side, context):
                of_side = _columns(run, trial, points, words)
                lines += SOURCE in of_side
                for source, columns in of_side.items():
                    columns |= {
                        "trial": [words.side(side)] * len(columns["t"]),
                        "name": [trial.name] * len(columns["t"]),
                    }
                    target = merged.setdefault(source, {name: [] for name in columns})
                    for name, values in columns.items():
                        target[name] += values
        if lines > 1:
            by_context[context] = merged
    if not by_context:
        return None
    present = [
        column
        for column in (THROUGHPUT, TAIL)
        if any(
            value is not None for sources in by_context.values() for value in sources[SOURCE].get(column, ())
        )
    ]
    titles = {THROUGHPUT: texts("axis.throughput"), TAIL: texts("axis.latency.p99")}
    names = [words.side(side) for side in range(len(sides.sides))]
    times = [time for sources in by_context.values() for time in sources[SOURCE]["t"]]
    clock = timeline.clock_between(min(0.0, *times), max(times))
    with style.unchecked():
        views = [
            overlay.view(column, titles[column], clock, texts, last=column == present[-1], names=names)
            for column in present
        ]
        if any(time_marks.SOURCE in sources for sources in by_context.values()):
            views.insert(0, time_marks.strip(texts, clock, colour=overlay.colour(names)))
    captions = [texts("compare.caption.series"), time_marks.caption(by_context.values(), texts)]
    if len(contexts) < len(sides.contexts):
        captions.append(texts("compare.caption.contexts", count=len(contexts), of=len(sides.contexts)))
    return Chart(
        "chart-series",
        texts("compare.chart.series"),
        style.stacked(views),
        {},
        [caption for caption in captions if caption],
        panels=len(views),
        legend=False,
        chooser="trial",
        choices=[
            (context, words.context(context) or sides.contexts[context] or texts("mark.none"))
            for context in by_context
        ],
        chosen=[_first(words, by_context)],
        series=by_context,
        detail=True,
    )


def _first(words: Words, by_context: dict[str, TrialSamples]) -> str:
    """The treatment of the most important change."""
    ranked = (row.context for row in words.by_importance(words.comparison.rows) if row.context != OVERALL)
    return next((context for context in ranked if context in by_context), next(iter(by_context)))


def _typical(gathered: Gathered, side: int, context: str) -> Iterator[tuple[StoredRun, Trial]]:
    """The trial of a side whose throughput lies nearest to the median; none where no trial counts."""
    chosen = gathered.comparison.sides.sides[side]
    pairs = [(gathered.runs[0], trial) for trial in chosen.trials.get(context, ())]
    if gathered.comparison.sides.kind == "runs":
        runs = [run for position, run in enumerate(gathered.runs) if gathered.side_of(position) == side]
        pairs = [
            (run, trial)
            for run, trials in zip(runs, chosen.runs, strict=True)
            for trial in trials.get(context, ())
        ]
    measured = [
        (run, trial, trial.throughput_per_s)
        for run, trial in pairs
        if trial.counts and trial.throughput_per_s is not None
    ]
    if measured:
        middle = median(speed for _, _, speed in measured)
        run, trial, _ = min(measured, key=lambda item: abs(item[2] - middle))
        yield run, trial


def _columns(run: StoredRun, trial: Trial, points: int, words: Words) -> dict[str, dict[str, list[Any]]]:
    """Throughput and p99 of one trial, and its marks; empty without two points."""
    recorded = run.intervals()
    if not recorded.has("trial", "t_s", "kind"):
        return {}
    of_trial = recorded.take(recorded.text("trial").isin(trial.name))
    load = series.load_over_time(of_trial)
    thin = thinning.thin(load, {THROUGHPUT: "mean", TAIL: "max"}, points)
    if len(thin) < overlay.FEWEST_POINTS:
        return {}
    columns = series.by_trial(series.in_short(thin, (THROUGHPUT, TAIL)))[trial.name]
    events = run.events()
    happened = marks.of_trials(of_trial, (), events.take(events.text("trial").isin(trial.name)))
    marked = time_marks.columns(happened.get(trial.name, ()), columns["t"][0], columns["t"][-1], words.texts)
    return {SOURCE: columns, **({time_marks.SOURCE: marked} if marked else {})}
