"""Trouble from outside: no server, a wrong password, no room, no permission, two runs at once; and secrets in
all of it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from execution.live import PLAN, Live, external, loadcell
from execution.world import PLAN as MOCK_PLAN
from execution.world import World
from frame_values import rows_of
from little_room import little_room
from loadcell.store.layout import StoreError
from loadcell.store.read import read_run
from servers import PostgresServer, free_port

PASSWORD = "correct horse & battery/staple"  # needs quoting in a URL


@pytest.fixture(scope="module")
def guarded() -> Iterator[PostgresServer]:
    """A server that asks for a password."""
    with PostgresServer(hba=["host all all 127.0.0.1/32 scram-sha-256"], password=PASSWORD) as server:
        yield server


def asking(server: PostgresServer) -> str:
    """A plan whose password comes from the environment."""
    dsn = f"host={server.host} port={server.port} user={server.user} dbname=postgres"
    return PLAN.replace("server: embedded", f"server: external, dsn: '{dsn}', password: '${{env:TEST_PW}}'")


def test_no_server_is_reported_and_the_rest_not_tried_for_ever(tmp_path: Path) -> None:
    port = free_port()
    (tmp_path / "plan.yaml").write_text(
        external(f"postgresql://me@127.0.0.1:{port}/db").replace("repeats: 2", "repeats: 50")
    )
    done = loadcell(tmp_path, "run", "plan.yaml", "--out", "run")
    assert done.returncode == 3
    assert f"Nothing was measured: no server responds at 127.0.0.1:{port}" in done.stdout
    assert "47 of 50 trials are left" in done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    stored = read_run(tmp_path / "run")
    assert [trial.status for trial in stored.trials] == ["failed"] * 3
    assert (stored.state, len(stored.missing)) == ("failed", 47)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_wrong_password_is_reported_without_saying_it(
    tmp_path: Path, guarded: PostgresServer, lang: str
) -> None:
    (tmp_path / "plan.yaml").write_text(asking(guarded))
    arguments = ("run", "plan.yaml", "--out", "run", "--no-report", "--lang", lang)
    done = loadcell(tmp_path, *arguments, env={"TEST_PW": "wrong-secret"})
    assert done.returncode == 3
    trial = read_run(tmp_path / "run").trials[0]
    assert "password" in trial.reason
    assert trial.advice
    assert "wrong-secret" not in done.stdout + done.stderr
    assert _files_with(tmp_path / "run", "wrong-secret") == []


def test_a_password_is_in_no_file_and_on_no_command_line(tmp_path: Path, guarded: PostgresServer) -> None:
    seen: list[str] = []
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.005):
            seen.extend(_command_lines_with(PASSWORD))

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        options = ("--out", "run")
        with Live(tmp_path, asking(guarded), *options, env={"TEST_PW": PASSWORD}) as live:
            assert live.end() == 0, live.err
    finally:
        over.set()
        watching.join()
    assert seen == []
    assert PASSWORD not in live.out + live.err
    assert _files_with(live.path, PASSWORD) == []
    assert (live.path / "report.html").exists(), "looked into as well"
    assert "${env:TEST_PW}" in (live.path / "plan.yaml").read_text()


def _command_lines_with(text: str) -> list[str]:
    results = []
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            with contextlib.suppress(OSError):
                line = (process / "cmdline").read_bytes().decode("utf-8", "replace")
                if text in line:
                    results.append(line)
    return results


def _files_with(home: Path, text: str) -> list[Path]:
    """Files that hold it, whole or in part, as it is or as a URL has it."""
    from urllib.parse import quote

    forms = {text, quote(text), quote(text, safe=""), text[:12]}
    files = [file for file in home.rglob("*") if file.is_file()]
    assert len(files) >= 7
    return [file for file in files if any(form.encode() in file.read_bytes() for form in forms)]


def test_a_disk_that_fills_up_ends_the_run_with_one_error_and_loses_nothing(tmp_path: Path) -> None:
    world = World()
    plan = MOCK_PLAN.replace("duration: 2s", "duration: 60s").replace("repeats: 1", "repeats: 40")
    full = tmp_path / "full"
    with little_room(full, 400_000):
        with pytest.raises(StoreError, match=r"cannot write .*(No space left|File too large)") as caught:
            world.run(tmp_path, plan, out=full / "run")
        advice = "--resume" if os.geteuid() == 0 else "Check that file system"
        assert advice in caught.value.advice
        assert world.log[-2:] == ["down a", "destroy a"], "the target is put away"
        stored = read_run(full / "run")
        assert stored.damage == []
        assert all(trial.status == "ok" for trial in stored.trials)
        assert len(stored.trials) + len(stored.missing) == 40
        assert len(stored.intervals()) == 61 * len(stored.trials)
        if os.geteuid() == 0:
            subprocess.run(["mount", "-o", "remount,size=20m", str(full)], check=True)
            assert len(stored.trials) > 2
            ended = world.run(tmp_path, plan, resume=full / "run")
            assert (ended.exit_status, len(read_run(full / "run").trials)) == (0, 40)


def test_a_full_disk_on_the_command_line(tmp_path: Path) -> None:
    if os.geteuid() != 0:  # a limit on files would be the server's too: the test above has to do
        return
    (tmp_path / "plan.yaml").write_text(
        PLAN.replace("duration: 2s", "duration: 1s").replace("repeats: 2", "repeats: 9")
    )
    with little_room(tmp_path / "full", 200_000):
        done = loadcell(tmp_path, "run", "plan.yaml", "--out", "full/run", "--no-report")
        assert done.returncode == 3
        (line,) = [line for line in done.stderr.splitlines() if line.startswith("Error")]
        assert "No space left on device" in line
        assert "--resume" in line
        assert "Traceback" not in done.stderr
        assert read_run(tmp_path / "full" / "run").damage == []


def test_a_results_directory_that_may_not_be_written(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN)
    closed = tmp_path / "closed"
    closed.mkdir()
    if os.geteuid() == 0:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "none", str(closed)], check=True)
    else:
        closed.chmod(0o500)
    try:
        done = loadcell(tmp_path, "run", "plan.yaml", "--out", "closed/run")
    finally:
        if os.geteuid() == 0:
            subprocess.run(["umount", str(closed)], check=True)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: cannot write")
    assert "--out" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def warned_of(other: Live, run: Live) -> int:
    """The number of events of a run that name another one; the warning names the one that was seen first."""
    assert "another loadcell run is active on this machine (PID " in run.err
    details = [event["detail"] for event in rows_of(run.stored().events()) if event["event"] == "neighbour"]
    return sum(f"PID {other.process.pid}, plan.yaml" in detail for detail in details)


def test_two_runs_at_once_warn_each_other(tmp_path: Path, postgres_server: PostgresServer) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    long = external(postgres_server.dsn()).replace("duration: 2s", "duration: 10min")
    with Live(tmp_path / "a", long) as first:
        first.in_phase("measure")
        with Live(tmp_path / "b", PLAN.replace("duration: 2s", "duration: 1s")) as second:
            second.end()
            assert warned_of(first, second) == 2, "one in each trial"
            checks = {check.name: check for check in second.stored().trials[0].checks}
            assert checks["neighbour"].verdict == "noticed"
        first.send(signal.SIGINT)
        assert first.end() == 130
        assert warned_of(second, first) == 1


def test_a_second_run_on_a_server_is_refused_and_the_first_is_not_harmed(
    tmp_path: Path, postgres_server: PostgresServer
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    plan = external(postgres_server.dsn())
    with Live(tmp_path / "a", plan.replace("duration: 2s", "duration: 4s")) as first:
        first.in_phase("measure")
        with Live(tmp_path / "b", plan) as second:
            assert second.end() == 3
            assert "another loadcell run uses the server" in second.err
            assert f"(process {first.process.pid} on " in second.err
            assert second.statuses() == ["failed"], "it does not try again"
        assert first.end() == 0
        assert first.statuses() == ["ok", "ok"]


def test_time_left_and_values_are_said_without_a_terminal(
    tmp_path: Path, postgres_server: PostgresServer
) -> None:
    # Three seconds: a p99 needs 100 requests, some more than there are in two.
    plan = external(postgres_server.dsn()).replace("duration: 2s", "duration: 3s")
    with Live(tmp_path, plan) as live:
        assert live.end() == 0, live.err
    # Notes on what else the machine does may stand between them.
    head, writing, first, second = (
        line for line in live.err.splitlines() if line.startswith(("plan:", "writing ", "["))
    )
    assert head.startswith("plan: 2 trials, about ")
    assert writing == "writing run"
    assert first.startswith("[1/2] baseline-r1  ")
    assert first.endswith(" remaining")
    assert second.startswith("[2/2] baseline-r2  ")
    assert "p99" in second
    assert "errors 0" in second
    assert "\x1b" not in live.err + live.out
