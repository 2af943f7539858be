"""One trial over time: the load, the host and the target below one another on one time axis; the reader
chooses the trial.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import altair as alt
import numpy as np

from loadcell.analysis import series as thinning
from loadcell.analysis.trials import Trial, carried_over_time
from loadcell.model.json import JsonObject
from loadcell.model.message import Labels
from loadcell.model.panels import Line, Panel, Reduction, all_panels
from loadcell.model.trial_record import TrialRecord
from loadcell.monitors.panels import (
    FAILED,
    GROUPS_PLACE,
    OFFERED,
    RESPONSE_TIMES,
    SERVICE_P99,
    TRANSACTIONS,
)
from loadcell.report.blocks import Chart, DataRow, TrialSamples
from loadcell.report.charts import chart, named_panels, style, time_marks, timeline, treatments
from loadcell.report.charts.style import Channels
from loadcell.report.charts.timeline import FEWEST_ROWS, Clock, clock_of
from loadcell.report.context import STATUS, ReportContext
from loadcell.report.palette import SERIES
from loadcell.store.frames import Column, Frame, Numbers, plain_values, quotient

_CHECKPOINT = Labels("checkpoint", ("timed", "requested"))
_TITLE = Labels("chart", ("series", "parts"))
#: Points of one source over all trials: what a page of 3 MB has room for.
POINTS_IN_ALL = 12_000
CHECKPOINTS = "checkpoints"
FEWEST_POINTS, MOST_POINTS = 40, 500


@chart("series", 1)
def draw(context: ReportContext) -> Chart | None:
    """None when no trial has intervals or samples, of which it takes two to draw a line."""
    # If some groups are open loops and others closed, there is no offered load of all of them.
    recorded, groups = context.stored.intervals(), timeline.names(context)
    intervals = carried_over_time(recorded)
    load = _failing(
        timeline.without_pieces(timeline.with_groups(_transactions(intervals), intervals, groups))
    )
    frames = {
        "load": _ends(load) if groups else _open_loop(_ends(load)),
        "waits": context.server.over_time,
        "server": _per_second(context.server.samples, "wal_bytes", "blocks_read"),
    }
    for panel in all_panels():
        if panel.source not in frames and not panel.by:
            frames[panel.source] = _totals(context.stored.samples(panel.source), panel.total)
    caption = []
    if _percentiles(intervals) < _percentiles(recorded):
        caption.append(context.texts("caption.series.few"))
    under_load = named_panels.under_load(context)
    frames |= under_load.frames
    drawn = [_proper(panel, context) for panel in _panels(groups, under_load.panels)]
    if under_load.is_cut:
        caption.append(context.texts("caption.named-series.largest", count=named_panels.MOST_LINES))
    return over_time("series", drawn, frames, caption, context)


def over_time(
    name: str,
    drawn: list[Panel],
    frames: Mapping[str, Frame],
    captions: list[str],
    context: ReportContext,
    points: int = POINTS_IN_ALL,
) -> Chart | None:
    """A chart of panels below one another, with at most `points` of each source over all trials; None without
    any values. `name` is the end of the chart's id and of the code of its title.
    """
    # A trial that failed before it measured has samples without a time.
    timed = {
        source: frame.take(~np.isnan(frame.numbers("t_s")))
        for source, frame in frames.items()
        if frame.has("t_s")
    }
    frames = {source: frame for source, frame in timed.items() if len(frame)}
    sampled, frames = len(frames), timeline.drawable(frames)
    panels = [panel for panel in (_present(panel, frames) for panel in drawn) if panel is not None]
    if not panels:
        return None
    longest = max(longest_trial(frame) for frame in frames.values())
    trials = max(len(frame.groups("trial")) for frame in frames.values())
    at_most = min(MOST_POINTS, max(FEWEST_POINTS, points // trials))
    columns: dict[str, dict[str, Reduction]] = {}
    for panel in panels:
        columns.setdefault(panel.source, {}).update({line.column: line.how for line in panel.lines})
    series: dict[str, TrialSamples] = {}
    reaching: set[str] = set()
    lone = {source for source in columns if timeline.alone(frames[source])}
    for source, of_source in columns.items():
        enveloped = {line.column for panel in panels for line in panel.lines if line.envelope}
        thin = thinning.thin(frames[source], of_source, at_most, enveloped)
        reaching |= {name for name in enveloped if thin.has(name + thinning.LOWEST)}
        for trial, columns_of_trial in by_trial(in_units(thin, panels, source)).items():
            series.setdefault(trial, {})[source] = columns_of_trial
    for checkpoint in context.server.checkpoints:
        if checkpoint.trial in series and any(panel.checkpoints for panel in panels):
            columns_of_trial = series[checkpoint.trial].setdefault(
                CHECKPOINTS, {"t": [], "to": [], "reason": []}
            )
            columns_of_trial["t"].append(round(checkpoint.begin_s, 1))
            columns_of_trial["to"].append(None if checkpoint.end_s is None else round(checkpoint.end_s, 1))
            columns_of_trial["reason"].append(context.texts(_CHECKPOINT(checkpoint.reason)))
    marked = False
    for trial, sources in series.items():
        times = [time for of in sources.values() for time in of["t"]]
        if name == "series" and times:
            of_trial = time_marks.columns(context.marks.get(trial, ()), min(times), max(times), context.texts)
            sources |= {time_marks.SOURCE: of_trial} if of_trial else {}
            marked |= bool(of_trial)
    size = thinning.bucket_size(longest, at_most)
    lines = {
        trial: sum(len(of["t"]) > 1 for source, of in columns_of_trial.items() if source != time_marks.SOURCE)
        for trial, columns_of_trial in series.items()
    }
    trials_shown = [trial for trial in context.analysis.trials if trial.name in series]
    shown = fitting_trial(trials_shown, context, lines)
    texts = context.texts
    caption = [texts("caption.series")]
    if len(frames) < sampled:
        caption.append(texts("caption.series.short"))
    if any(
        len(columns_of_trial.get(source, {}).get("t", ())) < FEWEST_ROWS
        for columns_of_trial in series.values()
        for source in columns
    ):
        caption.append(texts("caption.series.left-out"))
    caption += captions
    if any(panel.checkpoints for panel in panels) and context.server.checkpoints:
        caption.append(texts("caption.series.checkpoints"))
    if marked:
        caption.append(time_marks.caption(series.values(), context.texts))
    if size > 1:
        caption.append(texts("caption.series.thinned", size=size))
    joined = max((_printed(record) for record in context.stored.trials), default=1)
    if joined > 1:
        caption.append(texts("caption.series.joined", count=joined))
    return Chart(
        f"chart-{name}",
        texts(_TITLE(name)),
        views(panels, context, reaching, lone, clock_of(frames), marked=marked),
        {},
        caption,
        panels=len(panels),
        chooser="trial",
        choices=[(trial.name, trial_name(trial, context)) for trial in trials_shown],
        chosen=[shown.name],
        series=series,
    )


def load_over_time(intervals: Frame) -> Frame:
    """All transactions together by interval, each with the time of its end, without short pieces."""
    return _ends(timeline.without_pieces(_transactions(carried_over_time(intervals))))


def in_short(frame: Frame, columns: Collection[str]) -> Frame:
    """The trial, its time as `t` and columns, as short as can be."""
    short: dict[str, Column] = {
        "trial": frame.text("trial"),
        "t": np.round(frame.numbers("t_s"), timeline.digits(frame)),
    }
    return Frame(short | {name: _significant(frame.numbers(name)) for name in columns if frame.has(name)})


def _percentiles(intervals: Frame) -> int:
    """Number of there are of all transactions together."""
    load = _transactions(intervals)
    names = [name for name in ("response_p50_ms", "response_p99_ms") if load.has(name)]
    return sum(int((~np.isnan(load.numbers(name))).sum()) for name in names)


def _panels(groups: list[str], under_load: list[Panel]) -> list[Panel]:
    """Every view there can be; those of client groups and of named series under those of the whole load."""
    titles = (("axis.transactions.groups", timeline.THROUGHPUT), ("axis.response.groups", timeline.TAIL))
    panels = [*(panel for panel in all_panels() if not panel.by), *under_load]
    for title, figure in titles:
        how: Reduction = "max" if figure == timeline.TAIL else "mean"
        lines = tuple(Line(timeline.column(figure, name), "", how, proper=name) for name in groups)
        panels.append(Panel("load", title, lines, position=GROUPS_PLACE, checkpoints=True))
    return sorted(panels, key=lambda panel: panel.position)


def rows(chart: Chart, trial: str) -> dict[str, list[DataRow]]:
    """The named data of one trial, as the page builds it too: a row a sample."""
    sources = {
        source: [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
        for source, columns in chart.series[trial].items()
    }
    start = min((row["t"] for samples in sources.values() for row in samples), default=0)
    warmup = [{"from": start, "to": 0}] if start < 0 else []
    names = {CHECKPOINTS, *(source for columns in chart.series.values() for source in columns)}
    return {**{name: [] for name in sorted(names)}, **sources, "warmup": warmup}


def _proper(panel: Panel, context: ReportContext) -> Panel:
    """A panel with the lines and the unit that it has in this run."""
    if panel is RESPONSE_TIMES and context.texts.micro:
        return replace(panel, lines=tuple(replace(line, divide=1e-3) for line in panel.lines))
    if panel is TRANSACTIONS and context.mixed:
        return replace(panel, title="axis.transactions.mixed")
    return panel if panel.lines else _waits(panel, context)


def _waits(panel: Panel, context: ReportContext) -> Panel:
    """The panel of waits, a line for each kind that matters in this run, and one for all others."""
    names = context.server.kinds
    lines = [
        Line(f"w{number}", "", proper=name, colour=colour)
        for number, (name, colour) in enumerate(zip(names, treatments.colours(names), strict=True))
    ]
    others = Line("rest", "series.rest", colour=treatments.OTHERS, hidden_at_zero=True)
    return replace(panel, lines=(*lines, others))


def _per_second(frame: Frame, *columns: str) -> Frame:
    """With rates of the counters."""
    if not frame.has("elapsed_s", *columns):
        return frame
    elapsed_s = frame.numbers("elapsed_s")
    return frame.adding({f"{name}_per_s": quotient(frame.numbers(name), elapsed_s) for name in columns})


def longest_trial(frame: Frame) -> int:
    """Number of rows of the trial with most of them."""
    return int(max(frame.groups("trial").sizes, default=0))


def _transactions(frame: Frame) -> Frame:
    """The rows of all transactions together."""
    return frame.take(frame.text("kind").isin("transaction")) if frame.has("kind") else frame


def _totals(frame: Frame, column: str | None) -> Frame:
    """The rows of totals, which have 0 in the column; all rows without one."""
    return frame.take(frame.numbers(column) == 0) if column is not None and frame.has(column) else frame


def _ends(frame: Frame) -> Frame:
    """Intervals with the time of their end, where samples have theirs, too."""
    if not frame.has("t_s", "duration_s"):
        return frame
    return frame.adding({"t_s": frame.numbers("t_s") + np.nan_to_num(frame.numbers("duration_s"))})


def _failing(frame: Frame) -> Frame:
    """With failures per second."""
    if not frame.has("failed", "duration_s"):
        return frame
    return frame.adding({FAILED: quotient(frame.numbers("failed"), frame.numbers("duration_s"))})


def _open_loop(frame: Frame) -> Frame:
    """With the columns that only open loops have: their intervals have a backlog."""
    if not frame.has("backlog", "started", "duration_s", "service_p99_ms"):
        return frame
    scheduled = ~np.isnan(frame.numbers("backlog"))
    offered_per_s = quotient(frame.numbers("started"), frame.numbers("duration_s"))
    return frame.adding(
        {
            OFFERED: np.where(scheduled, offered_per_s, np.nan),
            SERVICE_P99: np.where(scheduled, frame.numbers("service_p99_ms"), np.nan),
        }
    )


def _present(panel: Panel, frames: Mapping[str, Frame]) -> Panel | None:
    """The panel with the lines there are values for."""
    frame = frames.get(panel.source)
    if frame is None:
        return None
    lines, others = (
        tuple(line for line in choice if frame.has_values(line.column))
        for choice in (panel.lines, panel.alternative)
    )
    lines = tuple(
        line
        for line in lines or others
        if not line.hidden_at_zero or np.nansum(frame.numbers(line.column)) > 0
    )
    return replace(panel, lines=lines) if lines else None


def in_units(frame: Frame, panels: list[Panel], source: str) -> Frame:
    """Values in the units that are shown, as short as can be."""
    divide = {
        line.column + end: line.divide
        for panel in panels
        if panel.source == source
        for line in panel.lines
        for end in ("", thinning.LOWEST, thinning.HIGHEST)
        if frame.has(line.column + end)
    }
    columns: dict[str, Column] = {
        "trial": frame.text("trial"),
        "t": np.round(frame.numbers("t_s"), timeline.digits(frame)),
    }
    for column, by in divide.items():
        columns[column] = _significant(frame.numbers(column) / by)
    return Frame(columns)


def _significant(values: Numbers, digits: int = 4) -> Numbers:
    """Values rounded to significant digits."""
    size = np.where((values == 0) | ~np.isfinite(values), 1.0, np.abs(values))
    exponent = digits - 1 - np.floor(np.log10(size))
    scale = 10.0 ** np.abs(exponent)
    rounded: Numbers = np.where(
        exponent >= 0, np.round(values * scale) / scale, np.round(values / scale) * scale
    )
    return rounded


def by_trial(frame: Frame) -> dict[str, dict[str, list[Any]]]:
    """Each trial's columns.

    A column becomes a list once and is cut then, as lists of single trials cost more.
    """
    ordered = frame.sorted_by("trial")
    groups = ordered.groups("trial")
    columns = {
        name: _short(plain_values(column)) for name, column in ordered.columns.items() if name != "trial"
    }
    trials = ordered.text("trial")[groups.first].tolist()
    ends = np.cumsum(groups.sizes).tolist()
    return {
        str(trial): {name: values[end - size : end] for name, values in columns.items()}
        for trial, end, size in zip(trials, ends, groups.sizes.tolist(), strict=True)
    }


def _short(values: list[Any]) -> list[Any]:
    """Whole numbers without their `.0`: a tenth of the page."""
    return [int(value) if value is not None and value == int(value) else value for value in values]


def _printed(record: TrialRecord) -> int:
    """Number of intervals of a tool's output in one interval of the trial."""
    return (record.imported.joined if record.imported else None) or 1


