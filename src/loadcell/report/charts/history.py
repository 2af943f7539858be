"""Charts of a plan's runs, one per treatment: each run a point, each level a line, each change a mark."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from loadcell.analysis.history import History, Series
from loadcell.model.json import JsonObject
from loadcell.report.blocks import Chart, DataRow
from loadcell.report.charts import style
from loadcell.report.palette import SERIES
from loadcell.report.texts import Texts
from loadcell.report.values import minute

#: The data source of all marks; `role` distinguishes them.
SOURCE = "history"
#: Maximum number of treatments with a chart; those that changed come first.
MOST_PICTURES = 24
#: An axis spans at least this share of the level: noise is no mountain.
LEAST_SPAN = 0.2
#: About this many dates fit below a chart.
MOST_DATES = 8


def draw(history: History, texts: Texts) -> Chart | None:
    """None if no run has a value."""
    ordered = sorted(history.series, key=lambda series: not history.changes_of(series))
    shown = [series for series in ordered if series.values][:MOST_PICTURES]
    if not shown:
        return None
    many = len(shown) > 1
    rows = [row for series in shown for row in _rows(series, history)]
    captions = [texts("history.caption"), texts("history.caption.axis")]
    if len(shown) < len(history.series):
        captions.append(texts("history.caption.some", count=len(shown), of=len(history.series)))
    metric = texts.message(history.metric_name)
    return Chart(
        "chart-history",
        texts("history.chart", metric=metric),
        _spec(history, texts, [series.label for series in shown]),
        {SOURCE: rows},
        captions,
        columns=2 if many else 1,
        legend=False,
    )


def _rows(series: Series, history: History) -> list[DataRow]:
    changes = history.changes_of(series)
    rows: list[DataRow] = []
    for position, value in zip(series.places, series.values, strict=True):
        run = history.runs[position]
        rows.append(
            {
                "role": "run", "treatment": series.label, "x": position, "value": value, "run": run.short,
                "date": minute(run.started_utc),
                "repeats": run.repeats.get(series.treatment, 0),
            }
        )  # fmt: skip
    firsts = [series.places[0], *(change.first for change in changes)]
    lasts = [*(change.last for change in changes), series.places[-1]]
    for first, last in zip(firsts, lasts, strict=True):
        level = [
            v for position, v in zip(series.places, series.values, strict=True) if first <= position <= last
        ]
        mean = sum(level) / len(level)
        rows.append(
            {"role": "level", "treatment": series.label, "x": first - 0.4, "x2": last + 0.4, "value": mean}
        )
    for change in changes:
        at = (change.last + change.first) / 2
        better = (change.share > 0) == history.metric.higher_is_better
        sign = "+" if change.share > 0 else "−"
        rows.append(
            {
                "role": "better" if better else "worse", "treatment": series.label, "x": at,
                "text": f"{sign}{abs(change.share) * 100:.3g}%",
            }
        )  # fmt: skip
    middle = (min(series.values) + max(series.values)) / 2
    rows += [
        {"role": "span", "treatment": series.label, "x": series.places[0], "value": middle * (1 + by)}
        for by in (-LEAST_SPAN / 2, LEAST_SPAN / 2)
    ]
    return rows


def _unit(history: History, texts: Texts) -> tuple[str, str]:
    """The unit of the metric, and d3's format of its axis."""
    resource = history.metric.resource
    if resource is not None:
        return ("%", ".0%") if resource.kind == "share" else (texts("history.unit.bytes"), ".3~s")
    throughput = history.metric.name == "throughput"
    return texts("unit.per-second") if throughput else texts("history.unit.ms"), ",~r"


def _spec(history: History, texts: Texts, labels: list[str]) -> JsonObject:
    metric = texts.message(history.metric_name)
    unit, tick = _unit(history, texts)
    step = max(1, -(-len(history.runs) // (MOST_DATES if len(labels) == 1 else MOST_DATES // 2)))
    label = f"{tick_labels([run.started_utc for run in history.runs], step)}[datum.value]"
    x = alt.X(
        "x:Q",
        title=None,
        scale=alt.Scale(domain=[-0.6, len(history.runs) - 0.4], nice=False),
        axis=alt.Axis(grid=False, values=list(range(0, len(history.runs), step)), labelExpr=label),
    )
    y = alt.Y(
        "value:Q",
        title=None if len(labels) > 1 else f"{metric} ({unit})",
        scale=alt.Scale(zero=False, nice=True),
        axis=alt.Axis(format=tick, tickCount=4, grid=True),
    )
    tips = [
        alt.Tooltip("run:N", title=texts("history.column.run")),
        alt.Tooltip("date:N", title=texts("history.column.started")),
        alt.Tooltip("value:Q", title=f"{metric} ({unit})", format=",.4~r"),
        alt.Tooltip("repeats:Q", title=texts("history.column.repeats")),
    ]
    points = _role("run").mark_line(strokeWidth=1, opacity=0.35, color=SERIES[0]).encode(x=x, y=y)
    dots = (
        _role("run")
        .mark_point(size=34, filled=True, opacity=0.9, color=SERIES[0])
        .encode(x=x, y=y, tooltip=tips)
    )
    levels = _role("level").mark_rule(strokeWidth=2.5, color=SERIES[1]).encode(x=x, x2="x2:Q", y=y)
    unseen = _role("span").mark_point(size=0, opacity=0).encode(x=x, y=y)
    layers = [unseen, points, levels, dots]
    for role, colour in (("worse", "var(--problem)"), ("better", "var(--good)")):
        layers.append(_role(role).mark_rule(strokeDash=[4, 3], color=colour).encode(x=x))
        layers.append(
            _role(role)
            .mark_text(align="left", baseline="top", dx=4, fontWeight=600, color=colour)
            .encode(x=x, y=alt.value(0), text=alt.Text("text:N"))
        )
    if len(labels) == 1:
        return style.document(style.layered(*layers, height=style.CHART, data={"name": SOURCE}))
    facet = {"field": "treatment", "type": "nominal", "title": None, "sort": labels}
    inner = style.layered(*layers, height=style.CHART // 2)
    return style.document(
        {
            "data": {"name": SOURCE}, "facet": facet, "columns": 2, "spec": inner,
            "resolve": {"scale": {"y": "independent"}},
        }
    )  # fmt: skip


def tick_labels(starts: Sequence[str], step: int) -> list[str]:
    """A label a run: its date where this is another one than at the tick before, else its time of day."""
    labels = [""] * len(starts)
    before = ""
    for position in range(0, len(starts), step):
        date, time = starts[position][5:10], starts[position][11:16]
        labels[position] = time if date == before and time else date
        before = date
    return labels


def _role(role: str) -> alt.Chart:
    rows: alt.Chart = alt.Chart(transform=[alt.FilterTransform(filter=f"datum.role === '{role}'")])
    return rows
