"""Client groups as a person runs them: one record, an account of each group, checks judged for each, and a
report of all.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from execution.live import loadcell
from loadcell.execution import checks
from loadcell.execution.executor import group_threads, load_order
from loadcell.model.load_result import (
    ClientResult,
    Distribution,
    GroupResult,
    LoadResult,
    MeasuredWindow,
    OperationResult,
    ThreadResult,
)
from loadcell.parts import installed
from loadcell.plan.load import load_plan
from loadcell.workloads.composite import CompositeWorkload
from plan.fake_parts import read
from servers import PostgresServer

PLAN = """
target: {{postgres: {{server: external, dsn: "{dsn}"}}}}
workloads:
  write:
    pgbench: {{scripts: [simple-update], scale: 1}}
    load: {{clients: 2}}
  read:
    sysbench: {{script: oltp_point_select, tables: 1, table_size: 1000}}
    load: {{clients: 2, rate: 100/s, max_backlog: 1min}}
load: {{warmup: 500ms, duration: 2s, interval: 500ms}}
repeats: 1
monitors: [host]
expect:
  [errors == 0, write.throughput > 0/s, read.latency.p99 < 60s, read.offered > 90/s, write.offered > 1/s]
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, postgres_server: PostgresServer) -> Path:
    """Where a run with two groups was made."""
    home = tmp_path_factory.mktemp("groups")
    (home / "plan.yaml").write_text(PLAN.format(dsn=postgres_server.dsn()))
    done = loadcell(home, "run", "plan.yaml", "--out", "run")
    assert done.returncode == 1, done.stderr + done.stdout  # a closed loop has no offered rate to judge
    return home


@pytest.fixture(scope="module")
def trial(home: Path) -> dict[str, Any]:
    [path] = (home / "run" / "trials").glob("*/trial.json")
    document: dict[str, Any] = json.loads(path.read_text())
    return document


def rows(home: Path) -> list[dict[str, str]]:
    [path] = (home / "run" / "trials").glob("*/intervals.csv")
    with path.open(newline="") as lines:
        return list(csv.DictReader(lines))


def test_totals_are_all_groups_together(trial: dict[str, Any]) -> None:
    operations, total = trial["operations"], trial["totals"]["transactions"]
    assert [name for name in operations if ":" not in name] == ["write", "read"]
    for count in ("attempted", "succeeded", "failed", "in_flight"):
        assert total[count] == operations["write"][count] + operations["read"][count]
    queries = trial["totals"]["queries"]["total"]
    assert queries == sum(group["queries"]["total"] for group in trial["groups"].values())


def test_each_group_has_its_account(trial: dict[str, Any]) -> None:
    write, read = trial["groups"]["write"], trial["groups"]["read"]
    assert (write["workload"], write["clients"], write["schedule"]) == ("pgbench", 2, None)
    assert (read["workload"], read["clients"]) == ("sysbench", 2)
    assert read["schedule"]["offered"] == 200
    assert trial["schedule"] is None
    assert len(write["client"]["threads"]) >= 1
    assert "read" not in trial["settings"]["load"]
    assert trial["settings"]["workloads"]["read"]["load"]["rate"] == "100/s"


def test_laws_are_compared_with_each_group(trial: dict[str, Any]) -> None:
    checks = {check["name"]: check for check in trial["checks"]}
    for name in ("littles-law", "client-limit"):
        assert set(checks[name]["detail"]["groups"]) == {"write", "read"}
    for name in ("pacing", "backlog"):
        assert checks[name]["detail"]["group"] == "read", "the only open loop"
    assert checks["pgbench-balances"]["verdict"] == "ok"
    assert checks["pgbench-balances"]["detail"]["sum(accounts) = sum(history)"] == 0
    assert trial["status"] == "ok"


def test_data_of_both_lie_side_by_side_and_are_restored(trial: dict[str, Any], home: Path) -> None:
    assert trial["data_set"]["rows"] == 100_000 + 10 + 1 + 1_000
    assert "copied_bytes" in trial["data_set"], "one of the groups writes"


def test_expectations_of_groups_are_judged_on_their_own_values(trial: dict[str, Any]) -> None:
    results = {item["expression"]: item for item in trial["expect"]}
    assert results["write.throughput > 0/s"]["value"] == trial["operations"]["write"]["throughput_per_s"]
    assert results["read.latency.p99 < 60s"]["value"] == trial["operations"]["read"]["response"]["p99_ms"]
    assert results["read.offered > 90/s"]["verdict"] == "met"
    assert results["write.offered > 1/s"]["verdict"] == "unknown", "a closed loop offers nothing"


def test_the_series_has_each_groups_state(home: Path) -> None:
    measured = [row for row in rows(home) if row["phase"] == "measure"]
    for name in ("transaction", "write", "read"):
        of_name = [row for row in measured if row["operation"] == name]
        assert len(of_name) == 4
        assert all(row["in_flight"] != "" for row in of_name)
        assert all((row["backlog"] == "") == (name == "write") for row in of_name)
    assert all(row["in_flight"] == "" for row in measured if ":" in row["operation"])


