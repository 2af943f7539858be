"""Faults of a plan on real servers, under load: applied at their time, undone, recorded."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from execution.live import Live, loadcell, until
from loadcell.store.query import query
from servers import PostgresServer

REDIS = """
target: {redis: {server: local, settings: {save: ""}}}
workload: {kv: {keys: 1000}}
load: {clients: 4, rate: 500/s, max_backlog: 1min, warmup: 0s, duration: 3s, interval: 500ms}
monitors: [target]
repeats: 1
"""
POSTGRES = """
target: {postgres: {server: embedded}}
workload: {sysbench: {script: oltp_point_select, tables: 1, table_size: 200}}
load: {clients: 2, warmup: 0s, duration: 4s, interval: 500ms}
monitors: []
repeats: 1
"""


@pytest.fixture(autouse=True)
def _journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def records(home: Path, plan: str, *, status: int = 0) -> list[dict[str, Any]]:
    """The records of a plan's trials, by treatment."""
    (home / "plan.yaml").write_text(plan)
    done = loadcell(home, "run", "plan.yaml", "--out", "run", "--no-report")
    assert done.returncode == status, done.stderr + done.stdout
    assert not list((home / "state").rglob("*.json")), "the journal is empty at the end"
    return [json.loads(path.read_text()) for path in sorted((home / "run").glob("trials/*/trial.json"))]


def test_a_server_hangs_for_its_time_and_resumes(tmp_path: Path) -> None:
    [trial] = records(tmp_path, REDIS + "faults: [{hang: redis, at: 1s, for: 500ms}]\n")
    [fault] = trial["faults"]
    assert (fault["action"], fault["subject"], fault["state"]) == ("hang", "redis", "undone")
    assert fault["applied"]["requested_s"] == pytest.approx(1.0)
    assert fault["undone"]["requested_s"] - fault["applied"]["began_s"] == pytest.approx(0.5)
    # the open loop sent on: requests of the hang waited for its end
    assert trial["totals"]["response"]["max_ms"] >= 450
    assert trial["totals"]["transactions"]["succeeded"] == pytest.approx(1500, abs=2)
    [lines] = [path.read_text().splitlines() for path in (tmp_path / "run").glob("trials/*/events.jsonl")]
    events = [json.loads(line) for line in lines]
    assert [event["event"] for event in events if event["event"].startswith("fault")] == [
        "fault-applied",
        "fault-undone",
    ]


def test_each_fault_of_a_factor_is_a_treatment_and_the_server_is_back_after_it(tmp_path: Path) -> None:
    plan = POSTGRES + (
        "factors:\n  faults:\n    none: []\n"
        "    kill: [{kill: postgres, at: 1s, for: 1s}]\n"
        "    stop: [{stop: postgres, at: 1s}]\n"
        "    restart: [{restart: postgres, after: 50 operations}]\n"
    )
    trials = {trial["levels"]["faults"]: trial for trial in records(tmp_path, plan)}
    assert {level: trial["status"] for level, trial in trials.items()} == dict.fromkeys(trials, "ok")
    assert "faults" not in trials["none"]
    assert {level: trial["faults"][0]["state"] for level, trial in trials.items() if "faults" in trial} == {
        "kill": "undone",
        "stop": "undone",
        "restart": "applied",
    }
    for level in ("kill", "stop", "restart"):
        assert trials[level]["client"]["reconnecting_s"] > 0, level
        assert trials[level]["target"]["version"], "it answers after the load"


