"""A load generator or a run that was stopped for a while: no value of such a load says so by itself."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from execution.live import Live
from execution.world import World
from hostile import Hostile, response, says
from loadcell.execution import checks
from loadcell.model.json import convert
from loadcell.model.load_result import LoadResult
from loadcell.model.trial_record import Window

PLAN = """
target: {{http: {{url: 'http://127.0.0.1:{port}/'}}}}
workload: {{http: {{}}}}
load: {{clients: 2, warmup: 0s, duration: 8s, interval: 500ms}}
monitors: [host]
repeats: 1
"""


def stop_for(pid: int, seconds: float) -> float:
    """Stop a process for a while; how long that was, in seconds, as a busy machine prolongs it."""
    began = time.monotonic()
    os.kill(pid, signal.SIGSTOP)
    try:
        time.sleep(seconds)
    finally:
        os.kill(pid, signal.SIGCONT)
    return time.monotonic() - began


def stopped(home: Path, who: str, seconds: float) -> tuple[Any, float]:
    """The record of a trial in which one of the processes was stopped in the measurement, and how long."""
    with Hostile(says(response())) as server, Live(home, PLAN.format(port=server.port)) as live:
        live.measured()
        stopped_s = stop_for(live.worker() if who == "worker" else live.process.pid, seconds)
        live.end()
        [trial] = live.stored().trials
        return trial, stopped_s


def check_of(trial: Any, name: str) -> Any:
    return next(check for check in trial.checks if check.name == name)


def test_a_load_generator_stopped_for_much_of_the_window_measured_nothing_that_counts(tmp_path: Path) -> None:
    trial, stopped_s = stopped(tmp_path, "worker", 2.0)
    assert (trial.status, trial.reason_code) == ("invalid", "check.client-paused")
    paused = check_of(trial, "client-paused")
    assert paused.verdict == "broken"
    assert 1.7 < paused.detail["paused_s"] < stopped_s + 0.3
    assert paused.detail["share"] == pytest.approx(paused.detail["paused_s"] / 8, rel=0.02)


def test_a_run_that_was_stopped_is_noticed_and_its_load_stands(tmp_path: Path) -> None:
    trial, stopped_s = stopped(tmp_path, "run", 2.5)
    gap = check_of(trial, "sampling-gap")
    assert gap.verdict == "noticed"
    assert 2.3 < gap.detail["longest_s"] < stopped_s + 2.0, "a sample is taken each second"
    assert trial.status == "ok"


def test_counters_that_were_read_late_are_dropped(tmp_path: Path) -> None:
    """The run stands still from within the measurement until long after it."""
    with Hostile(says(response())) as server:
        plan = PLAN.format(port=server.port).replace("duration: 8s", "duration: 3s")
        with Live(tmp_path, plan) as live:
            live.measured()
            stop_for(live.process.pid, 5.0)
            live.end()
            [trial] = live.stored().trials
    window = check_of(trial, "resource-window")
    assert window.verdict == "noticed"
    assert window.detail["overdue_s"] > 1.0
    assert (trial.status, trial.resources) == ("ok", None)


@pytest.mark.parametrize(
    ("began_s", "ended_s", "verdict"),
    [(0.0, 10.0, "ok"), (0.4, 10.5, "ok"), (0.0, 11.1, "noticed"), (1.1, 10.0, "noticed")],
)
def test_readings_up_to_a_tenth_of_the_window_late_are_accepted(
    began_s: float, ended_s: float, verdict: str
) -> None:
    second = 10**9
    between = int((5 + began_s) * second), int((5 + ended_s) * second)
    assert checks.resource_window(between, Window(10.0, 5 * second)).verdict == verdict
    assert checks.resource_window(None, Window(10.0, 5 * second)).verdict == "unknown"


def remarked(paused_s: float) -> checks.Check:
    """The check of 10 s with pauses of so much together."""
    result = convert(
        LoadResult,
        {
            "outcome": "completed",
            "window": {"start_mono_ns": 0, "start_utc_ns": 0, "duration_ns": 10_000_000_000},
            "remarks": {"paused": {"pauses": 1, "paused_s": paused_s, "longest_s": paused_s}},
        },
    )
    [check] = checks.remarks(result)
    return check


def test_a_pause_of_more_than_a_hundredth_breaks_a_trial() -> None:
    assert remarked(0.2).verdict == "broken"
    assert remarked(0.05).verdict == "noticed"


@pytest.mark.parametrize(
    ("gap_s", "verdict"),
    [((1.0, 4.0), "noticed"), ((1.0, 2.9), "ok"), ((8.5, 30.0), "ok"), ((7.0, 30.0), "noticed")],
)
def test_only_the_part_of_a_gap_within_the_measurement_counts(
    gap_s: tuple[float, float], verdict: str
) -> None:
    gap_ns = (int(gap_s[0] * 1e9), int(gap_s[1] * 1e9))
    assert checks.sampling_gap([gap_ns], Window(10.0, 0)).verdict == verdict


def test_an_undisturbed_run_has_no_gap(tmp_path: Path) -> None:
    world = World()
    [trial] = world.stored(world.run(tmp_path)).trials
    assert check_of(trial, "sampling-gap").verdict == "ok"
    assert all(check.name != "client-paused" for check in trial.checks)
