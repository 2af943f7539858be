"""Samples of calls, with a clock that a test sets."""

from __future__ import annotations

import gc
import time

import pytest

from loadcell.pytest_plugin.timing import Budget, Counts, Timed, measure, measure_counted


class Clock:
    """A clock that stands still unless a function takes time."""

    def __init__(self) -> None:
        self.now_ns = 0

    def __call__(self) -> int:
        return self.now_ns

    def take(self, duration_ns: int) -> None:
        """Let time pass."""
        self.now_ns += duration_ns


def test_a_sample_is_long_against_the_clock() -> None:
    clock = Clock()
    timed = Timed(lambda: clock.take(300), ((), {}), clock)
    calls = timed.calibrate(1_000_000)
    assert timed.run(calls)[0] >= 1_000_000
    assert calls <= 10 * 1_000_000 // 300


def test_an_interruption_does_not_end_the_calibration() -> None:
    clock = Clock()
    durations_ns = iter([20_000_000])  # of the first call alone
    timed = Timed(lambda: clock.take(next(durations_ns, 300)), ((), {}), clock)
    assert timed.run(timed.calibrate(1_000_000))[0] >= 1_000_000


def test_samples_fill_the_budget_and_are_at_least_the_rounds() -> None:
    clock = Clock()
    budget = Budget(seconds=0.01, rounds=3, clock=clock)
    measurement = measure(clock.take, ((1_000,), {}), budget, None)
    assert sum(sample.elapsed_ns for sample in measurement.samples) >= 0.01e9
    assert {sample.elapsed_ns / sample.calls for sample in measurement.samples} == {1_000}
    slow = measure(clock.take, ((20_000_000,), {}), budget, 1)
    assert [sample.calls for sample in slow.samples] == [1, 1, 1]


def test_an_empty_function_takes_no_time() -> None:
    measurement = measure(lambda: None, ((), {}), Budget(seconds=0.02), None)
    least_ns = min(sample.elapsed_ns / sample.calls for sample in measurement.samples)
    assert least_ns < 50  # whatever else the machine does at the time


def test_the_result_is_that_of_the_last_call() -> None:
    numbers = iter(range(10**9))
    budget = Budget(seconds=0, rounds=2, warmup_calls=5)
    measurement = measure(lambda: next(numbers), ((), {}), budget, 10)
    assert measurement.result == 5 + 3 * 10 - 1  # the warm-up, the first sample, and two that count


def test_counted_samples_have_setup_and_teardown_outside_of_their_time() -> None:
    clock = Clock()
    log: list[str] = []

    def setup() -> tuple[tuple[int], dict[str, int]]:
        clock.take(7_000)
        log.append("setup")
        return (5,), {}

    def function(duration_ns: int) -> str:
        clock.take(duration_ns)
        log.append("call")
        return "result"

    def teardown(duration_ns: int) -> None:
        clock.take(duration_ns * 1_000)
        log.append("teardown")

    counts = Counts(rounds=2, iterations=1, warmup_rounds=1, setup=setup, teardown=teardown, clock=clock)
    measurement = measure_counted(function, ((), {}), counts)
    assert log == ["setup", "call", "teardown"] * 3
    assert [sample.elapsed_ns for sample in measurement.samples] == [5, 5]
    assert measurement.result == "result"


@pytest.mark.parametrize("fails", [False, True])
def test_the_collector_is_off_only_during_samples(fails: bool) -> None:
    seen: list[bool] = []

    def function() -> None:
        seen.append(gc.isenabled())
        if fails:
            raise ValueError

    try:
        measure(function, ((), {}), Budget(seconds=0, without_gc=True), 1)
    except ValueError:
        assert fails
    assert seen
    assert not any(seen)
    assert gc.isenabled()


def test_real_sleeps_are_timed() -> None:
    measurement = measure(time.sleep, ((0.005,), {}), Budget(seconds=0, rounds=5), 1)
    assert min(sample.elapsed_ns for sample in measurement.samples) >= 5e6