@pytest.mark.parametrize("system", ["redis", "mysql"])
def test_a_server_serves_the_same_load_after_it_was_killed(tmp_path: Path, system: str) -> None:
    if system == "redis":
        plan = REDIS.replace("duration: 3s", "duration: 6s")
    else:
        plan = POSTGRES.replace("postgres: {server: embedded}", "mysql: {server: local}").replace("4s", "15s")
    [trial] = records(tmp_path, plan + f"faults: [{{kill: {system}, at: 1s, for: 300ms}}]\n")
    back_s = trial["faults"][0]["undone"]["ended_s"]
    [table] = (tmp_path / "run").glob("trials/*/intervals.csv")
    rows = list(csv.DictReader(table.read_text().splitlines()))
    after = [row for row in rows if row["operation"] == "transaction" and float(row["t_s"]) > back_s + 1]
    assert after, back_s
    assert sum(int(row["succeeded"]) for row in after) > 100


def test_a_fault_that_remains_has_the_reason_and_is_listed_with_its_trial(tmp_path: Path) -> None:
    commands = "{command: {subject: redis, run: 'true', undo: 'true', probe: echo still; exit 3}, at: 500ms}"
    (tmp_path / "plan.yaml").write_text(REDIS.replace("3s", "1s") + f"faults: [{commands}]\n")
    done = loadcell(tmp_path, "run", "plan.yaml", "--out", "run", "--no-report")
    assert done.returncode == 4, done.stderr + done.stdout
    [path] = (tmp_path / "run").glob("trials/*/trial.json")
    trial = json.loads(path.read_text())
    assert trial["reason"] == (
        "command redis could not be undone: the undo succeeded, but its probe failed: "
        "`echo still; exit 3` ended with status 3: still"
    )
    entry = trial["faults"][0]["entry"]
    assert f"loadcell faults forget {entry}" in trial["advice"]
    [listed] = json.loads(loadcell(tmp_path, "faults", "list", "--json").stdout)
    assert (listed["id"], listed["run"]) == (entry, str(path.parent))
    assert listed["undo"] == ["true", "echo still; exit 3"]


def test_an_overload_names_the_fault_that_was_in_effect(tmp_path: Path) -> None:
    plan = REDIS.replace("max_backlog: 1min", "max_backlog: 500ms")
    [trial] = records(tmp_path, plan + "faults: [{hang: redis, at: 500ms, for: 2s}]\n", status=3)
    assert trial["status"] == "failed"
    assert trial["reason"].startswith("during `hang redis`: ")
    assert "scheduled requests could not be sent" in trial["reason"]
    assert "raise `load.max_backlog` above the duration of the fault" in trial["advice"]
    shown = loadcell(tmp_path, "--lang", "zh", "show", "run", env={"COLUMNS": "200"}).stdout
    assert "hang redis 期间：有 " in shown.replace("`", "")


def test_expectations_of_a_fault_are_judged(tmp_path: Path) -> None:
    faults = "faults: [{hang: redis, at: 500ms, for: 200ms, expect: [latency.p99 < 1us]}]\n"
    [trial] = records(tmp_path, REDIS + faults, status=1)
    assert [(result["expression"], result["verdict"]) for result in trial["expect"]] == [
        ("latency.p99 < 1us", "missed")
    ]


def test_a_fault_acts_on_the_processes_of_its_time(tmp_path: Path) -> None:
    faults = "faults: [{restart: redis, at: 1s}, {hang: redis, at: 1400ms, for: 600ms}]\n"
    [trial] = records(tmp_path, REDIS + faults)
    assert trial["faults"][1]["state"] == "undone"
    assert trial["totals"]["response"]["max_ms"] > 500


def test_a_fault_on_a_server_that_is_down_makes_the_trial_invalid(tmp_path: Path) -> None:
    faults = "faults: [{kill: redis, at: 500ms, overlap: true}, {hang: redis, at: 1500ms, overlap: true}]\n"
    [trial] = records(tmp_path, REDIS + faults, status=3)
    assert [fault["state"] for fault in trial["faults"]] == ["undone", "failed"]
    assert trial["faults"][1]["reason"] == "fault.not-running"
    assert trial["status"] == "invalid"
    assert trial["reason"] == "hang redis was not applied, or ended early: redis is not running"


