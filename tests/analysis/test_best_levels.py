"""The best level of a factor: usable levels, then errors, tail, maximum and variation, where they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import geometric_mean

import numpy as np
import pytest

from analysis.runs import run_of
from loadcell.analysis.analyse import analyse
from loadcell.analysis.best_levels import Choice, choices
from loadcell.analysis.level_criteria import ERRORS, TAIL, Criterion
from loadcell.model.gc_pauses import SHARE
from loadcell.model.trial_record import Counts, Status, TrialRecord
from records import latency, with_field, with_times

CACHE = "target.jvm.cache"


def run_with(p99s: Mapping[str, Sequence[float | None]], key: str = CACHE) -> list[Choice]:
    """Choices of a run with one factor and these tails (ms); None: the trial failed."""
    levels = {name: {key: name} for name in p99s}
    return _choices(p99s, levels)


def _choices(
    p99s: Mapping[str, Sequence[float | None]],
    levels: Mapping[str, Mapping[str, str]],
    failed: Mapping[str, int] | None = None,
    most_failed: float = 0.05,
) -> list[Choice]:
    # a trial has a tenth of its throughput as p99
    run, records = run_of(
        {name: [None if value is None else value * 10 for value in row] for name, row in p99s.items()},
        levels=levels,
    )
    counted = [_failing(record, (failed or {}).get(record.treatment, 0)) for record in records]
    return list(choices(analyse(run, counted).treatments, most_failed))


def _failing(record: TrialRecord, failed: int) -> TrialRecord:
    if record.totals is None:
        return record
    counts = Counts(attempted=10_000, succeeded=10_000 - failed, failed=failed)
    return replace(record, totals=replace(record.totals, transactions=counts))


def test_the_level_with_the_shortest_tail_is_best() -> None:
    [choice] = run_with({"5": [30, 31, 29], "10": [20, 21, 19], "20": [40, 41, 42]})
    assert choice.best is not None
    assert (choice.name, choice.best.label, choice.best.values) == ("cache", "10", {CACHE: "10"})
    [step] = choice.steps
    assert (step.criterion.name, [level.label for level in step.excluded]) == ("p99", ["5", "20"])


def test_levels_that_do_not_differ_are_not_distinguishable() -> None:
    [choice] = run_with({"5": [30, 20, 25], "10": [24, 29, 21], "20": [90, 95, 85]})
    assert choice.best is None
    assert [level.label for level in choice.remaining] == ["10", "5"], "the lower median first"
    assert [level.label for step in choice.steps for level in step.excluded] == ["20"]


def test_differences_that_do_not_matter_exclude_nothing() -> None:
    [choice] = run_with({"5": [20.0, 20.01, 20.0], "10": [20.4, 20.41, 20.4]})
    assert choice.repeated
    assert not choice.steps


def test_nothing_is_distinguished_without_repeats() -> None:
    [choice] = run_with({"5": [20], "10": [90]})
    assert not choice.repeated
    assert len(choice.remaining) == 2


def test_unusable_levels_are_excluded_first() -> None:
    levels = {name: {CACHE: name} for name in ("5", "10", "30")}
    p99s: dict[str, list[float | None]] = {"5": [30, 31], "10": [20, None], "30": [1, 2]}
    [choice] = _choices(p99s, levels, failed={"30": 6_000})
    assert choice.best is not None
    assert choice.best.label == "5", "the only usable one"
    assert [level.label for level in choice.unusable] == ["10", "30"]
    [choice] = _choices({"5": [30, 31], "30": [1, 2]}, levels, failed={"5": 6_000, "30": 7_000})
    assert choice.remaining == ()


def test_errors_decide_before_response_times() -> None:
    levels = {name: {CACHE: name} for name in ("5", "10")}
    p99s = {"5": [30, 31, 30], "10": [20, 21, 20]}
    [choice] = _choices(p99s, levels, failed={"10": 200})
    assert choice.best is not None
    assert (choice.best.label, choice.steps[0].criterion.name) == ("5", "errors")
    [choice] = _choices(p99s, levels, failed={"10": 3})
    assert choice.best is not None
    assert choice.best.label == "10", "0.03% of failures do not matter"


def test_other_factors_are_blocks() -> None:
    """The heap changes all tails tenfold, the cache each by a third."""
    levels = {
        f"{heap}-{cache}": {"heap": heap, CACHE: cache} for heap in ("1g", "2g") for cache in ("5", "10")
    }
    p99s = {"1g-5": [400, 410], "1g-10": [300, 305], "2g-5": [40, 41], "2g-10": [30, 30.5]}
    heap, cache = _choices(p99s, levels)
    assert (heap.best and heap.best.label, heap.averaged) == ("2g", ("cache",))
    assert (cache.best and cache.best.label, cache.averaged) == ("10", ("heap",))
    assert cache.best is not None
    assert cache.best.values == {CACHE: "10"}


def test_a_level_with_one_unusable_combination_is_usable() -> None:
    levels = {
        f"{heap}-{cache}": {"heap": heap, CACHE: cache} for heap in ("1g", "2g", "4g") for cache in "ab"
    }
    p99s: dict[str, list[float | None]] = {name: [30.0, 31.0] for name in levels}
    p99s |= {"4g-a": [10.0, 11.0], "1g-b": [20.0, 21.0], "2g-b": [20.0, 21.0], "4g-b": [9.0, None]}
    heap, cache = _choices(p99s, levels)
    assert [level.label for level in cache.unusable] == ["b"]
    assert all(level.usable for level in cache.levels)
    assert [level.label for level in heap.levels if not level.usable] == ["4g"]


def test_the_load_is_not_chosen() -> None:
    assert run_with({"8": [20, 21], "16": [40, 41]}, "load.clients") == []


@pytest.mark.parametrize("path", ["workload.http.requests", "load.clients"])
def test_the_work_is_not_chosen_whatever_its_name(path: str) -> None:
    levels = {name: {CACHE: name[0], "operation": name[1:]} for name in ("5get", "5set", "9get", "9set")}
    run, records = run_of({name: [200, 210] for name in levels}, levels=levels)
    described = [
        replace(item, values={CACHE: item.levels[CACHE], path: item.levels["operation"]})
        for item in run.treatments
    ]
    treatments = analyse(replace(run, treatments=tuple(described)), records).treatments
    assert [choice.key for choice in choices(treatments)] == [CACHE]


@pytest.mark.parametrize("status", [Status.INVALID, Status.ABORTED])
def test_trials_that_show_nothing_condemn_no_level(status: Status) -> None:
    levels = {name: {CACHE: name} for name in ("5", "10")}
    run, records = run_of({"5": [300, 310, 305], "10": [200, 210, 205]}, levels=levels)
    records[1] = replace(records[1], status=status)
    [choice] = choices(analyse(run, records).treatments)
    assert choice.best is not None
    assert (choice.best.label, choice.unusable) == ("10", ())


def test_a_metric_of_0_excludes_no_level() -> None:
    levels = {name: {CACHE: name} for name in ("5", "10")}
    run, records = run_of({"5": [200, 201], "10": [200, 201]}, levels=levels)
    records = [with_times(item, stdev_ms=0.0 if item.treatment == "10" else 2.0) for item in records]
    [choice] = choices(analyse(run, records).treatments)
    assert len(choice.remaining) == 2


def test_identical_levels_rarely_differ_significantly() -> None:
    """In at most 5 of 100 runs of four levels and four repeats (two standard errors above: 9)."""
    chance = np.random.default_rng(11)
    wrong = 0
    for _ in range(100):
        p99s = {name: list(20 * np.exp(chance.normal(0, 0.1, 4))) for name in ("5", "10", "20", "30")}
        [choice] = run_with(p99s)
        wrong += len(choice.remaining) < 4
    assert wrong <= 9


def test_time_in_pauses_decides_last() -> None:
    levels = {name: {CACHE: name} for name in ("Serial", "G1", "ZGC")}
    tails: dict[str, list[float | None]] = {
        "Serial": [200, 210, 190],
        "G1": [201, 209, 191],
        "ZGC": [199, 211, 190],
    }
    run, records = run_of(tails, levels=levels)
    shares = {"Serial": 0.05, "G1": 0.012, "ZGC": 0.0}
    records = [
        replace(
            record,
            totals=replace(
                record.totals, figures={SHARE: shares[record.treatment] * (1 + record.repeat / 50)}
            ),
        )
        for record in records
        if record.totals is not None
    ]
    [choice] = choices(analyse(run, records).treatments)
    assert choice.best is not None
    assert choice.best.label == "ZGC"
    assert [step.criterion.name for step in choice.steps] == ["gc"]


def test_a_longer_maximum_decides_where_tails_do_not() -> None:
    levels = {name: {CACHE: name} for name in ("5", "10")}
    run, records = run_of({"5": [200, 210, 190], "10": [201, 209, 191]}, levels=levels)
    maxima = {"5": (900.0, 950.0, 920.0), "10": (100.0, 110.0, 105.0)}
    records = [with_times(record, max_ms=maxima[record.treatment][record.repeat - 1]) for record in records]
    [choice] = choices(analyse(run, records).treatments)
    assert choice.best is not None
    assert (choice.best.label, choice.steps[0].criterion.name) == ("10", "max")


HEAP = "target.jvm.heap"


def _two_factors(
    p99s: Mapping[str, Sequence[float | None]], failed: Mapping[str, int] | None = None
) -> Choice:
    """The choice of the cache; a name is its level and an operation."""
    levels = {name: {CACHE: name.split("-")[0], HEAP: name.split("-")[1]} for name in p99s}
    return _choices(p99s, levels, failed)[0]


def _value(choice: Choice, label: str, criterion: Criterion = TAIL) -> float | None:
    return next(choice.value(level, criterion) for level in choice.levels if level.label == label)


SLOW_CRASHES: Mapping[str, Sequence[float | None]] = {
    "5-get": [20, 21, 19], "5-set": [30, 31, 29], "5-mget": [500, 510, 505],
    "9-get": [22, 23, 21], "9-set": [33, 34, 32], "9-mget": [None, None, None],
}  # fmt: skip


def test_a_level_whose_slowest_combination_crashed_is_not_the_fastest() -> None:
    choice = _two_factors(SLOW_CRASHES)
    means = (geometric_mean((20, 30)), geometric_mean((22, 33)))
    assert (_value(choice, "5"), _value(choice, "9")) == pytest.approx(means), "without mget"
    assert choice.remaining[0].label == "5"
    [tail] = [item for item in choice.comparisons if item.criterion is TAIL]
    assert tail.combinations == {("get",), ("set",)}


def test_levels_without_unusable_treatments_are_named_first() -> None:
    choice = _two_factors({**SLOW_CRASHES, "9-get": [19, 20, 21], "9-set": [28, 30, 29]})
    assert [level.label for level in choice.remaining] == ["5", "9"]
    assert choice.has_lowest_tail(choice.remaining[1], choice.remaining)
    assert not choice.has_lowest_tail(choice.remaining[0], choice.remaining)


def test_a_combination_missing_repeats_counts_as_much_as_others() -> None:
    choice = _two_factors(
        {"5-get": [10, 10, 10], "5-set": [90, 90, 90], "9-get": [10, 10, 10], "9-set": [90]}
    )
    assert (_value(choice, "5"), _value(choice, "9")) == pytest.approx((30, 30))


def test_the_survivors_of_an_unusable_treatment_are_not_compared() -> None:
    choice = _two_factors({**SLOW_CRASHES, "9-mget": [5, None, None]})
    assert _value(choice, "9") == pytest.approx(geometric_mean((22, 33)))
    [tail] = [item for item in choice.comparisons if item.criterion is TAIL]
    assert tail.combinations == {("get",), ("set",)}
    assert choice.remaining[0].label == "5"


def test_failures_of_unusable_treatments_are_counted() -> None:
    p99s = {f"{cache}-{heap}": [20, 21, 19] for cache in "59" for heap in ("get", "set", "mget")}
    choice = _two_factors(p99s, {"9-mget": 4_000})
    assert _value(choice, "9", ERRORS) == pytest.approx(0.4 / 3), "of all requests"
    assert _value(choice, "5", ERRORS) == 0


#: Medians over the operations prefer B, ratios of the tails A: 140/200, 300/280 and 800/1200.
CROSSED: Mapping[str, Sequence[float | None]] = {
    "A-get": [140, 140.2, 140.1], "A-set": [300, 300.2, 300.1], "A-mget": [800, 800.2, 800.1],
    "B-get": [200, 200.2, 200.1], "B-set": [280, 280.2, 280.1], "B-mget": [1200, 1200.2, 1200.1],
}  # fmt: skip


def test_the_best_level_is_that_of_the_test_and_not_of_a_median() -> None:
    for order in (CROSSED, dict(reversed(CROSSED.items()))):
        choice = _two_factors(order)
        assert choice.remaining[0].label == "A"
        assert all(step.best.label == "A" for step in choice.steps)
        values = [_value(choice, label) for label in "AB"]
        means = (geometric_mean((140.1, 300.1, 800.1)), geometric_mean((200.1, 280.1, 1200.1)))
        assert values == pytest.approx(means)


def test_a_criterion_decides_nothing_without_common_combinations() -> None:
    p99s = {name: [20, 21, 19] for name in ("5-get", "5-set", "9-get", "9-set")}
    levels = {name: {CACHE: name.split("-")[0], HEAP: name.split("-")[1]} for name in p99s}
    run, records = run_of({name: [10 * value for value in row] for name, row in p99s.items()}, levels=levels)
    without = [
        with_field(
            record,
            "totals.response",
            latency(50, mean_ms=5.0 if record.treatment[0] == "5" else 9.0, max_ms=40.0),
        )
        if record.treatment in ("5-get", "9-set")
        else record
        for record in records
    ]
    choice = choices(analyse(run, without).treatments)[0]
    assert not any(item.decides for item in choice.comparisons if item.criterion is TAIL)
    assert [_value(choice, label) for label in ("5", "9")] == [None, None]
    assert all(level.lacks_tail and not level.has_few_requests for level in choice.levels)


@pytest.mark.parametrize("deviation", [2.5, 3.05])
def test_a_larger_coefficient_of_variation_by_a_smaller_mean_is_not_worse(deviation: float) -> None:
    levels = {name: {CACHE: name} for name in ("5", "10", "20")}
    run, records = run_of({name: [200, 210, 190] for name in levels}, levels=levels)
    means, deviations = {"5": 10.0, "10": 5.0, "20": 10.0}, {"5": 3.0, "10": deviation, "20": 6.0}
    records = [
        with_times(
            record,
            mean_ms=means[record.treatment],
            stdev_ms=deviations[record.treatment] * (1 + record.repeat / 100),
        )
        for record in records
    ]
    [choice] = choices(analyse(run, records).treatments)
    [step] = choice.steps
    assert (step.criterion.name, step.best.label) == ("variation", "5")
    assert [level.label for level in step.excluded] == ["20"], (
        "10 has no larger standard deviation that matters"
    )
