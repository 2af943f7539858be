"""Faults of a plan that processes with the library for faults cause themselves."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from execution.live import Live, until
from execution.test_faults import REDIS, records


@pytest.fixture(autouse=True)
def _journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


PLAN = REDIS.replace('{save: ""}', '{save: "", appendonly: true, appendfsync: everysec}').replace(
    "keys: 1000", "keys: 1000, mix: {get: 50, set: 50}"
)


def test_a_plan_shifts_the_clock_and_fails_writes(tmp_path: Path) -> None:
    faults = (
        "faults:\n  - {clock-shift: {subject: redis, by: 1h, over: 1s}, at: 500ms, for: 500ms}\n"
        "  - {write-errors: {subject: redis, error: ENOSPC}, at: 1500ms, for: 500ms}\n"
    )
    [trial] = records(tmp_path, PLAN + faults)
    clock, writes = trial["faults"]
    assert trial["status"] == "ok", trial["reason"]
    assert [clock["state"], writes["state"]] == ["undone", "undone"]
    assert writes["counts"]["failed"] == writes["counts"]["calls"] > 0
    assert "counts" not in clock
    assert {error["code"] for error in trial["errors"]} == {"MISCONF"}


def test_a_killed_run_leaves_no_server_with_a_shifted_clock(tmp_path: Path) -> None:
    plan = PLAN.replace("duration: 3s", "duration: 1min")
    with Live(tmp_path, plan + "faults: [{clock-step: {subject: redis, by: 1h}, at: 300ms}]\n") as live:
        live.in_phase("measure")
        until(lambda: "fault-applied" in _events(tmp_path), "the fault")
        os.kill(live.process.pid, signal.SIGKILL)
        assert live.end() == -signal.SIGKILL
    deadline = time.monotonic() + 20
    while list((tmp_path / "state").rglob("*.json")):
        assert time.monotonic() < deadline, "the journal is empty at the end"
        time.sleep(0.05)


def _events(home: Path) -> str:
    return "".join(path.read_text() for path in (home / "run" / "trials").glob(".*/events.jsonl"))
