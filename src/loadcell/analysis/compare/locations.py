"""Names of metrics, contexts and rows of a comparison in sentences."""

from __future__ import annotations

from loadcell.analysis.compare.compare import OVERALL, Row
from loadcell.analysis.compare.metrics import Metric
from loadcell.analysis.compare.sides import Sides, name
from loadcell.analysis.error_codes import figure_name
from loadcell.model.message import Change, Count, Message, MessageCode

#: How many things a sentence names before it only counts.
MOST_NAMED = 4
METRIC_THROUGHPUT = MessageCode("compare.metric.throughput")
METRIC_MEAN = MessageCode("compare.metric.mean")
METRIC_PERCENTILE = MessageCode("compare.metric.percentile", percent=str)
PERCENTILE = MessageCode("compare.percentile", percent=str)
OVERALL_NAME = MessageCode("compare.overall")
PLACE = MessageCode("compare.place", change=Change, context=str, metric=Message)
PLACE_BARE = MessageCode("compare.place.bare", change=Change, metric=Message)
VALUES_PAIRED = MessageCode("compare.values.paired", n=Count)
VALUES_UNPAIRED = MessageCode("compare.values.unpaired", n=Count)
VALUES_RUNS = MessageCode("compare.values.runs", n=Count)
_SIZES: dict[str, type] = {"first": str, "first_count": Count, "other": str, "other_count": Count}
VALUES_UNEQUAL = MessageCode("compare.values.unequal", **_SIZES)
VALUES_RUNS_UNEQUAL = MessageCode("compare.values.unequal.runs", **_SIZES)


def metric_name(metric: Metric) -> Message:
    """A metric as it is called in a sentence."""
    if metric.figure is not None:
        return figure_name(metric.figure)
    if metric.name == "throughput":
        return METRIC_THROUGHPUT()
    return (
        METRIC_MEAN() if metric.name == "mean" else METRIC_PERCENTILE(percent=metric.name.removeprefix("p"))
    )


def short_name(metric: Metric) -> Message:
    """A metric as it is called in a table: percentiles without `response time`."""
    if metric.key is None or metric.name == "mean":
        return metric_name(metric)
    return PERCENTILE(percent=metric.name.removeprefix("p"))


def context_name(sides: Sides, context: str) -> Message | str:
    """A context as it is called; empty where there is only one."""
    return OVERALL_NAME() if context == OVERALL else sides.contexts.get(context, context)


def row_location(sides: Sides, row: Row) -> Message:
    """Metric, context and change of a row with an effect."""
    assert row.effect is not None  # a row with a verdict has one
    metric, change = metric_name(row.metric), row.effect.ratio - 1
    context = context_name(sides, row.context)
    return (
        PLACE(metric=metric, change=change, context=context)
        if context
        else PLACE_BARE(metric=metric, change=change)
    )


#: Names of the values that an effect rests on, by what one is from.
VALUES = {"block": VALUES_PAIRED, "trial": VALUES_UNPAIRED, "run": VALUES_RUNS}


def values(sides: Sides, row: Row) -> Message:
    """Number of the values that a row with an effect rests on; of each side where they differ."""
    effect = row.effect
    assert effect is not None
    first_count, other_count = effect.sizes or (effect.n, effect.n)
    if first_count == other_count:
        return VALUES[sides.unit](n=effect.n)
    code = VALUES_RUNS_UNEQUAL if sides.unit == "run" else VALUES_UNEQUAL
    return code(
        first=name(sides, sides.sides[0]),
        first_count=first_count,
        other=name(sides, sides.sides[row.side]),
        other_count=other_count,
    )
