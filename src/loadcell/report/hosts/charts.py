"""Charts of a machine's capabilities: access time over growing sizes, and the limits of caches, memory, disk
and network.
"""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from loadcell.analysis.hosts.facts import cache_sizes
from loadcell.analysis.hosts.scores import Score, roofs
from loadcell.model import numbers
from loadcell.model.json import JsonObject
from loadcell.model.probes import LATENCY
from loadcell.report.blocks import Chart, DataRow
from loadcell.report.charts import style
from loadcell.report.comparison import words
from loadcell.report.comparison.charts import ForestValue, interval_marks
from loadcell.report.hosts.gather import Compared
from loadcell.report.palette import SERIES
from loadcell.report.texts import Texts

#: A staircase needs a step: fewer sizes are rows of the table.
FEWEST_SIZES = 3
#: Marks of the axes of bytes: one word, one line of a cache, a page, and on.
_BYTES = (8, 64, 512, *(4 * 2**step for step in (10, 13, 16, 19, 22, 25)))


def staircase(host: JsonObject, scores: Sequence[Score], texts: Texts) -> Chart | None:
    """Time of one access by how much memory the accesses are spread over; None with too few sizes."""
    steps = sorted(
        (step for step in scores if step.section == LATENCY.name and step.size_bytes and step.threads == 1),
        key=lambda step: step.size_bytes or 0,
    )
    if len(steps) < FEWEST_SIZES:
        return None
    rows = [
        {
            "size": step.size_bytes, "name": numbers.size(step.size_bytes or 0), "ns": step.median,
            "low": step.repeats.low, "high": step.repeats.high,
        }
        for step in steps
    ]  # fmt: skip
    first, last = steps[0].size_bytes or 1, steps[-1].size_bytes or 1
    caches = [
        {"size": size, "name": f"L{level} {numbers.size(size)}"}
        for level, size in cache_sizes(host).items()
        if first <= size <= last
    ]
    values = [value for step in steps for value in step.values]
    x = _axis_of_bytes(
        "size:Q", texts("hosts.axis.size"), [step.size_bytes or 1 for step in steps], (first, last)
    )
    scale = alt.Scale(type="log", nice=False, padding=12)
    axis = alt.Axis(values=style.log_ticks(values), format=",.3~r", labelOverlap="greedy")
    y = alt.Y("ns:Q", title=texts("hosts.axis.access"), scale=scale, axis=axis)
    low = alt.Y("low:Q", title=texts("hosts.axis.access"), scale=scale, axis=axis)
    tips = [
        alt.Tooltip("name:N", title=texts("hosts.axis.size")),
        alt.Tooltip("ns:Q", title=texts("hosts.axis.access"), format=",.3~r"),
        alt.Tooltip("low:Q", title=texts("axis.low"), format=",.3~r"),
        alt.Tooltip("high:Q", title=texts("axis.high"), format=",.3~r"),
    ]
    base, marks = alt.Chart(style.data("steps")), alt.Chart(style.data("caches"))
    rule = marks.mark_rule(color="var(--soft)", strokeDash=[4, 4]).encode(x=x)
    label = marks.mark_text(align="right", baseline="top", dx=-5, color="var(--soft)").encode(
        x=x, y=alt.value(0), text=alt.Text("name:N")
    )
    line = base.mark_line(color=SERIES[0]).encode(x=x, y=y)
    bar = base.mark_rule(color=SERIES[0], strokeWidth=6, opacity=0.3).encode(x=x, y=low, y2=alt.Y2("high:Q"))
    point = base.mark_point(color=SERIES[0], size=50, filled=True, opacity=1).encode(x=x, y=y, tooltip=tips)
    layers = [rule, label] if caches else []
    return Chart(
        "chart-staircase",
        texts("hosts.chart.staircase"),
        style.document(style.layered(*layers, line, bar, point, height=style.CHART)),
        {"steps": rows, **({"caches": caches} if caches else {})},
        [texts("hosts.caption.staircase" if caches else "hosts.caption.staircase.bare")],
        legend=False,
    )


