"""From an effect to a word."""

from __future__ import annotations

import pytest

from loadcell.analysis.compare.metrics import judge, named
from loadcell.stats.two_samples import Effect


def effect(ratio: float, low: float | None, high: float | None) -> Effect:
    return Effect(ratio, low, high, None if low is None else 0.001, 10, paired=True)


@pytest.mark.parametrize(
    ("measured", "p", "word", "reason"),
    [
        (effect(1.05, 1.03, 1.07), 0.001, "faster", "clear"),
        (effect(0.95, 0.93, 0.97), 0.001, "slower", "clear"),
        (effect(1.00, 0.99, 1.01), 0.9, "same", "alike"),
        (effect(1.01, 1.005, 1.015), 0.001, "same", "alike"),  # there, but less than what matters
        (effect(1.03, 0.99, 1.07), 0.1, "ambiguous", "wide"),
        (effect(1.05, 1.01, 1.09), 0.2, "ambiguous", "chance"),  # did not outlive the correction
        (effect(1.015, 1.005, 1.025), 0.001, "ambiguous", "small"),
        (effect(1.03, 1.01, 1.05), 0.001, "faster", "estimate"),  # whether it matters rests on the estimate
        (effect(0.97, 0.95, 0.99), 0.001, "slower", "estimate"),
        (effect(1.05, None, None), None, "insufficient", "few"),
        (None, None, "no-value", "no-figure"),
    ],
)
def test_verdicts_on_throughput(measured: Effect | None, p: float | None, word: str, reason: str) -> None:
    verdict = judge(measured, p, higher_is_better=True)
    assert (verdict.word, verdict.reason) == (word, reason)


def test_more_response_time_is_slower() -> None:
    assert judge(effect(1.05, 1.03, 1.07), 0.001, higher_is_better=False).word == "slower"
    assert judge(effect(0.95, 0.93, 0.97), 0.001, higher_is_better=False).word == "faster"


def test_a_metric_without_a_better_direction_is_higher_or_lower() -> None:
    (metric,) = named(["host.cpu"])
    assert not metric.directed
    for measured, word in ((effect(1.05, 1.03, 1.07), "higher"), (effect(0.95, 0.93, 0.97), "lower")):
        verdict = judge(measured, 0.001, higher_is_better=metric.higher_is_better, directed=metric.directed)
        assert (verdict.word, verdict.reason) == (word, "clear")
    (memory,) = named(["target.memory"])
    assert memory.directed
    assert not memory.higher_is_better


def test_what_identical_arms_differ_by_is_no_difference_and_no_sameness() -> None:
    measured = effect(1.05, 1.03, 1.07)
    assert judge(measured, 0.001, higher_is_better=True, noise=0.06).reason == "noise"
    assert judge(measured, 0.001, higher_is_better=True, noise=0.04).word == "faster"
    assert judge(effect(1.05, 0.95, 1.1), 0.5, higher_is_better=True, noise=0.2).word == "ambiguous"


def test_the_least_effect_is_the_users() -> None:
    measured = effect(1.05, 1.03, 1.07)
    assert judge(measured, 0.001, higher_is_better=True, least_effect=0.1).word == "same"
    assert judge(measured, 0.001, higher_is_better=True, least_effect=0.06).reason == "small"


def test_half_as_fast_is_as_far_as_twice_as_fast() -> None:
    """The bounds are ratios: 1/1.02 below is as much as 1.02 above."""
    assert judge(effect(1 / 1.019, 1 / 1.0199, 1.0), 0.001, higher_is_better=True).word == "same"
    assert judge(effect(0.9801, 0.9799, 1.0), 0.001, higher_is_better=True).word == "ambiguous"
