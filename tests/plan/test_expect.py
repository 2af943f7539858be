"""Expectations: read from text, judged on a trial's figures."""

from __future__ import annotations

import math

import pytest

from loadcell.plan.expect import METRICS, Expectation, Verdict

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


def test_a_verdict_carries_the_figure() -> None:
    assert Expectation.parse("throughput > 5/s").judge(FIGURES) == Verdict("met", 1000.0)
    assert Expectation.parse("throughput > 5/s").judge({"throughput": math.nan}) == Verdict("unknown", None)
    assert Expectation.parse("throughput > 5/s").judge({}) == Verdict("unknown", None)


def test_text_is_kept_tidily() -> None:
    assert Expectation.parse("  latency.p99   <  20 ms ").text == "latency.p99 < 20 ms"


def test_the_metrics_are_those_a_trial_records() -> None:
    assert {"throughput", "queries", "errors", "error_rate", "retries", "client.cpu", "target.cpu"} < set(
        METRICS
    )
    for kind in ("latency", "service"):
        names = {f"{kind}.{q}" for q in ("mean", "min", "max", "p50", "p90", "p95", "p99", "p99.9", "p99.99")}
        assert names < set(METRICS)
