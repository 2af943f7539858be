"""A failover under load: the load reconnects to the new primary, and lost acknowledged writes are counted."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from execution.live import loadcell

PLAN = """
target: {postgres: {server: embedded, standbys: {count: 1}, settings: {fsync: off}}}
workload: {sysbench: {script: oltp_update_index, tables: 1, table_size: 200}}
load: {clients: 2, rate: 100/s, max_backlog: 1min, timeout: 2s, warmup: 0s, duration: 8s, interval: 500ms}
monitors: [postgres, target, writes: {rate: 100/s}]
factors: {target.postgres.standbys.replication: [asynchronous, synchronous]}
faults:
  - {kill: postgres.standby-1, at: 2s, for: 1500ms}
  - {kill: postgres, at: 3s, overlap: true}
  - {promote: postgres.standby-1, at: 4s, overlap: true}
repeats: 1
"""


def test_only_asynchronous_replication_loses_acknowledged_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "plan.yaml").write_text(PLAN)
    done = loadcell(tmp_path, "run", "plan.yaml", "--out", "run", "--no-report")
    assert done.returncode == 0, done.stderr + done.stdout
    paths = sorted((tmp_path / "run").glob("trials/*/trial.json"))
    trials = [json.loads(path.read_text()) for path in paths]
    lost = {}
    for path, trial in zip(paths, trials, strict=True):
        [replication] = trial["levels"].values()
        assert trial["status"] == "ok", trial.get("reason")
        assert [fault["state"] for fault in trial["faults"]] == ["undone", "undone", "applied"]
        promoted_s = trial["faults"][2]["applied"]["ended_s"]
        intervals = list(csv.DictReader(path.with_name("intervals.csv").read_text().splitlines()))
        after = [
            int(row["succeeded"])
            for row in intervals
            if row["operation"] == "transaction" and float(row["t_s"]) > promoted_s + 1
        ]
        assert sum(after) > 50, "the load has reached the new primary"
        rows = list(csv.DictReader(path.with_name("postgres-replication.csv").read_text().splitlines()))
        assert {row["standby"] for row in rows} == {"standby_1"}
        assert {row["sync_state"] for row in rows} == {"async" if replication == "asynchronous" else "sync"}
        watched = list(csv.DictReader(path.with_name("processes.csv").read_text().splitlines()))
        # samples are seconds apart where they cost much CPU time
        servers = [row for row in watched if row["name"] == "postgres" and "postgres: " not in row["role"]]
        former = {row["pid"] for row in servers if float(row["t_s"]) < 2}
        running = {row["pid"] for row in servers if float(row["t_s"]) > promoted_s}
        assert running - former, "the server process of a standby that was started again"
        assert trial["resources"]["target"]["processes"] > 0
        lost[replication] = trial["totals"]["figures"]["lost_writes"]
    # one second of writes without a standby, of which a busy machine may miss some
    assert lost["asynchronous"] > 30
    assert lost["synchronous"] == 0
    assert not list((tmp_path / "state").rglob("*.json")), "the journal is empty at the end"
