"""Whatever is killed, whenever: finished trials are safe, nothing is left behind, and the run or its
resumption continues.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from execution.dead_runs import NOBODY, dead_run, end_owner
from execution.live import PLAN, Live, descendants, external, living, loadcell, until
from loadcell.execution import workdir
from loadcell.linux import procfs
from loadcell.linux.process import Session, SupervisedProcess
from servers import PostgresServer

LONG_LOAD = PLAN.replace("duration: 2s", "duration: 1min")
BIG_DATA = PLAN.replace("table_size: 1000", "table_size: 100000")


def works_of(live: Live) -> list[Path]:
    """The work directories of a run; others may be of runs at the same time."""
    works = []
    for owner in workdir.HOME.glob("loadcell-*/*/owner.json"):
        with contextlib.suppress(OSError):
            if json.loads(owner.read_text())["pid"] == live.process.pid:
                works.append(owner.parent)
    return works


def test_a_server_killed_in_a_trial_costs_that_trial(tmp_path: Path) -> None:
    with Live(tmp_path, LONG_LOAD.replace("repeats: 2", "repeats: 1")) as live:
        live.measured()
        os.kill(live.server(), signal.SIGKILL)
        assert live.end() == 3
        (trial,) = live.stored().trials
        assert trial.status == "failed"
        assert trial.reason.startswith("the target exited during the load")
        assert trial.advice
        assert trial.totals.transactions.succeeded > 0, "what was measured until then is kept"


def test_a_server_killed_in_prepare_costs_that_trial_and_the_next_has_a_new_one(tmp_path: Path) -> None:
    with Live(tmp_path, BIG_DATA) as live:
        live.in_phase("prepare")
        first = live.server()
        live.worker()
        os.kill(first, signal.SIGKILL)
        assert live.end() == 3
        assert live.statuses() == ["failed", "ok"]
        failed = live.stored().trials[0]
        assert failed.phases[-2].name == "prepare"
        assert failed.phases[-2].status == "failed"
        assert failed.reason.startswith("the target exited during prepare")
        assert failed.advice


def test_a_worker_killed_costs_that_trial_and_the_run_continues(
    tmp_path: Path, postgres_server: PostgresServer
) -> None:
    with Live(tmp_path, external(postgres_server.dsn())) as live:
        live.in_phase("measure")
        os.kill(live.worker(), signal.SIGKILL)
        assert live.end() == 3
        assert live.statuses() == ["failed", "ok"]
        assert live.stored().trials[0].reason == "the worker process was killed by SIGKILL"


@pytest.mark.parametrize("phase", ["up", "measure"])
def test_a_runner_killed_leaves_no_process_and_loses_no_finished_trial(tmp_path: Path, phase: str) -> None:
    with Live(tmp_path) as live:
        if phase == "up":
            live.in_phase("up")
        else:
            live.in_phase(phase, trial=2)
        children = list(descendants(live.process.pid))
        live.send(signal.SIGKILL)
        live.end()
        until(lambda: not living(children), "the children's end")
        assert works_of(live) == [], "the guardian ends last"
        finished = 0 if phase == "up" else 1
        stored = live.stored()
        assert [trial.status for trial in stored.trials] == ["ok"] * finished
        assert (stored.state, len(stored.missing)) == ("killed", 2 - finished)
        assert stored.damage == []
        before = [trial.ended_utc for trial in stored.trials]
        again = loadcell(tmp_path, "run", "--resume", "run", "--no-report")
        assert again.returncode == 0, again.stderr
        assert ("1 trial (1 reused)" if finished else "2 trials, about") in again.stderr
        assert live.statuses() == ["ok", "ok"]
        assert [trial.ended_utc for trial in live.stored().trials][:finished] == before


def test_ctrl_c_ends_in_order(tmp_path: Path) -> None:
    with Live(tmp_path, LONG_LOAD) as live:
        live.in_phase("measure")
        children = list(descendants(live.process.pid))
        begun = time.monotonic()
        live.send(signal.SIGINT)
        assert live.end() == 130
        assert time.monotonic() - begun < 60, "not at the end of a trial"
        assert living(children) == []
        stored = live.stored()
        assert (stored.state, live.statuses()) == ("interrupted", ["aborted"])
        assert stored.trials[0].totals.transactions.attempted >= 0
        trials = len(stored.planned)
        assert f"{trials} of {trials} trials are left. Resume with: loadcell run --resume" in live.err
        assert "Traceback" not in live.err
        assert works_of(live) == []


def test_ctrl_c_twice_ends_at_once_and_still_leaves_nothing_behind(tmp_path: Path) -> None:
    with Live(tmp_path, LONG_LOAD) as live:
        live.in_phase("measure")
        children = list(descendants(live.process.pid))
        live.send(signal.SIGINT)
        time.sleep(0.01)
        live.send(signal.SIGINT)
        assert live.end() == 130
        until(lambda: not living(children), "the children's end")
        assert works_of(live) == []
        assert live.stored().state in ("killed", "interrupted")


def test_what_dead_runs_left_is_swept_and_what_lives_is_not(tmp_path: Path) -> None:
    mine = workdir.make_directory("living", tmp_path)
    dead_run(tmp_path, "dead")
    end_owner(workdir.make_directory("reused", tmp_path), os.getpid())
    assert sorted(workdir.sweep(tmp_path)) == ["dead", "reused"]
    assert mine.is_dir()


@pytest.mark.parametrize("name", [".old-1-2", f".new-{NOBODY}-1-abc"])
def test_a_directory_whose_making_or_removal_was_killed_is_swept(tmp_path: Path, name: str) -> None:
    mine = workdir.make_directory("living", tmp_path)
    making = mine.with_name(f".new-{os.getpid()}-{procfs.started(os.getpid())}-abc")
    making.mkdir()
    remainder = mine.with_name(name)
    (remainder / "part").mkdir(parents=True)
    hours_ago = time.time() - 7200
    os.utime(remainder, (hours_ago, hours_ago))
    assert workdir.sweep(tmp_path) == [name]
    assert sorted(mine.parent.iterdir()) == sorted([making, mine])


def test_what_bears_no_mark_is_somebody_elses(tmp_path: Path) -> None:
    user = f"loadcell-{os.getuid()}"
    dead = json.loads((dead_run(tmp_path, "dead") / "owner.json").read_text())
    foreign = [
        (f"{user}/mydata", {}),
        (f"{user}/.old-results", {}),
        (f"{user}/.new-results", {}),
        (f"{user}/owned", {"pid": NOBODY}),
        (f"{user}-archive/2026-results", {}),
        (f"{user}-copy/dead", dead),
    ]
    for name, owner in foreign:
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "run.json").write_text("{}")
        if owner:
            (tmp_path / name / "owner.json").write_text(json.dumps(owner))
    assert workdir.sweep(tmp_path) == ["dead"]
    assert [name for name, _ in foreign if not (tmp_path / name / "run.json").exists()] == []
    workdir.remove(workdir.make_directory("ended", tmp_path))
    assert [name for name, _ in foreign if not (tmp_path / name / "run.json").exists()] == []


def test_a_removal_that_gets_stuck_leaves_what_a_later_one_recognises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = dead_run(tmp_path, "dead")
    (dead / "aaa").mkdir()
    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", stuck)
        patched.setattr(shutil, "rmtree", stuck)
        workdir.remove(dead)
    assert sorted(item.name for item in dead.iterdir()) == ["aaa", "owner.json"]
    assert workdir.sweep(tmp_path) == ["dead"]


@pytest.mark.parametrize("error", [OSError("no"), subprocess.TimeoutExpired("umount", 300)])
def test_a_remainder_that_cannot_be_removed_keeps_no_other_from_it(tmp_path: Path, error: Exception) -> None:
    bad, good = dead_run(tmp_path, "bad"), dead_run(tmp_path, "good")

    def release(path: Path) -> None:
        if path == bad:
            raise error

    lines: list[str] = []
    assert workdir.sweep(tmp_path, release, lines.append) == ["good"]
    assert [path.is_dir() for path in (bad, good)] == [True, False]
    assert lines == [f"left {bad} to a later run: {error}"]
    assert workdir.sweep(tmp_path) == ["bad"]


def test_an_image_file_that_cannot_be_removed_is_left_to_a_later_run(tmp_path: Path) -> None:
    dead = dead_run(tmp_path, "dead")
    image, file = dead / "postgres" / "image-1", tmp_path / "loadcell-1.img"
    image.mkdir(parents=True)
    (image / "image.json").write_text(json.dumps({"made_by": "loadcell", "file": str(file)}))
    file.mkdir()
    assert workdir.sweep(tmp_path) == []
    file.rmdir()
    assert workdir.sweep(tmp_path) == ["dead"]


def stuck(*_: object, **__: object) -> None:
    raise OSError


def test_a_dead_runs_directory_in_which_a_server_still_works_stays(tmp_path: Path) -> None:
    dead = dead_run(tmp_path, "dead")
    (dead / "data").mkdir()
    server = subprocess.Popen(["sleep", "60"], cwd=dead / "data")
    try:
        assert workdir.sweep(tmp_path) == []
    finally:
        server.kill()
        server.wait()
    assert workdir.sweep(tmp_path) == ["dead"]


def test_processes_that_a_program_left_in_a_dead_run_are_ended_with_it(tmp_path: Path) -> None:
    work = dead_run(tmp_path, "dead") / "command"
    work.mkdir()
    lines: list[str] = []
    environment = {"PATH": os.environ["PATH"]}
    program = SupervisedProcess("shell", lines.append, environment, work)
    program.start(["sh", "-c", f"cd {work} && sleep 300 & echo $!; wait"])
    until(lambda: lines, "the child's number")
    child, shell = int(lines[0].split()[-1]), program.pid
    assert shell is not None
    os.kill(shell, signal.SIGKILL)
    until(lambda: not program.running, "its end")
    assert living([child]) == [child]
    assert workdir.sweep(tmp_path) == ["dead"]
    assert living([child]) == []


def test_a_record_of_another_boot_ends_nothing(tmp_path: Path) -> None:
    work = dead_run(tmp_path, "dead") / "command"
    work.mkdir()
    facts = {**asdict(Session.of(os.getsid(0))), "boot": "another"}
    (work / "session.json").write_text(json.dumps(facts))
    assert workdir.sweep(tmp_path) == ["dead"]


def test_a_long_name_leaves_room_for_a_socket(tmp_path: Path) -> None:
    made = workdir.make_directory("ä" * 100, tmp_path)
    assert len(os.fsencode(made.name)) <= 40
    base = workdir.HOME / "loadcell-4294967294" / made.name
    assert len(os.fsencode(base / "postgres" / "socket" / ".s.PGSQL.65535")) <= 107


def test_a_base_that_was_made_because_the_usual_one_was_taken_is_swept_too(tmp_path: Path) -> None:
    (tmp_path / f"loadcell-{os.getuid()}").symlink_to("/")
    made = dead_run(tmp_path, "dead")
    assert made.parent.name.startswith(f"loadcell-{os.getuid()}-")
    assert workdir.sweep(tmp_path) == ["dead"]
    assert not made.parent.exists()


def test_a_work_directory_is_readable_by_a_servers_own_user(tmp_path: Path) -> None:
    assert workdir.make_directory("run", tmp_path).stat().st_mode & 0o777 == 0o755
    again = workdir.make_directory("run", tmp_path)
    assert again.name == "run-2"