def fitting_trial(trials: list[Trial], context: ReportContext, lines: Mapping[str, int]) -> Trial:
    """The trial with the worst incident; without any, the best treatment's that lies nearest to its median;
    else the first.

    Before others those with the most `lines`: of
    how many sources there are some; where the best has none at all, another's."""
    drawn = {trial.name: trial for trial in trials if lines[trial.name]}
    if with_incident := next((drawn[name] for name in context.incidents if name in drawn), None):
        return with_incident
    best = context.best
    best_trials = [
        trial for trial in trials if best is not None and trial.treatment == best.id and trial.counts
    ]
    best_trials = best_trials if any(lines[trial.name] for trial in best_trials) else []
    most = max(lines[trial.name] for trial in best_trials or trials)
    fullest = [trial for trial in best_trials or trials if lines[trial.name] == most]
    if not best_trials or best is None:
        return fullest[0]
    middle = best.throughput.median or 0.0
    return min(fullest, key=lambda trial: abs((trial.throughput_per_s or 0.0) - middle))


def trial_name(trial: Trial, context: ReportContext) -> str:
    name = f"{trial.number}. {context.labels.get(trial.treatment, trial.treatment)}, r{trial.repeat}"
    return name if trial.status == "ok" else f"{name} ({context.texts(STATUS(trial.status))})"


