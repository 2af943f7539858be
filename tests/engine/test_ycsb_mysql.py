"""YCSB's core workloads against a real MariaDB: what the engine counts is what the server counted."""

from __future__ import annotations

import pytest

from engine.loads import MS, assert_counted, failure, operation, prepare, run
from engine.test_ycsb_postgres import MIXES, RECORDS, SMALL
from mariadb import MariadbServer

#: What the server counts an operation as.
COUNTED = {"READ": "Com_select", "SCAN": "Com_select", "UPDATE": "Com_update", "INSERT": "Com_insert"}


@pytest.fixture(scope="module")
def database(mariadb_server: MariadbServer) -> str:
    mariadb_server.sql("CREATE DATABASE ycsb_core")
    account = prepare(mariadb_server.endpoint("ycsb_core"), SMALL, workload="ycsb")
    assert account["rows"] == RECORDS
    return "ycsb_core"


def status(server: MariadbServer) -> dict[str, int]:
    rows = server.sql("SHOW GLOBAL STATUS WHERE Variable_name IN ('Com_select', 'Com_update', 'Com_insert')")
    return {name: int(value) for name, value in rows}


@pytest.mark.parametrize(
    ("letter", "protocol"), [("a", "simple"), ("d", "prepared"), ("e", "simple"), ("f", "prepared")]
)
def test_operations_are_those_that_the_server_counted(
    mariadb_server: MariadbServer, database: str, letter: str, protocol: str
) -> None:
    [(records,)] = mariadb_server.sql("SELECT count(*) FROM usertable", database=database)
    change = {**SMALL, **MIXES[letter], "protocol": protocol}
    if letter not in "af":  # of an earlier mix there may be more; what this one inserts is new
        change["recordcount"] = records
    before = status(mariadb_server)
    result = run(
        mariadb_server.endpoint(database), change, workload="ycsb", seed=ord(letter), duration_ns=200 * MS
    )
    after = status(mariadb_server)
    assert (result["outcome"], result["errors"]) == ("completed", []), result
    assert_counted(result)
    lifetime = result["lifetime"]["operations"]
    expected = dict.fromkeys(COUNTED.values(), 0)
    for name, counted in COUNTED.items():
        expected[counted] += lifetime.get(name, 0)
    assert {name: after[name] - before[name] for name in expected} == expected
    assert lifetime["transaction"] > 0
    if letter in "af":
        assert operation(result, "missed")["succeeded"] == 0
    [(now,)] = mariadb_server.sql("SELECT count(*) FROM usertable", database=database)
    assert now == records + lifetime.get("INSERT", 0)


def test_a_row_that_is_written_as_it_stands_is_found_and_not_changed(mariadb_server: MariadbServer) -> None:
    """One record of one letter: some of the updates write the letter that is there."""
    mariadb_server.sql("CREATE DATABASE ycsb_letter")
    endpoint = mariadb_server.endpoint("ycsb_letter")
    letter = {"recordcount": 1, "fieldcount": 1, "fieldlength": 1}
    prepare(endpoint, letter, workload="ycsb")
    updates = {**letter, "proportions": {"read": 0, "update": 1}}
    result = run(
        endpoint,
        updates,
        workload="ycsb",
        requests=1000,
        clients=1,
        threads=1,
        warmup_ns=0,
        duration_ns=60_000 * MS,
    )
    assert (result["outcome"], result["errors"]) == ("completed", []), result
    assert operation(result, "missed")["succeeded"] == 0
    assert 900 < result["lifetime"]["rows_changed"] < 1000


def test_the_load_phase_makes_the_records(mariadb_server: MariadbServer) -> None:
    mariadb_server.sql("CREATE DATABASE ycsb_load")
    endpoint = mariadb_server.endpoint("ycsb_load")
    prepare(endpoint, {**SMALL, "phase": "load"}, workload="ycsb")
    result = run(
        endpoint,
        {**SMALL, "phase": "load"},
        workload="ycsb",
        requests=RECORDS,
        warmup_ns=0,
        duration_ns=60_000 * MS,
    )
    assert (result["lifetime"]["operations"]["INSERT"], result["errors"]) == (RECORDS, [])
    rows = mariadb_server.sql(
        "SELECT count(*), sum(YCSB_KEY = 'user6284781860667377211') FROM usertable", database="ycsb_load"
    )
    assert [tuple(map(int, row)) for row in rows] == [(RECORDS, 1)]


def test_statements_parsed_each_time_are_postgresql_s_own(
    mariadb_server: MariadbServer, database: str
) -> None:
    options = {**SMALL, "protocol": "extended"}
    problem = failure(lambda: run(mariadb_server.endpoint(database), options, workload="ycsb"))
    assert "`protocol: extended` exists only for PostgreSQL" in problem["finding"]
