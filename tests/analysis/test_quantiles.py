"""A percentile of too few observations is the maximum under another name, and so is none."""

from __future__ import annotations

import math

import pytest

from analysis.runs import run_of
from frame_values import columns_of, frame_of, values
from loadcell.analysis import trials
from loadcell.analysis.analyse import analyse
from loadcell.analysis.compare.metrics import METRICS
from loadcell.analysis.trials import QUANTILES, carried, carried_over_time, carries, from_record, left_out
from loadcell.model.latency import Latency
from loadcell.model.trial_record import Totals
from records import latency, with_field
from records import trial as record

TIMES = {"mean_ms": 2.0, "p50_ms": 1.0, "p95_ms": 3.0, "p99_ms": 4.0, "p99.9_ms": 5.0, "max_ms": 5.0}


@pytest.mark.parametrize("key", QUANTILES)
def test_a_quantile_needs_as_many_as_make_it_another_than_the_last(key: str) -> None:
    """The q-quantile of n is the ceil(nq)-th: the last, where fewer than one lies beyond it."""
    least = round(1 / (1 - QUANTILES[key]))
    for count in (1, least - 1, least, least + 1, 10 * least):
        result = math.ceil(round(count * QUANTILES[key], 9))
        assert carries({"count": count}, key) == (result < count)


def test_what_is_no_quantile_or_comes_without_a_number_of_observations_stays() -> None:
    assert carried({"count": 1, **TIMES}) == {"count": 1, "mean_ms": 2.0, "max_ms": 5.0}
    assert carried(TIMES) == TIMES
    assert carried(None) is None
    assert left_out({"count": 99, **TIMES}) == ("p99_ms", "p99.9_ms")


def test_points_over_time_are_left_out_by_the_same_rule() -> None:
    rows = frame_of(
        {
            "succeeded": [1, 50, 100, None],
            "response_p50_ms": [1.0, 2.0, 3.0, 4.0],
            "response_p99_ms": [1.0, 2.0, 3.0, 4.0],
            "response_max_ms": [1.0, 2.0, 3.0, 4.0],
        }
    )
    result = carried_over_time(rows)
    assert values(result, "response_p50_ms") == [None, 2.0, 3.0, 4.0]
    assert values(result, "response_p99_ms") == [None, None, 3.0, 4.0]
    assert values(result, "response_max_ms") == [1.0, 2.0, 3.0, 4.0]
    unsaid = rows.select("response_p50_ms", "response_p99_ms", "response_max_ms")
    assert columns_of(carried_over_time(unsaid)) == columns_of(unsaid)


def trial(count: int) -> trials.Trial:
    times = Latency.from_values({"count": count, **TIMES})
    return from_record(record(totals=Totals(throughput_per_s=5.0, response=times, service=times)))


def test_a_trial_has_only_what_its_transactions_carry() -> None:
    result = trial(99)
    assert (
        result.response
        == result.service
        == {"count": 99, "mean_ms": 2.0, "p50_ms": 1.0, "p95_ms": 3.0, "max_ms": 5.0}
    )
    assert result.left_out == ("p99_ms", "p99.9_ms")
    assert trials.lack([trial(10_000), result], ["p99_ms"])
    assert not trials.lack([result], ["p95_ms", "max_ms"])
    assert trial(1000).response == {"count": 1000, **TIMES}


def test_to_compare_takes_five_beyond() -> None:
    p99, mean = METRICS["p99"], METRICS["mean"]
    assert [(p99.of(trial(count)), p99.scarce(trial(count))) for count in (99, 499, 500)] == [
        (None, True), (4.0, True), (4.0, False),
    ]  # fmt: skip
    assert (mean.of(trial(1)), mean.scarce(trial(1))) == (2.0, False)


def test_a_percentile_that_some_repeats_lack_is_left_out_of_their_treatment() -> None:
    """The one trial that carries p99.99 was the fast one: the medians would fall from p99.9 to p99.99."""
    run, records = run_of({"1": [100.0, 100.0, 100.0]})
    counts_and_p999 = ((9_000, 50.0), (9_500, 52.0), (20_000, 30.0))
    slow_and_fast = [
        with_field(
            item, "totals.response",
            latency(count, mean_ms=5.0, p50_ms=4.0, p99_9_ms=p999, **{"p99.99_ms": 45.0}, max_ms=60.0),
        )
        for item, (count, p999) in zip(records, counts_and_p999, strict=True)
    ]  # fmt: skip
    (treatment,) = analyse(run, slow_and_fast).treatments
    assert treatment.latency["p99.9_ms"].median == 50.0
    assert treatment.latency["p99.99_ms"].median is None
    assert treatment.latency["max_ms"].median == 60.0