def views(
    panels: list[Panel],
    context: ReportContext,
    reaching: Collection[str],
    lone: Collection[str],
    clock: Clock,
    *,
    marked: bool = False,
) -> JsonObject:
    """The views below one another, on one time axis; with `marked` those of stalls, dips and events above."""
    views = [
        _view(
            panel,
            context,
            clock,
            reaching,
            last=panel is panels[-1],
            first=panel is panels[0],
            lone=panel.source in lone,
            marked=marked,
        )
        for panel in panels
    ]
    if marked:
        views.insert(0, time_marks.strip(context.texts, clock))
    return style.stacked(views, colours="independent", spacing=14)


def _view(
    panel: Panel,
    context: ReportContext,
    clock: Clock,
    reaching: Collection[str],
    *,
    first: bool,
    last: bool,
    lone: bool,
    marked: bool = False,
) -> JsonObject:
    texts = context.texts
    names = {line.column: line.proper or texts(line.name) for line in panel.lines}
    written = timeline.axis(clock, labels=last)
    x = alt.X("t:Q", title=texts(clock.title) if last else None, axis=written, scale=alt.Scale(nice=False))
    scale = alt.Scale(domain=[0, panel.top]) if panel.top else alt.Scale(zero=True, nice=True)
    axis = alt.Axis(tickCount=3, format=",~r", minExtent=58, maxExtent=58, labelOverlap="greedy")
    y = alt.Y("value:Q", title=None, axis=axis, scale=scale, stack="zero" if panel.stacked else None)
    legend = (
        alt.Legend(title=None, symbolOpacity=1, **_place(panel)) if panel.legend or len(names) > 1 else None
    )
    colours = [line.colour or SERIES[(n + panel.colour) % len(SERIES)] for n, line in enumerate(panel.lines)]
    colour = alt.Color("name:N", scale=alt.Scale(domain=list(names.values()), range=colours), legend=legend)
    tips = [
        alt.Tooltip("name:N", title=panel.proper or texts(panel.title)),
        alt.Tooltip("t:Q", title=texts("axis.time"), format=",~r"),
        alt.Tooltip("value:Q", title=texts("column.value"), format=",.4~r"),
    ]
    pairs = ", ".join(f"{_quoted(column)}: {_quoted(name)}" for column, name in names.items())
    base = (
        alt.Chart(style.data(panel.source))
        .transform_fold(list(names), as_=["key", "value"])
        .transform_calculate(name=f"{{{pairs}}}[datum.key]", rank=f"indexof({list(names)}, datum.key)")
    )
    order = [alt.Order("rank:Q", sort="ascending")] if panel.stacked else []
    mark = base.mark_area(opacity=0.75, line=False) if panel.stacked else base.mark_line(strokeWidth=1.6)
    shape = mark.encode(x, y, colour, *order)
    handles = base.mark_point(size=90, opacity=0, filled=True).encode(x, y, colour, *order, tooltip=tips)
    warmup = alt.Chart(style.data("warmup"))
    shade = warmup.mark_rect(color="var(--shade)").encode(x=alt.X("from:Q"), x2=alt.X2("to:Q"))
    layers = [
        shade,
        *(_checkpoints(context) if panel.checkpoints else []),
        *_bands(panel, x, colours, reaching),
        shape,
        *([timeline.point(base, x=x, y=y, color=colour)] if lone and not panel.stacked else []),
        handles,
        *(time_marks.lines(context.texts) if marked and panel.checkpoints else []),
    ]
    if panel.least:
        one_row = alt.Chart(style.data(panel.source)).transform_aggregate(rows="count()")
        unseen = one_row.transform_calculate(value=str(panel.least))
        layers.append(unseen.mark_point(size=0, opacity=0).encode(y=y))
    if first:
        # at the foot: a load that does as much while it warms up has its line at the top
        label = warmup.mark_text(align="left", baseline="bottom", dx=4, dy=-3).encode(
            x=alt.X("from:Q"), y=alt.value(style.PANEL), text=alt.TextValue(texts("series.warmup"))
        )
        layers.append(label)
    return style.layered(*layers, height=style.PANEL, title=panel.proper or texts(panel.title))


