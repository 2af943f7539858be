"""Faults by commands of the user: executed, undone, checked, under a time limit."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from pathlib import Path

import pytest

from loadcell.faults import journal as journals
from loadcell.faults.base import FaultError
from loadcell.faults.command import Command, CommandOptions
from loadcell.faults.journal import Entry, Journal
from loadcell.linux.process_identity import ProcessIdentity
from loadcell.systems.subjects import Subject


def command(**options: object) -> Command:
    """A fault of these commands on this process."""
    read = CommandOptions.model_validate({"subject": "server", **options})
    return Command(read, Subject("server", lambda: (os.getpid(),)))


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_it_knows_the_processes_and_is_undone_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = command(run="echo $LOADCELL_SUBJECT_PIDS > broken", undo="rm -f broken", probe="test ! -e broken")
    arguments = fault.prepare()
    fault.apply()
    assert (tmp_path / "broken").read_text().split() == [str(os.getpid())]
    assert arguments is not None
    with pytest.raises(FaultError, match="`test ! -e broken` ended with status 1"):
        Command.is_undone(arguments)
    monkeypatch.chdir("/")
    for _ in range(2):
        Command.undo(arguments)
        assert Command.is_undone(arguments)


def test_it_is_undone_where_no_disk_has_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new process looks for a directory of temporary files, and finds none on a full disk."""
    arguments = command(run="true", undo="rm -f broken; echo undone; exit 3").prepare()
    assert arguments is not None
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: [str(tmp_path / "none")])
    (tmp_path / "broken").touch()
    with pytest.raises(FaultError, match="status 3: undone"):
        Command.undo(arguments)
    assert not (tmp_path / "broken").exists()


def test_without_undo_nothing_is_written_down() -> None:
    assert command(run="true").prepare() is None


def test_what_fails_is_quoted() -> None:
    with pytest.raises(FaultError, match=r"`echo no room; exit 3` ended with status 3: no room"):
        command(run="echo no room; exit 3").apply()


def test_a_command_that_does_not_end_is_killed_with_its_children() -> None:
    began = time.monotonic()
    with pytest.raises(FaultError, match="did not end within"):
        command(run="sleep 60 & wait", limit="200ms").apply()
    assert time.monotonic() - began < 10


def test_a_process_in_the_background_is_not_waited_for(tmp_path: Path) -> None:
    began = time.monotonic()
    command(run="sleep 60 & echo $! > pid").apply()
    assert time.monotonic() - began < 5
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


def test_a_probe_that_fails_keeps_the_entry(tmp_path: Path) -> None:
    arguments = command(run="true", undo="true", probe="false").prepare()
    assert arguments is not None
    me = ProcessIdentity.of_this_process()
    entry = Entry(journals.new_id(), "command", "loadcell.faults.command", "Command", "server", arguments, me)
    journal = Journal(tmp_path / "journal")
    journal.write(entry)
    outcome = journals.undo(entry, journal)
    assert outcome.error is not None
    assert str(outcome.error) == "the undo succeeded, but its probe failed: `false` ended with status 1"
    assert outcome.problem is not None
    assert str(outcome.problem).startswith(f"command server ({entry.id}) could not be undone: ")
    assert f"loadcell faults forget {entry.id}" in outcome.problem.advice
    assert list(journal.entries()) == [entry]


def test_output_is_limited_and_its_end_is_quoted() -> None:
    with pytest.raises(FaultError, match=r"ended with status 3: (x\n)+last$"):
        command(run="yes x | head -c 100000; echo last; exit 3").apply()
    began = time.monotonic()
    with pytest.raises(FaultError, match="`yes x` wrote more than 16 MiB of output and was killed"):
        command(run="yes x").apply()
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_an_undo_may_write_to_its_streams_by_name(stream: str) -> None:
    arguments = command(run="true", undo=f"echo before; echo x > /dev/{stream}; echo after; exit 3").prepare()
    assert arguments is not None
    with pytest.raises(FaultError, match=r"ended with status 3: x\nafter$"):
        Command.undo(arguments)
