"""Capacity of runs with known throughputs and known verdicts of their bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from analysis.runs import run_of
from loadcell.analysis.analyse import Analysis, analyse
from loadcell.analysis.capacity import Capacity, CapacityError, Provision, capacities
from loadcell.model.trial_record import Check, ExpectationResult

BOUND = "latency.p99 < 20ms"
SIX = (1000.0, 1010.0, 1020.0, 1030.0, 1040.0, 1050.0)


def bounded(
    throughputs: Mapping[str, Sequence[float | None]],
    missed: Mapping[str, Sequence[int]],
    *,
    bound: str = BOUND,
    **more: Any,
) -> Analysis:
    """A run whose trials met the bound, but for those repeats of the treatments in `missed`."""
    run, records = run_of(throughputs, **more)
    return analyse(
        run,
        [
            replace(
                record,
                expect=(
                    ExpectationResult(
                        bound, "missed" if record.repeat in missed.get(record.treatment, ()) else "met", 19.0
                    ),
                ),
            )
            for record in records
        ],
    )


def only(analysis: Analysis) -> Capacity:
    [capacity] = capacities(analysis)
    return capacity


def codes(capacity: Capacity, provision: Provision = Provision()) -> list[str]:  # noqa: B008
    return [message.code.removeprefix("capacity.") for message in capacity.sentences(provision)]


def test_the_capacity_is_the_highest_throughput_whose_trials_all_met_the_bounds() -> None:
    analysis = bounded({"4": [500.0] * 6, "8": SIX, "16": [1500.0] * 6}, {"16": [3]})
    capacity = only(analysis)
    assert capacity.treatment is not None
    assert (capacity.treatment.id, capacity.rate_per_s, capacity.open_ended) == ("8", 1025.0, False)
    assert codes(capacity) == ["highest", "interval", "provision"]
    assert capacity.bounds == (BOUND,)


def test_a_system_without_a_factor_of_load_is_named_once_with_its_clients() -> None:
    run, records = run_of({"on": SIX}, levels={"on": {"commit": "on"}})
    [treatment] = run.treatments
    met = (ExpectationResult(BOUND, "met", 19.0),)
    run = replace(run, treatments=(replace(treatment, settings={"load": {"clients": 8}}),))
    capacity = only(analyse(run, [replace(record, expect=met) for record in records]))
    sentence = next(iter(capacity.sentences(Provision())))
    assert (sentence.arguments["levels"], str(sentence.arguments["treatment"])) == (
        "commit = on",
        "8 clients",
    )


def test_a_system_with_a_factor_of_load_is_named_once_with_the_level() -> None:
    levels = {str(load): {"commit": "on", "load.clients": load} for load in (8, 16)}
    capacity = only(bounded({"8": SIX, "16": [1500.0] * 6}, {"16": [1]}, levels=levels))
    sentence = next(iter(capacity.sentences(Provision())))
    assert (sentence.arguments["levels"], str(sentence.arguments["treatment"])) == (
        "commit = on",
        "clients = 8",
    )


def test_headroom_and_instances_scale_rate_and_interval() -> None:
    capacity = only(bounded({"8": SIX, "16": [1500.0] * 6}, {"16": [1]}))
    document = capacity.document(Provision(0.3, 4))
    assert document["capacity_per_s"] == 1025.0
    assert document["provisioned_per_s"] == pytest.approx(1025.0 * 0.7 * 4)
    assert document["provisioned_low_per_s"] == pytest.approx(document["low_per_s"] * 2.8)
    assert document["provisioned_high_per_s"] == pytest.approx(document["high_per_s"] * 2.8)
    assert 1000.0 <= document["low_per_s"] < 1025.0 < document["high_per_s"] <= 1050.0
    assert document["is_interval"] is True


def test_too_few_repeats_have_a_range_and_no_interval() -> None:
    capacity = only(bounded({"8": [1000.0, 1100.0], "16": [1500.0, 1500.0]}, {"16": [1]}))
    assert codes(capacity) == ["highest", "range", "provision"]
    document = capacity.document(Provision())
    assert (document["low_per_s"], document["high_per_s"], document["is_interval"]) == (1000.0, 1100.0, False)


def test_where_nothing_missed_a_bound_the_capacity_may_be_higher() -> None:
    assert codes(only(bounded({"8": SIX, "16": SIX}, {})))[-1] == "open-ended"


def test_of_offered_rates_the_higher_one_is_more_load() -> None:
    """Where a higher rate fails and achieves less, the capacity is bounded from above."""
    levels = {rate: {"load.rate": f"{rate}/s"} for rate in ("500", "1000", "2000")}
    throughputs = {"500": [500.0] * 6, "1000": [1000.0] * 6, "2000": [900.0] * 6}
    assert not only(bounded(throughputs, {"2000": [1]}, levels=levels)).open_ended
    floor = bounded(throughputs, {"500": [1]}, levels=levels, bound="throughput >= 700/s")
    assert only(floor).open_ended, "less load missed a bound"


def test_a_load_above_one_that_missed_the_bounds_does_not_count() -> None:
    """8 clients meet the bound, 16 miss it in one half of the repeats, and 32 meet it by chance."""
    throughputs = {"8": SIX, "16": [1500.0] * 6, "32": [1600.0] * 6}
    capacity = only(bounded(throughputs, {"16": [1, 2, 3]}))
    assert (capacity.rate_per_s, capacity.open_ended) == (1025.0, False)
    assert codes(capacity) == ["highest", "interval", "provision", "passed-over"]
    assert (capacity.missed_below, capacity.passed_over) == (("clients = 16",), ("clients = 32",))
    document = capacity.document(Provision())
    assert (document["missed_below"], document["passed_over"]) == (["clients = 16"], ["clients = 32"])


def test_a_failed_trial_is_a_miss_that_higher_loads_do_not_pass_over() -> None:
    capacity = only(bounded({"8": SIX, "16": [1500.0, None], "32": [1600.0, 1610.0]}, {}))
    assert (capacity.rate_per_s, capacity.missed_below) == (1025.0, ("clients = 16",))


def test_where_the_lowest_load_missed_the_bounds_there_is_no_capacity() -> None:
    capacity = only(bounded({"8": SIX, "16": [1500.0] * 6}, {"8": [2]}))
    assert capacity.treatment is None
    assert codes(capacity) == ["none-below", "passed-over"]


def test_a_slower_load_above_a_miss_is_no_remark() -> None:
    capacity = only(bounded({"8": SIX, "16": [900.0] * 6, "32": [800.0] * 6}, {"16": [1]}))
    assert codes(capacity) == ["highest", "interval", "provision"]


def test_a_low_load_may_miss_a_least_throughput() -> None:
    throughputs = {"4": [500.0] * 6, "8": SIX}
    floor = only(bounded(throughputs, {"4": [1]}, bound="throughput >= 700/s"))
    assert (floor.rate_per_s, floor.missed_below) == (1025.0, ())


def test_loads_are_compared_where_all_else_is_equal() -> None:
    """With a pipeline, 4 clients that miss the bound say nothing of 8 clients without one."""
    levels = {
        name: {"load.clients": clients, "load.pipeline": pipeline}
        for name, clients, pipeline in (("4x1", 4, 1), ("8x1", 8, 1), ("4x16", 4, 16), ("8x16", 8, 16))
    }
    throughputs = {"4x1": [500.0], "8x1": [900.0], "4x16": [2000.0], "8x16": [2500.0]}
    capacity = only(bounded(throughputs, {"4x16": [1]}, levels=levels))
    assert (capacity.rate_per_s, len(capacity.passed_over)) == (900.0, 1)
    assert capacity.passed_over[0].startswith("clients = 8, pipeline = 16")


def test_a_failed_trial_is_not_within_the_bounds() -> None:
    capacity = only(bounded({"8": [1000.0, 1000.0], "16": [1500.0, None]}, {}))
    assert capacity.treatment is not None
    assert (capacity.treatment.id, capacity.open_ended) == ("8", False)


def checked(names: Sequence[str]) -> Capacity:
    """The capacity of a run in whose first trial these checks noticed something."""
    run, records = run_of({"8": SIX})
    met = (ExpectationResult(BOUND, "met", 19.0),)
    noticed = tuple(Check(name, "noticed") for name in names)
    first, *others = (replace(record, expect=met) for record in records)
    return only(analyse(run, [replace(first, checks=noticed), *others]))


def test_a_load_generator_that_waits_is_no_disturbance_by_other_work() -> None:
    """On a saturated machine it shares the cores with the target: the check's advice applies."""
    capacity = checked(["client-waiting"])
    assert (capacity.disturbed, capacity.warned) == (0, {"client-waiting": 1})
    *_, last = capacity.sentences(Provision())
    assert last.text == (
        "The load generator often waited for a core: 1 of 6 trials. Response times include that waiting: "
        "keep cores free for the load generator, or use another machine for it."
    )
    assert codes(capacity) == ["highest", "interval", "provision", "open-ended", "warned"]


