"""Placements as a person measures with them: real processes on this machine's processors, as the kernel has
them.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from execution.live import loadcell
from loadcell import report
from loadcell.linux.cpu import topology
from loadcell.plan.affinity import ranges

#: Runs of a plan at most, where checks of the measurement make trials of the first ones invalid.
_ATTEMPTS = 3
MINE = sorted(os.sched_getaffinity(0))
FIRST, LAST = MINE[0], MINE[-1]

POSTGRES = f"""
target: {{postgres: {{server: embedded}}}}
workload: {{sysbench: {{script: oltp_point_select, tables: 1, table_size: 100}}}}
load: {{clients: 1, warmup: 0s, duration: 300ms, interval: 100ms}}
affinity: {{target: cpus {FIRST}, client: cpus {LAST}}}
factors: {{affinity.target: [cpus {FIRST}, all]}}
repeats: 1
monitors: []
"""
SERVER = (
    "import http.server, subprocess, sys; "
    "subprocess.Popen(['sleep', '60'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL); "
    "http.server.test(http.server.SimpleHTTPRequestHandler, port=int(sys.argv[1]), bind='127.0.0.1')"
)
COMMAND = f"""
target:
  command: {{command: [python3, -c, "{SERVER}", "{{port}}"], url: "http://127.0.0.1:{{port}}"}}
