"""Pictures of a comparison: a forest of all changes, the change along the percentiles, and the distributions
themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import altair as alt

from loadcell.analysis.compare.compare import OVERALL, Row
from loadcell.analysis.compare.percentiles import Step, distribution, shifts
from loadcell.analysis.compare.sides import FEWEST_RUNS
from loadcell.model.json import JsonObject
from loadcell.report.blocks import Chart, DataRow
from loadcell.report.charts import style
from loadcell.report.charts.style import Channels
from loadcell.report.comparison.gather import Gathered
from loadcell.report.comparison.words import VERDICT, Words
from loadcell.report.palette import SERIES
from loadcell.report.texts import Texts
from loadcell.stats.repeats import FEWEST_FOR_INTERVAL

#: More rows than this are not looked at.
MOST_ROWS = 40
#: As many treatments are drawn side by side, and as many trials of each read.
MOST_CONTEXTS, MOST_TRIALS = 6, 60
#: Pictures in a row.
MOST_ACROSS = 3
#: Steps of a distribution with less than this share of the highest are not drawn at its ends.
_LEAST_SHARE = 0.002
#: Ends of a ratio axis, and the share of its length beyond the last point.
_NARROWEST, _WIDEST, _MARGIN = 1.02, 1000.0, 0.08
#: Ratios above 1 that an axis may mark, and the most of them on each side.
_RATIOS = (
    1.01, 1.02, 1.03, 1.05, 1.1, 1.15, 1.2, 1.3, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0,
    1000.0,
)  # fmt: skip
_MOST_TICKS = 4
#: Ratios as changes in percent, as tables and sentences give them.
_RATIO_LABEL = "datum.value == 1 ? '0%' : format((datum.value - 1) * 100, '+,.3~r') + '%'"
#: A ratio as a change in percent, where there is one.
_PERCENT = "isValid(datum.{field}) ? (datum.{field} - 1) * 100 : null"
#: Changes in percent, without a sign at 0.
_CHANGE_LABEL = "datum.value == 0 ? '0' : format(datum.value, '+,~r')"
#: Percentiles that an axis labels, as the reciprocal share beyond them: from the median on.
_LEAST_TAIL = 2.0
VERDICT_COLOURS = {
    "faster": "var(--good)",
    "slower": "var(--problem)",
    "higher": "var(--c2)",
    "lower": "var(--c3)",
    "same": "var(--c1)",
    "ambiguous": "var(--c8)",
    "insufficient": "var(--soft)",
}
VERDICT_SHAPES = {
    "faster": "triangle-up",
    "slower": "triangle-down",
    "higher": "triangle-up",
    "lower": "triangle-down",
    "same": "circle",
    "ambiguous": "diamond",
    "insufficient": "cross",
}


def forest(gathered: Gathered, words: Words) -> Chart | None:
    """None when there is no effect to draw."""
    comparison, texts = gathered.comparison, words.texts
    drawable = [row for row in words.by_importance(comparison.rows) if row.effect is not None]
    if not drawable:
        return None
    shown = [row for row in comparison.rows if row in drawable[:MOST_ROWS]]
    names = [words.row(row) for row in shown]
    points = [{**_point(row, words), "row": name} for row, name in zip(shown, names, strict=True)]

    least = 1 + comparison.least_effect
    furthest = widest_ratio([least, *(point[end] for point in points for end in ("change", "low", "high"))])

    def x(field: str) -> alt.X:
        scale = alt.Scale(type="log", domain=[1 / furthest, furthest], nice=False, clamp=True)
        axis = alt.Axis(values=ratio_ticks(furthest), labelExpr=_RATIO_LABEL, labelOverlap="greedy")
        return alt.X(f"{field}:Q", title=texts("compare.axis.log-change"), scale=scale, axis=axis)

    edge = [{"from": 1 / least, "to": least, "zero": 1.0}]
    band = (
        alt.Chart(style.data("edge")).mark_rect(color="var(--shade)").encode(x=x("from"), x2=alt.X2("to:Q"))
    )
    zero = (
        alt.Chart(style.data("edge"))
        .mark_rule(color="var(--soft)", strokeDash=[3, 3])
        .encode(x=alt.X("zero:Q"))
    )
    value = ForestValue("change", texts("compare.axis.change"), "+,.3~r", as_change=True)
    marks = verdict_marks(points, x, texts("compare.column.figure"), value, texts)
    captions = [texts("compare.caption.forest", least_share=comparison.least_effect)]
    if len(drawable) > MOST_ROWS:
        captions.append(texts("compare.caption.forest.some", count=MOST_ROWS, of=len(drawable)))
    chart = style.layered(band, zero, *marks, height=style.ROW * len(shown))
    return Chart(
        "chart-forest",
        texts("compare.chart.forest"),
        style.document(chart),
        {"points": points, "edge": edge},
        captions,
    )


def widest_ratio(ratios: Sequence[float | None]) -> float:
    """Upper end of a symmetric logarithmic axis: the ratio, or reciprocal, furthest from 1; at most
    `_WIDEST`.
    """
    present = [ratio for ratio in ratios if ratio is not None]
    furthest = max((max(ratio, 1 / ratio) if ratio > 0 else _WIDEST for ratio in present), default=1.0)
    return float(min(_WIDEST, max(_NARROWEST, furthest ** (1 + _MARGIN))))


def ratio_ticks(furthest: float) -> list[float]:
    """Marks of that axis: 1, and others at equal distances on both sides."""
    apart = math.log(furthest) / _MOST_TICKS
    chosen: list[float] = []
    for ratio in reversed([ratio for ratio in _RATIOS if ratio <= furthest]):
        if math.log(ratio) >= 0.9 * apart and (not chosen or math.log(chosen[-1] / ratio) >= 0.9 * apart):
            chosen.append(ratio)
    return sorted({1.0, *chosen, *(1 / ratio for ratio in chosen)})


@dataclass(frozen=True)
class ForestValue:
    """The value on the axis of a forest plot: its field, its name, and its format in tooltips.

    `as_change`: values are ratios, and tooltips give them as changes in percent.
    """

    field: str
    title: str
    format: str
    as_change: bool = False

    def tip(self, field: str, title: str) -> alt.Tooltip:
        """A line of a tooltip: this value, or an end of its interval."""
        return alt.Tooltip(f"{self._shown(field)}:Q", title=title, format=self.format)

    def shown_in(self, chart: alt.Chart) -> alt.Chart:
        """The chart with the fields that tooltips show."""
        if not self.as_change:
            return chart
        fields = (self.field, "low", "high")
        return chart.transform_calculate(
            **{self._shown(field): _PERCENT.format(field=field) for field in fields}
        )

    def _shown(self, field: str) -> str:
        return f"{field}_percent" if self.as_change else field


def verdict_marks(
    points: Sequence[DataRow], x: Callable[[str], alt.X], name: str, value: ForestValue, texts: Texts
) -> list[alt.Chart]:
    """Intervals and points of a forest plot, in the colours and shapes of their verdicts.

    `points` have a row's name (titled `name`), its value, the ends `low` and `high`, its verdict and why; `x`
    is the axis of a field.
    """
    used = {
        texts(VERDICT(word)): word
        for word in VERDICT_COLOURS
        if any(point["verdict"] == texts(VERDICT(word)) for point in points)
    }
    legend = alt.Legend(title=None, symbolOpacity=1)
    colours = alt.Scale(domain=list(used), range=[VERDICT_COLOURS[word] for word in used.values()])
    shapes = alt.Scale(domain=list(used), range=[VERDICT_SHAPES[word] for word in used.values()])
    colour = alt.Color("verdict:N", scale=colours, legend=legend)
    shape = alt.Shape("verdict:N", scale=shapes, legend=legend)
    tips = (
        alt.Tooltip("verdict:N", title=texts("column.verdict")),
        alt.Tooltip("why:N", title=texts("compare.column.why")),
    )
    return interval_marks(points, x, name, value, texts, colour=colour, shape=shape, more=tips)


def interval_marks(
    points: Sequence[DataRow],
    x: Callable[[str], alt.X],
    name: str,
    value: ForestValue,
    texts: Texts,
    *,
    colour: alt.Color | alt.ColorValue,
    shape: alt.Shape | alt.ShapeValue,
    more: Sequence[alt.Tooltip] = (),
) -> list[alt.Chart]:
    """The same of values without a verdict, in these colours and shapes; `more` are further lines of
    tooltips.
    """
    axis = alt.Axis(grid=True, labelOverlap=False, labelLimit=320)
    y = alt.Y("row:N", title=None, sort=[point["row"] for point in points], axis=axis)
    tips = [
        alt.Tooltip("row:N", title=name),
        value.tip(value.field, value.title),
        value.tip("low", texts("axis.low")),
        value.tip("high", texts("axis.high")),
        *more,
    ]
    base = value.shown_in(alt.Chart(style.data("points")))
    line = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=2).encode(
        x=x("low"), x2=alt.X2("high:Q"), y=y, color=colour, tooltip=tips
    )  # fmt: skip
    point = base.mark_point(size=70, filled=True, opacity=1).encode(
        x=x(value.field), y=y, color=colour, shape=shape,
        tooltip=tips,
    )  # fmt: skip
    return [*([line] if _has_ends(points) else []), point]


def _has_ends(rows: Sequence[DataRow]) -> bool:
    """True if there is an interval to draw at all: an axis of nothing but gaps has no extent."""
    return any(row["low"] is not None for row in rows)


def _point(row: Row, words: Words) -> DataRow:
    effect = row.effect
    assert effect is not None
    return {
        "change": effect.ratio,
        "low": effect.low,
        "high": effect.high,
        "verdict": words.verdict(row),
        "why": words.reason(row),
    }


def latencies(gathered: Gathered, words: Words) -> list[Chart]:
    """The change along the percentiles, and the distributions; empty when no trial has a histogram."""
    contexts = _contexts(gathered)
    sides = range(len(gathered.comparison.sides.sides))
    read = {
        (side, context): gathered.histograms(side, context, MOST_TRIALS)
        for context in contexts
        for side in sides
    }
    changed: list[DataRow] = []
    shares: list[DataRow] = []
    for context in contexts:
        facet = words.context(context)
        for side in sides:
            histograms = read[side, context]
            name = words.side(side)
            shares += [
                {"facet": facet, "side": name, "ms": at, "share": share * 100}
                for at, share in _outline(distribution(list(histograms.values())))
            ]
            if side == 0:
                continue
            chosen = gathered.comparison.sides
            fewest = FEWEST_RUNS if chosen.unit == "run" else FEWEST_FOR_INTERVAL
            for shift in shifts(read[0, context], histograms, paired=chosen.paired, fewest=fewest):
                low, high = shift.effect.low, shift.effect.high
                changed.append(
                    {
                        "facet": facet, "side": name, "percentile": percentile(shift.quantile),
                        "tail": 1 / (1 - shift.quantile), "change": (shift.effect.ratio - 1) * 100,
                        "low": None if low is None else (low - 1) * 100,
                        "high": None if high is None else (high - 1) * 100,
                    }
                )  # fmt: skip
    total = len(gathered.comparison.sides.contexts)
    captions = (
        [words.texts("compare.caption.contexts", count=len(contexts), of=total)]
        if len(contexts) < total
        else []
    )
    across = min(len(contexts), MOST_ACROSS)
    charts = [
        _shifts(changed, words, captions, across) if changed else None,
        _distributions(shares, words, captions, across) if shares else None,
    ]
    return [chart for chart in charts if chart is not None]


def _contexts(gathered: Gathered) -> list[str]:
    """All contexts if they are few; of many, those whose values changed most, in the plan's order."""
    comparison = gathered.comparison
    contexts = list(comparison.sides.contexts)
    if len(contexts) <= MOST_CONTEXTS:
        return contexts
    size = dict.fromkeys(contexts, 0.0)
    for row in comparison.rows:
        if row.context != OVERALL and row.effect is not None:
            size[row.context] = max(size[row.context], abs(math.log(row.effect.ratio)))
    most = sorted(contexts, key=lambda context: -size[context])[:MOST_CONTEXTS]
    return [context for context in contexts if context in most]