def test_the_reason_of_a_fault_is_shown(tmp_path: Path) -> None:
    """With the trial, in the row of the fault, and in the language of the reader."""
    faults = "faults: [{command: {subject: redis, run: exit 3}, at: 500ms}]\n"
    [trial] = records(tmp_path, REDIS + faults, status=3)
    assert trial["reason_code"] == "check.fault-not-applied.named"
    assert "execute it by hand" in trial["advice"]
    wide = {"COLUMNS": "200"}
    shown = loadcell(tmp_path, "show", "run", env=wide).stdout.replace("`", "")
    assert "command redis was not applied, or ended early: exit 3 ended with status 3" in shown
    assert "unknown (not applied); exit 3 ended with status 3" in shown
    chinese = loadcell(tmp_path, "--lang", "zh", "show", "run", env=wide).stdout.replace("`", "")
    assert "command redis 未能注入，或提前结束：exit 3 以状态 3 结束" in chinese


def test_a_server_that_stays_down_after_its_fault_is_an_outcome(tmp_path: Path) -> None:
    """The expectations are judged, and the server is started again for the next trial."""
    run = "kill -9 $LOADCELL_SUBJECT_PIDS"
    kill = f"{{command: {{subject: redis, run: {run}}}, at: 2500ms, expect: [effect == outage]}}"
    plan = REDIS.replace("repeats: 1", "repeats: 2").replace("duration: 3s", "duration: 5s")
    for trial in records(tmp_path, plan + f"faults: [{kill}]\n"):
        assert trial["status"] == "ok"
        assert [result["verdict"] for result in trial["expect"]] == ["met"]
        assert {"name": "target-down", "verdict": "noticed", "detail": {}} in trial["checks"]
        assert 1000 < trial["totals"]["transactions"]["succeeded"] < 1500
    shown = re.sub(r"\s+", " ", loadcell(tmp_path, "show", "run").stdout)
    assert "outage; down afterwards in 2 of 2" in shown
    assert "The target was down after the load and the faults" in shown


def test_a_fault_whose_time_does_not_come_makes_the_trial_invalid(tmp_path: Path) -> None:
    [trial] = records(tmp_path, REDIS + "faults: [{hang: redis, after: 1000000, for: 1s}]\n", status=3)
    assert trial["faults"][0]["state"] == "waiting"
    assert trial["reason"] == "hang redis was not applied: the load ended before its time"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_ends_during_a_fault_leaves_none(tmp_path: Path, number: signal.Signals) -> None:
    plan = POSTGRES.replace("duration: 4s", "duration: 1min")
    with Live(tmp_path, plan + "faults: [{hang: postgres, at: 500ms, for: 50s}]\n") as live:
        live.in_phase("measure")
        server = live.server()
        until(lambda: _state(server) == "T", "the fault")
        os.kill(live.process.pid, number)
        until(lambda: _state(server) in ("", "Z"), "the server's end")
        assert live.end() == (130 if number == signal.SIGINT else -number)
    deadline = time.monotonic() + 20
    while list((tmp_path / "state").rglob("*.json")):
        assert time.monotonic() < deadline, "the journal is empty at the end"
        time.sleep(0.05)


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def test_statements_of_a_fault_act_on_the_server_of_the_load(tmp_path: Path) -> None:
    faults = (
        "faults:\n  - {long-transaction: postgres, at: 500ms, for: 3s}\n"
        "  - {full-scan: {subject: postgres, table: sbtest1}, at: 1s, for: 2s, overlap: true}\n"
        "  - {checkpoint: postgres, at: 1500ms, overlap: true}\n"
        "  - {terminate-backends: postgres, at: 2s, overlap: true}\n"
        "  - {terminate-backends: postgres, at: 2500ms, overlap: true}\n"
        "  - {terminate-backends: postgres, at: 3200ms, overlap: true}\n"
    )
    [trial] = records(tmp_path, POSTGRES + faults)
    assert trial["status"] == "ok", trial["reason"]
    states = {fault["action"]: fault["state"] for fault in trial["faults"]}
    assert states == {
        "long-transaction": "undone", "full-scan": "undone",
        "checkpoint": "applied", "terminate-backends": "applied",
    }  # fmt: skip
    assert {error["code"] for error in trial["errors"]} <= {"57P01", "connection-lost"}
    # one time a connection may be idle; not all three times
    assert trial["errors"], "requests in flight are lost with their connections"