def ceilings(host: JsonObject, scores: Sequence[Score], texts: Texts) -> Chart | None:
    """Number of accesses of a size each layer can serve in a second at most; None where no layer is known."""
    ceilings = roofs(host, scores)
    if not ceilings:
        return None
    names = [texts.message(roof.name) for roof in ceilings]
    rows: list[DataRow] = [
        {"layer": name, "bytes": size, "of": numbers.size(size), "rate": rate}
        for roof, name in zip(ceilings, names, strict=True)
        for size, rate in roof.points(_BYTES)
    ]
    knees = [
        {"layer": name, "bytes": roof.knee_bytes, "of": numbers.size(roof.knee_bytes),
         "rate": roof.most_per_s, "bandwidth": roof.bytes_per_s / 2**20}
        for roof, name in zip(ceilings, names, strict=True)
    ]  # fmt: skip
    x = _axis_of_bytes("bytes:Q", texts("hosts.axis.bytes"), _BYTES, (_BYTES[0], _BYTES[-1]))
    ticks = style.log_ticks([row["rate"] for row in rows])
    y = alt.Y(
        "rate:Q", title=texts("hosts.axis.rate"), scale=alt.Scale(type="log", nice=False, padding=6),
        axis=alt.Axis(values=ticks, format="~s", labelOverlap="greedy"),
    )  # fmt: skip
    legend = alt.Legend(title=None, symbolOpacity=1)
    colour = alt.Color("layer:N", scale=style.colours(names), legend=legend, sort=names)
    shape = alt.Shape("layer:N", scale=style.shapes(names), legend=legend, sort=names)
    tips = [
        alt.Tooltip("layer:N", title=texts("hosts.column.layer")),
        alt.Tooltip("of:N", title=texts("hosts.axis.bytes")),
        alt.Tooltip("rate:Q", title=texts("hosts.axis.rate"), format=",.3~s"),
    ]
    line = alt.Chart(style.data("roofs")).mark_line(strokeWidth=2).encode(x=x, y=y, color=colour)
    handle = alt.Chart(style.data("roofs")).mark_point(size=110, opacity=0, filled=True).encode(
        x=x, y=y, color=colour, tooltip=tips
    )  # fmt: skip
    knee = alt.Chart(style.data("knees")).mark_point(size=70, filled=True, opacity=1).encode(
        x=x, y=y, color=colour, shape=shape,
        tooltip=[*tips, alt.Tooltip("bandwidth:Q", title=texts("hosts.axis.bandwidth"), format=",.3~s")],
    )  # fmt: skip
    return Chart(
        "chart-roofs",
        texts("hosts.chart.roofs"),
        style.document(style.layered(line, handle, knee, height=style.CHART + 60)),
        {"roofs": rows, "knees": knees},
        [texts("hosts.caption.roofs")],
    )


def _axis_of_bytes(field: str, title: str, values: Sequence[float], ends: tuple[float, float]) -> alt.X:
    """A logarithmic axis whose marks are binary sizes."""
    marks = [value for value in values if ends[0] <= value <= ends[1]]
    labels = "".join(f"datum.value == {value} ? '{numbers.size(value)}' : " for value in marks) + "''"
    return alt.X(
        field, title=title, scale=alt.Scale(type="log", nice=False, domain=list(ends), padding=10),
        axis=alt.Axis(values=marks, labelExpr=labels, labelOverlap="greedy", labelSeparation=6, grid=False),
    )  # fmt: skip


def forest(compared: Compared, texts: Texts) -> Chart:
    """Every ratio on one logarithmic axis, its interval or spread, and where each workload's own lies."""
    rows = compared.machines.rows
    names = words.apart(
        [words.both_text(row, texts) for row in rows], [row.score.id.partition("/")[0] for row in rows]
    )
    points: list[DataRow] = [
        {"row": name, "times": row.times.value, "low": row.times.low, "high": row.times.high}
        for row, name in zip(rows, names, strict=True)
    ]
    ran = [workload.hypothesis.workload for workload in compared.workloads]
    works: list[DataRow] = [{"times": workload.times.value, "name": workload.name} for workload in ran]
    ends = [value for point in points for value in (point["times"], point["low"], point["high"]) if value]
    ends += [rule["times"] for rule in works]
    low, high = min(*ends, 0.9), max(*ends, 1.1)
    scale = alt.Scale(type="log", nice=False, padding=10, domain=[low, high])
    axis = alt.Axis(
        values=sorted({1.0, *style.log_ticks([low, high])}), labelExpr="'×' + format(datum.value, ',.3~r')",
        labelOverlap="greedy", titleAnchor="end",
    )  # fmt: skip
    first, second = (machine.label for machine in compared.machines.machines)
    title = texts("hosts.axis.times", first=first, second=second)

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", title=title, scale=scale, axis=axis)

    value = ForestValue("times", texts("hosts.column.times"), ",.3~r")
    rule = alt.Chart(style.data("one")).mark_rule(color="var(--soft)", strokeDash=[3, 3]).encode(x=x("times"))
    marks = alt.Chart(style.data("workloads")).mark_rule(color="var(--accent)", strokeWidth=2).encode(
        x=x("times"),
        tooltip=[
            alt.Tooltip("name:N", title=texts("hosts.column.workload")),
            value.tip(value.field, value.title),
        ],
    )  # fmt: skip
    ratios = interval_marks(
        points,
        x,
        texts("hosts.column.score"),
        value,
        texts,
        colour=alt.ColorValue(SERIES[0]),
        shape=alt.ShapeValue("circle"),
    )
    captions = [texts("hosts.caption.forest", first=first, second=second)]
    if works:
        captions.append(
            texts("hosts.caption.forest.workload", workloads=[str(rule["name"]) for rule in works])
        )
    layers = [rule, *([marks] if works else []), *ratios]
    data: dict[str, list[DataRow]] = {
        "points": points,
        "one": [{"times": 1.0}],
        **({"workloads": works} if works else {}),
    }
    chart = style.layered(*layers, height=style.ROW * len(rows))
    return Chart(
        "chart-ratios", texts("hosts.chart.ratios"), style.document(chart), data, captions, legend=False
    )
