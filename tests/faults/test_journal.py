"""The journal of faults: on disk before a fault, undone by whoever comes later."""

from __future__ import annotations

import os
import re
import signal
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from faults.sleepers import family, hang, journal_files, states, until_states
from little_room import little_room
from loadcell.faults import journal as journals
from loadcell.faults.base import FaultError
from loadcell.faults.command import Command, CommandOptions
from loadcell.faults.journal import Entry, Journal, Unusable
from loadcell.linux import procfs
from loadcell.linux.process_identity import ProcessIdentity
from loadcell.systems.subjects import Subject


def entry_of(pid: int) -> Entry:
    """The entry of a `hang` of a process whose guardian has ended."""
    arguments = hang(pid).prepare()
    assert arguments is not None
    me = ProcessIdentity.of_this_process()
    return Entry("1", "hang", "loadcell.faults.hang", "Hang", "sleeper", arguments, replace(me, started=1))


def test_a_fault_whose_guardian_has_ended_is_undone_and_forgotten(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    with family() as pid:
        fault = hang(pid)
        journal.write(entry_of(pid))
        fault.prepare()
        fault.apply()
        until_states(pid, {"T"})
        [outcome] = journals.replay(journal)
        assert outcome.error is None
        until_states(pid, {"S"})
    assert journal_files(tmp_path) == []


def test_a_fault_whose_guardian_lives_is_left_to_it(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    with family() as pid:
        entry = replace(entry_of(pid), guardian=ProcessIdentity.of_this_process())
        journal.write(entry)
        assert journals.replay(journal) == []
        assert list(journal.entries()) == [entry]


def test_a_fault_whose_run_lives_is_left_to_it(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    with family() as pid, family() as run:
        started = procfs.started(run)
        assert started is not None
        process = replace(ProcessIdentity.of_this_process(), pid=run, started=started)
        entry = replace(entry_of(pid), process=process)
        journal.write(entry)
        assert journals.state(entry) == "guarded", "its guardian has ended, but the run undoes it"
        assert journals.replay(journal) == []
        os.kill(run, signal.SIGKILL)
        os.waitid(os.P_PID, run, os.WEXITED | os.WNOWAIT)
        assert [outcome.error for outcome in journals.replay(journal)] == [None]
        earlier = replace(entry, process=ProcessIdentity.of_this_process())
        assert journals.state(earlier) == "abandoned", "an earlier run in this process left it"


def test_a_reused_process_id_is_not_signalled(tmp_path: Path) -> None:
    with family() as pid:
        fault = hang(pid)
        fault.prepare()
        fault.apply()
        until_states(pid, {"T"})
        entry = entry_of(pid)
        [[number, started]] = entry.arguments["roots"]
        other = replace(entry, arguments={"roots": [[number, started + 1]]})
        journal = Journal(tmp_path)
        assert journals.undo(other, journal, is_holder=True).error is None, "the process has ended"
        until_states(pid, {"T"})
        rebooted = replace(entry, guardian=replace(entry.guardian, boot="another"))
        journal.write(rebooted)
        assert [outcome.error for outcome in journals.replay(journal)] == [None]
        until_states(pid, {"T"})
        assert journal_files(tmp_path) == [], "a stopped process does not outlive a boot"
        assert journals.undo(entry, journal, is_holder=True).error is None
        until_states(pid, {"S"})


def test_a_program_that_undoes_is_executed_once_and_after_a_boot(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    undo = f"echo undone >> {tmp_path}/log"
    arguments = Command(
        CommandOptions(subject="server", run="true", undo=undo), Subject("server", lambda: ())
    ).prepare()
    assert arguments is not None
    guardian = replace(ProcessIdentity.of_this_process(), boot="another")
    entry = Entry("1", "command", "loadcell.faults.command", "Command", "server", arguments, guardian)
    journal.write(entry)
    [listed] = journal.abandoned()
    for _ in range(2):  # two commands that listed it before either undid it
        assert journals.undo(listed, journal).error is None
    assert (tmp_path / "log").read_text() == "undone\n"


def test_undoing_twice_does_nothing_more(tmp_path: Path) -> None:
    with family() as pid:
        entry = entry_of(pid)
        for _ in range(2):
            assert journals.undo(entry, Journal(tmp_path), is_holder=True).error is None
        until_states(pid, {"S"})


def test_an_action_that_is_not_installed_keeps_its_entry(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    with family() as pid:
        entry = replace(entry_of(pid), module="loadcell_of_someone")
        journal.write(entry)
        [outcome] = journals.replay(journal)
    assert outcome.error is not None
    assert "loadcell_of_someone" in outcome.error.message.text
    assert outcome.error.message.advice
    assert journal_files(tmp_path) == ["1.json"]


def test_a_name_that_is_no_fault_is_never_called(tmp_path: Path) -> None:
    with family() as pid:
        entry = replace(entry_of(pid), module="os", name="abort")
        assert journals.undo(entry, Journal(tmp_path), is_holder=True).error is not None


def test_a_damaged_entry_is_named_and_the_others_are_undone(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    (tmp_path / "0.json").write_text('{"id": ')
    with family() as pid:
        journal.write(entry_of(pid))
        assert [type(entry) for entry in journal.entries()] == [Unusable, Entry]
        assert len(journals.replay(journal)) == 1
    [file] = journal.unusable()
    assert file.message.code == "fault.entry-damaged"


def test_files_that_others_can_write_or_that_name_another_entry_are_not_acted_on(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    with family() as pid:
        for name in ("1", "2", "3", "4"):
            journal.write(replace(entry_of(pid), id=name))
        directory = journal.directory
        assert directory.stat().st_mode & 0o777 == 0o700
        assert (directory / "1.json").stat().st_mode & 0o777 == 0o600
        (directory / "1.json").chmod(0o620)
        (directory / "2.json").rename(directory / "9.json")
        (directory / "4.json").rename(tmp_path / "elsewhere")
        (directory / "4.json").symlink_to(tmp_path / "elsewhere")
        assert [outcome.entry.id for outcome in journals.replay(journal)] == ["3"]
    codes = {file.path.name: file.message.code for file in journal.unusable()}
    assert codes == {
        "1.json": "fault.entry-untrusted", "4.json": "fault.entry-damaged", "9.json": "fault.entry-damaged",
    }  # fmt: skip


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_the_file_of_another_user_is_not_acted_on(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    with family() as pid:
        journal.write(entry_of(pid))
        os.chown(tmp_path / "1.json", 1, -1)
        assert journals.replay(journal) == []
    assert [file.message.code for file in journal.unusable()] == ["fault.entry-untrusted"]


def test_the_fault_of_another_machine_is_left_to_it(tmp_path: Path) -> None:
    """A home that several machines share."""
    journal = Journal(tmp_path)
    with family() as pid:
        entry = entry_of(pid)
        elsewhere = replace(entry, guardian=replace(entry.guardian, host="another", boot="another"))
        assert journals.state(elsewhere) == "elsewhere"
        journal.write(elsewhere)
        assert journals.replay(journal) == []
        rebooted = replace(entry, guardian=replace(entry.guardian, boot="another"))
        assert journals.state(rebooted) == "abandoned"


def test_two_commands_at_once_undo_a_fault_once(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    undone = []
    with family() as pid:
        entry = entry_of(pid)
        journal.write(entry)
        with journal.claimed(entry) as is_ours:
            assert is_ours
            other = threading.Thread(target=lambda: undone.append(journals.undo(entry, journal)))
            other.start()
            other.join(0.2)
            assert other.is_alive(), "it waits for the lock"
            hang(pid).undo(entry.arguments)
            os.kill(pid, signal.SIGSTOP)
            journal.remove(entry)
        other.join(10)
        assert [outcome.error for outcome in undone] == [None]
        assert "T" in states(pid), "the second command did nothing"
        os.kill(pid, signal.SIGCONT)


def test_a_journal_that_cannot_be_written_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with family() as pid, pytest.raises(FaultError) as raised:
        Journal(tmp_path / "file" / "journal").write(entry_of(pid))
    assert "XDG_STATE_HOME" in raised.value.advice


def test_a_full_disk_is_an_error_before_the_fault(tmp_path: Path) -> None:
    full = tmp_path / "full"
    with family() as pid, little_room(full, 100_000):
        entry = replace(entry_of(pid), run="x" * 200_000)
        with pytest.raises(FaultError) as raised:
            Journal(full).write(entry)
        assert re.search("No space left|File too large", raised.value.message.text)
        assert list(full.iterdir()) == [], "nothing half written is left"


def test_a_signal_reaches_a_process_with_its_descendants() -> None:
    with family() as pid:
        fault = hang(pid)
        arguments = fault.prepare()
        fault.apply()
        until_states(pid, {"T"})
        assert arguments is not None
        assert not fault.is_undone(arguments)
        fault.undo(arguments)
        until_states(pid, {"S"})
        assert fault.is_undone(arguments)


def test_a_stopped_child_continues_although_its_parent_has_ended(tmp_path: Path) -> None:
    with family() as pid:
        fault = hang(pid)
        fault.prepare()
        arguments = fault.apply()
        [child] = [member for member in procfs.tree(procfs.ROOT, [pid]) if member != pid]
        os.kill(pid, signal.SIGKILL)
        until_states(child, {"T"})
        assert not fault.is_undone(arguments)
        fault.undo(arguments)
        until_states(child, {"S"})
        os.kill(child, signal.SIGKILL)


def test_without_a_home_only_a_run_with_faults_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home(path: Path) -> Path:
        raise RuntimeError(path)

    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setattr(Path, "expanduser", no_home)
    journal = Journal()
    assert journals.replay(journal) == []
    with family() as pid, pytest.raises(FaultError):
        journal.write(entry_of(pid))
