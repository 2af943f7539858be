"""Faults of the network on real servers, under load: by the proxy that carries the load of all trials."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from execution.live import Live, loadcell, until
from servers import free_port

HTTP = """
target:
  command:
    command: [nginx, -e, stderr, -p, "{work}", -c, "{work}/nginx.conf"]
    url: http://127.0.0.1:{port}
    files:
      nginx.conf: |
        daemon off;
        worker_processes 1;
        pid {work}/nginx.pid;
        events { worker_connections 512; }
        http {
          access_log off;
          keepalive_requests 1000000;
          client_body_temp_path {work}/body;
          proxy_temp_path {work}/proxy;
          fastcgi_temp_path {work}/fastcgi;
          uwsgi_temp_path {work}/uwsgi;
          scgi_temp_path {work}/scgi;
          server {
            listen 127.0.0.1:{port};
            location /host { return 200 "$host:$server_port $http_host"; }
            location / { return 200 "value"; }
          }
        }
workload: {http: {requests: {get: {path: /get, check: {equals: value}}}}}
load: {clients: 4, rate: 300/s, max_backlog: 1min, timeout: 300ms, warmup: 0s, duration: 2s, interval: 100ms}
monitors: []
repeats: 1
"""
REDIS = """
target: {redis: {server: local, settings: {save: ""}, connect: socket}}
workload: {kv: {keys: 100}}
load: {clients: 4, rate: 300/s, max_backlog: 1min, timeout: 300ms, warmup: 0s, duration: 2s, interval: 100ms}
monitors: [target]
repeats: 1
"""
POSTGRES = """
target: {postgres: {server: local}}
workload: {sysbench: {script: oltp_point_select, tables: 1, table_size: 100}}
load: {clients: 4, rate: 300/s, max_backlog: 1min, timeout: 300ms, warmup: 0s, duration: 2s, interval: 100ms}
monitors: []
repeats: 1
"""
#: Effect of each action on the trial: its fault, from 0.5 s to 1 s.
ACTIONS = {
    "none": "",
    "delay": "delay: {subject: network, time: 20ms}",
    "bandwidth": "bandwidth: {subject: network, rate: 10kB/s}",
    "reset": "reset: network",
    "refuse": "refuse: network",
    "blackhole": "blackhole: network",
    "truncate": "truncate: {subject: network, bytes: 1B}",
}


def test_no_proxy_lends_a_socket_that_knows_its_users(tmp_path: Path) -> None:
    """PostgreSQL takes who connects to its Unix socket for the user of the process: here, of the proxy."""
    plan = POSTGRES.replace("server: local", "server: local, connect: socket")
    (tmp_path / "plan.yaml").write_text(f"{plan}faults: [{{reset: network, at: 500ms, for: 500ms}}]\n")
    done = loadcell(tmp_path, "run", "plan.yaml", "--out", "run", "--no-report")
    assert done.returncode != 0
    assert "it would take every user of this machine" in " ".join((done.stderr + done.stdout).split())


def records(home: Path, plan: str, *, status: int = 0) -> dict[str, dict[str, Any]]:
    """The records of a plan's trials, by the level of `faults`."""
    (home / "plan.yaml").write_text(plan)
    done = loadcell(home, "run", "plan.yaml", "--out", "run", "--no-report")
    assert done.returncode == status, done.stderr + done.stdout
    trials = [json.loads(path.read_text()) for path in sorted((home / "run").glob("trials/*/trial.json"))]
    return {trial["levels"].get("faults", ""): trial for trial in trials}


def levels(**actions: str) -> str:
    """The factor `faults` with these actions."""
    lines = [
        f"    {name}: [{{{action}, at: 500ms, for: 500ms}}]" if action else f"    {name}: []"
        for name, action in actions.items()
    ]
    return "\n".join(["factors:", "  faults:", *lines, ""])


def failed(trial: dict[str, Any]) -> int:
    return int(trial["totals"]["transactions"]["failed"])


def response_ms(trial: dict[str, Any], key: str) -> float:
    return float(trial["totals"]["response"][key])


