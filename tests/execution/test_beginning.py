"""Ctrl-C while a run still begins: the remains of it is reported, and how to go on where something is."""

from __future__ import annotations

import errno
import os
import re
import shlex
import signal
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from execution.world import World
from lines import CliRunner
from loadcell.cli import main
from loadcell.cli import run as run_command
from loadcell.execution import context, workdir
from loadcell.execution.interrupts import NOTHING_LEFT
from loadcell.report import publish
from loadcell.store import trial_files
from loadcell.store.layout import StoreError
from loadcell.store.read import read_run
from loadcell.store.write import RunWriter


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
        "No trial was run, and no file is left."
    ]
    assert sorted({path.name for path in tmp_path.iterdir()} - {"mock.yaml", "progress.txt"}) == before


def test_a_directory_that_was_there_is_left_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "environment", pressed)
    (tmp_path / "empty").mkdir()
    assert notes(lambda: World().run(tmp_path, out=tmp_path / "empty")) == [
        "No trial was run, and no file is left."
    ]
    assert list((tmp_path / "empty").iterdir()) == []


def test_a_run_whose_directory_stands_can_be_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world, path = World(), tmp_path / "a run"
    with monkeypatch.context() as patched:
        patched.setattr(workdir, "make_directory", pressed)
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
    assert world.stored(ended).run.state == "finished"


@pytest.mark.parametrize("command", [("run", "quickstart"), ("http",), ("host", "--baseline")])
def test_the_command_line_says_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(context, "environment", pressed)
    with socket.create_server(("127.0.0.1", 0)) as service:  # accepts the connection of a check
        if command == ("http",):
            command = ("http", f"http://127.0.0.1:{service.getsockname()[1]}")
        result = CliRunner().invoke(main, command)
    assert (result.exit_code, result.stderr) == (130, f"\nInterrupted. {NOTHING_LEFT()}\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("during", ["loadcell.plan.load.load_plan", "loadcell.execution.context.environment"])
def test_it_is_reported_in_the_language_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, during: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(during, pressed)
    result = CliRunner().invoke(main, ["run", "quickstart", "--lang", "zh"])
    assert (result.exit_code, result.stderr) == (
        130,
        "\n已中断。没有运行任何试验，也没有留下任何文件。\n",
    )


def test_it_is_reported_of_a_plan_that_is_still_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadcell.plan.load.load_plan", pressed)
    result = CliRunner().invoke(main, ["run", "quickstart"])
    assert (result.exit_code, result.stderr) == (130, f"\nInterrupted. {NOTHING_LEFT()}\n")


def test_a_trial_that_was_broken_off_names_the_command_with_the_runs_own_path(tmp_path: Path) -> None:
    world, path = World(), tmp_path / "it's here"
    world.fail("load 2", lambda: os.kill(os.getpid(), signal.SIGINT))
    [trial] = world.stored(world.run(tmp_path, out=path)).trials
    assert trial.advice == f"Resume with `loadcell run --resume {shlex.quote(str(path))}`."


def full(*_: Any, **__: Any) -> Any:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("name", ["write_plan", "write_environment", "write_run"])
def test_a_disk_that_is_full_at_the_beginning_leaves_no_dead_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def refused(writer: RunWriter, *_: Any) -> None:
        raise writer.unwritable(writer.path / name, OSError(errno.ENOSPC, "No space left on device"))

    out = tmp_path / "run"
    with monkeypatch.context() as patched:
        patched.setattr(RunWriter, name, refused)
        with pytest.raises(StoreError, match="No space left"):
            World().run(tmp_path, out=out)
    assert not out.exists()
    assert World().run(tmp_path, out=out).exit_status == 0


def test_a_run_killed_before_its_record_makes_room_for_another(tmp_path: Path) -> None:
    out = tmp_path / "run"
    writer = RunWriter(out)
    writer.write_plan("half")
    (out / ".run.json.new").write_text("{")
    writer.close()
    assert World().run(tmp_path, out=out).exit_status == 0
    assert read_run(out).state == "finished"


@pytest.mark.parametrize("names", [["plan.yaml"], ["trials", "notes.txt"], ["trials/001-x", "plan.yaml"]])
def test_a_directory_of_somebody_is_refused_and_untouched(tmp_path: Path, names: list[str]) -> None:
    out = tmp_path / "run"
    for name in names:
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("theirs") if path.suffix else path.mkdir()
    with pytest.raises(StoreError, match="already exists"):
        World().run(tmp_path, out=out)
    assert all((out / name).exists() for name in names)


def test_a_report_that_cannot_be_written_costs_no_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = World().run(tmp_path)
    monkeypatch.setattr(publish, "write", full)
    reports, ended = run_command.written_report(ended)
    assert (reports, ended.exit_status) == ([], 3)
    assert "No space left" in capsys.readouterr().err


def test_a_report_names_the_directory_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = World().run(tmp_path).path
    monkeypatch.setattr(publish, "write", full)
    with pytest.raises(StoreError, match=f"cannot write {re.escape(str(tmp_path / 'page'))}:"):
        publish.publish(path, "en", ["html"], tmp_path / "page")


def test_csv_is_read_without_a_place_for_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "full"))
    frame = trial_files.read_csv(b"t_s,name\n1.5,a\n", {"name"})
    assert frame is not None
    assert len(frame) == 1
