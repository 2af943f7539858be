"""Entries and errors of logs over time, by message, with marks of silences, clock steps and other events."""

from __future__ import annotations

import math
from typing import Final

import altair as alt

from loadcell.incidents import log_record as records
from loadcell.incidents.evidence.application_log import SPAN_KINDS, ApplicationLog
from loadcell.model.message import Labels
from loadcell.report.blocks import Block, Chart, DataRow
from loadcell.report.charts import style
from loadcell.report.palette import SERIES
from loadcell.report.texts import Texts

#: Messages with a colour in the chart; others are one.
_MOST_MESSAGES: Final = 5
#: Marks of one kind, the longest.
_MOST_MARKS: Final = 200
_LONGEST: Final = 60
#: A longer log has an axis of clock times: seconds between marks, and the most of them.
_CLOCK_FROM_S: Final = 3600
_CLOCK_STEPS_S: Final = (600, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400, 604_800, 2_592_000)
_MOST_TICKS: Final = 8
_DAY_S: Final = 86_400
AXIS = Labels("doctor.axis", ("entries", "errors"))
TITLE = Labels("doctor.chart", ("entries", "errors"))
MARK = Labels("log-mark", ("silence", "clock-step", *SPAN_KINDS))


def draw(evidence: ApplicationLog, number: int, texts: Texts) -> list[Block]:
    """Charts of the entries and of the errors; none of a log of one slot."""
    slots = records.slots(evidence)
    if len(slots) < 2:
        return []
    width = evidence.logs.slot_ns / 1e9
    entries: list[DataRow] = [
        {"t": round(slot.t_s, 3), "end": round(slot.t_s + width, 3), "value": slot.entries, "kind": ""}
        for slot in slots
    ]
    marks = _marks(evidence, texts)
    x = _axis(evidence, texts)
    charts: list[Block] = [_chart("entries", number, entries, marks, [], x, texts)]
    errors = _errors(evidence, texts)
    if errors:
        kinds = list(dict.fromkeys(str(row["kind"]) for row in errors))
        charts.append(_chart("errors", number, errors, marks, kinds, x, texts))
    return charts


def _errors(evidence: ApplicationLog, texts: Texts) -> list[DataRow]:
    """Errors of each slot: those of the most frequent messages, and the sum of others."""
    width = evidence.logs.slot_ns / 1e9
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
        for slot, count in sorted(by_slot.items()):
            begin = records.slot_s(slot, evidence)
            rows.append({"t": round(begin, 3), "end": round(begin + width, 3), "value": count, "kind": name})
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
            "t": round((begin - evidence.begin_ns) / 1e9, 3),
            "end": round((end - evidence.begin_ns) / 1e9, 3),
            "mark": texts(MARK(kind)),
        }
        for begin, end in longest
    ]


def _axis(evidence: ApplicationLog, texts: Texts) -> alt.X:
    """The axis of time: seconds of a short log, and clock times of one of hours."""
    scale = alt.Scale(nice=False)
    begin_ns, duration_s = evidence.utc_ns(evidence.begin_ns), evidence.duration_ns / 1e9
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


def _chart(
    name: str,
    number: int,
    rows: list[DataRow],
    marks: list[DataRow],
    kinds: list[str],
    x: alt.X,
    texts: Texts,
) -> Chart:
    name_of_marks = f"log-marks-{name}-{number}"
    source = f"log-{name}-{number}"
    bars = (
        alt.Chart(style.data(source))
        .mark_rect(opacity=0.85)
        .encode(
            x=x,
            x2="end:Q",
            y=alt.Y("low:Q", title=texts(AXIS(name)), scale=alt.Scale(zero=True)),
            y2="high:Q",
            color=_colour(kinds) if kinds else alt.value(SERIES[0]),
            tooltip=[alt.Tooltip("t:Q"), alt.Tooltip("value:Q"), *([alt.Tooltip("kind:N")] if kinds else [])],
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
                tooltip=[alt.Tooltip("mark:N"), alt.Tooltip("t:Q"), alt.Tooltip("end:Q")],
            ),
        )  # fmt: skip
    data = {source: _stacked(rows), **({name_of_marks: marks} if marks else {})}
    document = style.document(style.layered(*layers, height=style.CHART))
    return Chart(f"chart-{source}", texts(TITLE(name)), document, data, legend=bool(kinds or marks))


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
