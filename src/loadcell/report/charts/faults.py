"""Throughput and p99 around a fault: all repeats over one another, and the phases shaded; the reader chooses
the fault.
"""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from loadcell.analysis.faults.around import PHASES, Around, around, phases
from loadcell.analysis.faults.completions import Completions
from loadcell.analysis.faults.repeats import FaultOfTreatment, faults_of
from loadcell.model.json import JsonObject
from loadcell.model.message import Labels
from loadcell.report.blocks import Chart, DataRow
from loadcell.report.charts import chart, style
from loadcell.report.context import ReportContext
from loadcell.report.palette import SERIES
from loadcell.report.texts import Texts
from loadcell.store import timeline_files

_PHASE = Labels("fault.phase", PHASES)
_COLOURS = ("var(--shade)", "var(--c7)", "var(--problem)", "var(--caution)", "var(--good)")
#: Points of all lines together, of one line at least, and at most.
_POINTS, _FEWEST, _MOST = 8_000, 60, 240
#: Sources of data.
_LOAD, _SPANS = "load", "spans"


@chart("faults", 1)
def draw(context: ReportContext) -> Chart | None:
    """The first fault with an effect is drawn at first; None where no fault has a timeline around it."""
    faults = faults_of(context.analysis.treatments, context.records)
    lines = sum(len(fault.trials) for fault in faults)
    points = min(_MOST, max(_FEWEST, _POINTS // max(1, lines)))
    load: list[DataRow] = []
    spans: list[DataRow] = []
    choices: dict[str, str] = {}
    with_effect: list[str] = []
    timelines: dict[str, Completions | None] = {}
    for fault in faults:
        label = name(fault, faults, context)
        of_fault = _rows(fault, label, points, timelines, context)
        if of_fault:
            load += of_fault
            spans += _phases(fault, label, context.texts)
            choices[label] = label
            if set(fault.effects) - {"none"}:
                with_effect.append(label)
    if not load:
        return None
    texts = context.texts
    first = next(iter(with_effect or choices))
    return Chart(
        "chart-faults",
        texts("chart.faults"),
        style.stacked([
            _view("rate", texts("axis.throughput"), texts, last=False),
            _view("p99", texts("axis.latency.p99"), texts, last=True),
        ]),
        {_LOAD: load, _SPANS: spans},
        [texts("caption.faults")],
        panels=2,
        chooser="faults" if len(choices) > 1 else "",
        choices=[*choices.items()],
        chosen=[first],
    )  # fmt: skip


def name(fault: FaultOfTreatment, faults: tuple[FaultOfTreatment, ...], context: ReportContext) -> str:
    """The name of a fault among all of a run."""
    several = len({other.treatment.id for other in faults}) > 1
    twice = sum(other.title == fault.title and other.treatment is fault.treatment for other in faults) > 1
    parts = [fault.treatment.brief] if several else []
    parts.append(f"{fault.title} ({fault.number + 1})" if twice else fault.title)
    return context.texts("mark.colon").join(parts)


def _rows(
    fault: FaultOfTreatment,
    label: str,
    points: int,
    timelines: dict[str, Completions | None],
    context: ReportContext,
) -> list[DataRow]:
    rows: list[DataRow] = []
    for item in fault.trials:
        if item.trial not in timelines:
            timelines[item.trial] = _completions(item.trial, context)
        completions = timelines[item.trial]
        line = None if completions is None else around(completions, item.fault, item.judgement, points)
        if line is not None:
            rows += _points(line, label, item.trial, context.texts)
    return rows


def _completions(trial: str, context: ReportContext) -> Completions | None:
    """The timeline of a trial; None where it has none."""
    measured = context.records[trial].measure
    timelines = timeline_files.read(context.stored.directory(trial))
    return Completions.of(timelines, measured.duration_s) if timelines and measured else None


def _points(line: Around, label: str, trial: str, texts: Texts) -> list[DataRow]:
    return [
        {
            "treatment": label,
            "trial": trial,
            "t": round(float(t_s), 2),
            "rate": float(f"{rate:.4g}"),
            "p99": None if np.isnan(p99_ms) else float(f"{texts.in_unit(float(p99_ms)):.4g}"),
        }
        for t_s, rate, p99_ms in zip(line.t_s, line.rate_per_s, line.p99_ms, strict=True)
    ]


def _phases(fault: FaultOfTreatment, label: str, texts: Texts) -> list[DataRow]:
    """The phases in the first trial with any."""
    for item in fault.trials:
        if spans := phases(item.fault, item.judgement):
            return [
                {
                    "treatment": label,
                    "phase": texts(_PHASE(phase)),
                    "from": round(begin_s, 4),
                    "to": round(end_s, 4),
                }
                for phase, begin_s, end_s in spans
            ]
    return []


def _view(column: str, title: str, texts: Texts, *, last: bool) -> JsonObject:
    """One view over time from the injection, with the phases behind the lines."""
    x = alt.X(
        "t:Q",
        title=texts("axis.fault-time") if last else None,
        axis=alt.Axis(labels=last, ticks=last, grid=False, format=",~r"),
        scale=alt.Scale(nice=False),
    )
    names = [texts(_PHASE(phase)) for phase in PHASES]
    fill = alt.Fill(
        "phase:N",
        sort=None,
        scale=alt.Scale(domain=names, range=list(_COLOURS)),
        legend=alt.Legend(title=None, orient="bottom", symbolOpacity=0.3),
    )
    colour = alt.Color(
        "treatment:N",
        sort=None,
        scale=alt.Scale(range=list(SERIES)),
        legend=style.legend_below(),
    )
    tips = [
        alt.Tooltip("trial:N", title=texts("axis.trial")),
        alt.Tooltip("t:Q", title=texts("axis.fault-time"), format=",~r"),
        alt.Tooltip(f"{column}:Q", title=title, format=",.4~r"),
    ]
    y = alt.Y(
        f"{column}:Q",
        title=None,
        axis=alt.Axis(tickCount=4, format=",~r", minExtent=58),
        scale=alt.Scale(zero=True),
    )
    spans: Any = alt.Chart(style.data(_SPANS))
    shade = spans.mark_rect(opacity=0.14).encode(x=alt.X("from:Q"), x2=alt.X2("to:Q"), fill=fill)
    began = (
        spans.transform_filter("datum.from == 0").mark_rule(color="var(--problem)").encode(x=alt.X("from:Q"))
    )
    base = alt.Chart(style.data(_LOAD))
    line = base.mark_line(strokeWidth=1.4, opacity=0.8).encode(x=x, y=y, color=colour, detail="trial:N")
    handles = base.mark_point(size=60, opacity=0, filled=True).encode(x=x, y=y, color=colour, tooltip=tips)
    return style.layered(shade, began, line, handles, height=style.CHART // 2, title=title)
