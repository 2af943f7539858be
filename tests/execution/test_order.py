"""Steps of a run: each test arranges events, and reads the log of requests to target and executor."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from execution.dead_runs import dead_run
from execution.world import PLAN, World, broken
from frame_values import values
from loadcell.execution import workdir
from loadcell.execution.executor import LoadError, LoadTimeoutError
from loadcell.execution.interrupts import LimitReached
from loadcell.execution.progress import outcome
from loadcell.model.trial_record import ExpectationResult
from loadcell.store.read import read_run

TWO = PLAN + "factors: {load.clients: [2, 4]}\n"
VARIANTS = PLAN + "factors: {target.mock.variant: [a, b]}\n"


@pytest.fixture
def world() -> World:
    return World()


def statuses(world: World, home: Path) -> list[str]:
    return [trial.status for trial in read_run(home / "run").trials]


def test_a_trial_is_up_prepare_load_describe(world: World, tmp_path: Path) -> None:
    ended = world.run(tmp_path)
    assert world.log == ["up a", "prepare a", "fill", "load 2", "describe a", "down a", "destroy a"]
    assert (ended.state, ended.exit_status) == ("finished", 0)


def test_the_target_stays_up_while_its_options_stay_the_same(world: World, tmp_path: Path) -> None:
    world.run(tmp_path, TWO)
    assert world.log == [
        "up a", "prepare a", "fill", "load 2", "describe a",
        "up a", "prepare a", "fill", "load 4", "describe a",
        "down a", "destroy a",
    ]  # fmt: skip


def test_other_options_put_the_target_to_rest_and_bring_up_another(world: World, tmp_path: Path) -> None:
    world.run(tmp_path, VARIANTS)
    assert [step for step in world.log if step.split()[0] in ("up", "down", "destroy")] == [
        "up a", "down a", "up b", "down b", "destroy a", "destroy b",
    ]  # fmt: skip


def test_a_load_that_breaks_is_a_result_and_the_run_continues(world: World, tmp_path: Path) -> None:
    world.fail("load 2", LoadError("it broke", advice="Mend it."))
    ended = world.run(tmp_path, TWO)
    assert statuses(world, tmp_path) == ["failed", "ok"]
    assert world.stored(ended).trials[0].reason == "it broke"
    assert world.stored(ended).trials[0].advice == "Mend it."
    assert ended.exit_status == 3


def test_a_target_that_died_is_restarted_for_the_next_trial(world: World, tmp_path: Path) -> None:
    def die() -> None:
        world.alive = False
        raise LoadError("connections lost", advice="See why.")

    world.fail("load 2", die)
    world.run(tmp_path, TWO)
    assert world.log == [
        "up a", "prepare a", "fill", "load 2", "down a",
        "up a", "prepare a", "fill", "load 4", "describe a",
        "down a", "destroy a",
    ]  # fmt: skip
    assert statuses(world, tmp_path) == ["failed", "ok"]


def test_a_target_that_dies_between_trials_is_restarted_and_that_is_recorded(
    world: World, tmp_path: Path
) -> None:
    world.fail("describe", lambda: setattr(world, "alive", False))
    ended = world.run(tmp_path, TWO)
    assert world.log[:7] == ["up a", "prepare a", "fill", "load 2", "describe a", "down a", "up a"]
    assert "restart" in values(world.stored(ended).events(), "event")
    assert statuses(world, tmp_path) == ["ok", "ok"]


def test_a_broken_prepare_ends_the_trial_without_a_load(world: World, tmp_path: Path) -> None:
    world.fail("prepare", broken("no room for the data"))
    ended = world.run(tmp_path, TWO)
    assert world.log[:3] == ["up a", "prepare a", "up a"]
    first = world.stored(ended).trials[0]
    assert (first.status, first.reason) == ("failed", "no room for the data")
    assert [phase.name for phase in first.phases] == ["up", "prepare", "cleanup"]


@pytest.mark.parametrize(
    ("step", "phase"), [("up", "up"), ("fill", "prepare"), ("load 2", "warmup"), ("describe", "collect")]
)
def test_every_phase_has_a_time_limit(world: World, tmp_path: Path, step: str, phase: str) -> None:
    world.fail(step, LoadTimeoutError(60) if step in ("fill", "load 2") else LimitReached())
    ended = world.run(tmp_path, TWO)
    first = world.stored(ended).trials[0]
    assert first.status == "timed-out"
    assert phase in first.reason
    assert statuses(world, tmp_path) == ["timed-out", "ok"]
    assert "down a" in world.log[: world.log.index("load 4")], "what hung is not used again as it is"


def test_a_limit_really_interrupts_a_step_that_hangs(world: World, tmp_path: Path) -> None:
    import threading

    world.fail("up", lambda: threading.Event().wait(30))
    ended = world.run(tmp_path, TWO + "limits: {up: 50ms}\n")
    assert [trial.status for trial in world.stored(ended).trials] == ["timed-out", "ok"]


def test_a_fault_in_a_part_costs_its_trial_and_its_story_is_kept(world: World, tmp_path: Path) -> None:
    world.fail("describe", ZeroDivisionError("division by zero"))
    ended = world.run(tmp_path, TWO)
    first = world.stored(ended).trials[0]
    assert first.status == "failed"
    assert "ZeroDivisionError" in first.reason
    assert "Traceback" in (world.stored(ended).directory(first.name) / "output.log").read_text()


def test_ctrl_c_ends_the_load_puts_the_target_away_and_says_how_to_go_on(
    world: World, tmp_path: Path
) -> None:
    world.fail("load 2", lambda: os.kill(os.getpid(), signal.SIGINT))
    ended = world.run(tmp_path, TWO)
    assert world.log == ["up a", "prepare a", "fill", "load 2", "down a", "destroy a"]
    assert (ended.state, ended.exit_status) == ("interrupted", 130)
    assert statuses(world, tmp_path) == ["aborted"]
    assert "--resume" in world.stored(ended).trials[0].advice


@pytest.mark.parametrize("step", ["up", "prepare", "fill", "describe"])
def test_ctrl_c_breaks_off_whatever_step_is_under_way(world: World, tmp_path: Path, step: str) -> None:
    world.fail(step, lambda: os.kill(os.getpid(), signal.SIGTERM))
    ended = world.run(tmp_path, TWO)
    assert ended.exit_status == 130
    assert statuses(world, tmp_path) == ["aborted"]
    assert world.log[-2:] == ["down a", "destroy a"]


def test_a_run_whose_target_never_comes_up_for_one_reason_is_abandoned(world: World, tmp_path: Path) -> None:
    world.fail("up", *(broken("wrong password") for _ in range(9)))
    ended = world.run(tmp_path, PLAN.replace("repeats: 1", "repeats: 9"))
    assert (ended.state, ended.exit_status) == ("failed", 3)
    assert ended.reason is not None
    assert "wrong password" in ended.reason.text
    assert len(world.stored(ended).trials) == 3


def test_targets_that_fail_for_different_reasons_are_not_abandoned(world: World, tmp_path: Path) -> None:
    world.fail("up", *(broken(f"reason {number}") for number in range(5)))
    ended = world.run(tmp_path, PLAN.replace("repeats: 1", "repeats: 5"))
    assert len(world.stored(ended).trials) == 5


def test_trouble_with_putting_away_is_reported_and_harms_nothing(world: World, tmp_path: Path) -> None:
    world.fail("destroy", broken("cannot remove it"))
    ended = world.run(tmp_path)
    assert ended.exit_status == 0
    assert "cannot remove it" in (tmp_path / "progress.txt").read_text()


def test_a_dead_runs_remainder_that_cannot_be_removed_harms_nothing(world: World, tmp_path: Path) -> None:
    dead = dead_run(tmp_path, "dead")
    (dead / "postgres" / "image-1").mkdir(parents=True)
    (dead / "postgres" / "image-1" / "image.json").write_text(json.dumps({"file": str(tmp_path)}))
    ended = world.run(tmp_path)
    assert (ended.exit_status, world.stored(ended).run.state) == (0, "finished")
    assert dead.is_dir()


def test_the_record_is_closed_before_anything_is_swept(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fault(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(workdir, "remove", fault)
    with pytest.raises(AssertionError):
        world.run(tmp_path)
    assert read_run(tmp_path / "run").run.state == "finished"


def test_a_missed_expectation_is_exit_status_1(world: World, tmp_path: Path) -> None:
    ended = world.run(tmp_path, PLAN.replace("errors == 0", "latency.p99 < 5ms"))
    assert ended.exit_status == 1
    stored = world.stored(ended)
    assert stored.trials[0].expect == (ExpectationResult("latency.p99 < 5ms", "missed", 10.0),)
    assert stored.run.verdicts[0].missed_in == (stored.trials[0].name,)


def test_a_measurement_that_breaks_its_own_laws_is_invalid(world: World, tmp_path: Path) -> None:
    def busy(result: dict) -> None:
        result["client"]["threads"][0]["busy"] = 0.97

    world.results["load 2"] = busy
    ended = world.run(tmp_path)
    trial = world.stored(ended).trials[0]
    assert trial.status == "invalid"
    assert "load generator was the bottleneck" in trial.reason
    assert "threads" in trial.advice
    assert trial.totals.throughput_per_s == 200, "the figures stay, for whoever wants to look"
    assert trial.expect[0].verdict == "unknown"
    assert ended.exit_status == 3


def test_a_percentile_of_too_few_transactions_meets_and_misses_nothing(tmp_path: Path) -> None:
    world = World(per_s=lambda _: 49)
    ended = world.run(tmp_path, PLAN.replace("errors == 0", "latency.p99 < 1s"))
    [trial] = world.stored(ended).trials
    assert trial.expect == (ExpectationResult("latency.p99 < 1s", "unknown", count=98, needed=100),)
    assert "not assessable: latency.p99 < 1s (needs 100, has 98)" in outcome(trial)
    assert "p99 " not in outcome(replace(trial, expect=())), "nor is it shown"
    [total] = world.stored(ended).run.verdicts
    assert (total.verdict, total.unknown) == ("unknown", 1)
