"""Embedded stores as a person measures them: whole runs, their records, and what is reported when the process
goes.
"""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

from execution.live import Live, loadcell, measured

PLAN = """
target: {store: {sync: false}}
workload: {kv: {keys: 1000, reads: 50%, verify: true}}
load: {warmup: 0s, duration: 500ms, interval: 100ms, clients: 2}
factors: {target.store.engine: [redb, lmdb]}
repeats: 1
monitors: [target]
expect: [errors == 0, throughput > 0/s]
"""


def trials(path: Path) -> list[dict[str, Any]]:
    return [json.loads(file.read_text()) for file in sorted((path / "trials").glob("*/trial.json"))]


def test_two_engines_from_plan_to_report(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN)
    done = measured(tmp_path, "plan.yaml", "--no-report")
    assert done.returncode == 0, done.stdout + done.stderr
    result = trials(tmp_path / "run")
    assert [trial["status"] for trial in result] == ["ok", "ok"]
    assert {trial["target"]["product"] for trial in result} == {"redb", "LMDB"}
    for trial in result:
        verdicts = {check["name"]: check["verdict"] for check in trial["checks"]}
        assert verdicts["client-limit"] == verdicts["littles-law"] == verdicts["counting-identity"] == "ok"
        assert "client-waiting" not in verdicts, "its threads are the store's own"
        assert len(trial["client"]["threads"]) == 2
    for watched in (tmp_path / "run").glob("trials/*/processes.csv"):
        assert "loadcell.execution.worker" in watched.read_text()
    assert loadcell(tmp_path, "report", "run", "--format", "html").returncode == 0
    assert "LMDB" in (tmp_path / "run" / "report.html").read_text()


def test_a_killed_process_costs_its_trial_and_the_next_has_the_data_as_they_were(tmp_path: Path) -> None:
    plan = PLAN.replace("[redb, lmdb]", "[redb]").replace("repeats: 1", "repeats: 2")
    with Live(tmp_path, plan.replace("duration: 500ms", "duration: 2s")) as live:
        live.in_phase("measure")
        os.kill(live.worker(), signal.SIGKILL)
        assert live.end() == 3
        assert live.statuses() == ["failed", "ok"]
        [failed, good] = live.stored().trials
        assert failed.reason == "the worker process was killed by SIGKILL"
        assert good.data_set["how"] == "restored"
        assert good.errors == ()


def test_the_ready_plan_reads_and_writes_the_data_that_were_written_first(tmp_path: Path) -> None:
    few = ("repeats=1", "load.requests_per_client=500", "workload.kv.keys=4000", "order=as-written")
    settings = [word for setting in few for word in ("--set", setting)]
    done = loadcell(tmp_path, "run", "kv-write-then-read", *settings, "--out", "run", "--no-report")
    assert done.returncode == 0, done.stderr
    result = {trial["levels"]["step"]: trial for trial in trials(tmp_path / "run")}
    assert {trial["status"] for trial in result.values()} == {"ok"}
    succeeded = {
        step: {name: counts["succeeded"] for name, counts in trial["operations"].items()}
        for step, trial in result.items()
    }
    assert succeeded["write"]["insert"] == 8 * 500
    assert succeeded["read"]["get"] == 8 * 500
    assert all(counts.get("missed", 0) == 0 for counts in succeeded.values()), "the data were not there"
    origins = {step: trial["data_set"]["how"] for step, trial in result.items()}
    assert (origins["reads 20%"], origins["reads 40%"], origins["read"]) == ("loaded", "restored", "restored")
    mixes = [name for name in result if name.startswith("reads")]
    assert len({result[step]["data_set"]["fingerprint"] for step in [*mixes, "read"]}) == 1
