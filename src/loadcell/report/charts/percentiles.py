"""Response time by percentile up to 99.99 %, a line per treatment; the reader chooses among many."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import altair as alt

from loadcell.analysis.treatments import Treatment, shared_factors
from loadcell.analysis.trials import QUANTILES
from loadcell.report.blocks import Chart, DataRow
from loadcell.report.charts import chart, style
from loadcell.report.context import ReportContext
from loadcell.report.palette import SERIES
from loadcell.report.texts import Texts

#: As many lines as there are distinguishable colours.
MOST_SHOWN = len(SERIES)
#: Percentiles that make a curve.
FEWEST = 2


@chart("percentiles", 1)
def draw(context: ReportContext) -> Chart | None:
    """None without a curve: no trial has response times, or only one percentile, as many tools print."""
    texts = context.texts
    lines: list[DataRow] = []
    points: list[DataRow] = []
    drawn: list[Treatment] = []
    for treatment in context.analysis.treatments:
        of_treatment = _points(treatment, texts)
        if not of_treatment:
            continue
        drawn.append(treatment)
        points += of_treatment
        repeats = sum(trial.counts and bool(trial.response) for trial in treatment.trials)
        for tail in sorted({point["tail"] for point in of_treatment}):
            of_tail = [point for point in of_treatment if point["tail"] == tail]
            if len(of_tail) < repeats:
                continue  # only the quickest repeats had enough to know it: a line would fall there
            value = median(point["value"] for point in of_tail)
            lines.append({**of_tail[0], "value": value})
    if len({point["tail"] for point in points}) < FEWEST:
        return None
    x = alt.X(
        "tail:Q",
        title=texts("axis.percentile"),
        scale=alt.Scale(type="log", nice=False, padding=14),
        axis=_axis(),
    )
    y = alt.Y(
        "value:Q", title=texts("axis.latency"), scale=alt.Scale(type="log", nice=False, padding=10),
        axis=alt.Axis(
            format=",.3~r", labelOverlap="greedy",
            values=style.log_ticks([point["value"] for point in points])
        ),
    )  # fmt: skip
    alone = len(drawn) == 1
    legend = (
        None
        if alone
        else alt.Legend(title=texts("mark.list").join(shared_factors(drawn)) or None, symbolOpacity=1)
    )
    colour = alt.Color("treatment:N", sort=None, scale=alt.Scale(range=list(SERIES)), legend=legend)
    shape = alt.Shape("treatment:N", sort=None, scale=alt.Scale(range=list(style.SHAPES)), legend=legend)
    tips = [
        alt.Tooltip("treatment:N", title=texts("axis.treatment")),
        alt.Tooltip("percentile:N", title=texts("axis.percentile")),
    ]
    of_line = [*tips, alt.Tooltip("value:Q", title=texts("axis.median"), format=",.3~r")]
    of_point = [*tips, alt.Tooltip("value:Q", title=texts("axis.repeat-value"), format=",.3~r")]
    line = alt.Chart(style.data("lines")).mark_line().encode(x=x, y=y, color=colour)
    handles = alt.Chart(style.data("lines")).mark_point(size=200, opacity=0, filled=True).encode(
        x=x, y=y, color=colour, shape=shape, tooltip=of_line
    )  # fmt: skip
    dots = alt.Chart(style.data("points")).mark_point(size=22, opacity=0.7, filled=True).encode(
        x=x, y=y, color=colour, shape=shape, tooltip=of_point
    )  # fmt: skip
    chart = style.layered(line, handles, dots, height=style.CHART)
    shown = chosen(drawn, context.best)
    return Chart(
        "chart-percentiles",
        texts("chart.percentiles"),
        style.document(chart),
        {"lines": lines, "points": points},
        [texts("caption.percentiles")],
        chooser="treatments" if len(drawn) > MOST_SHOWN else "",
        choices=[(treatment.brief, treatment.label) for treatment in drawn],
        chosen=[treatment.brief for treatment in shown],
    )


def chosen(treatments: Sequence[Treatment], best: Treatment | None) -> list[Treatment]:
    """All of a few treatments; of many those that differ from the best one in a single factor, as lines that
    differ in
    several show what none of them does; of too many such, some spread evenly over them, the first, the last
    and the best among them."""
    if len(treatments) <= MOST_SHOWN:
        return list(treatments)
    line = list(treatments) if best is None else _line_through(best, treatments)
    if len(line) <= MOST_SHOWN:
        return line
    most = 5
    step = (len(line) - 1) / (most - 1)
    picked = {round(n * step) for n in range(most)}
    return [item for n, item in enumerate(line) if n in picked or item is best]


def _line_through(best: Treatment, treatments: Sequence[Treatment]) -> list[Treatment]:
    """The best one and those that differ from it in the factor of which most do; all where none differs in
    one alone.
    """
    lines = [
        [
            item
            for item in treatments
            if item.levels.keys() == best.levels.keys()
            and all(item.levels[key] == level for key, level in best.levels.items() if key != varied)
        ]
        for varied in best.levels
    ]
    longest = max(lines, key=len, default=[])
    return longest if len(longest) > 1 else list(treatments)


def _points(treatment: Treatment, texts: Texts) -> list[DataRow]:
    return [
        {
            "treatment": treatment.brief,
            "percentile": f"{key.removeprefix('p').removesuffix('_ms')}%",
            "tail": round(1 / (1 - quantile)),
            "value": texts.in_unit((trial.response or {})[key]),
        }
        for trial in treatment.trials
        for key, quantile in QUANTILES.items()
        if trial.counts and ((trial.response or {}).get(key) or 0) > 0
    ]


def _axis() -> alt.Axis:
    tails = {round(1 / (1 - quantile)): key for key, quantile in QUANTILES.items()}
    names = {tail: f"{key.removeprefix('p').removesuffix('_ms')}%" for tail, key in tails.items()}
    expression = "".join(f"datum.value == {tail} ? '{name}' : " for tail, name in names.items()) + "''"
    return alt.Axis(values=list(names), labelExpr=expression, labelOverlap="greedy", labelSeparation=4)
