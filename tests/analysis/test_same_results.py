"""Comparison of results of functions: the result of most treatments is the right one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from loadcell.analysis import same_results
from loadcell.model.result_summary import ColumnSummary, ResultSummary
from loadcell.model.trial_record import Status, TrialRecord

NUMBERS = ColumnSummary("number", 100, 0, sum=500.0, weighted=250.0, magnitude=500.0)


def summary(*columns: ColumnSummary, group: str = "g", kind: str = "column") -> ResultSummary:
    return ResultSummary(group, 1e-9, "list", kind, columns)  # type: ignore[arg-type]


def record(number: int, treatment: str, value: ResultSummary | None) -> TrialRecord:
    return TrialRecord(number, f"{number:03}-{treatment}", treatment, 1, Status.OK, value=value)


@pytest.mark.parametrize(
    ("change", "equal"),
    [
        ({"sum": 500.0 + 4e-7}, True),
        ({"sum": 500.0 + 6e-7}, False),
        ({"weighted": 250.0 + 6e-7}, False),
        ({"values": 101}, False),
        ({"missing": 1}, False),
        ({"kind": "text"}, False),
        ({"digest": "x"}, False),
    ],
)
def test_columns_are_equal_within_the_tolerance(change: dict[str, object], equal: bool) -> None:
    other = replace(NUMBERS, **change)  # type: ignore[arg-type]
    assert summary(NUMBERS).equals(summary(other)) is equal
    assert summary(other).equals(summary(NUMBERS)) is equal


def test_columns_of_missing_values_are_equal_whatever_their_type() -> None:
    empty, missing = (
        ColumnSummary("empty", 3, 3),
        replace(NUMBERS, kind="number", values=3, missing=3, magnitude=0.0),
    )
    assert summary(empty).equals(summary(missing))
    assert not summary(empty).equals(summary(replace(NUMBERS, values=3)))


def test_opaque_results_equal_nothing() -> None:
    opaque = summary(kind="opaque")
    assert not opaque.equals(opaque)


def test_the_result_of_most_treatments_is_the_right_one() -> None:
    other = summary(replace(NUMBERS, sum=7.0))
    records = [
        record(1, "wrong", other), record(2, "wrong", other), record(3, "wrong", other),
        record(4, "a", summary(NUMBERS)), record(5, "b", summary(NUMBERS)),
        record(6, "alone", summary(NUMBERS, group="h")), record(7, "none", None),
    ]  # fmt: skip
    outcome = same_results.compared(records)
    assert {result.treatment for result in outcome.different} == {"wrong"}
    assert {result.treatment for result in outcome.equal} == {"a", "b", "alone"}
    [finding] = same_results.findings(outcome, {"wrong": "library = x"})
    assert "library = x do not have the result of a and b" in finding.message.text


def test_of_two_results_the_first_is_right() -> None:
    records = [record(1, "a", summary(NUMBERS)), record(2, "b", summary(replace(NUMBERS, sum=7.0)))]
    assert [result.treatment for result in same_results.compared(records).different] == ["b"]


def test_equal_results_are_stated() -> None:
    records = [record(number, str(number), summary(NUMBERS)) for number in (1, 2)]
    [finding] = same_results.findings(same_results.compared(records), {})
    assert finding.message.text == "The results of all 2 treatments are equal (tolerance 1e-09)."
