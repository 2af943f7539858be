"""Requests of a rate over a measurement, its description, and the remarks on it."""

from __future__ import annotations

import pytest

from loadcell.plan import rate
from loadcell.plan.rate import Ramp, Step, Steps, Stretch
from loadcell.plan.units import Duration, Rate

STEPS = Steps(
    steps=(
        Step.model_validate({"rate": "500/s", "for": "10s"}),
        Step.model_validate({"rate": "1000/s", "for": "5s"}),
    )
)
RAMP = Ramp.model_validate({"from": "100/s", "to": "5000/s", "over": "1min"})


def test_a_rate_lasts_as_long_as_is_measured() -> None:
    assert rate.stretches(Rate(2000), 30) == (Stretch(2000, 2000, 30),)
    assert rate.length_s(Rate(2000)) is None


def test_what_comes_last_stays() -> None:
    assert rate.stretches(STEPS, 20) == (
        Stretch(500, 500, 10),
        Stretch(1000, 1000, 5),
        Stretch(1000, 1000, 5),
    )
    assert rate.stretches(RAMP, 90) == (Stretch(100, 5000, 60), Stretch(5000, 5000, 30))
    assert rate.stretches(RAMP, 60) == (Stretch(100, 5000, 60),)
    assert (rate.length_s(STEPS), rate.length_s(RAMP)) == (15, 60)


@pytest.mark.parametrize(
    ("load_rate", "duration_s", "requests", "highest"),
    [
        (Rate(2000), 30, 60_000, 2000),
        (STEPS, 15, 10_000, 1000),
        (STEPS, 20, 15_000, 1000),
        (RAMP, 60, 153_000, 5000),
    ],
)
def test_requests_are_the_area_under_the_rate(
    load_rate: Rate | Steps | Ramp, duration_s: float, requests: float, highest: float
) -> None:
    assert rate.requests(load_rate, duration_s) == pytest.approx(requests)
    assert rate.highest(load_rate) == highest


def test_it_is_described_in_a_few_words() -> None:
    assert rate.text(Rate(2000)) == "2000/s"
    assert rate.text(STEPS) == "500/s for 10s, then 1000/s for 5s"
    assert rate.text(RAMP) == "100/s to 5000/s over 1min"


def remarked(
    load_rate: Rate | Steps | Ramp | None, connections: int | None, duration_s: float
) -> dict[str, str]:
    return {
        problem.path: problem.message.text
        for problem in rate.advice(load_rate, connections, Duration(duration_s))
    }


def test_connections_that_can_hardly_carry_it_are_remarked_on() -> None:
    problems = remarked(Rate(30_000), 1, 30)
    assert list(problems) == ["load.clients"]
    assert "30,000/s over 1 connection leave 33.3 µs per request" in problems["load.clients"]
    assert remarked(Rate(30_000), 2, 30) == {}
    steps = Steps(steps=(STEPS.steps[0], Step.model_validate({"rate": "90000/s", "for": "1s"})))
    assert list(remarked(steps, 4, 30)) == ["load.clients"]


def test_few_requests_are_remarked_on() -> None:
    problems = remarked(Rate(10), 4, 30)
    assert "10/s gives 300 requests in 30s: their p99 depends on the 3 slowest" in problems["load.rate"]
    assert remarked(Rate(34), 4, 30) == {}


def test_a_closed_loop_has_no_rate_to_remark_on() -> None:
    assert remarked(None, 1, 30) == {}
