"""Metrics: numbers that trials have, that expectations may bound and comparisons compare.

A part declares the metrics that it makes; those of every load are declared here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from loadcell.model import numbers
from loadcell.model.fault_judgement import EFFECT_VALUES, EFFECTS, MANAGEMENT
from loadcell.model.message import Message, MessageCode, as_written

#: The unit in expectations and values: `count` a bare number, `rate` per second, `share` a fraction (written
#: in percent), `time` milliseconds (written with any unit of time), `size` bytes, `bandwidth` bytes per
#: second (`100MB/s`), `effect` one of `EFFECT_VALUES` (written as a word).
Kind = Literal["count", "rate", "share", "time", "size", "bandwidth", "effect", "management"]
Direction = Literal["higher", "lower", "neither"]


@dataclass(frozen=True)
class Metric:
    """A number by its key: dotted and unique (`latency.p99`, `tpmC`).

    `better` is the direction of improvement. `additive`: the value of a load is the sum over its client
    groups, and groups without a sum have none. `per_group`: client groups have it, too, as `GROUP.KEY`.
    `headline`: reports draw it instead of throughput.
    """

    key: str
    kind: Kind
    meaning: Message
    better: Direction = "higher"
    additive: bool = True
    per_group: bool = True
    headline: bool = False


@dataclass(frozen=True, slots=True)
class MetricFacts:
    """Declaration of a metric, for readers of a record without the part that declared it."""

    kind: Kind
    better: Direction
    headline: bool = False


_declared: dict[str, Metric] = {}
#: Each imports modules that declare metrics.
_sources: list[Callable[[], None]] = []


def declare(
    key: str,
    kind: Kind,
    meaning: Message | str,
    better: Direction = "higher",
    *,
    additive: bool = True,
    per_group: bool = True,
    headline: bool = False,
) -> Metric:
    """Declare a metric; an extension may give its meaning in its own words.

    Raises ValueError for a key that is declared already.
    """
    if key in _declared:
        raise ValueError(f"metric {key!r} is declared twice")
    text = as_written(meaning) if isinstance(meaning, str) else meaning
    _declared[key] = Metric(key, kind, text, better, additive, per_group, headline)
    return _declared[key]


def add_source(load: Callable[[], None]) -> None:
    """Call `load`, which imports modules that declare metrics, when a metric is not declared yet."""
    _sources.append(load)


def declared() -> Mapping[str, Metric]:
    """Every metric by key: those of imported modules and of all sources."""
    for load in _sources:
        load()
    return MappingProxyType(_declared)


def find(key: str) -> Metric | None:
    """The metric with this key, or None. Sources are asked if no imported module declares it."""
    return _declared.get(key) or declared().get(key)


def facts(keys: Iterable[str]) -> dict[str, MetricFacts]:
    """Facts of those of these metrics that imported modules declare, as the record of a trial has them.

    No source is asked: the parts that the trial used are imported, and one that is broken concerns no trial
    without it.
    """
    metrics = (metric for key in keys if (metric := _declared.get(key)) is not None)
    return {metric.key: MetricFacts(metric.kind, metric.better, metric.headline) for metric in metrics}


_WRITERS: Mapping[Kind, numbers.Write] = {
    "count": numbers.short,
    "rate": lambda value: f"{numbers.rate(value)}/s",
    "share": numbers.share,
    "time": numbers.milliseconds,
    "size": numbers.size,
    "bandwidth": lambda value: f"{numbers.size(value)}/s",
    "effect": lambda value: min(EFFECTS, key=lambda effect: abs(EFFECT_VALUES[effect] - value)),
    "management": lambda value: MANAGEMENT[round(value)],
}


def value_text(kind: Kind, value: float) -> str:
    """A value of a metric of this kind with its unit: `31.2 ms`, `45%`, `2 GiB`."""
    return _WRITERS[kind](value)


#: Duration of a measurement that ends after a number of requests.
ELAPSED: Final = "elapsed"
#: Statistics of latencies, as keys end in them.
LATENCIES: Final = ("mean", "min", "max", "p50", "p90", "p95", "p99", "p99.9", "p99.99")

THROUGHPUT = MessageCode("metric-meaning.throughput", "info")
QUERIES = MessageCode("metric-meaning.queries", "info")
ERRORS = MessageCode("metric-meaning.errors", "info")
ERROR_RATE = MessageCode("metric-meaning.error-rate", "info")
RETRIES = MessageCode("metric-meaning.retries", "info")
RESPONSE_TIME = MessageCode("metric-meaning.response-time", "info", statistic=Message)
SERVICE_TIME = MessageCode("metric-meaning.service-time", "info", statistic=Message)
OFFERED = MessageCode("metric-meaning.offered", "info")
BACKLOG = MessageCode("metric-meaning.backlog", "info")
PACING = MessageCode("metric-meaning.pacing", "info", statistic=Message)
ELAPSED_TIME = MessageCode("metric-meaning.elapsed", "info")
CLIENT_CPU = MessageCode("metric-meaning.client-cpu", "info")
FAIRNESS = MessageCode("metric-meaning.fairness", "info")

declare(ELAPSED, "time", ELAPSED_TIME(), "lower", additive=False, per_group=False)
declare("throughput", "rate", THROUGHPUT())
declare("queries", "rate", QUERIES())
declare("errors", "count", ERRORS(), "lower")
declare("error_rate", "share", ERROR_RATE(), "lower")
declare("retries", "count", RETRIES(), "lower")
_STATISTICS = {name: MessageCode(f"statistic.{name}", "info") for name in LATENCIES}
for _key, _statistic in _STATISTICS.items():
    declare(f"latency.{_key}", "time", RESPONSE_TIME(statistic=_statistic()), "lower")
for _key, _statistic in _STATISTICS.items():
    declare(f"service.{_key}", "time", SERVICE_TIME(statistic=_statistic()), "lower")
declare("offered", "rate", OFFERED(), "neither")
declare("backlog", "count", BACKLOG(), "lower")
for _key, _statistic in _STATISTICS.items():
    declare(f"pacing.{_key}", "time", PACING(statistic=_statistic()), "lower")
declare("client.cpu", "share", CLIENT_CPU(), "lower", per_group=False)
declare("fairness", "share", FAIRNESS(), additive=False, per_group=False)
