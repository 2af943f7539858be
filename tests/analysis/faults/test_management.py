"""Judgement of the management plane, from the answers to a probe."""

from __future__ import annotations

import pytest

from loadcell.analysis.faults.management import Answer, judge_management
from loadcell.model.fault_record import FaultRecord, Instants

FAULT = FaultRecord(
    "hang", "storage.management", "undone", Instants(10.0, 10.0, 10.1), Instants(20.0, 20.0, 20.1)
)
BEFORE = [Answer("status", 1.0, 1.2, True), Answer("mount", 2.0, 2.9, True)]


@pytest.mark.parametrize(
    ("took_s", "succeeded", "verdict"),
    [(0.2, True, "ok"), (2.6, True, "ok"), (2.8, True, "slow"), (0.1, False, "down")],
)
def test_an_answer_is_compared_with_those_before_the_fault(
    took_s: float, succeeded: bool, verdict: str
) -> None:
    during = Answer("create", 12.0, 12.0 + took_s, succeeded)
    later = Answer("delete", 21.0, 40.0, False)
    judged = judge_management(FAULT, [*BEFORE, during, later], 10.0, 30.0)
    assert judged is not None
    assert (judged.verdict, judged.answers, judged.operation) == (verdict, 1, "create")
    assert judged.longest_s == pytest.approx(took_s)
    assert judged.failed == (() if succeeded else ("create",))


def test_without_answers_there_is_no_verdict() -> None:
    assert judge_management(FAULT, BEFORE, 10.0, 30.0) is None


def test_an_operation_under_way_when_the_fault_is_applied_counts() -> None:
    """A daemon that hangs stops it, though it began before; a later fault is not judged by it."""
    under_way = Answer("create", 9.5, 19.5, False)
    judged = judge_management(FAULT, [*BEFORE, under_way], 10.0, 30.0)
    assert judged is not None
    assert (judged.verdict, judged.failed) == ("down", ("create",))
    assert judge_management(FAULT, [*BEFORE, under_way], 9.0, 30.0) is None
