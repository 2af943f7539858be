"""YCSB as a person runs it: an unchanged property file on a database, trials on fresh data, a report under
YCSB's names.
"""

from __future__ import annotations

import json
from pathlib import Path

from execution.live import loadcell
from servers import PostgresServer
from workloads.test_ycsb import WORKLOAD_E

PLAN = """
target: {{postgres: {{server: external, dsn: "{dsn}"}}}}
workload: {{ycsb: {{properties: workload, recordcount: 300, fieldcount: 3}}}}
load: {{warmup: 0s, duration: 300ms, interval: 100ms}}
factors: {{workload.ycsb.workload: [E, F]}}
repeats: 1
monitors: []
expect: [errors == 0]
"""


def test_a_property_file_runs_unchanged(tmp_path: Path, postgres_server: PostgresServer) -> None:
    (tmp_path / "workload").write_text(
        "workload=site.ycsb.workloads.CoreWorkload\nthreadcount=3\noperationcount=1000\n"
    )
    (tmp_path / "plan.yaml").write_text(PLAN.format(dsn=postgres_server.dsn()))
    done = loadcell(tmp_path, "run", "plan.yaml", "--out", "run", "--no-report")
    assert done.returncode == 0, done.stderr
    trials = {}
    for path in (tmp_path / "run" / "trials").glob("*/trial.json"):
        trial = json.loads(path.read_text())
        trials[trial["settings"]["workload"]["ycsb"]["workload"]] = trial
    assert {name: trial["status"] for name, trial in trials.items()} == {"e": "ok", "f": "ok"}
    for trial in trials.values():
        assert trial["settings"]["load"]["clients"] == 3
        assert trial["unit"] == "operation"
        assert trial["settings"]["workload"]["ycsb"]["said"]["recordcount"] == 300
        [check] = [item for item in trial["checks"] if item["name"] == "server-counters"]
        assert check["verdict"] == "ok", check
    assert set(trials["e"]["operations"]) == {"INSERT", "SCAN"}
    mixed = trials["f"]["operations"]
    assert mixed["UPDATE"]["succeeded"] > 0
    assert (
        abs(mixed["UPDATE"]["succeeded"] - mixed["READ-MODIFY-WRITE"]["succeeded"]) <= 3
    )  # at the window's edges
    assert loadcell(tmp_path, "report", "run", "--format", "md").returncode == 0
    page = (tmp_path / "run" / "report.md").read_text()
    for word in ("READ-MODIFY-WRITE", "SCAN", "operations"):
        assert word in page, word


def test_workload_e_can_be_checked_as_it_is(tmp_path: Path, postgres_server: PostgresServer) -> None:
    (tmp_path / "workload").write_text(WORKLOAD_E)
    text = PLAN.format(dsn=postgres_server.dsn()).replace("\nload: {", "\nload: {clients: 2, ")
    (tmp_path / "plan.yaml").write_text(text)
    done = loadcell(tmp_path, "check", "plan.yaml")
    assert done.returncode == 0, done.stderr
