"""pgbench's scripts on a real server: counts, remaining rows, and errors on the way.

Balances are the check: TPC-B's branches, tellers, accounts and history must have the same sum.
"""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from engine.loads import MS, SECOND, Result, assert_counted, failure, operation, until_gone
from loadcell import _engine
from loadcell.model.engine_messages import load_outcome
from servers import PostgresServer, debian_postgres
from specifications import complete, section_of

SUMS = (
    "SELECT (SELECT sum(bbalance) FROM pgbench_branches), (SELECT sum(tbalance) FROM pgbench_tellers), "
    "(SELECT sum(abalance) FROM pgbench_accounts), (SELECT coalesce(sum(delta), 0) FROM pgbench_history)"
)
#: Report 001's scripts, as they stand there.
RW = """\\set aid random_gaussian(1, :range, 10.0)

\\set bid random(1, 1 * :scale)

\\set tid random(1, 10 * :scale)

\\set delta random(-5000, 5000)

BEGIN;

UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;

SELECT abalance FROM pgbench_accounts WHERE aid = :aid;

UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;

UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;

INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) \
VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP); END;
"""
RO = """\\set aid random_gaussian(1, :range, 10.0)

SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
"""


def specification(target: dict[str, Any], pgbench: dict[str, Any], **load: Any) -> str:
    defaults = {"clients": 4, "threads": 2, "duration_ns": 300 * MS, "interval_ns": 100 * MS}
    workload = {"pgbench": pgbench}
    return json.dumps(
        complete({"seed": 7, "target": target, "workload": workload, "load": {**defaults, **load}})
    )


def run(target: dict[str, Any], pgbench: dict[str, Any], **load: Any) -> Result:
    result: Result = json.loads(_engine.run(specification(target, pgbench, **load), lambda line: None))
    assert result["outcome"] == "completed", result
    assert_counted(result)
    return result


def prepare(target: dict[str, Any], **pgbench: Any) -> Result:
    account: Result = json.loads(_engine.prepare(specification(target, pgbench), lambda line: None))
    return account


def script(text: str, **more: Any) -> dict[str, Any]:
    return {"scripts": [{"name": "own.sql", "source": text}], **more}


