"""`loadcell faults`: the journal of faults of killed runs, and their undoing, on real processes."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from faults.sleepers import family, hang, journal_files, states, until_states
from lines import called
from loadcell.cli import faults
from loadcell.faults import journal as journals
from loadcell.faults.base import FaultError
from loadcell.faults.journal import Entry, Journal
from loadcell.linux.process_identity import ProcessIdentity


@pytest.fixture
def stopped() -> Iterator[int]:
    """A process that a fault stopped."""
    with family() as pid:
        os.kill(pid, signal.SIGSTOP)
        yield pid


def written(
    home: Path,
    pid: int,
    *,
    guarded: bool = False,
    module: str = "loadcell.faults.hang",
    namespace: str | None = None,
    host: str | None = None,
) -> Entry:
    """An entry on that process, of a run whose guardian lives or has ended, here, in another namespace or on
    another host.
    """
    guardian = ProcessIdentity.of_this_process()
    guardian = replace(guardian, namespace=namespace or guardian.namespace, host=host or guardian.host)
    if not guarded:
        guardian = replace(guardian, started=guardian.started - 1)
    arguments = hang(pid).prepare()
    entry = Entry(journals.new_id(), "hang", module, "Hang", "postgres", arguments, guardian)
    Journal(home / "loadcell" / "faults").write(entry)
    return entry


def test_an_empty_journal_is_no_error(tmp_path: Path) -> None:
    for words in ("list", "undo"):
        done = called(tmp_path, "faults", words, XDG_STATE_HOME=str(tmp_path))
        assert (done.returncode, done.stderr) == (0, "")
        assert "nothing is left to undo" in done.stdout


def test_an_abandoned_fault_is_listed_and_undone(tmp_path: Path, stopped: int) -> None:
    entry = written(tmp_path, stopped)
    shown = called(tmp_path, "faults", "list", XDG_STATE_HOME=str(tmp_path))
    assert f"{entry.id}  hang postgres" in shown.stdout
    assert "abandoned" in shown.stdout
    [document] = json.loads(called(tmp_path, "faults", "list", "--json", XDG_STATE_HOME=str(tmp_path)).stdout)
    assert (document["id"], document["action"], document["state"]) == (entry.id, "hang", "abandoned")
    done = called(tmp_path, "faults", "undo", XDG_STATE_HOME=str(tmp_path), LOADCELL_LANG="zh")
    assert (done.returncode, done.stdout) == (0, "已撤销：hang postgres\n"), done.stderr
    until_states(stopped, {"S"})
    assert journal_files(tmp_path / "loadcell" / "faults") == []


def test_the_fault_of_an_active_run_is_left_to_its_guardian(tmp_path: Path, stopped: int) -> None:
    entry = written(tmp_path, stopped, guarded=True)
    done = called(tmp_path, "faults", "undo", XDG_STATE_HOME=str(tmp_path))
    assert "1 fault of active runs" in done.stdout
    assert "T" in states(stopped)
    done = called(tmp_path, "faults", "undo", entry.id, "--json", XDG_STATE_HOME=str(tmp_path))
    assert json.loads(done.stdout) == [
        {"id": entry.id, "action": "hang", "subject": "postgres", "undone": True}
    ]
    until_states(stopped, {"S"})


def test_a_fault_that_cannot_be_undone_remains_with_status_4(tmp_path: Path, stopped: int) -> None:
    entry = written(tmp_path, stopped, module="loadcell_faults_of_a_plugin")
    (tmp_path / "loadcell" / "faults" / "torn.json").write_text('{"id": ')
    done = called(tmp_path, "faults", "undo", XDG_STATE_HOME=str(tmp_path))
    assert done.returncode == 4
    message = " ".join(done.stderr.split())
    assert "loadcell_faults_of_a_plugin" in message
    assert "torn.json is not a valid fault record" in message
    assert f"{entry.id}.json" in journal_files(tmp_path / "loadcell" / "faults")
    listed = called(tmp_path, "faults", "list", XDG_STATE_HOME=str(tmp_path)).stdout
    assert "unusable" in listed


def test_only_unusable_files_are_not_an_empty_journal(tmp_path: Path) -> None:
    directory = tmp_path / "loadcell" / "faults"
    directory.mkdir(parents=True)
    (directory / "torn.json").write_text("{")
    done = called(tmp_path, "faults", "undo", XDG_STATE_HOME=str(tmp_path))
    assert (done.returncode, done.stdout) == (4, "")
    assert "torn.json is not a valid fault record" in " ".join(done.stderr.split())


def test_the_beginning_of_an_identifier_is_enough(tmp_path: Path, stopped: int) -> None:
    first, second = written(tmp_path, stopped), written(tmp_path, stopped)
    done = called(tmp_path, "faults", "undo", first.id[:4], XDG_STATE_HOME=str(tmp_path))
    assert done.returncode == 2
    assert second.id in done.stderr.replace("\n", "")
    done = called(tmp_path, "faults", "undo", second.id[:-1], XDG_STATE_HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert journal_files(tmp_path / "loadcell" / "faults") == [f"{first.id}.json"]


def test_a_fault_of_an_earlier_container_is_undone_by_its_identifier_alone(
    tmp_path: Path, stopped: int
) -> None:
    entry = written(tmp_path, stopped, namespace="pid:[1]")
    listed = called(tmp_path, "faults", "list", XDG_STATE_HOME=str(tmp_path)).stdout
    assert "unknown" in listed
    for words in (("faults", "undo"), ("run", lmdb_plan(tmp_path), "--no-report")):
        done = called(tmp_path, *words, XDG_STATE_HOME=str(tmp_path))
        assert done.returncode == 4, done.stdout + done.stderr
        assert f"loadcell faults undo {entry.id}" in " ".join((done.stdout + done.stderr).split())
        assert "T" in states(stopped)
    done = called(tmp_path, "faults", "undo", entry.id, XDG_STATE_HOME=str(tmp_path))
    assert (done.returncode, done.stdout) == (0, "undone: hang postgres\n"), done.stderr
    until_states(stopped, {"S"})
    assert journal_files(tmp_path / "loadcell" / "faults") == []


def lmdb_plan(home: Path) -> str:
    """A plan of a short trial without faults."""
    (home / "plan.yaml").write_text(
        "target: {store: {engine: lmdb, sync: false}}\nworkload: {kv: {keys: 10}}\n"
        "load: {clients: 1, warmup: 0s, duration: 200ms, interval: 100ms}\n"
    )
    return "plan.yaml"


def test_a_run_ends_with_status_4_while_an_older_fault_remains(tmp_path: Path, stopped: int) -> None:
    written(tmp_path, stopped, module="loadcell_faults_of_a_plugin")
    done = called(tmp_path, "run", lmdb_plan(tmp_path), "--no-report", XDG_STATE_HOME=str(tmp_path))
    assert done.returncode == 4, done.stdout + done.stderr
    assert "loadcell_faults_of_a_plugin" in done.stdout + done.stderr


def test_a_fault_that_cannot_be_undone_is_forgotten(tmp_path: Path) -> None:
    """Its undo fails always: each run names the entry, its reason and the remedy until it is dropped."""
    guardian = ProcessIdentity.of_this_process()
    guardian = replace(guardian, started=guardian.started - 1)
    arguments = {"undo": "exit 7", "probe": None, "limit_s": 5.0, "directory": str(tmp_path)}
    words = ("command", "loadcell.faults.command", "Command", "redis", arguments, guardian)
    entry = Entry(journals.new_id(), *words, run="002-quick-r1")
    Journal(tmp_path / "loadcell" / "faults").write(entry)
    state = {"XDG_STATE_HOME": str(tmp_path), "COLUMNS": "200"}
    listed = called(tmp_path, "faults", "list", **state).stdout
    assert "002-quick-r1" in listed
    assert "exit 7" in listed
    for command in (("faults", "undo"), ("run", lmdb_plan(tmp_path), "--no-report")):
        done = called(tmp_path, *command, **state)
        assert done.returncode == 4, done.stdout + done.stderr
        message = " ".join((done.stdout + done.stderr).split())
        assert "`exit 7` ended with status 7" in message
        assert f"loadcell faults forget {entry.id}" in message
    done = called(tmp_path, "faults", "forget", entry.id[:-2], **state)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"forgotten: command redis ({entry.id}), which is undone by `exit 7`\n"
    assert journal_files(tmp_path / "loadcell" / "faults") == []
    assert called(tmp_path, "run", lmdb_plan(tmp_path), "--no-report", **state).returncode == 0


def test_a_fault_of_an_active_run_is_not_forgotten(tmp_path: Path, stopped: int) -> None:
    entry = written(tmp_path, stopped, guarded=True)
    done = called(tmp_path, "faults", "forget", entry.id, XDG_STATE_HOME=str(tmp_path))
    assert done.returncode == 2
    assert "is a fault of an active run" in done.stderr
    assert journal_files(tmp_path / "loadcell" / "faults") == [f"{entry.id}.json"]


def test_a_fault_whose_run_cannot_be_observed_is_forgotten_by_force(tmp_path: Path, stopped: int) -> None:
    entry = written(tmp_path, stopped, namespace="pid:[1]")
    done = called(tmp_path, "faults", "forget", entry.id, XDG_STATE_HOME=str(tmp_path))
    assert done.returncode == 2
    assert f"loadcell faults forget --force {entry.id}" in " ".join(done.stderr.split())
    assert journal_files(tmp_path / "loadcell" / "faults") == [f"{entry.id}.json"]
    done = called(tmp_path, "faults", "forget", "--force", entry.id, XDG_STATE_HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert journal_files(tmp_path / "loadcell" / "faults") == []


def test_a_fault_of_another_machine_is_forgotten_there_alone(tmp_path: Path, stopped: int) -> None:
    entry = written(tmp_path, stopped, host="another")
    for options in ((), ("--force",)):
        done = called(tmp_path, "faults", "forget", *options, entry.id, XDG_STATE_HOME=str(tmp_path))
        assert done.returncode == 2
        message = " ".join(done.stderr.split())
        assert f"{entry.id} is a fault of another" in message
        assert f"loadcell faults forget {entry.id}` there" in message
        assert journal_files(tmp_path / "loadcell" / "faults") == [f"{entry.id}.json"]


def test_a_fault_that_is_being_undone_is_not_forgotten(
    tmp_path: Path, stopped: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(journals, "_CLAIM_LIMIT_S", 0.1)
    entry = written(tmp_path, stopped)
    forget = faults.forget.callback
    assert forget is not None
    with (
        Journal().claimed(entry),
        pytest.raises(FaultError, match="another process is undoing hang postgres"),
    ):
        forget(ids=(entry.id,), force=False, as_json=False)
    assert journal_files(tmp_path / "loadcell" / "faults") == [f"{entry.id}.json"]


def test_an_unknown_id_is_refused(tmp_path: Path) -> None:
    done = called(tmp_path, "faults", "undo", "nosuch", XDG_STATE_HOME=str(tmp_path))
    assert done.returncode == 2
    assert "no fault nosuch in" in done.stderr
    assert "loadcell faults list" in done.stderr
