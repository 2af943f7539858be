"""Types of transaction and outcomes, over the repeats of a treatment; and the findings that tell of a
workload's own metrics.
"""

from __future__ import annotations

from dataclasses import replace

from analysis.runs import findings_by_code, run_of
from loadcell.analysis.analyse import Analysis, analyse
from loadcell.analysis.error_codes import figure_name
from loadcell.model.trial_record import Check, OperationStats, Status, TrialRecord
from records import operation as operation_of
from records import with_field


def operation(kind: str, succeeded: int, p99_ms: float, failed: int = 0) -> OperationStats:
    times = {"mean_ms": p99_ms / 2, "p50_ms": p99_ms / 3, "p99_ms": p99_ms, "max_ms": p99_ms * 2}
    return operation_of(kind, succeeded, failed, **times)


def analysis(verdict: str = "ok") -> Analysis:
    """Three repeats of a TPC-C of sorts; the third does not count."""
    run, records = run_of({"10": [100.0, 120.0, 900.0]})

    def with_types(record: TrialRecord, orders: int) -> TrialRecord:
        figures = {"tpmC": orders * 6.0, "tpmTotal": 6_000.0}
        operations = {
            "new_order": operation("type", orders, 40.0 + orders / 10),
            "payment": operation("type", 1_000 - orders, 10.0, failed=2),
            "rolled_back": operation("outcome", orders // 100, 30.0),
            "never": operation("outcome", 0, 0.0),
            "select": operation("read", 9_000, 1.0),
        }
        checks = (Check("tpcc-consistency", verdict, {"a = b": 0}),)
        record = replace(record, operations=operations, checks=checks)
        return with_field(record, "totals.figures", figures)

    records = [with_types(record, orders) for record, orders in zip(records, (450, 460, 999), strict=True)]
    records[2] = replace(records[2], status=Status.INVALID)
    return analyse(run, records)


def test_types_are_combined_over_the_repeats_that_count() -> None:
    [treatment] = analysis().treatments
    new_order, payment = treatment.types
    assert (new_order.name, new_order.succeeded, new_order.share) == ("new_order", 910, 0.455)
    assert (payment.name, payment.failed, payment.share) == ("payment", 4, 0.545)
    assert new_order.response["p99_ms"].median == (85.0 + 86.0) / 2
    assert new_order.throughput.values == (45.0, 46.0)
    rolled_back, never = treatment.outcomes
    assert (rolled_back.succeeded, never.succeeded, never.response["p99_ms"].median) == (8, 0, None)


def test_values_of_the_workloads_own_have_medians_and_are_reported() -> None:
    result = analysis()
    [treatment] = result.treatments
    assert treatment.figures["tpmC"].median == 2_730.0
    figures = [
        dict(finding.message.arguments)
        for finding in result.findings
        if finding.message.code == "found.figure.alone"
    ]
    assert [(value["name"], value["figure"]) for value in figures] == [
        (figure_name("tpmC"), "2,730"),
        (figure_name("tpmTotal"), "6,000"),
    ]
    document = result.document()["treatments"][0]
    assert document["figures"]["tpmC"]["median"] == 2_730.0
    assert [item["name"] for item in document["types"]] == ["new_order", "payment"]


def test_what_was_verified_and_holds_is_reported_and_what_does_not_is_too() -> None:
    assert findings_by_code(analysis())["found.held"]["count"] == 3
    broken = findings_by_code(analysis("broken"))
    assert "found.held" not in broken
    assert "found.check.advice" in broken


def test_a_run_without_types_has_none() -> None:
    [treatment] = analyse(*run_of({"10": [100.0]})).treatments
    assert (treatment.types, treatment.outcomes, treatment.figures) == ((), (), {})