def pgbench(server: PostgresServer, database: str, *arguments: str) -> str:
    command = [
        str(debian_postgres() / "pgbench"),
        "-h",
        server.host,
        "-p",
        str(server.port),
        "-U",
        server.user,
    ]
    done = subprocess.run([*command, *arguments, database], capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


@pytest.fixture
def target(postgres_server: PostgresServer, database: str) -> dict[str, Any]:
    return postgres_server.endpoint(database)


@pytest.mark.parametrize("protocol", ["simple", "extended", "prepared"])
def test_balances_agree_with_each_other_and_with_what_succeeded(
    postgres_server: PostgresServer, database: str, target: dict[str, Any], protocol: str
) -> None:
    assert prepare(target, scale=2)["rows"] == 200_022
    result = run(target, {"scale": 2, "protocol": protocol})
    until_gone(postgres_server, database)
    [sums] = postgres_server.sql(SUMS, database=database)
    assert len(set(sums)) == 1, sums
    [(count,)] = postgres_server.sql("SELECT count(*) FROM pgbench_history", database=database)
    lifetime = result["lifetime"]
    assert count == lifetime["transactions"] > 20
    assert lifetime["queries"] == 7 * lifetime["transactions"]
    assert lifetime["rows_changed"] == 4 * lifetime["transactions"]
    names = [operation["name"] for operation in result["operations"]]
    assert names == ["transaction", *(f"tpcb-like:{line}" for line in (
        "5:begin", "6:update", "7:select", "8:update", "9:update", "10:insert", "11:end"))]  # fmt: skip
    assert operation(result, "tpcb-like:7:select")["kind"] == "read"


@pytest.mark.parametrize("steps", ["dtgvp", "dtGvpf"])
def test_the_tables_are_pgbenchs(
    postgres_server: PostgresServer, database: str, target: dict[str, Any], steps: str
) -> None:
    columns = (
        "SELECT table_name, ordinal_position, column_name, data_type, character_maximum_length, is_nullable "
        "FROM information_schema.columns WHERE table_name LIKE 'pgbench%' ORDER BY 1, 2"
    )
    constraints = (
        "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint "
        "WHERE conname LIKE 'pgbench%' ORDER BY 2"
    )
    options = (
        "SELECT relname, reloptions FROM pg_class WHERE relname LIKE 'pgbench%' AND relkind = 'r' ORDER BY 1"
    )
    rows = [
        f"SELECT count(*), md5(string_agg(t::text, '|' ORDER BY {key})) FROM pgbench_{table} t"
        for table, key in (("branches", "bid"), ("tellers", "tid"), ("accounts", "aid"), ("history", "aid"))
    ]
    questions = [columns, constraints, options, *rows]
    pgbench(postgres_server, database, "-i", "-q", "-s", "2", "-I", steps)
    theirs = [postgres_server.sql(question, database=database) for question in questions]
    prepare(target, scale=2, init_steps=steps)
    assert [postgres_server.sql(question, database=database) for question in questions] == theirs


def test_pgbench_runs_on_our_tables_and_we_on_pgbenchs(
    postgres_server: PostgresServer, database: str, target: dict[str, Any]
) -> None:
    prepare(target, scale=2)
    assert "number of failed transactions: 0" in pgbench(postgres_server, database, "-c", "2", "-t", "50")
    pgbench(postgres_server, database, "-i", "-q", "-s", "2")
    result = run(target, {"scale": 2})
    until_gone(postgres_server, database)
    [(count,)] = postgres_server.sql("SELECT count(*) FROM pgbench_history", database=database)
    assert count == result["lifetime"]["transactions"]


def test_scripts_of_a_report_run_as_they_stand(
    postgres_server: PostgresServer, database: str, target: dict[str, Any]
) -> None:
    prepare(target, scale=2)
    scripts = [{"name": "rw.sql", "source": RW, "weight": 1}, {"name": "ro.sql", "source": RO, "weight": 3}]
    options = {"scripts": scripts, "scale": 2, "variables": {"range": "100000"}, "protocol": "prepared"}
    result = run(target, options, duration_ns=500 * MS)
    until_gone(postgres_server, database)
    [sums] = postgres_server.sql(SUMS, database=database)
    assert len(set(sums)) == 1
    counts = result["lifetime"]["operations"]
    assert counts["rw.sql"] + counts["ro.sql"] == counts["transaction"] == result["lifetime"]["transactions"]
    # Of n transactions a quarter is written; 5 standard deviations to either side.
    n = counts["transaction"]
    assert abs(counts["rw.sql"] - n / 4) < 5 * (n * 3 / 16) ** 0.5 + 4
    [(low, high, mean)] = postgres_server.sql(
        "SELECT min(aid), max(aid), avg(aid) FROM pgbench_history", database=database
    )
    assert 20_000 < low < high < 80_000, "the hot set is 10 standard deviations wide"
    assert 45_000 < mean < 55_000


@pytest.mark.parametrize("protocol", ["simple", "prepared"])
def test_results_go_into_variables(
    postgres_server: PostgresServer, database: str, target: dict[str, Any], protocol: str
) -> None:
    postgres_server.sql("CREATE TABLE seen (a text, b text, c text)", database=database)
    several = (
        "SELECT 1 AS one \\; SELECT 2 AS two \\gset\n" if protocol == "simple" else "SELECT 2 AS two \\gset\n"
    )
    text = (
        "SELECT 40 + 2 AS x, NULL AS nothing, 'it''s' AS word \\gset p_\n"
        + several
        + "SELECT i FROM generate_series(1, 3) i \\aset\n"
        "SELECT 'kept' AS kept WHERE false \\aset\n\\set sum :p_x + :two + :i\n"
        "INSERT INTO seen VALUES (:sum, :p_x, (SELECT :i));\n"
    )
    result = run(target, script(text, protocol=protocol), duration_ns=100 * MS)
    assert operation(result, "transaction")["failed"] == 0, result["errors"]
    assert postgres_server.sql("SELECT DISTINCT a, b, c FROM seen", database=database) == [("47", "42", "3")]


@pytest.mark.parametrize(
    ("text", "code", "part"),
    [
        ("SELECT i FROM generate_series(1, 2) i \\gset\n", "script", "own.sql:1:39: expected one row, got 2"),
        ("SELECT 1 AS x WHERE false \\gset\n", "script", "expected one row, got 0"),
        ("\\set x 0\n\\set y 1 / :x\nSELECT 1;\n", "script", "own.sql:2:10: division by zero"),
        ("SELECT 1 / 0;\n", "22012", "division by zero"),
        ("BEGIN;\nSELECT 1;\n", "open-block", "COMMIT is missing"),
    ],
)
def test_what_ends_a_client_of_pgbench_is_a_failed_transaction_here(
    target: dict[str, Any], text: str, code: str, part: str
) -> None:
    result = run(target, script(text), clients=2, duration_ns=100 * MS)
    transaction = operation(result, "transaction")
    assert transaction["succeeded"] == 0
    assert transaction["failed"] > 1, "the client goes on"
    messages = {error["code"]: error["message"] for error in result["errors"]}
    assert part in messages[code]


def test_serialization_failures_are_tried_again_with_the_same_numbers(
    postgres_server: PostgresServer, database: str, target: dict[str, Any]
) -> None:
    postgres_server.sql("CREATE TABLE one AS SELECT 0 AS n", database=database)
    text = "BEGIN ISOLATION LEVEL SERIALIZABLE;\nUPDATE one SET n = n + 1;\nEND;\n"
    options = script(text)
    patient = run(target, {**options, "max_tries": 1_000}, clients=8)
    transaction = operation(patient, "transaction")
    assert transaction["failed"] == 0
    assert transaction["retried"] > 0
    until_gone(postgres_server, database)
    assert postgres_server.sql("SELECT n FROM one", database=database) == [
        (patient["lifetime"]["transactions"],)
    ]
    once = operation(run(target, {**options, "max_tries": 1}, clients=8), "transaction")
    assert once["failed"] > 0
    assert once["retried"] == 0


def test_sleeping_holds_nobody_up(target: dict[str, Any]) -> None:
    result = run(
        target, script("\\sleep 50 ms\nSELECT 1;\n\\sleep 1 us\n"), clients=20, threads=1, duration_ns=SECOND
    )
    transaction = operation(result, "transaction")
    assert 150 < transaction["succeeded"] <= 400, "20 clients, each about 50 ms a transaction"
    assert transaction["response"]["min_ns"] >= 50 * MS
    assert operation(result, "own.sql:2:select")["response"]["p50_ns"] < 20 * MS


def test_late_transactions_are_counted_apart(target: dict[str, Any]) -> None:
    text = "\\set i random(0, 1)\n\\if :i\n\\sleep 30 ms\n\\endif\nSELECT 1;\n"
    result = run(target, script(text, latency_limit_ns=25 * MS), duration_ns=600 * MS)
    late, transaction = operation(result, "late"), operation(result, "transaction")
    assert late["kind"] == "outcome"
    assert 0 < late["succeeded"] < transaction["succeeded"]
    assert late["response"]["min_ns"] >= 25 * MS


def test_scripts_without_statements_take_turns(target: dict[str, Any]) -> None:
    result = run(target, script("\\set x 1\n"), clients=3, duration_ns=100 * MS)
    assert operation(result, "transaction")["succeeded"] > 100
    assert result["lifetime"]["rolled_back"] == result["lifetime"]["transactions"], (
        "nothing reached the server"
    )


@pytest.mark.parametrize("protocol", ["extended", "prepared"])
def test_the_statements_of_a_pipeline_travel_together(
    postgres_server: PostgresServer, database: str, target: dict[str, Any], protocol: str
) -> None:
    postgres_server.sql("CREATE TABLE t (n int)", database=database)
    text = (
        "\\set a 5\n\\startpipeline\nINSERT INTO t VALUES (:a);\n\\sleep 1 us\nINSERT INTO t VALUES (:a);\n"
        "\\syncpipeline\nSELECT 1;\n\\endpipeline\nSELECT 2;\n"
    )
    result = run(target, script(text, protocol=protocol), duration_ns=100 * MS)
    until_gone(postgres_server, database)
    done = result["lifetime"]["transactions"]
    assert postgres_server.sql("SELECT count(*), sum(n) FROM t", database=database) == [(2 * done, 10 * done)]
    assert result["lifetime"]["operations"]["own.sql:2:pipeline"] == 2 * done, "one request to each sync"
    assert result["queries"]["total"] == 4 * operation(result, "transaction")["succeeded"]


def test_an_error_in_a_pipeline_undoes_all_since_the_sync_before_it(
    postgres_server: PostgresServer, database: str, target: dict[str, Any]
) -> None:
    postgres_server.sql("CREATE TABLE t (n int)", database=database)
    statements = "INSERT INTO t VALUES (1);\nSELECT 1 / 0;\nINSERT INTO t VALUES (2);\n"
    text = f"\\startpipeline\n{statements}\\endpipeline\n"
    result = run(target, script(text, protocol="prepared"), duration_ns=100 * MS)
    transaction = operation(result, "transaction")
    assert transaction["succeeded"] == 0
    assert transaction["failed"] > 0
    assert postgres_server.sql("SELECT count(*) FROM t", database=database) == [(0,)]


def test_a_statement_that_cannot_be_prepared_is_reported_in_the_servers_words(target: dict[str, Any]) -> None:
    text = specification(target, script("SELECT nothing FROM nowhere;\n", protocol="prepared"))
    result = json.loads(_engine.run(text, lambda line: None))
    assert result["outcome"] == "connect-failed"
    assert (
        'relation "nowhere" does not exist'
        in load_outcome(result["outcome"], result["reason_args"], "postgres").text
    )


def test_mistakes_are_found_without_a_server() -> None:
    def check(**section: Any) -> Any:
        return json.loads(_engine.check(json.dumps({"pgbench": section_of("pgbench", section)})))

    assert check() == {"writes": True, "operations": check()["operations"]}
    assert not check(**script(RO))["writes"]
    assert check(**script("WITH a AS (DELETE FROM t RETURNING *) SELECT * FROM a;"))["writes"]
    assert check(**script("SELECT 1\\; DROP TABLE t;"))["writes"]
    wrong = failure(lambda: check(**script("SELECT 1;\n\\set x foo(1)\n\\elif 1\n")))
    assert wrong["code"] == "script"
    assert "own.sql:2:8: unexpected function name" in wrong["finding"]
    assert "own.sql:3:1: \\elif without matching \\if" in wrong["finding"]
    many = check(**script("SELECT 1;\n" * 300))
    assert many["operations"] == ["transaction", "read"], "a bounded record for scripts without bounds"
