"""Expectations of faults on client groups, and of recoveries that were not seen."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from loadcell.execution import expectations
from loadcell.model.fault_judgement import FaultJudgement, Recovery
from loadcell.model.fault_record import FaultRecord
from loadcell.model.trial_record import ExpectationResult, Status, Totals, TrialRecord
from loadcell.plan.expect import Expectation


def fault(pause_s: float, recovery: Recovery, readers_s: float) -> FaultRecord:
    """A fault with a pause of all clients, and one of the group `readers`."""
    judgement = FaultJudgement(30.0, pause_s=pause_s, effect="outage", recovery=recovery)
    readers = FaultJudgement(30.0, pause_s=readers_s, effect="outage", recovery=recovery)
    return FaultRecord("hang", "redis", "undone", judgement=judgement, groups={"readers": readers})


def verdicts(faults: tuple[FaultRecord, ...], *expected: str, of_plan: bool = False) -> list[str]:
    """Verdicts on expectations of the plan, or of each fault."""
    return [result.verdict for result in results(faults, *expected, of_plan=of_plan)]


def results(
    faults: tuple[FaultRecord, ...], *expected: str, of_plan: bool = False
) -> list[ExpectationResult]:
    parsed = [Expectation.parse(text, ["readers"]) for text in expected]
    record = TrialRecord(
        1, "001", "baseline", 1, Status.OK, levels={}, values={}, started_utc="", settings={}, unit="",
        totals=Totals(), faults=faults,
    )  # fmt: skip
    planned = [SimpleNamespace(expect=[] if of_plan else parsed) for _ in faults]
    resolved: Any = SimpleNamespace(expect=parsed if of_plan else [], faults=planned)
    return list(expectations.judged(record, resolved))


def test_a_group_is_judged_by_the_fault_with_the_expectation() -> None:
    seen = Recovery(12.0, 2.0, 1.0)
    faults = (fault(5.0, seen, 5.0), fault(5.0, seen, 0.1))
    assert verdicts(faults, "readers.pause < 1s") == ["missed", "met"]


def test_a_recovery_that_was_not_seen_is_at_least_so_long() -> None:
    unseen = Recovery(censored="not-recovered", at_least_s=40.0)
    faults = (fault(1.0, Recovery(60.0, 50.0, 1.0), 1.0), fault(1.0, unseen, 1.0))
    for text in ("recovery < 30s", "readers.recovery < 30s"):
        assert verdicts(faults, text) == ["missed", "missed"]
    assert verdicts(faults, "recovery < 45s", of_plan=True) == ["missed"], "the first one took 50 s"
    assert verdicts(faults, "recovery < 1h") == ["met", "unknown"]
    assert [item.at_least for item in results(faults, "recovery < 30s")] == [None, 40_000.0]
    assert [item.at_least for item in results(faults, "recovery < 1h")] == [None, None]
