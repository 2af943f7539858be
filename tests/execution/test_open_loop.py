"""Open loops in a trial's life: what the engine is asked for, what is recorded, and a target that cannot keep
up.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from execution.world import PLAN, World, figures
from loadcell.execution.executor import schedule
from loadcell.model.trial_record import Backlog
from loadcell.plan.model import Load
from specifications import complete

OPEN = PLAN.replace("clients: 2,", "clients: 2, rate: 200/s, arrivals: poisson, max_backlog: 2s,")
TWO = OPEN + "factors: {load.clients: [2, 4]}\n"


def loop(load: dict[str, Any]) -> Load:
    return Load.model_validate_json(json.dumps({"clients": 2, "duration": "30s", **load}), strict=True)


def open_loop(result: dict[str, Any], **more: Any) -> None:
    """Make a result of the fake engine (100/s and client, 10 ms each) one of an open loop."""
    seconds = result["window"]["duration_ns"] / 1e9
    count = result["operations"][0]["succeeded"]
    result["schedule"] = {
        "arrivals": "poisson",
        "offered": count,
        "offered_per_s": count / seconds,
        "achieved_per_s": count / seconds,
        "pacing_error": figures(count, 3_000),
        "backlog_wait": None,
        "presence_ns": count * 10_000_000,
        "backlog": {"peak": 7, "at_end": 0, "overdue_ns": 0},
    }
    result.update(more)


def test_the_specification_states_when_requests_are_due() -> None:
    assert schedule(loop({})) is None
    assert schedule(loop({"rate": "2000/s"})) == {
        "arrivals": "constant",
        "rate": [{"from_per_s": 2000.0, "to_per_s": 2000.0, "for_ns": 30_000_000_000}],
        "most_overdue_ns": 5_000_000_000,
    }
    ramp = loop({"rate": {"from": "0/s", "to": "90/min", "over": "20s"}, "arrivals": "poisson"})
    result = schedule(ramp)
    assert result is not None
    assert result["rate"] == [
        {"from_per_s": 0.0, "to_per_s": 1.5, "for_ns": 20_000_000_000},
        {"from_per_s": 1.5, "to_per_s": 1.5, "for_ns": 10_000_000_000},
    ]


def test_the_engine_accepts_this_specification(tmp_path: Path) -> None:
    from loadcell import _engine

    for rate in ("1000/s", {"steps": [{"rate": "0/s", "for": "1s"}, {"rate": "5/s", "for": "1s"}]}):
        spec = {
            "version": 1, "seed": 1, "workload": {"sysbench": {"script": "oltp_point_select"}},
            "target": {"protocol": "postgres", "host": "127.0.0.1", "port": 1, "user": "u", "database": "d"},
            "load": {"clients": 1, "duration_ns": 10**9, "schedule": schedule(loop({"rate": rate}))},
        }  # fmt: skip
        result = json.loads(_engine.run(json.dumps(complete(spec)), lambda _: None))
        assert result["outcome"] == "connect-failed"


def test_a_trial_records_how_its_schedule_was_kept(tmp_path: Path) -> None:
    world = World()
    world.results["load 2"] = open_loop
    ended = world.run(
        tmp_path, OPEN.replace("[errors == 0]", "[offered >= 199/s, backlog < 10, pacing.p99 < 10us]")
    )
    trial = world.stored(ended).trials[0]
    assert (trial.status, trial.reason_code) == ("ok", None)
    schedule_record = trial.schedule
    assert (schedule_record.arrivals, schedule_record.offered, schedule_record.offered_per_s) == (
        "poisson",
        400,
        200.0,
    )
    assert schedule_record.backlog == Backlog(peak=7)
    assert schedule_record.requests_mean == pytest.approx(2.0)
    assert schedule_record.pacing_error.percentile_ms("50") == pytest.approx(0.003)
    assert schedule_record.backlog_wait is None
    verdicts = {check.name: check.verdict for check in trial.checks}
    assert [verdicts[name] for name in ("littles-law", "pacing", "backlog")] == ["ok", "ok", "ok"]
    assert [judged.verdict for judged in trial.expect] == ["met", "met", "met"]


def test_a_closed_loop_has_no_schedule_and_is_not_compared_with_one(tmp_path: Path) -> None:
    world = World()
    trial = world.stored(world.run(tmp_path)).trials[0]
    assert trial.schedule is None
    assert not {"pacing", "backlog"} & {check.name for check in trial.checks}


#: Arguments of the outcome of an overloaded load, as the engine gives them.
OVERLOADED = {"waiting": 880, "overdue_s": 2.2, "due_per_s": 900.0, "ended_per_s": 200.0, "clients": 2}


def test_an_overloaded_target_is_a_result_with_its_backlog_and_the_run_continues(tmp_path: Path) -> None:
    def overloaded(result: dict[str, Any]) -> None:
        open_loop(
            result,
            outcome="overloaded",
            reason_args=OVERLOADED,
        )
        result["schedule"]["backlog"] = {"peak": 900, "at_end": 880, "overdue_ns": 2_200_000_000}

    world = World()
    world.results = {"load 2": overloaded, "load 4": open_loop}
    ended = world.run(tmp_path, TWO)
    first, second = world.stored(ended).trials
    assert (first.status, first.reason_code) == ("failed", "overloaded")
    assert first.reason == (
        "880 scheduled requests could not be sent, the oldest for 2.2 s, and the backlog grew: 900.0/s "
        "offered, 200.0/s completed over 2 connections"
    )
    assert first.advice == (
        "lower the rate; if the target is not busy, add clients; load.max_backlog limits how long a request "
        "may wait"
    )
    assert first.schedule.backlog == Backlog(900, 880, 2.2)
    assert first.totals.throughput_per_s == pytest.approx(200.0)
    assert [judged.verdict for judged in first.expect] == ["unknown"]
    assert (second.status, ended.exit_status) == ("ok", 3)


def test_one_that_is_overloaded_in_its_warm_up_has_its_backlog_too(tmp_path: Path) -> None:
    def overloaded(result: dict[str, Any]) -> None:
        open_loop(result, outcome="overloaded", reason_args=OVERLOADED)
        result["window"]["duration_ns"] = 0
        result["schedule"].update(offered_per_s=None, achieved_per_s=None, pacing_error=None)

    world = World()
    world.results["load 2"] = overloaded
    trial = world.stored(world.run(tmp_path, OPEN)).trials[0]
    assert (trial.reason_code, trial.totals, trial.schedule.requests_mean) == (
        "overloaded",
        None,
        None,
    )
    assert trial.schedule.backlog.peak == 7


def test_a_server_that_died_under_it_is_the_better_reason(tmp_path: Path) -> None:
    world = World()

    def die(result: dict[str, Any]) -> None:
        world.alive = False
        open_loop(
            result, outcome="lost", reason_args={"where": "db", "here": False, "limit_s": 5.0, "said": "no"}
        )

    world.results["load 2"] = die
    trial = world.stored(world.run(tmp_path, OPEN)).trials[0]
    assert (trial.reason_code, trial.died_during) == ("lost", "load")
    assert trial.reason.startswith("the target exited during the load")
