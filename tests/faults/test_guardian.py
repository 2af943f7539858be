"""The guardian undoes faults when the run that applied them has ended without doing so."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from faults.sleepers import family, hang, journal_files, until_states
from loadcell.faults import journal as journals
from loadcell.faults.base import FaultError
from loadcell.faults.command import Command, CommandOptions
from loadcell.faults.guardian import Guardian
from loadcell.faults.journal import Entry, Journal
from loadcell.linux.process_identity import ProcessIdentity
from loadcell.systems.subjects import Subject

#: A run that applies a fault and says so, then waits to be killed.
_RUN = """
import sys, time
from pathlib import Path
from faults.sleepers import hang
from faults.test_guardian import held
from loadcell.faults.guardian import Guardian
from loadcell.faults.journal import Journal

guardian = Guardian(Journal(Path(sys.argv[1])))
fault = hang(int(sys.argv[2]))
held(guardian, fault, 60)
fault.apply()
print(guardian._process.pid, flush=True)
time.sleep(60)
"""


def held(guardian: Guardian, fault: object, lease_s: float) -> Entry:
    """Have a guardian hold a `hang`."""
    arguments = fault.prepare()  # type: ignore[attr-defined]
    me = ProcessIdentity.of_this_process()
    entry = Entry(journals.new_id(), "hang", "loadcell.faults.hang", "Hang", "sleeper", arguments, me)
    return guardian.hold(entry, lease_s)


def test_it_undoes_when_its_run_is_killed(tmp_path: Path) -> None:
    with family() as pid:
        run = subprocess.Popen(
            (sys.executable, "-c", _RUN, str(tmp_path), str(pid)),
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert run.stdout is not None
        guardian = int(run.stdout.readline())
        until_states(pid, {"T"})
        assert len(journal_files(tmp_path)) == 1
        run.kill()
        run.wait()
        run.stdout.close()
        until_states(pid, {"S"})
        deadline = time.monotonic() + 10
        while journal_files(tmp_path) or Path(f"/proc/{guardian}/cmdline").exists():
            assert time.monotonic() < deadline, "the guardian ends when nothing is left"
            time.sleep(0.02)


def test_run_and_guardian_killed_leave_an_entry_for_the_next_command(tmp_path: Path) -> None:
    with family() as pid:
        run = subprocess.Popen(
            (sys.executable, "-c", _RUN, str(tmp_path), str(pid)),
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert run.stdout is not None
        guardian = int(run.stdout.readline())
        os.kill(guardian, signal.SIGKILL)
        run.kill()
        run.wait()
        run.stdout.close()
        until_states(pid, {"T"})
        deadline = time.monotonic() + 10
        while not (outcomes := journals.replay(Journal(tmp_path))):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert [outcome.error for outcome in outcomes] == [None]
        until_states(pid, {"S"})
        assert journal_files(tmp_path) == []


def test_it_undoes_at_the_end_of_a_lease(tmp_path: Path) -> None:
    guardian = Guardian(Journal(tmp_path))
    with family() as pid:
        fault = hang(pid)
        held(guardian, fault, 0.3)
        fault.apply()
        until_states(pid, {"T"})
        until_states(pid, {"S"})
        guardian.close()
    assert journal_files(tmp_path) == []


def test_what_is_released_is_left_alone(tmp_path: Path) -> None:
    guardian = Guardian(Journal(tmp_path))
    with family() as pid:
        fault = hang(pid)
        entry = held(guardian, fault, 60)
        assert entry.guardian.pid != os.getpid()
        fault.apply()
        guardian.release(entry)
        assert journal_files(tmp_path) == []
        guardian.close()
        until_states(pid, {"T"})
        fault.undo(entry.arguments)


def test_a_killed_guardian_is_replaced_by_one_that_holds_the_same(tmp_path: Path) -> None:
    guardian = Guardian(Journal(tmp_path))
    with family() as pid:
        fault = hang(pid)
        first = held(guardian, fault, 60)
        fault.apply()
        os.kill(first.guardian.pid, signal.SIGKILL)
        deadline = time.monotonic() + 10
        while Path(f"/proc/{first.guardian.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
            assert time.monotonic() < deadline
            time.sleep(0.01)
        second = held(guardian, fault, 60)
        assert second.guardian.pid != first.guardian.pid
        guardian.close()
        until_states(pid, {"S"})
    assert journal_files(tmp_path) == []


def test_what_others_have_undone_is_not_held_by_a_new_guardian(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    guardian = Guardian(journal)
    with family() as pid:
        fault = hang(pid)
        first = held(guardian, fault, 60)
        fault.apply()
        assert not journals.undo(first, journal).was_undone
        assert guardian._process is not None
        guardian._process.kill()
        guardian._process.wait()
        held(guardian, fault, 60)
        assert journals.undo(first, journal, is_holder=True).was_undone
        guardian.close()
    assert journal_files(tmp_path) == []


def test_a_fault_is_refused_where_its_undo_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    guardian = Guardian(Journal(tmp_path / "file" / "journal"))
    with family() as pid:
        with pytest.raises(FaultError):
            held(guardian, hang(pid), 60)
        guardian.close()


def test_it_answers_while_a_slow_program_undoes(tmp_path: Path) -> None:
    """The undo of `command` runs for seconds; meanwhile the run needs its next fault held."""
    guardian = Guardian(Journal(tmp_path / "journal"))
    slow = CommandOptions(subject="server", run="true", undo="sleep 3")
    me = ProcessIdentity.of_this_process()
    arguments = Command(slow, Subject("server", lambda: ())).prepare()
    assert arguments is not None
    entry = Entry(journals.new_id(), "command", "loadcell.faults.command", "Command", "server", arguments, me)
    guardian.hold(entry, 0.0)
    with family() as pid:
        time.sleep(0.3)
        began = time.monotonic()
        other = held(guardian, hang(pid), 60)
        assert time.monotonic() - began < 2, "before the program ended"
        guardian.release(other)
    guardian.close()
    assert journal_files(tmp_path / "journal") == []


def test_a_run_that_ends_before_its_guardian_is_ready_leaves_no_traceback(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "loadcell.faults.guardian", str(tmp_path)]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=write, stderr=subprocess.PIPE, timeout=60, check=False
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")
