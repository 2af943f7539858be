"""Trouble around faults: programs that are killed, two runs at once, a full file system."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest

from execution.live import Live, living, loadcell, until
from execution.test_faults import POSTGRES, REDIS

IS_ROOT = os.geteuid() == 0


@pytest.fixture(autouse=True)
def _journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def trials(run: Path) -> list[dict[str, Any]]:
    """Records of the trials of a run, failed ones included."""
    return [json.loads(path.read_text()) for path in sorted(run.glob("trials/*/trial.json"))]


def nothing_is_left(home: Path) -> None:
    """Its guardian may undo a fault a moment after the run's end."""
    until(lambda: not list((home / "state").rglob("*.json")), "an empty journal")


@pytest.mark.parametrize("victim", ["worker", "server"])
def test_a_fault_is_undone_when_the_load_or_its_server_is_killed(tmp_path: Path, victim: str) -> None:
    """Without its load the trial fails; without its server that is an outcome. The next one works again."""
    plan = REDIS.replace("duration: 3s", "duration: 4s").replace("repeats: 1", "repeats: 2")
    with Live(tmp_path, plan + "faults: [{hang: redis, at: 500ms, for: 1s}]\n") as live:
        live.in_phase("measure")
        server = until(lambda: _child(live, "redis-server"), "the server")
        until(lambda: _status(server) == psutil.STATUS_STOPPED, "the fault")
        os.kill(server.pid if victim == "server" else live.worker(), signal.SIGKILL)
        output, errors = live.process.communicate(timeout=90)
    nothing_is_left(tmp_path)
    first, second = trials(tmp_path / "run")
    down = {check["name"]: check["verdict"] for check in first["checks"]}.get("target-down")
    if victim == "server":
        assert (first["status"], down) == ("ok", "noticed"), errors + output
    else:
        assert first["status"] == "failed", errors + output
        assert first["reason_code"], "why it failed"
    assert second["status"] == "ok", errors + output
    assert [fault["state"] for fault in second["faults"]] == ["undone"]
    assert "Traceback" not in errors
    assert not living([server.pid])


def test_two_runs_with_faults_at_once_undo_their_own(tmp_path: Path) -> None:
    faults = "faults: [{hang: redis, at: 500ms, for: 1s}]\n"
    homes = [tmp_path / name for name in ("one", "two")]
    for home in homes:
        home.mkdir()
    # The same journal: XDG_STATE_HOME is that of the test.
    with Live(homes[0], REDIS + faults) as first, Live(homes[1], REDIS + faults) as second:
        for live in (first, second):
            output, errors = live.process.communicate(timeout=90)
            assert live.process.returncode == 0, errors + output
    for home in homes:
        [trial] = trials(home / "run")
        assert [fault["state"] for fault in trial["faults"]] == ["undone"]
        assert trial["faults"][0]["undone"]["ended_s"] - trial["faults"][0]["applied"]["began_s"] >= 0.999
        assert trial["totals"]["transactions"]["failed"] == 0
    nothing_is_left(tmp_path)


@pytest.mark.skipif(not IS_ROOT and "CI" not in os.environ, reason="needs root")
def test_a_full_file_system_fails_writes_until_it_is_undone(tmp_path: Path) -> None:
    plan = (
        POSTGRES.replace(
            "{server: embedded}", f"{{server: embedded, data: {{image: {tmp_path}, size: 300MiB}}}}"
        )
        .replace("oltp_point_select", "oltp_write_only")
        .replace("clients: 2", "clients: 4, rate: 200/s, max_backlog: 1min")
        .replace("duration: 4s", "duration: 6s")
    )
    (tmp_path / "plan.yaml").write_text(plan + "faults: [{disk-full: postgres, at: 1s, for: 2s}]\n")
    done = loadcell(tmp_path, "run", "plan.yaml", "--out", "run", "--no-report")
    assert done.returncode == 0, done.stderr + done.stdout
    [trial] = trials(tmp_path / "run")
    assert [fault["state"] for fault in trial["faults"]] == ["undone"]
    assert "53100" in {error["code"] for error in trial["errors"]}, "no space left on device"
    counts = trial["totals"]["transactions"]
    assert 0 < counts["failed"] < 500 < counts["succeeded"], "it is full for two of six seconds"
    nothing_is_left(tmp_path)


def _child(live: Live, name: str) -> psutil.Process | None:
    for process in psutil.Process(live.process.pid).children(recursive=True):
        if process.name() == name:
            return process
    return None


def _status(process: psutil.Process) -> str:
    try:
        return str(process.status())
    except psutil.Error:
        return ""
