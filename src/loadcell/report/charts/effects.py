"""Effects of factors: each level relative to the overall mean, or to the baseline, with its interval."""

from __future__ import annotations

import altair as alt

from loadcell.analysis.effects import Effects, Ratio
from loadcell.report.blocks import Chart, DataRow
from loadcell.report.charts import compare, style
from loadcell.report.context import ReportContext
from loadcell.report.palette import SERIES

SECTION, PLACE = "effects", 1


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
    ).encode(y=y, x=alt.X("low:Q", scale=scale, axis=axis, title=title), x2="high:Q", color=colour, tooltip=tips)  # fmt: skip
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
