"""Metrics: numbers that trials have, that expectations may bound and comparisons compare.

A part declares the metrics that it makes; those of every load are declared here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

#: The unit in expectations and values: `count` a bare number, `rate` per second, `share` a fraction (written
#: in percent), `time` milliseconds (written with any unit of time).
Kind = Literal["count", "rate", "share", "time"]
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
    meaning: str
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


def declare(
    key: str,
    kind: Kind,
    meaning: str,
    better: Direction = "higher",
    *,
    additive: bool = True,
    per_group: bool = True,
    headline: bool = False,
) -> Metric:
    """Declare a metric. Raises ValueError for a key that is declared already."""
    if key in _declared:
        raise ValueError(f"metric {key!r} is declared twice")
    _declared[key] = Metric(key, kind, meaning, better, additive, per_group, headline)
    return _declared[key]


def declared() -> Mapping[str, Metric]:
    """Every metric of the modules imported so far, by key."""
    return MappingProxyType(_declared)


def facts(keys: Iterable[str]) -> dict[str, MetricFacts]:
    """Facts of those of these metrics that are declared, as the record of a trial has them."""
    metrics = (_declared[key] for key in keys if key in _declared)
    return {metric.key: MetricFacts(metric.kind, metric.better, metric.headline) for metric in metrics}


#: Statistics of latencies, as keys end in them.
LATENCIES: Final = ("mean", "min", "max", "p50", "p90", "p95", "p99", "p99.9", "p99.99")

declare("throughput", "rate", "transactions that succeeded, per second")
declare("queries", "rate", "statements of transactions that succeeded, per second")
declare("errors", "count", "transactions that failed", "lower")
declare("error_rate", "share", "failed transactions as a share of those that ended", "lower")
declare("retries", "count", "transactions tried again after a serialisation failure or deadlock", "lower")
for _statistic in LATENCIES:
    declare(f"latency.{_statistic}", "time", f"response time of transactions, {_statistic}", "lower")
for _statistic in LATENCIES:
    declare(f"service.{_statistic}", "time", f"service time of transactions, {_statistic}", "lower")
declare("offered", "rate", "transactions that were due in an open loop, per second", "neither")
declare(
    "backlog", "count", "the most transactions of an open loop that were due and not sent at once", "lower"
)
for _statistic in LATENCIES:
    declare(
        f"pacing.{_statistic}",
        "time",
        f"how late the client sent what it could have sent when it was due, {_statistic}",
        "lower",
    )
declare("client.cpu", "share", "CPU use of the client's busiest thread", "lower", per_group=False)
