"""Expectations: read from text, judged on a trial's metrics."""

from __future__ import annotations

import math

import pytest

from loadcell.model.metrics import declared
from loadcell.model.trial_record import ExpectationResult
from loadcell.parts import installed
from loadcell.plan.expect import Expectation, Few, Verdict

FIGURES = {
    "errors": 0.0,
    "throughput": 1000.0,
    "error_rate": 0.01,
    "latency.p99": 20.0,
    "latency.p99.9": None,
    "client.cpu": 0.5,
}


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("errors == 0", "met"),
        ("errors != 0", "missed"),
        ("errors < 1", "met"),
        ("throughput >= 1000/s", "met"),
        ("throughput > 1000/s", "missed"),
        ("throughput > 59999/min", "met"),
        ("error_rate <= 1%", "met"),
        ("error_rate < 1%", "missed"),
        ("latency.p99 <= 20ms", "met"),
        ("latency.p99 < 20ms", "missed"),
        ("latency.p99<0.021s", "met"),
        ("latency.p99 < 20000us", "missed"),
        ("client.cpu < 90%", "met"),
        ("latency.p99.9 < 1s", "unknown"),
        ("service.p50 < 1s", "unknown"),
    ],
)
def test_an_expectation_is_judged_in_the_metrics_own_unit(text: str, outcome: str) -> None:
    assert Expectation.parse(text).judge(FIGURES).verdict == outcome


@pytest.mark.parametrize(
    ("metric", "needed"),
    [("latency.p50", 2), ("latency.p90", 10), ("service.p95", 20), ("pacing.p99", 100),
     ("latency.p99.9", 1_000),
     ("latency.p99.99", 10_000), ("few.latency.p99", 100)],
)  # fmt: skip
@pytest.mark.parametrize("comparison", ["< 1s", "> 1s"])
def test_a_percentile_that_nothing_lies_beyond_cannot_be_judged(
    metric: str, needed: int, comparison: str
) -> None:
    expected = Expectation.parse(f"{metric} {comparison}", groups=["few"])
    count = f"{metric.partition('.p')[0]}.count"
    problems = expected.judge({metric: 5.0, count: needed - 1})
    assert problems == Verdict("unknown", None, Few(needed - 1, needed))
    assert problems.result("as written") == ExpectationResult(
        "as written", "unknown", None, needed - 1, needed
    )
    assert expected.judge({metric: 5.0, count: needed}).verdict != "unknown"
    assert expected.judge({metric: 5.0}).verdict != "unknown", "a tool that does not say of how many knew it"


def test_means_and_extremes_need_no_more_than_one() -> None:
    for metric in ("latency.mean", "latency.max"):
        problems = Expectation.parse(f"{metric} < 1s").judge({metric: 5.0, "latency.count": 1})
        assert problems == Verdict("met", 5.0)


def test_a_verdict_carries_the_figure() -> None:
    assert Expectation.parse("throughput > 5/s").judge(FIGURES) == Verdict("met", 1000.0)
    assert Expectation.parse("throughput > 5/s").judge({"throughput": math.nan}) == Verdict("unknown", None)
    assert Expectation.parse("throughput > 5/s").judge({}) == Verdict("unknown", None)


def test_text_is_kept_tidily() -> None:
    assert Expectation.parse("  latency.p99   <  20 ms ").text == "latency.p99 < 20 ms"


def test_the_metrics_are_those_a_trial_records() -> None:
    installed()
    names = {"throughput", "queries", "errors", "error_rate", "retries", "client.cpu", "target.cpu"}
    assert names < set(declared())
    for kind in ("latency", "service"):
        names = {f"{kind}.{q}" for q in ("mean", "min", "max", "p50", "p90", "p95", "p99", "p99.9", "p99.99")}
        assert names < set(declared())