def test_the_report_tells_of_each_group_in_both_languages(home: Path) -> None:
    page = (home / "run" / "report.md").read_text().replace("\\", "")
    for word in ("Client groups", "`write`", "`read`", "pgbench", "sysbench"):
        assert word in page, word
    shown = (home / "run" / "report.html").read_text()
    assert "Client groups: transactions/s" in shown
    assert "Client group write" in shown
    assert loadcell(home, "report", "run", "--lang", "zh", "--format", "md").returncode == 0
    assert "客户端组" in (home / "run" / "report.md").read_text()
    document = json.loads(loadcell(home, "report", "run", "--json").stdout)
    [treatment] = document["treatments"]
    assert [group["name"] for group in treatment["groups"]] == ["write", "read"]


def test_an_overloaded_group_ends_its_trial_and_is_named(
    tmp_path: Path, postgres_server: PostgresServer
) -> None:
    text = PLAN.format(dsn=postgres_server.dsn())
    text = text.replace("rate: 100/s, max_backlog: 1min", "rate: 900000/s, max_backlog: 200ms").replace(
        "duration: 2s", "duration: 60s"
    )
    (tmp_path / "plan.yaml").write_text(text)
    assert loadcell(tmp_path, "run", "plan.yaml", "--out", "run", "--no-report").returncode == 3
    [path] = (tmp_path / "run" / "trials").glob("*/trial.json")
    document = json.loads(path.read_text())
    assert (document["status"], document["reason_code"]) == ("failed", "overloaded")
    assert document["reason"].startswith("client group read: ")
    assert document["groups"]["read"]["schedule"]["backlog"]["peak"] > 0


SHARED = """
target: {database: {}}
workloads:
  many: {mix: {tables: 2}, share: 3}
  few: {mix: {tables: 2}, share: 1}
load: {clients: 8}
"""


class TestThreads:
    def of(self, text: str, total: int, directory: Path) -> list[int]:
        settings = read(directory, text).base
        return [group_threads(group, settings, total) for group in settings.groups]

    def test_are_divided_by_clients_and_nobody_goes_without(self, tmp_path: Path) -> None:
        assert self.of(SHARED, 8, tmp_path) == [6, 2]
        assert self.of(SHARED, 1, tmp_path) == [1, 1]
        assert self.of(SHARED, 100, tmp_path) == [6, 2], "more than clients are of no use"

    def test_a_group_has_the_number_that_it_states(self, tmp_path: Path) -> None:
        plan = SHARED.replace("share: 3", "load: {clients: 6, threads: 5}").replace(
            "share: 1", "load: {clients: 2}"
        )
        plan = plan.replace("load: {clients: 8}", "")
        assert self.of(plan, 4, tmp_path) == [5, 1]


def test_the_engine_is_given_what_is_common_once_and_each_groups_own(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN.format(dsn="postgresql://u@h/d"))
    settings = load_plan(tmp_path / "plan.yaml", installed()).base
    composite = CompositeWorkload.of(settings, installed())
    result = load_order({"protocol": "postgres"}, composite, settings, 2, 5).specification()
    assert result["load"] == {
        "warmup_ns": 500_000_000,
        "duration_ns": 2_000_000_000,
        "interval_ns": 500_000_000,
    }
    assert set(result) == {"version", "seed", "target", "load", "groups"}
    write, read = result["groups"]
    assert write["load"] == {
        "clients": 2,
        "threads": 1,
        "max_retries": 10,
        "drain_ns": 5_000_000_000,
        "lost_ns": 10_000_000_000,
        "timeout_ns": None,
        "schedule": None,
    }
    assert read["load"]["schedule"]["rate"] == [
        {"from_per_s": 100.0, "to_per_s": 100.0, "for_ns": 2_000_000_000}
    ]
    assert (list(write["workload"]), list(read["workload"])) == (["pgbench"], ["sysbench"])


def test_the_worst_group_decides_a_check(tmp_path: Path) -> None:
    def group(name: str, mean_ns: float, busy: float) -> GroupResult:
        response = Distribution(100, mean_ns=mean_ns, max_ns=mean_ns)
        transaction = OperationResult(
            "transaction", attempted=100, carried_in=0, succeeded=100, response=response
        )
        return GroupResult(name, (transaction,), client=ClientResult((ThreadResult(busy=busy),)))

    result = LoadResult(
        outcome="completed",
        window=MeasuredWindow(0, 0, 1_000_000_000),
        groups=(group("many", 60e6, 0.2), group("few", 1e6, 0.95)),
    )
    results = {check.name: check for check in checks.of_load(result, read(tmp_path, SHARED).base)}
    assert results["littles-law"].verdict == "broken"
    assert results["littles-law"].detail["group"] == "few"
    assert results["littles-law"].detail["groups"] == {"many": "ok", "few": "broken"}
    assert (results["client-limit"].verdict, results["client-limit"].detail["group"]) == ("broken", "few")
