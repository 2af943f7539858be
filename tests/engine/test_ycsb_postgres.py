"""YCSB's core workloads against a real PostgreSQL: what the engine counts is what the server counted."""

from __future__ import annotations

from typing import Any

import pytest

from engine.loads import Result, assert_counted, operation, prepare, run, until_gone
from servers import PostgresServer

RECORDS = 500
SMALL: dict[str, Any] = {"recordcount": RECORDS, "fieldcount": 3, "fieldlength": 20, "maxscanlength": 20}

#: The statement that each operation is, by the text that pg_stat_statements keeps of it.
PATTERNS = {
    "READ": "SELECT FIELD0, FIELD1, FIELD2 FROM usertable WHERE YCSB_KEY = $_",
    "UPDATE": "UPDATE usertable SET FIELD_ = $_ WHERE YCSB_KEY = $_",
    "INSERT": "INSERT INTO usertable (YCSB_KEY, FIELD0, FIELD1, FIELD2) VALUES ($_, $_, $_, $_)",
    "SCAN": "SELECT YCSB_KEY, FIELD0, % FROM usertable WHERE YCSB_KEY >= $_ ORDER BY YCSB_KEY LIMIT $_",
}

MIXES: dict[str, dict[str, Any]] = {
    "a": {"proportions": {"read": 0.5, "update": 0.5}, "requestdistribution": "zipfian"},
    "d": {"proportions": {"read": 0.95, "update": 0, "insert": 0.05}, "requestdistribution": "latest"},
    "e": {
        "proportions": {"read": 0, "update": 0, "scan": 0.95, "insert": 0.05},
        "requestdistribution": "zipfian",
    },
    "f": {
        "proportions": {"read": 0.5, "update": 0, "readmodifywrite": 0.5},
        "requestdistribution": "zipfian",
    },
}


@pytest.fixture
def loaded(postgres_server: PostgresServer, database: str) -> str:
    postgres_server.sql("CREATE EXTENSION pg_stat_statements", database=database)
    account = prepare(postgres_server.endpoint(database), SMALL, workload="ycsb")
    assert account["rows"] == RECORDS
    return database


def calls(server: PostgresServer, database: str, name: str) -> int:
    """Number of executions of an operation's statements."""
    rows = server.sql(
        f"SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_statements WHERE query LIKE '{PATTERNS[name]}' "
        "AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database())",
        database=database,
    )
    return int(rows[0][0])


def load(server: PostgresServer, database: str, **options: Any) -> Result:
    result = run(server.endpoint(database), {**SMALL, **options}, workload="ycsb")
    assert result["outcome"] == "completed", result
    assert not result["errors"], result["errors"]
    assert_counted(result)
    until_gone(server, database)
    return result


def test_the_table_is_as_ycsbs_binding_makes_it(postgres_server: PostgresServer, loaded: str) -> None:
    columns = postgres_server.sql(
        "SELECT column_name FROM information_schema.columns WHERE table_name = 'usertable' ORDER BY "
        "ordinal_position",
        database=loaded,
    )
    assert [name for (name,) in columns] == ["ycsb_key", "field0", "field1", "field2"]
    first = postgres_server.sql(
        "SELECT length(field0), length(field2) FROM usertable WHERE ycsb_key = 'user6284781860667377211'",
        database=loaded,
    )
    assert first == [(20, 20)]
    assert postgres_server.sql("SELECT count(DISTINCT field1) FROM usertable", database=loaded) == [
        (RECORDS,)
    ]


@pytest.mark.parametrize("letter", MIXES)
def test_operations_are_those_that_the_server_counted(
    postgres_server: PostgresServer, loaded: str, letter: str
) -> None:
    mode = {"a": "simple", "d": "extended"}.get(letter, "prepared")
    result = load(postgres_server, loaded, protocol=mode, **MIXES[letter])
    lifetime = result["lifetime"]["operations"]
    for name in PATTERNS:
        assert calls(postgres_server, loaded, name) == lifetime.get(name, 0), name
    operations = {name for name in PATTERNS if lifetime.get(name)}
    expected = {
        "a": {"READ", "UPDATE"},
        "d": {"READ", "INSERT"},
        "e": {"SCAN", "INSERT"},
        "f": {"READ", "UPDATE"},
    }
    assert operations == expected[letter]
    if letter in "af":
        assert operation(result, "missed")["succeeded"] == 0
    [(records,)] = postgres_server.sql("SELECT count(*) FROM usertable", database=loaded)
    assert records == RECORDS + lifetime.get("INSERT", 0)


def test_a_read_modify_write_is_a_read_and_an_update_too(
    postgres_server: PostgresServer, loaded: str
) -> None:
    result = load(postgres_server, loaded, **MIXES["f"])
    lifetime = result["lifetime"]["operations"]
    both, transactions = lifetime["READ-MODIFY-WRITE"], result["lifetime"]["transactions"]
    assert both > 0
    assert lifetime["UPDATE"] == both
    assert lifetime["READ"] == transactions
    timed = operation(result, "READ-MODIFY-WRITE")["response"]
    parts = [operation(result, name)["response"] for name in ("READ", "UPDATE")]
    assert timed["min_ns"] >= max(part["min_ns"] for part in parts)


def test_the_load_phase_makes_the_records_that_the_run_phase_asks_for(
    postgres_server: PostgresServer, database: str
) -> None:
    prepare(postgres_server.endpoint(database), {**SMALL, "phase": "load"}, workload="ycsb")
    assert postgres_server.sql("SELECT count(*) FROM usertable", database=database) == [(0,)]
    result = load(postgres_server, database, phase="load")
    inserted = result["lifetime"]["operations"]["INSERT"]
    assert inserted > 0
    [(records, first)] = postgres_server.sql(
        "SELECT count(*), count(*) FILTER (WHERE ycsb_key = 'user6284781860667377211') FROM usertable",
        database=database,
    )
    assert (records, first) == (inserted, 1)
    run_phase = load(postgres_server, database, recordcount=inserted, proportions={"read": 1, "update": 0})
    assert operation(run_phase, "missed")["succeeded"] == 0


def test_records_that_are_not_there_are_counted_apart(postgres_server: PostgresServer, loaded: str) -> None:
    postgres_server.sql("DELETE FROM usertable", database=loaded)
    result = load(postgres_server, loaded, **MIXES["a"])
    assert operation(result, "missed")["succeeded"] == operation(result, "transaction")["succeeded"] > 0
