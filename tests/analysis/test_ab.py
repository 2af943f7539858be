"""ab's values from a trial's record, by ab's definitions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from loadcell.analysis import ab
from loadcell.model.latency import Latency
from loadcell.model.trial_record import (
    ClientUsage,
    ErrorRecord,
    OperationStats,
    ThreadUsage,
    Totals,
    TrialRecord,
    Window,
)
from records import latency, trial


def times_of(count: int, mean_ms: float) -> Latency:
    return latency(count, mean_ms=mean_ms, stdev_ms=1.0, min_ms=1.0, max_ms=9.0, p50_ms=2.0)


def served(count: int, mean_ms: float) -> OperationStats:
    return OperationStats(service=times_of(count, mean_ms))


ERRORS = {"http-500": 40, "refused": 1, "timeout": 2, "reset": 3, "length": 4, "protocol": 5}
RECORD = trial(
    measure=Window(2.0),
    totals=Totals(
        statuses={"2xx": 900, "3xx": 60, "5xx": 40},
        received_bytes_per_s=5000.0,
        service=times_of(960, 4.0),
    ),
    operations={"connect": served(96, 3.0), "first_byte": served(1000, 2.5)},
    errors=tuple(ErrorRecord(code, count) for code, count in ERRORS.items()),
    client=ClientUsage((ThreadUsage(connections=6), ThreadUsage(connections=4))),
)


def record(**changes: Any) -> TrialRecord:
    return replace(RECORD, **changes)


def of(record: TrialRecord) -> ab.Ab:
    result = ab.of_record(record)
    assert result is not None
    return result


def test_counts_and_rates_are_ab_s() -> None:
    scores = of(record())
    assert (scores.complete, scores.non_2xx, scores.requests_per_s) == (1000, 100, 500)
    assert scores.time_per_request_ms == 10 * 2.0 * 1e3 / 1000
    assert (scores.connect, scores.receive, scores.length, scores.exceptions) == (1, 5, 4, 5)
    assert scores.failed == 15


def test_a_connection_that_is_used_again_took_no_time() -> None:
    times = of(record()).times
    connect = times["connect"]
    assert (connect.min_ms, connect.median_ms, connect.max_ms) == (0, 0, 9)
    assert connect.mean_ms == pytest.approx(0.3)
    # The same by hand: 864 zeros, and 96 values with mean 3 and deviation 1.
    assert connect.stdev_ms == pytest.approx((0.1 * (1 + 9) - 0.09) ** 0.5)
    assert times["processing"].mean_ms == pytest.approx(3.7)
    assert times["waiting"].mean_ms == 2.5
    always = of(record(operations={"connect": served(960, 3.0), "first_byte": OperationStats()})).times
    assert (always["connect"].min_ms, always["connect"].median_ms) == (1, 2)
    never = of(record(operations={"connect": OperationStats(), "first_byte": OperationStats()})).times[
        "connect"
    ]
    assert never == ab.Times(0.0, 0.0, 0.0, 0.0, 0.0)


def test_what_is_no_http_has_no_such_values() -> None:
    assert ab.of_record(record(operations={})) is None
    assert ab.of_record(record(totals=None)) is None
    assert ab.of_record(trial()) is None


def test_percentages_are_of_requests_not_of_values() -> None:
    values, counts = np.array([1.0, 2.0, 3.0]), np.array([50, 49, 1])
    result = ab.served(values, counts)
    assert result == {50: 1.0, 66: 2.0, 75: 2.0, 80: 2.0, 90: 2.0, 95: 2.0, 98: 2.0, 99: 2.0, 100: 3.0}
    assert ab.served(np.array([7.0]), np.array([1]))[50] == 7.0
    longest = ab.served(np.array([1.0, 7.01]), np.array([50, 50]), 7.0)
    assert (longest[50], longest[100]) == (1.0, 7.0), "cells of the histogram end later than what is in them"
    assert ab.served(np.array([]), np.array([], dtype=np.int64)) == {}


def test_repeats_give_their_median() -> None:
    results = [of(record()), of(record(measure=Window(1.0))), of(record(measure=Window(4.0)))]
    assert ab.middle(results).requests_per_s == 500
    assert ab.middle(results).times["total"].mean_ms == 4.0
    assert ab.middle_served([{}, dict.fromkeys(ab.SERVED, 2.0), dict.fromkeys(ab.SERVED, 4.0)])[50] == 3.0
    assert ab.middle_served([{}]) == {}
