"""A/A runs: every treatment as two identical arms, in every block, and still after a resume."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from execution.world import PLAN, World
from loadcell.analysis.compare import sides

TWO = PLAN.replace("repeats: 1", "repeats: 2") + "factors: {load.clients: [2, 4]}\n"


def test_every_treatment_runs_twice_in_each_block(tmp_path: Path) -> None:
    world = World()
    ended = world.run(tmp_path, TWO, aa=True)
    stored = world.stored(ended)
    assert stored.run.aa is True
    expected = sorted(
        (name, block, arm) for name in ("clients=2", "clients=4") for block in (1, 2) for arm in "ab"
    )
    for heads in (stored.planned, stored.trials):
        assert sorted((head.treatment, head.block, head.arm) for head in heads) == expected
    result = sides.arms(stored.run, stored.trials)
    assert [side.label for side in result.sides] == ["a", "b"]
    for side in result.sides:
        assert {name: [trial.block for trial in trials] for name, trials in side.trials.items()} == {
            "clients=2": [1, 2],
            "clients=4": [1, 2],
        }


def test_a_run_without_arms_says_so_and_names_none(tmp_path: Path) -> None:
    world = World()
    stored = world.stored(world.run(tmp_path, TWO))
    assert stored.run.aa is False
    assert all(item.arm is None for item in (*stored.planned, *stored.trials))


def test_a_resumed_run_keeps_its_arms(tmp_path: Path) -> None:
    world = World()
    world.fail("load 4", lambda: os.kill(os.getpid(), signal.SIGINT))
    before = world.run(tmp_path, TWO, aa=True)
    assert before.state == "interrupted"
    ended = world.run(tmp_path, TWO, resume=before.path)
    stored = world.stored(ended)
    assert (ended.path, ended.state, len(stored.trials)) == (before.path, "finished", 8)
    assert {trial.arm for trial in stored.trials} == {"a", "b"}
