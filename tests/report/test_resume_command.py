"""The command that resumes a run, wherever one is named: that of the run's record."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import fake_runs
from loadcell.cli import main
from loadcell.model import catalogue
from loadcell.report import brief, publish
from loadcell.report.context import ReportContext
from loadcell.report.sections import environment
from loadcell.store.layout import StoreError
from loadcell.store.read import read_run
from loadcell.store.write import RunWriter

FULL = OSError(errno.ENOSPC, "No space left on device")
HOST = "loadcell host --baseline"
UNFINISHED = fake_runs.Shape(unwritten=frozenset({2}), state="interrupted")


#: Texts of commands that resume one kind of run, so that they may name its command.
OF_ONE_COMMAND = ("call.", "cli.", "hosts.")


def test_texts_leave_the_command_to_the_record() -> None:
    """A text about runs of all commands names neither a command nor `--resume`."""
    naming = {
        code
        for code, by_language in catalogue.texts().items()
        if "--resume" in " ".join(by_language.values())
    }
    assert naming, "options of commands are named"
    assert {code for code in naming if not code.startswith(OF_ONE_COMMAND)} == set()


@pytest.fixture(
    params=[(None, "loadcell run"), ("loadcell run", "loadcell run"), (HOST, HOST)],
    ids=["not recorded", "run", "host"],
)
def run(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str]:
    """An interrupted run with this command in its record, and the command that resumes it."""
    recorded, expected = request.param
    path = fake_runs.write_run(tmp_path / "run", UNFINISHED)
    document = json.loads((path / "run.json").read_text(encoding="utf-8"))
    del document["resumed_by"]
    if recorded is not None:
        document["resumed_by"] = recorded
    (path / "run.json").write_text(json.dumps(document), encoding="utf-8")
    return path, f"{expected} --resume {path}"


def test_show_names_it_for_a_trial_that_has_not_finished(run: tuple[Path, str]) -> None:
    path, command = run
    [missing] = read_run(path).missing
    result = CliRunner().invoke(main, ["show", str(path), missing])
    assert result.exit_code != 0
    assert command in " ".join(result.output.split())


def test_reports_name_it(run: tuple[Path, str]) -> None:
    path, command = run
    context = ReportContext.of(read_run(path), "en")
    assert environment.commands(path, context)["table.command.resume"] == command
    assert command in [step for _, step in brief.next_steps(context)]


def test_a_full_disk_names_it(run: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> None:
    path, command = run

    def write(*_: object) -> None:
        raise FULL

    monkeypatch.setattr(publish, "write", write)
    with pytest.raises(StoreError) as refused:
        publish.publish(path, "en", ["html"], None)
    assert f"resume with `{command}`" in refused.value.advice


@pytest.mark.parametrize("resumed_by", ["loadcell run", HOST])
def test_a_full_disk_names_it_while_the_run_is_written(tmp_path: Path, resumed_by: str) -> None:
    writer = RunWriter(tmp_path / "run", resumed_by=resumed_by)
    writer.close()
    error = writer.unwritable(writer.path / "run.json", FULL)
    assert f"resume with `{resumed_by} --resume {writer.path}`" in error.advice
