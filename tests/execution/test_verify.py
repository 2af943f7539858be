"""Verification by a workload after its load decides whether the trial counts; its values and notes are in the
record.
"""

from __future__ import annotations

from pathlib import Path

from execution.world import PLAN, World, broken
from loadcell.model.trial_record import Check, TrialRecord
from loadcell.plan.workload import Condition

HOLDS = Condition("a = b", 0)
BROKEN = Condition("c = d", 2, "row 7: c 1, d 2")


def trial(world: World, home: Path, text: str = PLAN) -> TrialRecord:
    return world.stored(world.run(home, text)).trials[0]


def check(record: TrialRecord) -> Check | None:
    return next((item for item in record.checks if item.name == "tpcc-consistency"), None)


def test_a_workload_without_conditions_has_no_such_check(tmp_path: Path) -> None:
    world = World()
    assert check(trial(world, tmp_path)) is None
    assert not any(step.startswith("ask") for step in world.log)


def test_conditions_that_hold_leave_the_trial_as_it_is(tmp_path: Path) -> None:
    world = World(conditions=[HOLDS])
    record = trial(world, tmp_path)
    assert record.status == "ok"
    assert check(record) == Check("tpcc-consistency", "ok", {"a = b": 0})
    assert world.log.index("ask whether it is whole") > world.log.index("describe a")


def test_a_condition_that_does_not_hold_makes_the_trial_invalid(tmp_path: Path) -> None:
    world = World(conditions=[HOLDS, BROKEN])
    ended = world.run(tmp_path, PLAN + "factors: {load.clients: [2, 4]}\n")
    first, second = world.stored(ended).trials
    assert (first.status, second.status) == ("invalid", "invalid"), "and the run goes on"
    assert "consistency conditions" in first.reason
    result = check(first)
    assert result is not None
    assert result.verdict == "broken"
    assert result.detail == {"a = b": 0, "c = d": 2, "first": "row 7: c 1, d 2"}
    assert [item.verdict for item in first.expect] == ["unknown"], "figures that are not trusted meet nothing"
    assert ended.exit_status == 3


def test_conditions_are_asked_also_where_the_trial_is_spoilt_already(tmp_path: Path) -> None:
    world = World(conditions=[HOLDS])
    world.results["load 2"] = lambda result: result["operations"][0].update(attempted=1)
    record = trial(world, tmp_path)
    assert record.status == "invalid"
    assert "counts do not add up" in record.reason
    assert check(record) is not None


def test_a_target_that_goes_away_before_it_is_asked_fails_the_trial(tmp_path: Path) -> None:
    world = World(conditions=[HOLDS])

    def die() -> None:
        world.alive = False
        raise broken("the server closed the connection")

    world.fail("ask whether it is whole", die)
    ended = world.run(tmp_path, PLAN + "factors: {load.clients: [2, 4]}\n")
    first, second = world.stored(ended).trials
    assert (first.status, second.status) == ("failed", "ok")
    assert "exited during verify" in first.reason
    assert [phase.name for phase in first.phases if phase.status == "failed"] == ["verify"]


def test_values_and_notes_of_the_workload_are_in_the_record_and_can_be_expected(tmp_path: Path) -> None:
    text = PLAN.replace("errors == 0", "tpmC == 12000, tpmTotal > 1")
    record = trial(World(), tmp_path, text)
    assert record.totals.figures == {"tpmC": 12_000.0}
    assert record.notes == ("tpcc.unaudited",)
    assert [item.verdict for item in record.expect] == ["met", "unknown"]
