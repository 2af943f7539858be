"""Entries of logs over time by service, and errors by message, with marks of silences, clock steps and other
events. Below the entries of several services lies the time that each log covers: one that ends early is no
silence.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import altair as alt

from loadcell.incidents import log_record as records
from loadcell.incidents.evidence.application_log import SPAN_KINDS, ApplicationLog
from loadcell.model import numbers
from loadcell.model.application_log import Service
from loadcell.model.json import JsonObject
from loadcell.model.message import Labels
from loadcell.report.blocks import Block, Chart, DataRow
from loadcell.report.charts import style
from loadcell.report.palette import SERIES
from loadcell.report.texts import Texts

#: Messages and services with a colour in a chart; others are one.
_MOST_MESSAGES, _MOST_SERVICES = 5, 6
#: Logs whose begin and end are drawn.
_MOST_EXTENTS: Final = 12
#: Marks of one kind, the longest.
_MOST_MARKS: Final = 200
_LONGEST: Final = 60
#: A longer log has an axis of clock times: seconds between marks, and the most of them.
_CLOCK_FROM_S: Final = 3600
_CLOCK_STEPS_S: Final = (600, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400, 604_800, 2_592_000)
_MOST_TICKS: Final = 8
_DAY_S: Final = 86_400
AXIS = Labels("doctor.axis", ("entries", "errors"))
TITLE = Labels("doctor.chart", ("entries", "entries-by-service", "errors"))
ENDS = Labels("doctor.log.column", ("begin", "until"))
KIND = Labels("doctor.log.kind", ("entries", "errors"))
MARK = Labels("log-mark", ("silence", "clock-step", *SPAN_KINDS))


def draw(evidence: ApplicationLog, number: int, texts: Texts) -> list[Block]:
    """Charts of the entries and of the errors; none of a log of one slot."""
    if len(records.slots(evidence)) < 2:
        return []
    marks = _marks(evidence, texts)
    x = _axis(evidence, texts)
    charts: list[Block] = [_entries_chart(number, marks, x, evidence, texts)]
    errors = _errors(evidence, texts)
    if errors:
        kinds = list(dict.fromkeys(str(row["kind"]) for row in errors))
        view, data = _view("errors", number, errors, marks, kinds, x, evidence, texts)
        charts.append(Chart(f"chart-log-errors-{number}", texts(TITLE("errors")), style.document(view), data))
    return charts


def _entries_chart(
    number: int, marks: list[DataRow], x: alt.X, evidence: ApplicationLog, texts: Texts
) -> Chart:
    """Entries over time; of several services by service, above the time that each of their logs covers."""
    services = [service for service in evidence.logs.services if service.entries]
    title = texts(TITLE("entries" if len(services) < 2 else "entries-by-service"))
    name = f"chart-log-entries-{number}"
    if len(services) < 2:
        rows = _slot_rows(evidence.logs.entries, "", evidence)
        view, data = _view("entries", number, rows, marks, [], x, evidence, texts)
        return Chart(name, title, style.document(view), data, legend=bool(marks))
    rows, kinds = _by_service(services, evidence, texts)
    view, data = _view("entries", number, rows, marks, kinds, x, evidence, texts)
    view["layer"][-1]["encoding"]["x"] |= {"axis": {"labels": False, "ticks": False}, "title": None}
    source = f"log-extents-{number}"
    extents = _extents(services[:_MOST_EXTENTS], kinds, evidence, texts)
    below = _extents_view(source, extents, kinds, x, texts)
    captions = [texts("doctor.log.extents")]
    if len(services) > len(extents):
        captions.append(texts("doctor.log.extents.some", shown=len(extents), count=len(services)))
    document = style.stacked([view, below], spacing=6)
    return Chart(name, title, document, {**data, source: extents}, captions, panels=2, legend=False)


def _slot_rows(slots: Mapping[int, int], kind: str, evidence: ApplicationLog) -> list[DataRow]:
    """A row for each slot with its number, within the time of the logs."""
    return [
        {
            "t": round(max(0.0, begin), 3),
            "end": round(min(begin + evidence.logs.slot_ns / 1e9, evidence.duration_ns / 1e9), 3),
            "value": count,
            "kind": kind,
        }
        for slot, count in sorted(slots.items())
        for begin in (records.slot_s(slot, evidence),)
    ]


def _by_service(
    services: Sequence[Service], evidence: ApplicationLog, texts: Texts
) -> tuple[list[DataRow], list[str]]:
    """Entries of each slot by service, with their names: the largest services, and the sum of others."""
    largest = sorted(services, key=lambda service: -service.entries)[:_MOST_SERVICES]
    drawn = [service for service in services if service in largest]
    rows = [row for service in drawn for row in _slot_rows(service.slots, service.name, evidence)]
    kinds = [service.name for service in drawn]
    counts: Counter[int] = Counter()
    for service in services:
        if service not in drawn:
            counts.update(service.slots)
    if counts:
        kinds.append(texts("doctor.log.other-services"))
        rows += _slot_rows(counts, kinds[-1], evidence)
    return rows, kinds


def _extents(
    services: Sequence[Service], kinds: Sequence[str], evidence: ApplicationLog, texts: Texts
) -> list[DataRow]:
    """Begin and end of the log of each service; the label of one that begins late is at its end."""
    return [
        {
            "name": service.name,
            "kind": service.name if service.name in kinds else texts("doctor.log.other-services"),
            "t": round((service.begin_ns - evidence.begin_ns) / 1e9, 3),
            "end": round((service.end_ns - evidence.begin_ns) / 1e9, 3),
            "late": service.begin_ns - evidence.begin_ns > evidence.duration_ns / 2,
        }
        for service in services
    ]


def _extents_view(source: str, rows: list[DataRow], kinds: list[str], x: alt.X, texts: Texts) -> JsonObject:
    names = [str(row["name"]) for row in rows]
    y = alt.Y("name:N", sort=names, title=None, axis=None)
    chart = alt.Chart(style.data(source))
    bars = chart.mark_bar(height=5, yOffset=6).encode(
        x=x, x2="end:Q", y=y, color=alt.Color("kind:N", scale=style.colours(kinds), legend=None),
        tooltip=[
            alt.Tooltip("name:N", title=texts("doctor.log.services")),
            alt.Tooltip("t:Q", title=texts("doctor.log.column.first"), format=",.3~f"),
            alt.Tooltip("end:Q", title=texts("doctor.log.column.last"), format=",.3~f"),
        ],
    )  # fmt: skip
    ends = [
        chart.mark_tick(thickness=2, size=13, yOffset=6).encode(
            x=alt.X(f"{end}:Q"), y=y, color=alt.Color("kind:N", scale=style.colours(kinds), legend=None)
        )
        for end in ("t", "end")
    ]
    at_begin = (
        chart.mark_text(align="left", dy=-5, limit=420)
        .encode(x=alt.X("t:Q"), y=y, text="name:N")
        .transform_filter("!datum.late")
    )
    at_end = (
        chart.mark_text(align="right", dy=-5, limit=420)
        .encode(x=alt.X("end:Q"), y=y, text="name:N")
        .transform_filter("datum.late")
    )
    return style.layered(bars, *ends, at_begin, at_end, height=style.ROW * len(rows))


def _errors(evidence: ApplicationLog, texts: Texts) -> list[DataRow]:
    """Errors of each slot: those of the most frequent messages, and the sum of others."""
    messages = evidence.errors
    rows: list[DataRow] = []
    counts: dict[int, int] = {}
    for message in messages[_MOST_MESSAGES:]:
        for slot, count in message.slots.items():
            counts[slot] = counts.get(slot, 0) + count
    named = [(_short(message.text), message.slots) for message in messages[:_MOST_MESSAGES]]
    if counts:
        named.append((texts("doctor.log.other-messages"), counts))
    for name, by_slot in named:
        rows += _slot_rows(by_slot, name, evidence)
    return rows


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _marks(evidence: ApplicationLog, texts: Texts) -> list[DataRow]:
    """Spans of silences, steps and events, in seconds from the first line."""
    spans = [("silence", silence.gap.begin_ns, silence.gap.end_ns) for silence in evidence.silences]
    spans += [
        ("clock-step", min(leap.before_ns, leap.after_ns), max(leap.before_ns, leap.after_ns))
        for step in evidence.clock_steps
        for leap in (step.leap, *step.leaps)
    ]
    rows: list[DataRow] = []
    for kind in ("silence", "clock-step"):
        of_kind = [(begin, end) for name, begin, end in spans if name == kind]
        rows += _rows(kind, of_kind, evidence, texts)
    for other in evidence.others:
        within = [span for span in other.spans if span[1] >= evidence.begin_ns and span[0] <= evidence.end_ns]
        rows += _rows(other.kind, within, evidence, texts)
    return rows


def _rows(kind: str, spans: list[tuple[int, int]], evidence: ApplicationLog, texts: Texts) -> list[DataRow]:
    longest = sorted(spans, key=lambda span: span[0] - span[1])[:_MOST_MARKS]
    return [
        {
            "t": round(max(0, begin - evidence.begin_ns) / 1e9, 3),
            "end": round(min(end - evidence.begin_ns, evidence.duration_ns) / 1e9, 3),
            "mark": texts(MARK(kind)),
        }
        for begin, end in longest
    ]


def _axis(evidence: ApplicationLog, texts: Texts) -> alt.X:
    """The axis of time: seconds of a short log, and clock times of one of hours."""
    begin_ns, duration_s = evidence.utc_ns(evidence.begin_ns), evidence.duration_ns / 1e9
    scale = alt.Scale(domain=[0, round(duration_s, 3)], nice=False)
    if begin_ns is None or duration_s < _CLOCK_FROM_S:
        return alt.X("t:Q", title=texts("doctor.axis.time"), scale=scale)
    steps = (step for step in _CLOCK_STEPS_S if duration_s / step <= _MOST_TICKS)
    step_s = next(steps, _CLOCK_STEPS_S[-1])
    begin_s = begin_ns / 1e9
    first = math.ceil(begin_s / step_s)
    last = math.floor((begin_s + duration_s) / step_s)
    values = [round(tick * step_s - begin_s, 3) for tick in range(first, last + 1)]
    shown = "%H:%M" if duration_s < _DAY_S else "%m-%d %H:%M"
    label = f"utcFormat({round(begin_s * 1000)} + datum.value * 1000, '{shown}')"
    axis = alt.Axis(values=values, labelExpr=label)
    return alt.X("t:Q", title=texts("doctor.axis.clock"), scale=scale, axis=axis)


def _view(
    name: str,
    number: int,
    rows: list[DataRow],
    marks: list[DataRow],
    kinds: list[str],
    x: alt.X,
    evidence: ApplicationLog,
    texts: Texts,
) -> tuple[JsonObject, dict[str, list[DataRow]]]:
    """A view of numbers by slot over time, stacked by kind, with its data."""
    count = texts(AXIS(name), slot=numbers.seconds(evidence.logs.slot_ns / 1e9))
    begin, end = (texts(ENDS(key)) for key in ENDS.names)
    name_of_marks = f"log-marks-{name}-{number}"
    source = f"log-{name}-{number}"
    bars = (
        alt.Chart(style.data(source))
        .mark_rect(opacity=0.85)
        .encode(
            x=x,
            x2="end:Q",
            y=alt.Y("low:Q", title=count, scale=alt.Scale(zero=True)),
            y2="high:Q",
            color=_colour(kinds) if kinds else alt.value(SERIES[0]),
            tooltip=[
                alt.Tooltip("t:Q", title=texts("doctor.axis.time")),
                alt.Tooltip("value:Q", title=count, format=","),
                *([alt.Tooltip("kind:N", title=texts(KIND(name)))] if kinds else []),
            ],
        )
    )
    layers = [bars]
    if marks:
        names = list(dict.fromkeys(str(row["mark"]) for row in marks))
        scale = alt.Scale(domain=names, range=[SERIES[-1 - index] for index in range(len(names))])
        legend = alt.Legend(title=None, orient="bottom")
        layers.insert(
            0,
            alt.Chart(style.data(name_of_marks)).mark_rect(opacity=0.3, strokeWidth=1.5).encode(
                x=x, x2="end:Q", fill=alt.Fill("mark:N", scale=scale, legend=legend),
                stroke=alt.Stroke("mark:N", scale=scale, legend=None),
                tooltip=[
                    alt.Tooltip("mark:N", title=" "),
                    alt.Tooltip("t:Q", title=begin, format=",.3~f"),
                    alt.Tooltip("end:Q", title=end, format=",.3~f"),
                ],
            ),
        )  # fmt: skip
    data = {source: _stacked(rows), **({name_of_marks: marks} if marks else {})}
    return style.layered(*layers, height=style.CHART), data


def _stacked(rows: list[DataRow]) -> list[DataRow]:
    """Rows of one slot on top of one another."""
    heights: dict[float, int] = {}
    stacked: list[DataRow] = []
    for row in rows:
        low = heights.get(row["t"], 0)
        heights[row["t"]] = low + row["value"]
        stacked.append({**row, "low": low, "high": low + row["value"]})
    return stacked


def _colour(kinds: list[str]) -> alt.Color:
    return alt.Color(
        "kind:N",
        scale=style.colours(kinds),
        legend=alt.Legend(title=None, labelLimit=420, orient="bottom", columns=1),
    )
