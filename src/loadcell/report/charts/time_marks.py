"""Marks of stalls, dips and events on the time axis, in a strip above the views and in those of the load."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt

from loadcell.analysis.marks import KINDS, TimeMark
from loadcell.model import numbers
from loadcell.model.json import JsonObject
from loadcell.model.message import Labels
from loadcell.report.blocks import TrialSamples
from loadcell.report.charts import style
from loadcell.report.charts.timeline import Clock, axis
from loadcell.report.texts import Texts

SOURCE = "marks"
_KIND = Labels("mark.time", KINDS)
_NAME = Labels("mark.time.name", KINDS)
#: Height in pixels of a kind's row.
_ROW = 15
_COLOUR = "var(--problem)"


def columns(marks: Sequence[TimeMark], first_s: float, last_s: float, texts: Texts) -> dict[str, list[Any]]:
    """The marks between two times: `t`, `to` (`t` for an instant), `kind`, `about`; empty without any."""
    inside = [mark for mark in marks if mark.begin_s <= last_s and (mark.end_s or mark.begin_s) >= first_s]
    if not inside:
        return {}
    return {
        "t": [round(max(mark.begin_s, first_s), 2) for mark in inside],
        "to": [round(mark.begin_s if mark.end_s is None else min(mark.end_s, last_s), 2) for mark in inside],
        "kind": [texts(_KIND(mark.kind)) for mark in inside],
        "about": [mark.about if mark.share is None else f"−{numbers.share(mark.share)}" for mark in inside],
    }


def caption(series: Iterable[TrialSamples], texts: Texts) -> str:
    """Names of the kinds that the strip marks in these trials; empty without any."""
    present = {kind for sources in series for kind in sources.get(SOURCE, {}).get("kind", ())}
    names = [texts(_NAME(kind)) for kind in KINDS if texts(_KIND(kind)) in present]
    if not names:
        return ""
    return texts("caption.series.marks", kinds=texts("mark.semicolon").join(names))


def strip(texts: Texts, clock: Clock, *, colour: alt.Color | None = None) -> JsonObject:
    """A view with a row for each kind: a tick where it began, a bar for as long as it lasted."""
    x = alt.X("t:Q", title=None, axis=axis(clock, labels=False), scale=alt.Scale(nice=False))
    names = [texts(_KIND(kind)) for kind in KINDS]
    y = alt.Y(
        "kind:N", title=None, sort=names,
        axis=alt.Axis(grid=True, labelOverlap=False, minExtent=58, maxExtent=58, labelLimit=58),
    )  # fmt: skip
    plain: dict[str, Any] = {"color": _COLOUR} if colour is None else {}
    coloured: dict[str, Any] = {} if colour is None else {"color": colour}
    marks = alt.Chart(style.data(SOURCE))
    bar = marks.mark_rule(strokeWidth=7, opacity=0.45, **plain).encode(
        x=x, x2=alt.X2("to:Q"), y=y, **coloured
    )
    tick = marks.mark_tick(thickness=2, size=11, **plain).encode(
        x=x, y=y, tooltip=tooltips(texts), **coloured
    )
    return style.layered(bar, tick, height={"step": _ROW}, title=texts("chart.time-marks"))


def tooltips(texts: Texts) -> list[alt.Tooltip]:
    """Kind, beginning, end and subject of a mark."""
    return [
        alt.Tooltip("kind:N", title=texts("chart.time-marks")),
        alt.Tooltip("t:Q", title=texts("axis.time"), format=",~r"),
        alt.Tooltip("to:Q", title=texts("axis.ended"), format=",~r"),
        alt.Tooltip("about:N", title=texts("column.message")),
    ]


def lines(texts: Texts) -> list[alt.Chart]:
    """Layers of a view: a shade for as long as something lasted, a dotted line where it began."""
    marks = alt.Chart(style.data(SOURCE))
    shade = marks.mark_rect(color=_COLOUR, opacity=0.1)
    begun = marks.mark_rule(color=_COLOUR, strokeDash=[1, 3], strokeWidth=1)
    return [
        shade.encode(x=alt.X("t:Q"), x2=alt.X2("to:Q")),
        begun.encode(x=alt.X("t:Q"), tooltip=tooltips(texts)),
    ]
