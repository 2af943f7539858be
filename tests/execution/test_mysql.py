"""MariaDB as a person measures it: whole runs, their records, and what is reported when the server goes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from execution.live import loadcell
from mariadb import MariadbServer

LOCAL = """
target: {mysql: {settings: {innodb_flush_log_at_trx_commit: 0, innodb_log_file_size: 16M}}}
workload: {sysbench: {script: oltp_read_write, tables: 2, table_size: 2000}}
load: {warmup: 0s, duration: 500ms, interval: 100ms}
factors: {load.clients: [1, 2]}
repeats: 1
monitors: [target]
expect: [errors == 0, throughput > 0/s]
"""

EXTERNAL = """
target: {{mysql: {{server: external, url: "{url}", password: "${{env:SECRET}}"}}}}
workload: {workload}
load: {{clients: 2, warmup: 0s, duration: {duration}, interval: 100ms}}
repeats: 1
monitors: []
expect: [errors == 0]
"""


#: No word that a page or a log has by itself.
PASSWORD = "quite-9-unguessable"


@pytest.fixture
def url(mariadb_server: MariadbServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a server, whose password is in the environment."""
    monkeypatch.setenv("SECRET", PASSWORD)
    mariadb_server.sql(f"CREATE USER IF NOT EXISTS runner@'%' IDENTIFIED BY '{PASSWORD}'")
    mariadb_server.sql("GRANT ALL ON *.* TO runner@'%'")
    return f"mysql://runner@{mariadb_server.host}:{mariadb_server.port}"


def trials(path: Path) -> list[dict[str, Any]]:
    return [json.loads(file.read_text()) for file in sorted((path / "trials").glob("*/trial.json"))]


def checks(trial: dict[str, Any]) -> dict[str, str]:
    return {check["name"]: check["verdict"] for check in trial["checks"]}


def test_a_server_of_loadcells_own_from_plan_to_report(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(LOCAL)
    done = loadcell(tmp_path, "run", "plan.yaml", "--out", "run")
    assert done.returncode == 0, done.stderr
    result = trials(tmp_path / "run")
    assert [trial["status"] for trial in result] == ["ok", "ok"]
    assert [trial["data_set"]["how"] for trial in result] == ["loaded", "restored"]
    for trial in result:
        assert checks(trial)["server-counters"] == "ok"
        assert trial["target"]["product"] == "MariaDB"
    for watched in (tmp_path / "run").glob("trials/*/processes.csv"):
        assert "mariadbd" in watched.read_text()
    page = (tmp_path / "run" / "report.html").read_text()
    assert "MariaDB" in page


@pytest.mark.parametrize("script", ["oltp_point_select", "oltp_update_index"])
def test_the_servers_counters_agree_without_transactions_too(tmp_path: Path, url: str, script: str) -> None:
    workload = f"{{sysbench: {{script: {script}, table_size: 1000, protocol: simple}}}}"
    text = EXTERNAL.format(url=url, workload=workload, duration="300ms")
    (tmp_path / "plan.yaml").write_text(text)
    done = loadcell(tmp_path, "run", "plan.yaml", "--out", "run")
    assert done.returncode == 0, done.stderr
    [trial] = trials(tmp_path / "run")
    [counted] = [check for check in trial["checks"] if check["name"] == "server-counters"]
    assert counted["verdict"] == "ok"
    assert counted["detail"]["commits"]["server"] >= counted["detail"]["commits"]["client"] > 0
    written = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert not any(PASSWORD.encode() in path.read_bytes() for path in written)


def test_tpcc_is_consistent_afterwards(tmp_path: Path, url: str) -> None:
    text = EXTERNAL.format(url=url, workload="{tpcc: {warehouses: 1}}", duration="1s")
    (tmp_path / "plan.yaml").write_text(text)
    done = loadcell(tmp_path, "run", "plan.yaml", "--out", "run", "--no-report")
    assert done.returncode == 0, done.stderr
    [trial] = trials(tmp_path / "run")
    assert trial["status"] == "ok"
    assert checks(trial)["tpcc-consistency"] == "ok"
    assert trial["operations"]["new_order"]["succeeded"] > 0
    seconds = trial["measure"]["duration_s"]
    counted = trial["operations"]["new_order"]["succeeded"] * 60 / seconds
    assert trial["totals"]["figures"]["tpmC"] == pytest.approx(counted, rel=1e-6)


def test_ycsb_counts_what_the_server_counts(tmp_path: Path, url: str) -> None:
    workload = "{ycsb: {workload: F, recordcount: 500, fieldcount: 3}}"
    (tmp_path / "plan.yaml").write_text(EXTERNAL.format(url=url, workload=workload, duration="300ms"))
    done = loadcell(tmp_path, "run", "plan.yaml", "--out", "run", "--no-report")
    assert done.returncode == 0, done.stderr
    [trial] = trials(tmp_path / "run")
    assert trial["status"] == "ok"
    assert checks(trial)["server-counters"] == "ok"
    assert trial["operations"]["READ-MODIFY-WRITE"]["succeeded"] > 0
    assert trial["operations"]["missed"]["succeeded"] == 0


@pytest.mark.parametrize(
    ("workload", "message", "advice"),
    [
        ("{pgbench: {}}", "pgbench does not work with the target mysql", "postgres"),
        ("{sysbench: {protocol: extended}}", "no protocol `extended`", "`simple` or `prepared`"),
        ("{tpcc: {protocol: extended}}", "no protocol `extended`", "`simple` or `prepared`"),
        ("{ycsb: {protocol: extended}}", "no protocol `extended`", "`simple` or `prepared`"),
    ],
)
def test_what_cannot_run_here_is_known_before_the_run(
    tmp_path: Path, workload: str, message: str, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "secret-x")
    text = EXTERNAL.format(url="mysql://u@127.0.0.1/d", workload=workload, duration="1s")
    (tmp_path / "plan.yaml").write_text(text)
    done = loadcell(tmp_path, "check", "plan.yaml")
    assert done.returncode == 2
    assert message in done.stderr
    assert advice in done.stderr
