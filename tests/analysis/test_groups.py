"""Client groups in the analysis: each as a separate trial, put together over repeats; Little's law of
closed beside open ones.
"""

from __future__ import annotations

from dataclasses import replace

from analysis.runs import run_of
from loadcell.analysis import validity
from loadcell.analysis.analyse import Analysis, analyse
from loadcell.analysis.groups import over, records
from loadcell.analysis.trials import from_record
from loadcell.model.trial_record import (
    Backlog,
    ClientUsage,
    Counts,
    ErrorRecord,
    GroupRecord,
    OperationStats,
    Schedule,
    Status,
    TrialRecord,
)
from records import operation as operation_of
from records import with_field


def operation(kind: str, succeeded: int, mean_ms: float) -> OperationStats:
    return operation_of(kind, succeeded, mean_ms=mean_ms, p99_ms=3 * mean_ms, max_ms=4 * mean_ms)


def with_groups(record: TrialRecord, shop: int, look: int) -> TrialRecord:
    """A record of two groups over 10 s: four clients in a closed loop, and an open one with 1.5 requests on
    average.
    """
    schedule = Schedule(
        "poisson", offered_per_s=30.0, achieved_per_s=look / 10, backlog=Backlog(peak=7), requests_mean=1.5
    )
    return replace(
        with_field(record, "totals.transactions", Counts(succeeded=shop + look)),
        settings={"load": {}},
        operations={
            "shop": operation("type", shop, 40_000 / shop),
            "shop:new_order": operation("type", shop // 2, 20.0),
            "shop:skipped": operation("outcome", 3, 20.0),
            "look": operation("type", look, 15_000 / look),
            "look:select": operation("read", look, 1.0),
        },
        errors=(ErrorRecord("40001", 4, message="again", group="shop"),),
        groups={
            "shop": GroupRecord("tpcc", clients=4, client=ClientUsage(), figures={"tpmC": 9.0}),
            "look": GroupRecord("pgbench", clients=2, client=ClientUsage(), schedule=schedule),
        },
    )


def analysis() -> Analysis:
    run, result = run_of({"10": [100.0, 120.0, 900.0]})
    shops = (400, 500, 9_999)
    result = [with_groups(item, shop, 300) for item, shop in zip(result, shops, strict=True)]
    result[2] = replace(result[2], status=Status.INVALID)
    return analyse(run, result)


def test_a_group_is_a_trial_of_one() -> None:
    trial = analysis().trials[0]
    shop, look = trial.groups["shop"], trial.groups["look"]
    assert (shop.clients, shop.succeeded, shop.figures, shop.open_loop) == (4, 400, {"tpmC": 9.0}, None)
    assert list(shop.types) == ["new_order"]
    assert list(shop.outcomes) == ["skipped"]
    assert [error.code for error in shop.errors] == ["40001"]
    assert (look.types, look.errors) == ({}, ())
    assert look.open_loop is not None
    assert look.open_loop.offered_per_s == 30.0


def test_groups_are_no_types_of_the_whole_but_their_types_are() -> None:
    [treatment] = analysis().treatments
    assert [item.name for item in treatment.types] == ["shop:new_order"]
    assert [outcome.name for outcome in treatment.outcomes] == ["shop:skipped"]


def test_groups_are_combined_over_the_repeats_that_count() -> None:
    [treatment] = analysis().treatments
    shop, look = over(treatment)
    assert (shop.name, shop.clients, shop.succeeded, shop.share) == ("shop", 4, 900, 0.6)
    assert (look.name, look.succeeded, look.share) == ("look", 600, 0.4)
    assert shop.throughput.values == (40.0, 50.0)
    assert shop.offered.median is None
    assert (look.offered.median, look.backlog.median) == (30.0, 7.0)
    assert look.response["p99_ms"].median == 150.0


def test_a_run_without_groups_has_none() -> None:
    run, result = run_of({"10": [100.0]})
    assert records(result[0]) == {}
    [treatment] = analyse(run, result).treatments
    assert over(treatment) == ()


class TestLittlesLaw:
    def law(self, shop_s: float = 40.0, look_s: float = 15.0) -> validity.Law:
        """Totals of groups whose response times add up to these seconds."""
        _, run = run_of({"10": [100.0]})
        record = with_groups(run[0], 400, 300)
        operations = {
            **record.operations,
            "shop": with_field(record.operations["shop"], "response.mean_ms", shop_s * 1e3 / 400),
            "look": with_field(record.operations["look"], "response.mean_ms", look_s * 1e3 / 300),
        }
        return validity.littles_law(from_record(replace(record, operations=operations)))

    def test_holds_if_it_holds_of_each(self) -> None:
        law = self.law()
        assert law.verdict == "ok"
        assert law.expected == 4 + 1.5
        assert law.measured is not None
        assert abs(law.measured - 5.5) < 1e-9

    def test_does_not_hold_if_it_holds_of_the_sum_only(self) -> None:
        assert self.law(shop_s=35.0, look_s=20.0).verdict == "broken"