def test_a_load_generator_that_waits_for_other_work_was_disturbed() -> None:
    capacity = checked(["client-waiting", "other-processes"])
    assert (capacity.disturbed, capacity.warned) == (1, {})
    assert codes(capacity)[-1] == "disturbed"


def test_where_every_treatment_missed_a_bound_there_is_no_capacity() -> None:
    capacity = only(bounded({"8": [1000.0], "16": [1500.0]}, {"8": [1], "16": [1]}))
    assert codes(capacity) == ["none-within"]
    assert capacity.document(Provision())["provisioned_per_s"] is None


def test_each_combination_of_factors_other_than_the_load_has_its_capacity() -> None:
    levels = {
        f"{storage}{clients}": {"storage": storage, "load.clients": clients}
        for storage in ("local", "remote")
        for clients in (8, 16)
    }
    throughputs = {"local8": [900.0], "local16": [1500.0], "remote8": [300.0], "remote16": [350.0]}
    local, remote = capacities(bounded(throughputs, {"remote16": [1]}, levels=levels))
    assert (dict(local.levels), local.rate_per_s, local.open_ended) == ({"storage": "local"}, 1500.0, True)
    assert (dict(remote.levels), remote.rate_per_s, remote.open_ended) == (
        {"storage": "remote"},
        300.0,
        False,
    )


def test_a_run_without_bounds_has_no_capacity() -> None:
    with pytest.raises(CapacityError, match="has no bound") as caught:
        capacities(analyse(*run_of({"8": [1000.0]})))
    assert "subject to" in caught.value.advice