def _place(panel: Panel) -> Channels:
    """Where a legend stands: names of waits are long, and find room below their panel."""
    return {"orient": "bottom", "columns": 4, "symbolType": "square"} if panel.legend_below else {}


def _checkpoints(context: ReportContext) -> list[alt.Chart]:
    """Checkpoints: a line where one began, a shade for as long as it wrote."""
    if not context.server.checkpoints:
        return []
    tips = [
        alt.Tooltip("reason:N", title=context.texts("series.checkpoint")),
        alt.Tooltip("t:Q", title=context.texts("axis.time"), format=",~r"),
        alt.Tooltip("to:Q", title=context.texts("axis.ended"), format=",~r"),
    ]
    marks = alt.Chart(style.data(CHECKPOINTS))
    written = marks.transform_filter("datum.to !== null").mark_rect(color="var(--caution)", opacity=0.12)
    begun = marks.mark_rule(color="var(--caution)", strokeDash=[4, 3], strokeWidth=1.4)
    return [written.encode(x=alt.X("t:Q"), x2=alt.X2("to:Q")), begun.encode(x=alt.X("t:Q"), tooltip=tips)]


def _bands(panel: Panel, x: alt.X, colours: list[str], reaching: Collection[str]) -> list[alt.Chart]:
    """Bands for the range of the values of each point; none if every value has its point."""
    return [
        alt.Chart(style.data(panel.source))
        .mark_area(fillOpacity=0.2, color=colour, stroke=colour, strokeOpacity=0.5, strokeWidth=0.7)
        .encode(
            x,
            alt.Y(f"{line.column}{thinning.LOWEST}:Q", title=None),
            alt.Y2(f"{line.column}{thinning.HIGHEST}"),
        )
        for line, colour in zip(panel.lines, colours, strict=True)
        if line.envelope and line.column in reaching
    ]  # fmt: skip


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
