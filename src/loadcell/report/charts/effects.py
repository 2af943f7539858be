"""Effects of factors: each level relative to the overall mean, or to the baseline, with its interval."""

from __future__ import annotations

import altair as alt

from loadcell.analysis.effects import Effects, Interaction, Ratio
from loadcell.analysis.layout import MOST_SERIES, axis
from loadcell.report.blocks import Chart, DataRow
from loadcell.report.charts import chart, compare, style
from loadcell.report.context import ReportContext
from loadcell.report.palette import SERIES


@chart("effects", 1)
def draw(context: ReportContext) -> Chart | None:
    """None where there are no effects to draw.

    Factors that explain little give way when there are many levels.
    """
    effects, texts = context.analysis.effects, context.texts
    rows = _changes(effects) if effects.design == "one-at-a-time" else _levels(effects)
    if not rows:
        return None
    alone = effects.design == "one-at-a-time"
    order = list(dict.fromkeys(row["level"] for row in rows))
    factors = list(dict.fromkeys(row["factor"] for row in rows))
    values = [row[end] for row in rows for end in ("value", "low", "high") if end in row]
    low, high = min(*values, 0.98), max(*values, 1.02)
    scale = alt.Scale(type="log", nice=False, padding=10, domain=[low, high])
    ticks = sorted({1.0, *style.log_ticks([low, high])})
    y = alt.Y("level:N", title=None, sort=order, axis=alt.Axis(grid=True, labelOverlap=False))
    axis = alt.Axis(values=ticks, format=",.2~f", grid=True, labelOverlap="greedy")
    title = texts("axis.against-baseline" if alone else "axis.against-mean")
    x = alt.X("value:Q", title=title, scale=scale, axis=axis)
    colour = alt.Color(
        "factor:N",
        scale=alt.Scale(domain=factors, range=[SERIES[n % len(SERIES)] for n in range(len(factors))]),
        legend=None,
    )
    tips = [
        alt.Tooltip("level:N", title=texts("axis.treatment")),
        alt.Tooltip("value:Q", title=texts("column.times"), format=",.3~r"),
        alt.Tooltip("low:Q", title=texts("axis.low"), format=",.3~r"),
        alt.Tooltip("high:Q", title=texts("axis.high"), format=",.3~r"),
    ]
    base = alt.Chart(style.data("levels"))
    rule = alt.Chart(style.data("one")).mark_rule(color="var(--soft)", strokeDash=[3, 3]).encode(x=x)
    bar = base.transform_filter("isValid(datum.low)").mark_rule(
        strokeWidth=7, opacity=0.28, strokeCap="round"
    ).encode(
        y=y, x=alt.X("low:Q", scale=scale, axis=axis, title=title), x2=alt.X2("high:Q"), color=colour,
        tooltip=tips
    )  # fmt: skip
    bars = [bar] if effects.repeated else []
    dot = base.mark_point(size=52, filled=True, opacity=1).encode(y=y, x=x, color=colour, tooltip=tips)
    return Chart(
        "chart-effects",
        texts("chart.effects"),
        style.document(style.layered(rule, *bars, dot, height=style.ROW * len(order))),
        {"levels": rows, "one": [{"value": 1.0}]},
        [texts("caption.effects.interval" if effects.repeated else "caption.effects.once")],
        legend=False,
    )


def _levels(effects: Effects) -> list[DataRow]:
    rows: list[DataRow] = []
    for main in effects.mains:
        name = effects.names[main.key]
        if len(rows) + len(main.levels) <= compare.MOST_ROWS:
            rows += [_row(name, f"{name} = {level}", ratio) for level, ratio in main.levels.items()]
    return rows


def _changes(effects: Effects) -> list[DataRow]:
    rows: list[DataRow] = []
    several = len({change.base.id for change in effects.changes if change.base is not None}) > 1
    for change in effects.changes[: compare.MOST_ROWS]:
        name = effects.names[change.key]
        where = f" ({change.base.brief})" if several and change.base is not None else ""
        rows.append(_row(name, f"{name}: {change.before} → {change.after}{where}", change.ratio))
    return rows


