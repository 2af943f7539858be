"""N = X R, from stored totals."""

from __future__ import annotations

from dataclasses import replace

import pytest

from loadcell.analysis import validity
from loadcell.analysis.trials import Trial, from_record
from loadcell.model.latency import Latency
from loadcell.model.trial_record import Check, Counts, OperationStats, Status, Totals, TrialRecord, Window


def trial(
    *,
    clients: int | None = 16,
    succeeded: int = 16_000,
    failed: int = 0,
    mean_ms: float = 10.0,
    reconnecting_s: float = 0.0,
    resting_s: float = 0.0,
    edges_s: float = 0.0,
) -> Trial:
    """A trial of 10 s."""
    return Trial(
        1, "001-x-r1", "x", 1, 1, "ok", throughput_per_s=succeeded / 10, succeeded=succeeded, failed=failed,
        duration_s=10.0, clients=clients, response={"mean_ms": mean_ms, "max_ms": 2 * mean_ms},
        reconnecting_s=reconnecting_s, resting_s=resting_s, edges_s=edges_s,
    )  # fmt: skip


def test_it_holds_where_clients_equal_throughput_times_response_time() -> None:
    law = validity.littles_law(trial())
    assert (law.verdict, law.expected, law.measured) == ("ok", 16, pytest.approx(16))


@pytest.mark.parametrize(("succeeded", "mean_ms"), [(16_000, 11.0), (16_000, 9.0), (14_000, 10.0)])
def test_lost_counts_and_wrong_times_break_it(succeeded: int, mean_ms: float) -> None:
    assert validity.littles_law(trial(succeeded=succeeded, mean_ms=mean_ms)).verdict == "broken"


def test_what_is_in_progress_at_the_ends_is_made_up_for() -> None:
    """A tenth of the time is in transactions that were not over when the window was."""
    assert validity.littles_law(trial(succeeded=14_400)).verdict == "broken"
    assert validity.littles_law(trial(succeeded=14_400, edges_s=16.0)).verdict == "ok"
    assert validity.littles_law(trial(edges_s=16.0)).verdict == "broken"


def test_long_transactions_are_given_the_windows_two_edges() -> None:
    """Four clients whose transactions take 2 s: within 10 s, one transaction a client more or less."""
    assert validity.littles_law(trial(clients=4, succeeded=24, mean_ms=2000)).verdict == "ok"
    assert validity.littles_law(trial(clients=4, succeeded=40, mean_ms=2000)).verdict == "broken"


def test_time_without_a_connection_may_be_missing() -> None:
    """Four client-seconds of 160 were spent without one."""
    assert validity.littles_law(trial(succeeded=15_600)).verdict == "broken"
    assert validity.littles_law(trial(succeeded=15_600, reconnecting_s=4.0)).verdict == "ok"


def test_time_that_clients_rest_is_part_of_it() -> None:
    """Each of 16 clients rests for 9 of 10 s, and is in a transaction for one."""
    assert validity.littles_law(trial(succeeded=1_600, resting_s=144.0)).verdict == "ok"
    assert validity.littles_law(trial(succeeded=1_600, resting_s=100.0)).verdict == "broken"


def test_it_is_not_judged_without_what_it_needs() -> None:
    assert validity.littles_law(trial(clients=None)).verdict == "unknown"
    assert validity.littles_law(trial(succeeded=0)).verdict == "unknown"
    assert validity.littles_law(trial(failed=1600)).verdict == "unknown"
    assert validity.littles_law(Trial(1, "n", "t", 1, 1, "failed")).verdict == "unknown"


def test_as_many_at_once_as_the_run_judged_by_are_no_mistake() -> None:
    """A disk's queue of 32: its depth is in the probe's own section, and in what the run held the law
    against.
    """
    record = TrialRecord(
        1, "001-x-r1", "x", repeat=1, block=1, status=Status.OK,
        settings={"load": {"clients": 1}, "workload": {"probe": {"disk": {"depth": 32}}}},
        measure=Window(10.0), totals=Totals(Counts(1, succeeded=16_000), throughput_per_s=1600.0),
        operations={"transaction": OperationStats(response=Latency(mean_ms=20.0, max_ms=40.0))},
    )  # fmt: skip
    check = Check("littles-law", "ok", {"pipeline": 32})
    assert from_record(replace(record, checks=(check,))).pipeline == 32
    assert from_record(record).pipeline == 1


def test_a_load_without_a_bound_of_requests_in_flight_is_not_judged() -> None:
    unbounded = replace(trial(succeeded=14_400), checks=(Check("littles-law", "unknown"),))
    assert validity.littles_law(unbounded).verdict == "unknown"
    assert not unbounded.is_bounded
    assert trial(succeeded=14_400).is_bounded