workload: {{http: {{path: /}}}}
load: {{clients: 2, warmup: 0s, duration: 300ms, interval: 100ms}}
affinity: {{target: cpus {LAST}}}
repeats: 1
monitors: []
"""
STORE = f"""
target: {{store: {{sync: false}}}}
workload: {{kv: {{keys: 100}}}}
load: {{clients: 2, warmup: 0s, duration: 300ms, interval: 100ms}}
affinity: {{target: cpus {LAST}, memory: node 0}}
repeats: 1
monitors: []
"""
NODES = COMMAND.replace(
    f"affinity: {{target: cpus {LAST}}}",
    """factors:
  where:
    node: {affinity.node: 0}
    memory: {affinity.memory: node 0}
    interleaved: {affinity.memory: interleave}""",
)


def trials(path: Path) -> list[dict[str, Any]]:
    return [json.loads(file.read_text()) for file in sorted((path / "trials").glob("*/trial.json"))]


def run(home: Path, plan: str, *expected: int) -> list[dict[str, Any]]:
    """Trials of a run. One that another process on this machine disturbed is repeated."""
    home.chmod(0o755)
    (home / "plan.yaml").write_text(plan)
    for attempts_left in reversed(range(_ATTEMPTS)):
        done = loadcell(home, "run", "plan.yaml", "--out", "run", "--no-report")
        records = trials(home / "run")
        invalid = [record for record in records if record["status"] == "invalid"]
        disturbed = [record["reason"] for record in invalid if record["reason_code"] != "check.affinity"]
        if not disturbed or not attempts_left:
            break
        print("repeated:", *disturbed, sep="\n")
        shutil.rmtree(home / "run")
    assert done.returncode in (expected or (0,)), done.stderr
    return records


def seen(trial: dict[str, Any], side: str) -> dict[str, set[str]]:
    """Processors that were read back, by moment."""
    return {look["when"]: set(look["threads"]) for look in trial["affinity"][side]["read_back"]}


def verdict(trial: dict[str, Any]) -> str:
    [result] = [check["verdict"] for check in trial["checks"] if check["name"] == "affinity"]
    return str(result)


def test_a_server_and_the_load_run_where_the_plan_says_and_the_report_tells(tmp_path: Path) -> None:
    results = {trial["levels"]["affinity.target"]: trial for trial in run(tmp_path, POSTGRES)}
    assert {trial["status"] for trial in results.values()} == {"ok"}
    pinned = results[f"cpus {FIRST}"]
    assert seen(pinned, "target") == {"up": {str(FIRST)}, "load": {str(FIRST)}}
    assert seen(pinned, "client")["start"] == {str(LAST)}
    assert all(cpus == {str(LAST)} for cpus in seen(pinned, "client").values())
    assert pinned["affinity"]["asked"] == {"target": f"cpus {FIRST}", "client": f"cpus {LAST}"}
    assert verdict(pinned) == verdict(results["all"]) == "ok"
    assert seen(results["all"], "target")["up"] != seen(pinned, "target")["up"] or len(MINE) == 1
    [limit] = [check for check in pinned["checks"] if check["name"] == "client-limit"]
    assert limit["detail"]["threads"] == 1
    assert loadcell(tmp_path, "report", "run", "--format", "html").returncode == 0
    page = (tmp_path / "run" / "report.html").read_text()
    assert f"cpus {FIRST} (CPUs {FIRST})" in page
    assert "CPUs of the load generator" in page


def test_what_placements_are_on_this_machine_is_reported_beforehand(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(POSTGRES)
    done = loadcell(tmp_path, "check", "plan.yaml", "--json")
    assert done.returncode == 0, done.stderr
    placements = json.loads(done.stdout)["placements"]
    assert placements["target"][f"cpus {FIRST}"] == str(FIRST)
    assert placements["client"] == {f"cpus {LAST}": str(LAST)}
    assert f"cpus {FIRST} (CPUs {FIRST})" in loadcell(tmp_path, "check", "plan.yaml").stdout


def test_a_command_runs_there_with_all_that_it_starts(tmp_path: Path) -> None:
    [trial] = run(tmp_path, COMMAND)
    assert trial["status"] == "ok", trial["reason"]
    up = trial["affinity"]["target"]["read_back"][0]
    assert set(up["threads"]) == {str(LAST)}
    assert up["threads"][str(LAST)] >= 2, "the server and its child"


def test_a_target_in_the_client_runs_where_it_is_put_with_its_memory(tmp_path: Path) -> None:
    [trial] = run(tmp_path, STORE, 0, 3)
    if trial["status"] == "failed":  # a filter of system calls: the error is shown, and nothing is measured
        assert "the kernel refuses the memory policy bind:0" in trial["reason"]
        return
    placed = trial["affinity"]
    assert (placed["target_in_client"], placed["client"]["memory"]) == (True, "bind:0")
    assert placed["client"]["read_back"][0] == {
        "when": "start",
        "threads": {str(LAST): 1},
        "memory": {"bind:0": 1},
    }
    assert verdict(trial) == "ok"


def test_a_node_is_a_level_and_so_is_memory_alone_and_what_came_of_it_is_read_back(tmp_path: Path) -> None:
    results = {trial["levels"]["where"]: trial for trial in run(tmp_path, NODES, 0, 3)}
    if (
        results["node"]["status"] == "failed"
    ):  # a filter of system calls: the error is shown, and nothing is measured
        assert all("the kernel refuses the memory policy" in trial["reason"] for trial in results.values())
        return
    assert {verdict(trial) for trial in results.values()} == {"ok"}
    assert {trial["status"] for trial in results.values()} == {"ok"}
    node = results["node"]["affinity"]
    assert node["asked"] == {"target": "node 0", "client": "node 0", "memory": "node 0"}
    here = ranges(topology().cpus_of("node 0"))
    for side in ("target", "client"):
        looks = node[side]["read_back"]
        assert {cpus for look in looks for cpus in look["threads"]} == {here}
        assert {policy for look in looks for policy in look["memory"]} == {"bind:0"}
    for level, policy in (
        ("memory", "bind:0"),
        ("interleaved", f"interleave:{ranges(topology().memory_nodes)}"),
    ):
        placed = results[level]["affinity"]
        assert (set(placed["asked"]), "client" in placed) == ({"memory"}, False)
        assert {policy for look in placed["target"]["read_back"] for policy in look["memory"]} == {policy}
    [page] = report.write(tmp_path / "run", formats=("html",))
    assert f"node 0 (CPUs {here})" in page.read_text()


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("affinity: {node: 0, target: node 0}", "`node` already sets the CPUs"),
        ("affinity: {target: cpus 4000}", "this machine has no CPU 4000"),
        ("affinity: {target: node 900}", "this machine has no node 900"),
        (f"affinity: {{target: cpus {FIRST}, client: all}}", "this target shares one process"),
    ],
)
def test_what_this_machine_has_not_is_reported_before_anything_runs(
    tmp_path: Path, more: str, says: str
) -> None:
    if "all" in more and len(MINE) == 1:
        more, says = more.replace("all", "cpus 4000"), "no CPU 4000"
    (tmp_path / "plan.yaml").write_text(
        "\n".join(line for line in STORE.splitlines() if "affinity" not in line) + f"\n{more}\n"
    )
    done = loadcell(tmp_path, "check", "plan.yaml")
    assert done.returncode == 2
    assert says in done.stdout + done.stderr
