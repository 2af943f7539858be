"""Redis as a person measures it: whole runs, their records, and what is reported when values are not what
they should be.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from execution.live import loadcell
from redis_server import RedisServer

PLAN = """
target: {redis: {settings: {save: ""}}}
workload: {kv: {}}
load: {clients: 8}
"""

EXTERNAL = """
target: {{redis: {{server: external, host: 127.0.0.1, port: {port}, password: "${{env:SECRET}}"}}}}
workload: {{kv: {{value_size: 40B, {kv}}}}}
load: {{clients: 4, warmup: 0s, duration: {duration}}}
repeats: 1
monitors: [redis]
"""

#: No word that a page or a log has by itself.
PASSWORD = "quite-9-unguessable"


@pytest.fixture(scope="module")
def server() -> Any:
    """A server with keys of somebody else in it."""
    with RedisServer(password=PASSWORD) as made:
        made.ask("SET", "theirs", "precious")
        yield made


def run_external(
    home: Path, server: RedisServer, kv: str, *options: str, duration: str = "1s"
) -> tuple[int, dict[str, Any], str]:
    """Exit status, the one trial's record, and what was said."""
    (home / "plan.yaml").write_text(EXTERNAL.format(port=server.port, kv=kv, duration=duration))
    done = loadcell(home, "run", "plan.yaml", "--out", "run", *options, env={"SECRET": PASSWORD})
    [trial] = trials(home / "run")
    return done.returncode, trial, done.stdout + done.stderr


def trials(path: Path) -> list[dict[str, Any]]:
    return [json.loads(file.read_text()) for file in sorted((path / "trials").glob("*/trial.json"))]


def check(trial: dict[str, Any], name: str) -> dict[str, Any]:
    result: dict[str, Any] = next(item for item in trial["checks"] if item["name"] == name)
    return result


def run_plan(home: Path, name: str, *settings: str) -> list[dict[str, Any]]:
    """The trials of a ready plan, cut short."""
    short = ("repeats=1", "load.warmup=0s", "workload.kv.keys=2000", "order=as-written", *settings)
    words = [word for setting in short for word in ("--set", setting)]
    done = loadcell(home, "run", name, *words, "--out", "run", "--no-report")
    assert done.returncode == 0, done.stderr
    return trials(home / "run")


def test_a_server_of_loadcells_own_under_mixes_from_plan_to_report(tmp_path: Path) -> None:
    few = ("load.requests_per_client=300", "factors={workload.kv.reads: [20%, 100%]}", "monitors=[redis]")
    result = run_plan(tmp_path, "kv-mix", *few)
    assert [trial["status"] for trial in result] == ["ok", "ok"]
    assert [trial["data_set"]["how"] for trial in result] == ["loaded", "restored"]
    for trial in result:
        counted = check(trial, "server-counters")
        assert counted["verdict"] == "ok"
        assert sum(item["client"] for item in counted["detail"].values()) == 8 * 300
        assert all(item["server"] == item["client"] for item in counted["detail"].values())
        assert trial["target"]["product"] == "Redis"
    assert loadcell(tmp_path, "report", "run", "--format", "html").returncode == 0
    page = (tmp_path / "run" / "report.html").read_text()
    assert "Redis" in page


def test_hundreds_of_clients(tmp_path: Path) -> None:
    few = ("load.requests_per_client=20", "factors={load.clients: [300]}", "monitors=[]")
    [trial] = run_plan(tmp_path, "kv-clients", *few)
    assert (trial["status"], trial["totals"]["transactions"]["succeeded"]) == ("ok", 6000)


def test_an_external_server_is_left_as_it_was(tmp_path: Path, server: RedisServer) -> None:
    status, trial, message = run_external(
        tmp_path, server, "keys: 2000, reads: 50%, pipeline: 8", duration="2s"
    )
    assert (status, trial["status"]) == (0, "ok"), message
    assert check(trial, "server-counters")["verdict"] == "ok"
    assert server.ask("KEYS", "*") == ["theirs"]
    written = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert not any(PASSWORD.encode() in path.read_bytes() for path in written)
    assert PASSWORD not in message
    [samples] = (tmp_path / "run").glob("trials/*/redis.csv")
    assert len(samples.read_text().splitlines()) >= 2
    page = (tmp_path / "run" / "report.html").read_text()
    assert "Redis: activity and memory" in page
    assert loadcell(tmp_path, "report", "run", "--lang", "zh", "--format", "md").returncode == 0