def percentile(quantile: float) -> str:
    """`p99.9`."""
    return f"p{quantile * 100:.6g}"


def _outline(steps: Sequence[Step]) -> list[tuple[float, float]]:
    """The middle of each step with its share, without the long thin ends."""
    if not steps:
        return []
    least = _LEAST_SHARE * max(step.share for step in steps)
    shown = [index for index, step in enumerate(steps) if step.share >= least]
    return [(math.sqrt(step.low_ms * step.high_ms), step.share) for step in steps[shown[0] : shown[-1] + 1]]


def _shifts(rows: list[DataRow], words: Words, captions: list[str], across: int) -> Chart:
    texts = words.texts
    names = list(dict.fromkeys(row["side"] for row in rows))
    labelled = [row for row in rows if row["tail"] >= _LEAST_TAIL * (1 - 1e-6)] or rows
    ticks = {row["tail"]: row["percentile"] for row in labelled}
    labels = (
        "".join(f"abs(datum.value - {tail}) < {tail} * 1e-6 ? '{name}' : " for tail, name in ticks.items())
        + "''"
    )
    x = alt.X(
        "tail:Q", title=texts("axis.percentile"), scale=alt.Scale(type="log", nice=False, padding=14),
        axis=alt.Axis(
            values=sorted(ticks), labelExpr=labels, labelOverlap="greedy", labelSeparation=4, grid=False
        ),
    )  # fmt: skip
    axis = alt.Axis(labelExpr=_CHANGE_LABEL, tickCount=6)
    y = alt.Y("change:Q", title=texts("compare.axis.change"), scale=alt.Scale(zero=True), axis=axis)
    low = alt.Y("low:Q", title=texts("compare.axis.change"), scale=alt.Scale(zero=True), axis=axis)
    colour, shape = _distinct(names)
    tips = [
        alt.Tooltip("side:N", title=texts("compare.column.side")),
        alt.Tooltip("percentile:N", title=texts("compare.column.percentile")),
        alt.Tooltip("change:Q", title=texts("compare.axis.change"), format="+,.1f"),
        alt.Tooltip("low:Q", title=texts("axis.low"), format="+,.1f"),
        alt.Tooltip("high:Q", title=texts("axis.high"), format="+,.1f"),
    ]
    zero = alt.Chart(alt.Undefined, transform=[alt.CalculateTransform(calculate="0", **{"as": "zero"})])
    zero = zero.mark_rule(color="var(--soft)", strokeDash=[3, 3]).encode(y=alt.Y("zero:Q"))
    line = alt.Chart().mark_line(opacity=0.5, strokeWidth=1).encode(x=x, y=y, **colour)
    bar = alt.Chart().mark_rule(strokeWidth=2).encode(x=x, y=low, y2=alt.Y2("high:Q"), tooltip=tips, **colour)
    point = alt.Chart().mark_point(size=50, filled=True, opacity=1).encode(
        x=x, y=y, tooltip=tips, **colour, **shape
    )  # fmt: skip
    bars = [bar] if _has_ends(rows) else []
    spec = _placed([zero, line, *bars, point], "shifts", words, across)
    return Chart(
        "chart-shifts", texts("compare.chart.shifts"), style.document(spec), {"shifts": rows},
        [texts("compare.caption.shifts"), *captions], columns=across, legend=len(names) > 1,
    )  # fmt: skip