def test_faults_act_on_an_external_server_where_they_are_allowed(
    tmp_path: Path, postgres_server: PostgresServer
) -> None:
    target = f"{{server: external, dsn: '{postgres_server.dsn()}', faults-allowed: true}}"
    plan = POSTGRES.replace("{server: embedded}", target).replace("4s", "3s")
    faults = (
        "faults:\n  - {terminate-backends: postgres, at: 730ms}\n"
        "  - {terminate-backends: postgres, at: 910ms}\n"
        "  - {terminate-backends: postgres, at: 1130ms}\n"
        "  - {command: {subject: postgres, run: 'touch ran'}, at: 1500ms, for: 1s}\n"
    )
    with closing(psycopg.connect(postgres_server.dsn(), autocommit=True)) as session:
        [trial] = records(tmp_path, plan + faults)
        session.execute("SELECT 1")
    assert [fault["state"] for fault in trial["faults"]] == ["applied"] * 3 + ["undone"]
    # one time a connection may be idle; not all three times
    assert trial["errors"], "requests in flight are lost with their connections"
    assert (tmp_path / "ran").exists()


def test_a_fault_is_judged_on_the_timeline_of_the_load(tmp_path: Path) -> None:
    plan = REDIS.replace("duration: 3s", "duration: 5s")
    expect = "[pause > 1s, effect == none, recovery < 1h]"
    faults = f"faults: [{{hang: redis, at: 2500ms, for: 1200ms, expect: {expect}}}]\n"
    [trial] = records(tmp_path, plan + faults + "expect: [pause < 1min]\n", status=1)
    [judgement] = [fault["judgement"] for fault in trial["faults"]]
    assert judgement["effect"] == "outage"
    assert judgement["pause_s"] == pytest.approx(1.2, abs=0.3)
    assert judgement["lost"] == pytest.approx(600, rel=0.3)
    assert judgement["recovery"]["censored"] == "too-short"
    assert judgement["hung"]["number"] >= 1
    verdicts = {result["expression"]: (result["verdict"], result.get("fault")) for result in trial["expect"]}
    assert verdicts == {
        "pause < 1min": ("met", None),
        "pause > 1s": ("met", 0),
        "effect == none": ("missed", 0),
        "recovery < 1h": ("unknown", 0),
    }
    assert trial["totals"]["figures"]["pause"] == pytest.approx(1e3 * judgement["pause_s"])
    [directory] = (tmp_path / "run").glob("trials/*")
    slots, slow = (
        list(csv.DictReader((directory / name).read_text().splitlines()))
        for name in ("timeline.csv", "slow.csv")
    )
    measured = [int(slot["succeeded"]) for slot in slots if float(slot["t_s"]) >= 0]
    assert sum(measured) == pytest.approx(trial["totals"]["transactions"]["succeeded"], abs=2)
    assert slow[0]["outcome"] == "ok"


def test_a_trial_without_faults_has_no_timeline(tmp_path: Path) -> None:
    records(tmp_path, REDIS.replace("duration: 3s", "duration: 1s"))
    assert not list((tmp_path / "run").glob("trials/*/timeline.csv"))


