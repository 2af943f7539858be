"""Bounds of expectations as lines in charts of throughput and response times."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from loadcell.plan.expect import Expectation
from loadcell.plan.problems import SettingError
from loadcell.report.blocks import DataRow
from loadcell.report.charts.compare import BOUND, Form
from loadcell.report.context import ReportContext

#: A bound further out than this multiple of the largest value would leave no room for the values.
FURTHEST = 2.0


def rows(
    context: ReportContext,
    form: Form,
    data: Sequence[DataRow],
    metrics: Mapping[str, DataRow],
    unit: Callable[[float], float] = float,
) -> list[DataRow]:
    """A row a bound that lies near the values of `data`, and a facet.

    `metrics` has further fields of a row, by the metric of the expectation; `unit` converts a threshold from
    the unit of the metric to that of the axis.
    """
    highest = max((row["value"] for row in data), default=0.0)
    facets: list[DataRow] = [{"facet": facet} for facet in form.facets] or [{}]
    return [
        {
            **facet,
            **metrics[bound.metric],
            "role": BOUND,
            "treatment": bound.text,
            "value": unit(bound.threshold),
        }
        for bound in _bounds(context)
        if bound.metric in metrics and 0 < unit(bound.threshold) <= FURTHEST * highest
        for facet in facets
    ]


def captions(context: ReportContext, data: Sequence[DataRow]) -> list[str]:
    """The explanation of the lines, where there are any."""
    texts = dict.fromkeys(str(row["treatment"]) for row in data if row["role"] == BOUND)
    if not texts:
        return []
    return [context.texts("caption.bounds", expectations=context.texts("mark.list").join(texts))]


def _bounds(context: ReportContext) -> list[Expectation]:
    """The expectations of all trials, each once; of those on metrics that are unknown here none."""
    texts = (result.expression for trial in context.analysis.trials for result in trial.expectations)
    bounds = []
    for text in dict.fromkeys(texts):
        try:
            bounds.append(Expectation.parse(text))
        except SettingError:
            continue
    return bounds