def _distributions(rows: list[DataRow], words: Words, captions: list[str], across: int) -> Chart:
    texts = words.texts
    names = list(dict.fromkeys(row["side"] for row in rows))
    ticks = style.log_ticks([row["ms"] for row in rows])
    x = alt.X(
        "ms:Q", title=texts("axis.latency"), scale=alt.Scale(type="log", nice=False, padding=4),
        axis=alt.Axis(format=",~r", values=ticks, labelOverlap="greedy", grid=False),
    )  # fmt: skip
    y = alt.Y(
        "share:Q", title=texts("compare.axis.share"), stack=None, axis=alt.Axis(format=",~r", tickCount=5)
    )
    colour, _ = _distinct(names)
    tips = [
        alt.Tooltip("side:N", title=texts("compare.column.side")),
        alt.Tooltip("ms:Q", title=texts("axis.latency"), format=",.3~r"),
        alt.Tooltip("share:Q", title=texts("compare.axis.share"), format=",.2~r"),
    ]
    dash: Channels = {
        "strokeDash": alt.StrokeDash("side:N", sort=names, legend=None)
    } if len(names) > 1 else {}  # fmt: skip
    area = alt.Chart().mark_area(opacity=0.14, interpolate="monotone").encode(x=x, y=y, **colour)
    line = alt.Chart().mark_line(interpolate="monotone").encode(x=x, y=y, **colour, **dash)
    handles = (
        alt.Chart().mark_point(size=120, opacity=0, filled=True).encode(x=x, y=y, tooltip=tips, **colour)
    )
    spec = _placed([area, line, handles], "shares", words, across)
    return Chart(
        "chart-distributions", texts("compare.chart.distributions"), style.document(spec), {"shares": rows},
        [texts("compare.caption.distributions"), *captions], columns=across, legend=len(names) > 1,
    )  # fmt: skip


def _distinct(names: list[str]) -> tuple[Channels, Channels]:
    """Colours and shapes for several sides; one colour for one."""
    if len(names) < 2:
        return {"color": alt.ColorValue(SERIES[0])}, {}
    legend = alt.Legend(title=None, symbolOpacity=1)
    return (
        {"color": alt.Color("side:N", scale=style.colours(names), legend=legend)},
        {"shape": alt.Shape("side:N", scale=style.shapes(names), legend=legend)},
    )


def _placed(layers: list[alt.Chart], source: str, words: Words, across: int) -> JsonObject:
    """One view, or one for each context, in rows."""
    if across < 2:
        return style.layered(*layers, height=style.CHART, data={"name": source})
    bare = style.layered(*layers, height=style.CHART // 2)
    order = [words.context(context) for context in words.sides.contexts]
    facet = {"field": "facet", "type": "nominal", "title": None, "sort": order}
    return {"data": {"name": source}, "facet": facet, "columns": across, "spec": bare}