COMMANDS = """
target: {redis: {settings: {save: ""}}}
workload:
  kv:
    keys: 100
    mix: {get: 1}
    commands:
      pay: {command: [MULTI, "INCRBY ${key}:paid 5", "LPUSH ${key}:log ${value}", EXEC]}
      limit: {script: {file: limit.lua}, keys: ["${key}:hits"], arguments: ["7"]}
load: {clients: 4, warmup: 0s, requests_per_client: 200, duration: 60s}
repeats: 1
monitors: []
"""


def test_transactions_and_scripts_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(COMMANDS)
    script = "return redis.call('INCRBY', KEYS[1], ARGV[1])\n"
    (tmp_path / "limit.lua").write_text(script)
    done = loadcell(tmp_path, "run", "plan.yaml", "--out", "run")
    assert done.returncode == 0, done.stderr
    [trial] = trials(tmp_path / "run")
    assert min(trial["operations"][name]["succeeded"] for name in ("get", "pay", "limit")) > 0
    counted = check(trial, "server-counters")
    assert counted["verdict"] == "ok"
    assert counted["detail"]["evalsha"]["server"] == trial["operations"]["limit"]["succeeded"]
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert json.dumps(script) in json.dumps(record), "the record holds what was run"


def test_script_with_a_mistake_fails_the_trial_with_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(COMMANDS)
    (tmp_path / "limit.lua").write_text("local a = 1\nreturn a +\n")
    done = loadcell(tmp_path, "run", "plan.yaml", "--out", "run")
    assert done.returncode == 3
    [trial] = trials(tmp_path / "run")
    assert "the server refused a script: limit (limit.lua): Error compiling script" in trial["reason"]
    assert "user_script:" in trial["reason"]
    page = loadcell(tmp_path, "report", "run", "--lang", "zh", "--format", "md")
    assert page.returncode == 0, page.stderr
    assert "服务器拒绝了脚本" in (tmp_path / "run" / "report.md").read_text()


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        (", EXEC]", "]", "have MULTI without EXEC"),
        ("limit.lua", "gone.lua", "gone.lua cannot be read: No such file"),
    ],
)
def test_commands_that_cannot_work_are_mistakes_of_the_plan(
    tmp_path: Path, right: str, wrong: str, message: str
) -> None:
    (tmp_path / "limit.lua").write_text("return 1")
    (tmp_path / "plan.yaml").write_text(COMMANDS.replace(right, wrong))
    done = loadcell(tmp_path, "check", "plan.yaml")
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert "plan.yaml:" in done.stderr


def test_values_that_are_wrong_fail_the_trial(tmp_path: Path) -> None:
    # More keys than the server has memory for: it throws some away.
    with RedisServer({"maxmemory-policy": "allkeys-random", "maxmemory": "3mb"}, password=PASSWORD) as small:
        kv = "keys: 6000, key_size: 1kB, reads: 90%, verify: true, key_prefix: 'v:'"
        status, trial, message = run_external(tmp_path, small, kv, "--no-report")
    assert status != 0, message
    assert trial["status"] != "ok"
    errors = {error["code"]: error["count"] for error in trial["errors"]}
    assert errors.get("lost", 0) > 0, (errors, trial["reason"])


@pytest.mark.parametrize(
    ("change", "message", "advice"),
    [
        ("workload: {kv: {mix: {scan: 1}}}", "does not order its keys", "omit `scan`"),
        ("workload: {sysbench: {}}", "sysbench does not work with the target redis", "postgres"),
        ("target: {redis: {settings: {port: 1}}}", "a free port is taken", ""),
    ],
)
def test_what_cannot_run_here_is_known_before_the_run(
    tmp_path: Path, change: str, message: str, advice: str
) -> None:
    key = change.partition(":")[0]
    lines = [line for line in PLAN.splitlines() if not line.startswith(key + ":")]
    (tmp_path / "plan.yaml").write_text("\n".join([*lines, change]) + "\n")
    done = loadcell(tmp_path, "check", "plan.yaml")
    assert done.returncode == 2
    text = " ".join(done.stderr.split())
    assert message in text, done.stderr
    assert advice in text
