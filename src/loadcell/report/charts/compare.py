"""Chart forms for a value of treatments: curves along a number, or rows one above another.

Both take one source of long rows, `FIGURES`: `repeat` or `invalid` ones, one a trial (`x`, `group`, `facet`,
`treatment`, `repeat`, `value`), and `median` ones, one a treatment (the same, with `low` and `high`); `role`
says which. What a `group` is (a percentile, a level of the second factor) is the caller's affair.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import altair as alt

from loadcell.analysis.layout import Layout
from loadcell.analysis.treatments import Treatment, shared_factors
from loadcell.analysis.trials import Trial
from loadcell.model.json import JsonObject
from loadcell.report.blocks import DataRow
from loadcell.report.charts import style
from loadcell.report.charts.style import Channels
from loadcell.report.context import ReportContext
from loadcell.report.palette import SERIES
from loadcell.report.texts import Texts
from loadcell.stats.repeats import Repeats

FIGURES = "figures"
#: Height in pixels of one of several lines within a row.
LINE = 15
#: More rows than this are drawn as numbered treatments along one axis instead.
MOST_ROWS = 40
#: Tick marks at the levels themselves when there are no more than these.
MOST_TICKS = 12
#: Role of rows that are bounds of expectations.
BOUND = "bound"
#: Values that span more than this factor are drawn on a logarithmic axis.
LOG_FROM = 50


@dataclass(frozen=True)
class Form:
    """Placement of treatments: `numeric` along an axis titled `title`, or as `rows` in this order.

    `geometric` makes that axis logarithmic, `ticks` are where its marks stand; `indexed` says that it counts
    treatments. `groups` are lines or marks of distinct colours, `facets` charts side by side. `invalid` says
    that there are trials to show that do not count, `bounded` that there are bounds of expectations.
    """

    title: str
    numeric: bool
    rows: tuple[str, ...] = ()
    geometric: bool = False
    ticks: tuple[float, ...] = ()
    groups: tuple[str, ...] = ()
    group_title: str = ""
    facets: tuple[str, ...] = ()
    indexed: bool = False
    invalid: bool = False
    bounded: bool = False


def form(layout: Layout, treatments: Sequence[Treatment], texts: Texts) -> Form:
    """Choose the form for these treatments."""
    invalid = any(
        trial.throughput_per_s is not None and not trial.counts
        for treatment in treatments
        for trial in treatment.trials
    )
    return replace(_form(layout, treatments, texts), invalid=invalid)


def drawn(form: Form, rows: Sequence[DataRow]) -> Form:
    """The form with crosses only where this figure has any: not every trial that does not count has every
    figure.
    """
    return replace(form, invalid=any(row["role"] == "invalid" for row in rows))


def bounded(form: Form, rows: Sequence[DataRow]) -> Form:
    """The form with bounds of expectations if there are any among the rows."""
    return replace(form, bounded=any(row["role"] == BOUND for row in rows))


def _form(layout: Layout, treatments: Sequence[Treatment], texts: Texts) -> Form:
    x, series = layout.x, layout.series
    lines = series.levels if series is not None else ()
    title = series.name if series is not None else ""
    if x is not None and x.numeric:
        numbers = tuple(x.at[level] for level in x.levels)
        return Form(
            x.name,
            numeric=True,
            geometric=x.scale == "geometric",
            ticks=numbers if len(numbers) <= MOST_TICKS else (),
            groups=() if layout.facet else lines,
            group_title=title,
            facets=lines if layout.facet else (),
        )
    if x is not None and len(x.levels) * max(1, len(lines)) <= MOST_ROWS and not layout.facet:
        return Form(x.name, numeric=False, rows=x.levels, groups=lines, group_title=title)
    if len(treatments) <= MOST_ROWS:
        names = texts("mark.list").join(shared_factors(treatments)) or texts("axis.treatment")
        return Form(names, numeric=False, rows=tuple(treatment.brief for treatment in treatments))
    return Form(texts("axis.treatment"), numeric=True, indexed=True)


def coordinates(form: Form, layout: Layout, treatment: Treatment) -> DataRow:
    """Where a treatment stands: its `x`, `group` and `facet`, and its name."""
    row: DataRow = {"treatment": treatment.label}
    if form.indexed:
        return {**row, "x": treatment.index}
    if layout.x is not None and (form.numeric or form.rows == layout.x.levels):
        level = treatment.levels[layout.x.key]
        row["x"] = layout.x.at[level] if form.numeric else level
    else:
        row["x"] = treatment.brief
    if layout.series is not None and (form.groups or form.facets):
        row["facet" if form.facets else "group"] = treatment.levels[layout.series.key]
    return row


@dataclass(frozen=True)
class Figure:
    """The measured quantity; with `ticks` its axis is logarithmic, without them it starts at 0."""

    title: str
    ticks: tuple[float, ...] = ()
    format: str = ",.3~r"


def curves(
    form: Form, figure: Figure, texts: Texts, *, groups: Sequence[str],
    group_title: str = "", condition: str | None = None,
) -> JsonObject:  # fmt: skip
    """Lines of medians with bands and every repeat's point, along a numeric axis."""
    x = alt.X(
        "x:Q",
        title=form.title,
        scale=alt.Scale(type="log", base=2, nice=False, padding=12)
        if form.geometric
        else alt.Scale(zero=False, nice=False, padding=12),
        axis=_x_axis(form),
    )
    y = _scale(alt.Y, figure)
    colour: Channels = {}
    shape: Channels = {}
    if groups:
        legend = alt.Legend(title=group_title or None, symbolOpacity=1)
        colour = {"color": alt.Color("group:N", scale=style.colours(list(groups)), legend=legend)}
        shape = {"shape": alt.Shape("group:N", scale=style.shapes(list(groups)), legend=legend)}
    plain: Channels = {} if groups else {"color": SERIES[0]}
    tips = _tips(texts, figure, groups)
    band = _role("median").mark_area(opacity=0.16, **plain).encode(
        x=x, y=_scale(alt.Y, figure, "low"), y2=alt.Y2("high:Q"), **colour
    )  # fmt: skip
    line = _role("median").mark_line(**plain).encode(x=x, y=y, **colour)
    handles = (
        _role("median")
        .mark_point(size=220, opacity=0, filled=True, **plain)
        .encode(x=x, y=y, tooltip=tips.medians, **colour)
    )
    dots = (
        _role("repeat")
        .mark_point(size=26, opacity=0.85, filled=True, **plain)
        .encode(x=x, y=y, tooltip=tips.points, **colour, **shape)
    )
    layers = [band, line, handles, dots, *([_invalid(x, y, tips)] if form.invalid else [])]
    layers += [_bound(tips, y=y)] if form.bounded else []
    if condition is not None:
        layers = [layer.transform_filter(condition) for layer in layers]
    if form.facets:
        facet = {"field": "facet", "type": "nominal", "title": form.group_title, "sort": list(form.facets)}
        bare = style.layered(*layers, height=style.CHART // 2)
        return {"data": {"name": FIGURES}, "facet": facet, "columns": 4, "spec": bare}
    return style.layered(*layers, height=style.CHART, data={"name": FIGURES})


def rows(
    form: Form, figure: Figure, texts: Texts, *, groups: Sequence[str],
    group_title: str = "", condition: str | None = None,
) -> JsonObject:  # fmt: skip
    """A row a level: a bar from low to high, the median's tick and every repeat's point."""
    y = alt.Y("x:N", title=form.title, sort=list(form.rows), axis=row_axis())
    x = _scale(alt.X, figure)
    colour: Channels = {}
    offset: Channels = {}
    shape: Channels = {}
    if groups:
        legend = alt.Legend(title=group_title or None, symbolOpacity=1)
        colour = {"color": alt.Color("group:N", scale=style.colours(list(groups)), legend=legend)}
        shape = {"shape": alt.Shape("group:N", scale=style.shapes(list(groups)), legend=legend)}
        if form.groups:
            offset = {"yOffset": alt.YOffset("group:N", sort=list(groups))}
    plain: Channels = {} if groups else {"color": SERIES[0]}
    tips = _tips(texts, figure, groups)
    bar = _role("median").mark_rule(strokeWidth=7, opacity=0.22, strokeCap="round", **plain).encode(
        y=y, x=_scale(alt.X, figure, "low"), x2=alt.X2("high:Q"), tooltip=tips.medians, **colour, **offset
    )  # fmt: skip
    tick = (
        _role("median")
        .mark_tick(thickness=3, size=14, **plain)
        .encode(y=y, x=x, tooltip=tips.medians, **colour, **offset)
    )
    dots = (
        _role("repeat")
        .mark_point(size=26, opacity=0.85, filled=True, **plain)
        .encode(y=y, x=x, tooltip=tips.points, **colour, **offset, **shape)
    )
    layers = [bar, tick, dots, *([_invalid(x, y, tips, offset)] if form.invalid else [])]
    layers += [_bound(tips, x=x)] if form.bounded else []
    if condition is not None:
        layers = [layer.transform_filter(condition) for layer in layers]
    row = max(style.ROW, LINE * len(groups)) if offset else style.ROW
    return style.layered(*layers, height=row * len(form.rows), data={"name": FIGURES})


def _role(role: str) -> alt.Chart:
    """Marks of one kind of row of `FIGURES`."""
    rows: alt.Chart = alt.Chart(transform=[alt.FilterTransform(filter=f"datum.role === '{role}'")])
    return rows


def row_axis() -> alt.Axis:
    """Names of rows, their title above them where it takes no room from the picture."""
    return alt.Axis(
        grid=True,
        labelOverlap=False,
        titleAngle=0,
        titleAlign="right",
        titleAnchor="end",
        titleY=-10,
        titleX=-6,
    )


def _x_axis(form: Form) -> alt.Axis:
    if form.ticks:
        return alt.Axis(
            grid=False, values=list(form.ticks), format=style.LEVEL, labelOverlap="greedy", labelSeparation=6
        )
    return alt.Axis(grid=False, format=",~r", tickMinStep=1)


def _scale(channel: Any, figure: Figure, field: str = "value") -> Any:
    """Axis of the measured quantity: from 0, or logarithmic."""
    if figure.ticks:
        scale = alt.Scale(type="log", nice=False, padding=8)
        axis = alt.Axis(format=",.3~r", values=list(figure.ticks), grid=True, labelOverlap="greedy")
    else:
        scale = alt.Scale(zero=True, nice=True)
        axis = alt.Axis(format=",~r", tickCount=6, grid=True, labelOverlap="greedy")
    return channel(f"{field}:Q", title=figure.title, scale=scale, axis=axis)


@dataclass(frozen=True)
class _Tips:
    medians: list[alt.Tooltip]
    points: list[alt.Tooltip]


def _tips(texts: Texts, figure: Figure, groups: Sequence[str]) -> _Tips:
    head = [alt.Tooltip("treatment:N", title=texts("axis.treatment"))]
    if groups:
        head.append(alt.Tooltip("group:N", title=figure.title))
    ends = [("axis.median", "value"), ("axis.low", "low"), ("axis.high", "high")]
    return _Tips(
        [
            *head,
            *(alt.Tooltip(f"{field}:Q", title=texts(name), format=figure.format) for name, field in ends),
        ],
        [
            *head, alt.Tooltip("repeat:N", title=texts("axis.repeat")),
            alt.Tooltip("value:Q", title=figure.title, format=figure.format),
        ],
    )  # fmt: skip


def _bound(tips: _Tips, **axis: Any) -> alt.Chart:
    """Bounds of expectations, as lines across the whole chart."""
    lines: alt.Chart = (
        _role(BOUND)
        .mark_rule(strokeDash=[6, 4], strokeWidth=1.5, color="var(--caution)")
        .encode(tooltip=[tips.points[0], tips.points[-1]], **axis)
    )
    return lines


def _invalid(x: Any, y: Any, tips: _Tips, offset: Channels | None = None) -> alt.Chart:
    """Trials that finished but cannot be trusted: seen, not counted."""
    crosses: alt.Chart = (
        _role("invalid")
        .mark_point(shape="M-1,-1L1,1M-1,1L1,-1", size=24, strokeWidth=1.5, color="var(--problem)")
        .encode(x=x, y=y, tooltip=tips.points, **(offset or {}))
    )
    return crosses


def figures(
    where: DataRow, treatment: Treatment, repeats: Repeats, value: Callable[[Trial], float | None]
) -> list[DataRow]:
    """The rows of one treatment (at `where`) and one metric, over `repeats` and for each trial."""
    rows = [
        {**where, "role": "repeat" if trial.counts else "invalid", "repeat": trial.repeat, "value": number}
        for trial in treatment.trials
        if (number := value(trial)) is not None
    ]
    ends = repeats.reach
    if ends is not None:
        rows.append({**where, "role": "median", "value": repeats.median, "low": ends[0], "high": ends[1]})
    return rows


def placed(
    form: Form,
    layout: Layout,
    treatments: Sequence[Treatment],
    repeats: Callable[[Treatment], Repeats],
    value: Callable[[Trial], float | None],
) -> list[DataRow]:
    """The rows of one figure of all these treatments, each where it stands."""
    return [
        row
        for treatment in treatments
        for row in figures(coordinates(form, layout, treatment), treatment, repeats(treatment), value)
    ]


def ticks(rows: Sequence[DataRow]) -> tuple[float, ...]:
    """Marks of a logarithmic axis; none for values within a small range."""
    values = [row["value"] for row in rows if row["value"] > 0]
    wide = bool(values) and max(values) > LOG_FROM * min(values)
    return tuple(style.log_ticks(values)) if wide else ()


def captions(form: Form, context: ReportContext) -> list[str]:
    """Explanations for readers of such a chart."""
    texts = context.texts
    if all(len(treatment.throughput.values) < 2 for treatment in context.analysis.treatments):
        captions = [texts("caption.once")]
    elif form.numeric:
        captions = [texts("caption.interval") if context.has_intervals else texts("caption.range")]
    else:
        captions = [texts("caption.bars.interval") if context.has_intervals else texts("caption.bars.range")]
    if form.invalid:
        captions.append(texts("caption.invalid"))
    if form.indexed:
        captions.append(texts("caption.index"))
    return captions