@pytest.mark.parametrize("plan", [HTTP, REDIS, POSTGRES], ids=["http", "redis", "postgres"])
def test_each_action_has_its_effect_and_ends(tmp_path: Path, plan: str) -> None:
    trials = records(tmp_path, plan + levels(**ACTIONS))
    assert {name: trial["status"] for name, trial in trials.items()} == dict.fromkeys(ACTIONS, "ok")
    states = {name: trial["faults"][0]["state"] for name, trial in trials.items() if "faults" in trial}
    assert states == dict.fromkeys([name for name in ACTIONS if name != "none"], "undone")
    for name, trial in trials.items():
        proxy = trial["proxy"]
        assert proxy["connections"] >= 4, name
        assert proxy["to_client_bytes"] > 0, name
        assert trial["totals"]["transactions"]["succeeded"] > 300, name
    assert failed(trials["none"]) == 0
    assert (failed(trials["delay"]), failed(trials["refuse"])) == (0, 0)
    assert response_ms(trials["delay"], "max_ms") >= 20
    assert trials["reset"]["proxy"]["reset"] >= 4
    assert failed(trials["blackhole"]) > 0
    assert trials["blackhole"]["proxy"]["swallowed_bytes"] > 0
    assert response_ms(trials["bandwidth"], "max_ms") > response_ms(trials["none"], "p50_ms")
    assert trials["truncate"]["proxy"]["truncated"] > 0


def test_a_share_of_requests_is_answered_with_an_error(tmp_path: Path) -> None:
    fault = "faults: [{http-5xx: {subject: network, share: 30%}, at: 500ms, for: 1s}]\n"
    [trial] = records(tmp_path, HTTP + fault).values()
    assert 50 <= trial["proxy"]["answered"] <= 130  # of 300
    assert failed(trial) == trial["proxy"]["answered"]
    assert [error["code"] for error in trial["errors"]] == ["http-503"]
    assert trial["proxy"]["connections"] == 4, "connections stay open"


def test_requests_name_the_service_and_not_the_proxy(tmp_path: Path) -> None:
    port = free_port()
    plan = HTTP.replace("127.0.0.1:{port}", f"localhost:{port}").replace("path: /get", "path: /host")
    plan = plan.replace("equals: value", f'equals: "localhost:{port} localhost:{port}"')
    [trial] = records(tmp_path, plan + "faults: [{delay: {subject: network, time: 1ms}, at: 1s}]\n").values()
    assert (trial["status"], failed(trial)) == ("ok", 0)


def test_trials_of_other_plans_have_no_proxy(tmp_path: Path) -> None:
    [trial] = records(tmp_path, REDIS).values()
    assert "proxy" not in trial


def test_overlapping_faults_of_a_kind_end_one_by_one(tmp_path: Path) -> None:
    faults = (
        "faults: [{delay: {subject: network, time: 10ms}, after: 50}, "
        "{delay: {subject: network, time: 30ms}, after: 150, for: 500ms}]\n"
    )
    [trial] = records(tmp_path, REDIS + faults).values()
    assert [fault["state"] for fault in trial["faults"]] == ["undone", "undone"]
    assert 10 <= response_ms(trial, "p50_ms") < response_ms(trial, "max_ms")


def test_nothing_of_the_proxy_is_left_after_a_killed_run(tmp_path: Path) -> None:
    plan = REDIS.replace("duration: 2s", "duration: 1min")
    with Live(tmp_path, plan + "faults: [{blackhole: network, at: 200ms, for: 50s}]\n") as live:
        live.measured()
        ports = _loopback_listeners(live.process.pid)
        assert ports, "the proxy listens"
        os.kill(live.process.pid, signal.SIGKILL)
        live.end()
        until(lambda: not ports & _listening(), "the proxy's end")


def _listening() -> set[str]:
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return {line.split()[1] for line in lines if line.split()[3] == "0A"}


def _loopback_listeners(pid: int) -> set[str]:
    """Addresses on which the threads of a process listen; each has its own descriptors."""
    inodes = set()
    for link in Path(f"/proc/{pid}/task").glob("*/fd/*"):
        try:
            inodes.add(str(link.readlink()))
        except OSError:
            continue
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in inodes}


def test_the_ready_plan_is_valid(tmp_path: Path) -> None:
    done = loadcell(tmp_path, "check", "service-slow-network")
    assert done.returncode == 0, done.stderr + done.stdout
