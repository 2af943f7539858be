"""The workload `sql` as a person runs it: files, index as a factor, plans, and what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from execution.live import loadcell
from loadcell.report.sections.server import MOST_COLUMNS
from mariadb import MariadbServer
from servers import PostgresServer

SCHEMA = "CREATE TABLE orders (id int PRIMARY KEY, customer int NOT NULL, status varchar(10) NOT NULL);\n"
PLAN = """
target: TARGET
workload:
  sql:
    data: {files: [schema.sql, orders.csv], ready: SELECT count(*) = 3000 FROM orders}
    statements:
      - {name: read, weight: 3, sql: SELECT id FROM orders WHERE customer = :customer AND status <> :word}
      - name: pay
        transaction:
          - SELECT status FROM orders WHERE id = :id FOR UPDATE
          - UPDATE orders SET status = 'paid' WHERE id = :id
    parameters: {customer: "zipfian(1..100, 1.2)", id: {query: SELECT id FROM orders}, word: ["it's", null]}
    before-trial: [DELETE FROM orders WHERE id < 0]
    after-trial: [DELETE FROM orders WHERE id < 0]
    reset-statistics: true
load: {clients: 2, warmup: 0s, duration: 500ms, interval: 100ms}
factors:
  index:
    without: {workload.sql.before-treatment: []}
    with: {workload.sql.before-treatment: [CREATE INDEX by_customer ON orders (customer)]}
repeats: 2
seed: 5
monitors: []
expect: [errors == 0]
"""
#: A change of the plan: no data set is restored.
ONCE = ("repeats: 2", "repeats: 1")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "schema.sql").write_text(SCHEMA)
    rows = "".join(f"{number},{number % 100 + 1},new\n" for number in range(1, 3001))
    (tmp_path / "orders.csv").write_text("id,customer,status\n" + rows)
    return tmp_path


def trials(path: Path) -> list[dict[str, Any]]:
    return [json.loads(file.read_text()) for file in sorted((path / "trials").glob("*/trial.json"))]


def plan_of(target: str, *changes: tuple[str, str]) -> str:
    text = PLAN.replace("TARGET", target)
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    return text


def checked(run: Path, count: int = 4) -> list[dict[str, Any]]:
    """The trials of a run of the plan, whose load and plans are as they should be."""
    result = trials(run)
    assert [trial["status"] for trial in result] == ["ok"] * count
    for trial in result:
        operations = trial["operations"]
        assert operations["read"]["succeeded"] > 0
        assert operations["pay:update"]["succeeded"] > 0
        assert trial["totals"]["transactions"]["failed"] == 0
    explained = [trial for trial in result if trial.get("plans")]
    assert sorted(trial["levels"]["index"] for trial in explained) == ["with", "without"]
    for trial in explained:
        plans = {plan["statement"]: plan for plan in trial["plans"]}
        assert set(plans) == {"read:select", "pay:select", "pay:update"}
        assert not any("trouble" in plan for plan in plans.values())
        uses = "by_customer" in " ".join(plans["read:select"]["shape"])
        assert uses is (trial["levels"]["index"] == "with"), plans["read:select"]
        assert plans["read:select"]["sql"].endswith("customer = :customer AND status <> :word")
    report = (run / "report.md").read_text()
    sentence, *_ = [line for line in report.splitlines() if "plan of `read:select` differs between" in line]
    assert sentence.index("(index = without)") < sentence.index("(index = with)")
    assert "by\\_customer" in sentence
    assert "Execution plans" in report
    statements = [line for line in report.splitlines() if line.startswith(("SELECT ", "UPDATE "))]
    assert statements
    assert all(len(line) <= MOST_COLUMNS for line in statements)
    return result


def test_an_index_is_a_factor_on_an_embedded_postgres(home: Path) -> None:
    (home / "plan.yaml").write_text(plan_of("{postgres: {server: embedded}}"))
    done = loadcell(home, "run", "plan.yaml", "--out", "run")
    assert done.returncode == 0, done.stderr
    result = checked(home / "run")
    assert [trial["data_set"]["how"] for trial in result] == ["loaded", "loaded", "restored", "restored"]
    assert {trial["data_set"].get("rows") for trial in result[:2]} == {3000}
    for trial in result:
        for plan in trial.get("plans") or ():
            assert any("Buffers:" in line for line in plan["text"])
            assert plan["executed"]
        output = next((home / "run" / "trials").glob(f"{trial['name']}/output.log")).read_text()
        assert "statistics: pg_stat_statements is not in this database" in output


PARALLEL = """
target:
  postgres:
    server: embedded
    settings: {parallel_setup_cost: 0, parallel_tuple_cost: 0, min_parallel_table_scan_size: 0}