def test_acknowledged_writes_of_a_killed_redis_without_persistence_are_lost(tmp_path: Path) -> None:
    """All acknowledged before the kill; an append-only file loses none, as the page cache survives."""
    plan = (
        "target: {redis: {server: local}}\nworkload: {kv: {keys: 10}}\n"
        "load: {clients: 2, rate: 100/s, max_backlog: 1min, warmup: 0s, duration: 4s}\n"
        "faults: [{kill: redis, at: 2s, for: 300ms}]\n"
        "factors: {target.redis.settings.appendonly: ['no', 'yes']}\n"
        "monitors: [{writes: {rate: 200/s}}]\norder: as-written\nrepeats: 1\nexpect: [lost_writes == 0]\n"
    )
    without, logged = (trial["totals"]["figures"] for trial in records(tmp_path, plan, status=1))
    assert 200 < without["lost_writes"] < without["acknowledged_writes"]
    assert logged["lost_writes"] == without["unexpected_writes"] == logged["unexpected_writes"] == 0
    queried = query([tmp_path / "run"], "SELECT lost_writes FROM trials ORDER BY number").rows
    assert queried == [(without["lost_writes"],), (0,)]
    [(completions, rows)] = query(
        [tmp_path / "run"], "SELECT sum(succeeded), count(*) FROM timeline WHERE t_s >= 0"
    ).rows
    assert completions == pytest.approx(800, abs=20)
    assert rows > 400
    assert query([tmp_path / "run"], 'SELECT client, "group", outcome FROM slow').rows == []
    shown = loadcell(tmp_path, "show", "run").stdout
    assert "Acknowledged writes were lost with appendonly = no (" in " ".join(shown.split())
    assert "1 treatment lost none of" in shown
    assert re.search(r"appendonly = yes +[\d,]+ +0 ", shown), shown


def test_a_server_of_a_command_is_killed_and_started_on_its_port(tmp_path: Path) -> None:
    plan = (
        "target: {command: {command: [python3, -u, -m, http.server, '{port}', --bind, 127.0.0.1], "
        "url: 'http://127.0.0.1:{port}'}}\nworkload: {http: {path: /}}\nmonitors: []\nrepeats: 1\n"
        "load: {clients: 1, rate: 20/s, max_backlog: 1min, warmup: 0s, duration: 6s}\n"
        "faults: [{kill: command, at: 1s, for: 200ms}, {hang: command, at: 5s, for: 200ms}]\n"
    )
    [trial] = records(tmp_path, plan)
    assert [fault["state"] for fault in trial["faults"]] == ["undone", "undone"]
    assert trial["totals"]["transactions"]["succeeded"] >= 50


def test_each_client_group_is_judged_alone(tmp_path: Path) -> None:
    """One group sends to the server that hangs twice as often as the other."""
    plan = (
        "target: {redis: {server: local}}\nworkloads:\n"
        "  often: {kv: {keys: 10}, load: {clients: 2, rate: 200/s, max_backlog: 1min}}\n"
        "  seldom: {kv: {keys: 10}, load: {clients: 1, rate: 100/s, max_backlog: 1min}}\n"
        "load: {warmup: 0s, duration: 4s}\nmonitors: []\nrepeats: 1\n"
        "faults: [{hang: redis, at: 2500ms, for: 300ms}]\n"
        "expect: [often.pause > 250ms, seldom.pause > 250ms]\n"
    )
    [trial] = records(tmp_path, plan)
    [fault] = trial["faults"]
    assert fault["groups"].keys() == {"often", "seldom"}
    rates = {name: judged["baseline"]["rate_per_s"] for name, judged in fault["groups"].items()}
    assert rates["often"] == pytest.approx(2 * rates["seldom"], rel=0.1)
    assert fault["judgement"]["baseline"]["rate_per_s"] == pytest.approx(sum(rates.values()), rel=0.05)
    assert trial["groups"]["seldom"]["figures"]["pause"] >= 290
    page = loadcell(tmp_path, "report", "run", "--format", "md", "--out", "page.md")
    assert page.returncode == 0, page.stderr
    written = (tmp_path / "page.md").read_text()
    assert "| `hang redis` | `often` |" in written
    assert "steady state" not in written, "the fault is the disturbance that was asked for"