def _row(factor: str, level: str, ratio: Ratio) -> DataRow:
    row: DataRow = {"factor": factor, "level": level, "value": ratio.value}
    return row if ratio.low is None else {**row, "low": ratio.low, "high": ratio.high}


@chart("effects", 2)
def interaction(context: ReportContext) -> Chart | None:
    """None without a pair of factors of which one has few enough levels to be lines."""
    effects, texts = context.analysis.effects, context.texts
    drawn = next((pair for pair in effects.interactions if _fewest(pair) <= MOST_SERIES), None)
    if drawn is None:
        return None
    of, at = (list(dict.fromkeys(cell[n] for cell in drawn.cells)) for n in (0, 1))
    turned = len(at) > MOST_SERIES or (len(of) < len(at) and len(of) <= MOST_SERIES)
    across, lines = (at, of) if turned else (of, at)
    across_name, lines_name = (
        effects.names[key] for key in ((drawn.at, drawn.of) if turned else (drawn.of, drawn.at))
    )
    chart = axis("across", across_name, across, [None] * len(across))
    rows: list[DataRow] = []
    for (of_level, at_level), ratio in drawn.cells.items():
        level, name = (at_level, of_level) if turned else (of_level, at_level)
        row: DataRow = {"x": level, "line": name, "value": ratio.value}
        rows.append(row if ratio.low is None else {**row, "low": ratio.low, "high": ratio.high})
    values = [row[end] for row in rows for end in ("value", "low", "high") if end in row]
    low, high = min(*values, 0.98), max(*values, 1.02)
    scale = alt.Scale(type="log", nice=False, padding=10, domain=[low, high])
    ticks = sorted({1.0, *style.log_ticks([low, high])})
    y_axis = alt.Axis(values=ticks, format=",.2~f", grid=True, labelOverlap="greedy")
    y = alt.Y("value:Q", title=texts("axis.against-mean"), scale=scale, axis=y_axis)
    x = alt.X(
        "x:N", title=across_name, sort=list(chart.levels), scale=alt.Scale(padding=0.5),
        axis=alt.Axis(labelAngle=0, grid=False, labelOverlap="greedy"),
    )  # fmt: skip
    legend = alt.Legend(title=lines_name, symbolOpacity=1)
    colour = alt.Color("line:N", scale=style.colours(lines), legend=legend)
    shape = alt.Shape("line:N", scale=style.shapes(lines), legend=legend)
    tips = [
        alt.Tooltip("x:N", title=across_name),
        alt.Tooltip("line:N", title=lines_name),
        alt.Tooltip("value:Q", title=texts("column.times"), format=",.3~r"),
        alt.Tooltip("low:Q", title=texts("axis.low"), format=",.3~r"),
        alt.Tooltip("high:Q", title=texts("axis.high"), format=",.3~r"),
    ]
    base = alt.Chart(style.data("cells"))
    bar = base.transform_filter("isValid(datum.low)").mark_rule(
        strokeWidth=7, opacity=0.22, strokeCap="round"
    ).encode(
        x=x, y=alt.Y("low:Q", scale=scale, axis=y_axis, title=texts("axis.against-mean")),
        y2=alt.Y2("high:Q"), color=colour
    )  # fmt: skip
    line = base.mark_line().encode(x=x, y=y, color=colour)
    dot = base.mark_point(size=46, filled=True, opacity=1).encode(
        x=x, y=y, color=colour, shape=shape, tooltip=tips
    )
    return Chart(
        "chart-interaction",
        texts("chart.interaction", of=lines_name, at=across_name),
        style.document(
            style.layered(*([bar] if effects.repeated else []), line, dot, height=style.CHART - 60)
        ),
        {"cells": rows},
        [texts("caption.interaction" if effects.repeated else "caption.interaction.once")],
    )


def _fewest(pair: Interaction) -> int:
    return min(len({cell[n] for cell in pair.cells}) for n in (0, 1))