workload:
  sql:
    data: {files: [schema.sql, orders.csv]}
    statements: [SELECT count(*) FROM orders WHERE customer = :customer]
    parameters: {customer: 1..100}
load: {clients: 2, warmup: 0s, duration: 2s}
repeats: 1
monitors: []
"""


def test_transactions_of_parallel_workers_are_not_taken_for_those_of_somebody_else(home: Path) -> None:
    (home / "plan.yaml").write_text(PARALLEL)
    done = loadcell(home, "run", "plan.yaml", "--out", "run")
    [trial] = trials(home / "run")
    assert (done.returncode, trial["status"]) == (0, "ok"), done.stderr
    assert "Gather" in " ".join(trial["plans"][0]["shape"])
    [counted] = [check for check in trial["checks"] if check["name"] == "server-counters"]
    commits = counted["detail"]["commits"]
    assert commits["server"] > 1.5 * commits["client"], "each worker commits, too"


MANY_CLIENTS = """
target: {postgres: {server: embedded, settings: {max_connections: 130}}}
workload: {sysbench: {script: oltp_read_only, tables: 1, table_size: 100}}
load: {clients: 120, warmup: 0s, duration: 500ms, interval: 100ms}
repeats: 1
monitors: []
"""


def test_transactions_of_connecting_are_not_taken_for_those_of_somebody_else(home: Path) -> None:
    (home / "plan.yaml").write_text(MANY_CLIENTS)
    done = loadcell(home, "run", "plan.yaml", "--out", "run")
    [trial] = trials(home / "run")
    assert (done.returncode, trial["status"]) == (0, "ok"), done.stderr
    [counted] = [check for check in trial["checks"] if check["name"] == "server-counters"]
    commits = counted["detail"]["commits"]
    assert trial["client"]["connects"] == 120
    assert 240 <= commits["server"] - commits["client"] < 300, "it begins, and it prepares its statements"


def test_the_same_on_mariadb(home: Path, mariadb_server: MariadbServer) -> None:
    target = f'{{mysql: {{server: external, url: "{mariadb_server.url()}", password: "${{env:SECRET}}"}}}}'
    (home / "plan.yaml").write_text(plan_of(target))
    done = loadcell(home, "run", "plan.yaml", "--out", "run", env={"SECRET": mariadb_server.password})
    assert done.returncode == 0, done.stderr
    result = checked(home / "run")
    assert {trial["data_set"]["rows"] for trial in result} == {3000}
    for trial in result:
        for plan in trial.get("plans") or ():
            assert plan["executed"] is (plan["statement"] != "pay:update")
    assert not mariadb_server.sql("SHOW DATABASES LIKE 'loadcell\\_%'"), "what was made is dropped"


def test_a_role_that_may_not_create_databases_gets_a_schema(
    home: Path, postgres_server: PostgresServer
) -> None:
    postgres_server.sql("CREATE ROLE plain LOGIN")
    postgres_server.sql("CREATE DATABASE of_plain OWNER plain")
    (home / "schema.sql").write_text(
        SCHEMA
        + "CREATE VIEW news AS SELECT * FROM orders WHERE status = 'new';\n"
        + "CREATE VIEW news_of_one AS SELECT * FROM news WHERE customer = 1;\n"
        + "CREATE MATERIALIZED VIEW counts AS SELECT count(*) FROM news;\n"
        + "CREATE TABLE parts (id serial) PARTITION BY RANGE (id);\n"
        + "CREATE TABLE part PARTITION OF parts FOR VALUES FROM (1) TO (9);\n"
        + "CREATE TYPE pair AS (a int, b int);\n"
    )
    dsn = postgres_server.dsn("of_plain").replace("postgres@", "plain@")
    (home / "plan.yaml").write_text(plan_of(f'{{postgres: {{server: external, dsn: "{dsn}"}}}}', ONCE))
    done = loadcell(home, "run", "plan.yaml", "--out", "run")
    assert done.returncode == 0, done.stderr
    assert {trial["data_set"]["schema"] for trial in checked(home / "run", 2)} == {"loadcell"}
    schemas = "SELECT nspname FROM pg_namespace WHERE nspname = 'loadcell'"
    assert not postgres_server.sql(schemas, database="of_plain"), "what was made is dropped"


def test_a_database_that_the_url_names_is_used_for_one_data_set_at_a_time(
    home: Path, mariadb_server: MariadbServer
) -> None:
    mariadb_server.sql("CREATE DATABASE named_shop")
    view = "CREATE VIEW news AS SELECT * FROM orders WHERE status = 'new';\n"
    (home / "schema.sql").write_text(SCHEMA + view)
    url = mariadb_server.url("named_shop")
    target = f'{{mysql: {{server: external, url: "{url}", password: "${{env:SECRET}}"}}}}'
    (home / "plan.yaml").write_text(plan_of(target, ONCE))
    done = loadcell(home, "run", "plan.yaml", "--out", "run", env={"SECRET": mariadb_server.password})
    assert done.returncode == 0, done.stderr
    checked(home / "run", 2)
    assert not mariadb_server.sql("SHOW TABLES", database="named_shop"), "what was made is dropped"


def test_tables_that_exist_are_used_and_an_index_is_made_for_each_treatment(
    tmp_path: Path, postgres_server: PostgresServer
) -> None:
    postgres_server.sql("CREATE DATABASE existing")

    def sql(statement: str) -> list[tuple[Any, ...]]:
        return postgres_server.sql(statement, database="existing")

    sql(SCHEMA)
    sql("INSERT INTO orders SELECT n, n % 100 + 1, 'new' FROM generate_series(1, 3000) n")
    sql("ANALYZE orders")
    target = f'{{postgres: {{server: external, dsn: "{postgres_server.dsn("existing")}"}}}}'
    index = "CREATE INDEX by_customer ON orders (customer)"
    drop = "DROP INDEX IF EXISTS by_customer"
    text = plan_of(
        target,
        ONCE,
        ("files: [schema.sql, orders.csv], ", ""),
        ("before-treatment: []", f"before-treatment: [{drop}]"),
        (f"before-treatment: [{index}]", f"before-treatment: [{drop}, {index}]"),
    )
    (tmp_path / "plan.yaml").write_text(text)
    done = loadcell(tmp_path, "run", "plan.yaml", "--out", "run")
    assert done.returncode == 0, done.stderr
    assert all(trial.get("data_set") is None for trial in checked(tmp_path / "run", 2))
    assert sql("SELECT count(*) FROM orders") == [(3000,)]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            ("SELECT count(*) = 3000 FROM orders", "SELECT id FROM orders WHERE id < 0"),
            "the data are not ready: SELECT id FROM orders WHERE id < 0 returns no row",
        ),
        (
            ("before-trial: [DELETE FROM orders WHERE id < 0]", "before-trial: [DELETE FROM odrers]"),
            'cannot execute DELETE FROM odrers (`before-trial`): relation "odrers" does not exist',
        ),
        (
            ("query: SELECT id FROM orders", "query: SELECT id FROM orders WHERE id < 0"),
            "the query of parameter id returns no row",
        ),
        (("orders.csv", "odrers.csv"), "odrers.csv belongs to table odrers, which does not exist"),
        (("schema.sql", "wrong.sql"), 'wrong.sql, line 2: syntax error at or near "TABEL"'),
    ],
)
def test_what_is_wrong_with_the_data_fails_the_trial(
    home: Path, postgres_server: PostgresServer, change: tuple[str, str], reason: str
) -> None:
    (home / "odrers.csv").write_text((home / "orders.csv").read_text())
    (home / "wrong.sql").write_text("SELECT 1;\nCREATE TABEL orders (id int);\n")
    target = f'{{postgres: {{server: external, dsn: "{postgres_server.dsn()}"}}}}'
    text = plan_of(target, change, ONCE)
    (home / "plan.yaml").write_text(text[: text.index("factors:")] + text[text.index("repeats:") :])
    done = loadcell(home, "run", "plan.yaml", "--out", "run", "--no-report")
    assert done.returncode == 3
    [trial] = trials(home / "run")
    assert trial["status"] == "failed"
    assert reason in trial["reason"]
    assert trial["advice"]
    assert not postgres_server.sql("SELECT datname FROM pg_database WHERE datname LIKE 'loadcell%'")


def test_a_statement_that_the_server_refuses_ends_with_its_message(
    home: Path, postgres_server: PostgresServer
) -> None:
    target = f'{{postgres: {{server: external, dsn: "{postgres_server.dsn()}"}}}}'
    text = plan_of(target, ("SELECT id FROM orders WHERE", "SELECT idd FROM orders WHERE"))
    (home / "plan.yaml").write_text(text)
    done = loadcell(home, "run", "plan.yaml", "--out", "run", "--no-report")
    assert done.returncode == 3
    assert 'column "idd" does not exist' in trials(home / "run")[0]["reason"]
