"""Ctrl-C while a run still begins: the remains of it is reported, and how to go on where something is."""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from execution.world import World
from lines import CliRunner
from loadcell.cli import main
from loadcell.execution import context, workdir
from loadcell.execution.messages import NOTHING_LEFT


def pressed(*_: Any, **__: Any) -> Any:
    raise KeyboardInterrupt


def notes(run: Callable[[], Any]) -> list[str]:
    with pytest.raises(KeyboardInterrupt) as caught:
        run()
    return caught.value.__notes__


def test_of_a_run_without_a_directory_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "environment", pressed)
    before = sorted(tmp_path.iterdir())
    assert notes(lambda: World().run(tmp_path, out=tmp_path / "new" / "run")) == [
        "Nothing was run, and nothing is left of it."
    ]
    assert sorted({path.name for path in tmp_path.iterdir()} - {"mock.yaml", "said.txt"}) == before


def test_a_directory_that_was_there_is_left_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "environment", pressed)
    (tmp_path / "empty").mkdir()
    assert notes(lambda: World().run(tmp_path, out=tmp_path / "empty")) == [
        "Nothing was run, and nothing is left of it."
    ]
    assert list((tmp_path / "empty").iterdir()) == []


def test_a_run_whose_directory_stands_can_be_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world, path = World(), tmp_path / "a run"
    with monkeypatch.context() as patched:
        patched.setattr(workdir, "make", pressed)
        printed = notes(lambda: world.run(tmp_path, out=path))
    assert printed == [f"No trial was run. Resume with: loadcell run --resume {shlex.quote(str(path))}"]
    assert world.run(tmp_path, resume=path).exit_status == 0


def test_a_run_that_is_resumed_is_what_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    ended = world.run(tmp_path)
    monkeypatch.setattr("loadcell.execution.resume.remaining", pressed)
    assert notes(lambda: world.run(tmp_path, resume=ended.path)) == [
        f"No trial was run. Resume with: loadcell run --resume {ended.path}"
    ]
    assert world.stored(ended).run["state"] == "finished"


@pytest.mark.parametrize(
    "command", [("run", "quickstart"), ("http", "http://127.0.0.1:9"), ("host", "--baseline")]
)
def test_the_command_line_says_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(context, "environment", pressed)
    result = CliRunner().invoke(main, command)
    assert (result.exit_code, result.stderr) == (130, f"\nInterrupted. {NOTHING_LEFT()}\n")
    assert list(tmp_path.iterdir()) == []


def test_it_is_reported_of_a_plan_that_is_still_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadcell.plan.load.load_plan", pressed)
    result = CliRunner().invoke(main, ["run", "quickstart"])
    assert (result.exit_code, result.stderr) == (130, f"\nInterrupted. {NOTHING_LEFT()}\n")


def test_a_trial_that_was_broken_off_names_the_command_with_the_runs_own_path(tmp_path: Path) -> None:
    world, path = World(), tmp_path / "it's here"
    world.fail("load 2", lambda: os.kill(os.getpid(), signal.SIGINT))
    [trial] = world.stored(world.run(tmp_path, out=path)).trials
    assert trial["advice"] == f"Resume with `loadcell run --resume {shlex.quote(str(path))}`."
