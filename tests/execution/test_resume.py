"""Going on with a run that was broken off: only the remains, and only of the same plan."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from execution.world import PLAN, World
from loadcell.execution.executor import LoadError
from loadcell.execution.resume import PlanChangedError
from loadcell.execution.runner import Ended
from loadcell.store.layout import StoreError
from loadcell.store.write import RunWriter

THREE = PLAN + "factors: {load.clients: [2, 4, 8]}\n"


@pytest.fixture
def world() -> World:
    return World()


def interrupted(world: World, home: Path, text: str = THREE) -> Ended:
    """A run whose second trial was broken off with Ctrl-C."""
    world.fail("load 4", lambda: os.kill(os.getpid(), signal.SIGINT))
    ended = world.run(home, text)
    world.log.clear()
    return ended


def loads(world: World) -> list[str]:
    return [step for step in world.log if step.startswith("load ")]


def test_only_the_remaining_trials_are_run(world: World, tmp_path: Path) -> None:
    before = interrupted(world, tmp_path)
    ended = world.run(tmp_path, THREE, resume=before.path)
    assert loads(world) == ["load 4", "load 8"]
    stored = world.stored(ended)
    assert [trial.status for trial in stored.trials] == ["ok", "ok", "ok"]
    assert (ended.state, ended.exit_status) == ("finished", 0)


def test_the_run_says_what_it_keeps(world: World, tmp_path: Path) -> None:
    before = interrupted(world, tmp_path)
    ended = world.run(tmp_path, THREE, resume=before.path)
    first, second = world.stored(ended).run.executions
    assert (first.how, second.how) == ("first", "resumed")
    assert (second.reused, second.trials) == (1, 2)
    assert second.ended_utc is not None


def test_the_seed_and_the_order_are_those_of_the_first_execution(world: World, tmp_path: Path) -> None:
    blocks = THREE.replace("order: as-written", "order: blocks")
    before = interrupted(world, tmp_path, blocks)
    ordered = [trial.name for trial in world.stored(before).planned]
    ended = world.run(tmp_path, blocks, resume=before.path)
    assert [trial.name for trial in world.stored(ended).trials] == ordered
    assert world.stored(ended).run.seed == world.stored(before).run.seed


def test_the_record_of_the_attempt_that_was_broken_off_stays_beside_the_new_one(
    world: World, tmp_path: Path
) -> None:
    before = interrupted(world, tmp_path)
    world.run(tmp_path, THREE, resume=before.path)
    aside = before.path / "trials" / ".002-clients=4-r1.replaced-1" / "trial.json"
    assert json.loads(aside.read_text())["status"] == "aborted"


def test_failed_trials_are_results_and_kept_unless_asked_for(world: World, tmp_path: Path) -> None:
    world.fail("load 2", LoadError("it broke", advice=""))
    before = world.run(tmp_path, THREE)
    world.log.clear()
    again = world.run(tmp_path, THREE, resume=before.path)
    assert loads(world) == []
    assert again.exit_status == 3
    again = world.run(tmp_path, THREE, resume=before.path, retry_failed=True)
    assert loads(world) == ["load 2"]
    assert again.exit_status == 0


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        (("warmup: 1s", "warmup: 3s"), "load.warmup was 1s, is 3s"),
        (("[2, 4, 8]", "[2, 4]"), "treatment clients=8 is no longer in the plan"),
        (("[2, 4, 8]", "[2, 4, 8, 16]"), "treatment clients=16 was added to the plan"),
        (("repeats: 1", "repeats: 2"), "repeats was 1, is 2"),
        (("{mock: {}}", "{mock: {variant: b}}"), "target.mock.variant was a, is b"),
        (("errors == 0", "errors == 1"), "expect was ['errors == 0'], is ['errors == 1']"),
    ],
)
def test_a_changed_plan_is_refused_with_what_differs(
    world: World, tmp_path: Path, change: tuple[str, str], difference: str
) -> None:
    before = interrupted(world, tmp_path)
    with pytest.raises(PlanChangedError) as caught:
        world.run(tmp_path, THREE.replace(*change), resume=before.path)
    assert difference in [str(difference) for difference in caught.value.differences]
    assert world.log == [], "nothing was touched"


def test_time_limits_and_titles_may_change(world: World, tmp_path: Path) -> None:
    before = interrupted(world, tmp_path)
    ended = world.run(tmp_path, THREE + "limits: {prepare: 2h}\ntitle: Better said\n", resume=before.path)
    assert ended.exit_status == 0


def test_another_seed_is_another_plan(world: World, tmp_path: Path) -> None:
    before = interrupted(world, tmp_path)
    with pytest.raises(PlanChangedError, match="the plan has changed"):
        world.run(tmp_path, THREE, resume=before.path, seed=1)


def test_a_run_that_continues_somewhere_else_is_left_alone(world: World, tmp_path: Path) -> None:
    before = interrupted(world, tmp_path)
    other = RunWriter(before.path)
    try:
        with pytest.raises(StoreError, match="another loadcell is writing"):
            world.run(tmp_path, THREE, resume=before.path)
    finally:
        other.close()


def test_a_trial_killed_between_its_last_write_and_its_rename_counts_as_done(
    world: World, tmp_path: Path
) -> None:
    before = world.run(tmp_path, THREE)
    trials = before.path / "trials"
    (trials / "003-clients=8-r1").rename(trials / ".003-clients=8-r1.part")
    world.log.clear()
    world.run(tmp_path, THREE, resume=before.path)
    assert loads(world) == []
    assert (trials / "003-clients=8-r1" / "trial.json").exists()


def test_a_directory_that_is_there_already_is_not_written_into(world: World, tmp_path: Path) -> None:
    world.run(tmp_path)
    with pytest.raises(StoreError, match="already exists"):
        world.run(tmp_path)
