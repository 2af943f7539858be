"""Pauses and the heap after them over the time of a GC log."""

from __future__ import annotations

from typing import Final

import altair as alt

from loadcell.incidents.evidence.collections import Collections
from loadcell.model.message import Labels
from loadcell.report.blocks import Block, Chart, DataRow
from loadcell.report.charts import style
from loadcell.report.palette import SERIES
from loadcell.report.texts import Texts

#: Points of a chart: of more pauses the longest of neighbours are drawn.
_MOST: Final = 2_000
_MIB: Final = 2**20
CHART = Labels("doctor.chart", ("pauses", "heap"))


def draw(evidence: Collections, number: int, texts: Texts) -> list[Block]:
    """Charts of a JVM; none where the log has too little."""
    pauses = evidence.log.pauses
    if len(pauses) < 2:
        return []
    step = max(1, -(-len(pauses) // _MOST))
    shown = [
        max(pauses[index : index + step], key=lambda pause: pause.duration_ns)
        for index in range(0, len(pauses), step)
    ]
    begin_ns = evidence.begin_ns
    durations: list[DataRow] = [
        {
            "t": round((pause.start_ns - begin_ns) / 1e9, 3),
            "value": round(pause.duration_ns / 1e6, 4),
            "kind": texts(f"pause-kind.{pause.kind}"),
        }
        for pause in shown
    ]
    heap: list[DataRow] = [
        {
            "t": round((pause.end_ns - begin_ns) / 1e9, 3),
            "value": round(pause.after_bytes / _MIB, 3),
            "kind": texts("doctor.after-pause"),
        }
        for pause in shown
        if pause.after_bytes is not None
    ]
    heap += [
        {
            "t": round((item.end_ns - begin_ns) / 1e9, 3),
            "value": round(item.used_bytes / _MIB, 3),
            "kind": texts("doctor.live"),
        }
        for item in evidence.log.around.live_sets
    ]
    # charts below one another have the same axis of time
    until_s = max([evidence.duration_ns / 1e9, *(float(row["t"]) for row in (*durations, *heap))])
    circles = alt.Chart().mark_circle(size=24, opacity=0.7)
    lines = alt.Chart().mark_line(point={"size": 12}, strokeWidth=1)
    panels = [("pauses", "doctor.axis.pause", circles, durations), ("heap", "axis.heap", lines, heap)]
    return [
        _over_time(
            f"{name}-{number}", texts(CHART(name)), texts(axis), marks, rows, until_s, texts
        )
        for name, axis, marks, rows in panels
        if rows
    ]  # fmt: skip


def _over_time(
    name: str, title: str, axis: str, marks: alt.Chart, rows: list[DataRow], until_s: float, texts: Texts
) -> Chart:
    """A chart of values over the time of the log up to `until_s`, with a colour for each kind."""
    kinds = list(dict.fromkeys(str(row["kind"]) for row in rows))
    drawn = marks.encode(
        x=alt.X("t:Q", title=texts("doctor.axis.time"), scale=alt.Scale(domain=[0, until_s], nice=False)),
        y=alt.Y("value:Q", title=axis, scale=alt.Scale(zero=True)),
        color=_colour(kinds),
        tooltip=[
            alt.Tooltip("t:Q", title=texts("doctor.axis.time"), format=",.3~f"),
            alt.Tooltip("value:Q", title=axis, format=",.3~f"),
            alt.Tooltip("kind:N", title=texts("doctor.column.kind")),
        ],
    )
    return Chart(
        f"chart-{name}",
        title,
        style.document(style.layered(drawn, height=style.CHART, data={"name": name})),
        {name: rows},
        legend=len(kinds) > 1,
    )


def _colour(kinds: list[str]) -> alt.Color:
    return alt.Color(
        "kind:N",
        scale=alt.Scale(domain=kinds, range=list(SERIES[: len(kinds)])),
        legend=alt.Legend(title=None, labelLimit=300, orient="bottom") if len(kinds) > 1 else None,
    )
