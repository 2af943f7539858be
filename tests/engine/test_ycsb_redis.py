"""YCSB's operations on a real Redis: hashes and an index, and as many commands as the server has counted."""

from __future__ import annotations

from typing import Any

import pytest

from engine.loads import assert_counted, operation, prepare, run
from redis_server import RedisServer

RECORDS = 400
SMALL: dict[str, Any] = {"recordcount": RECORDS, "fieldcount": 3, "fieldlength": 20, "maxscanlength": 20}


@pytest.fixture
def server(redis_server: RedisServer) -> RedisServer:
    """The common server, with the records and nothing else."""
    redis_server.ask("FLUSHALL")
    assert prepare(redis_server.endpoint(), SMALL, workload="ycsb")["rows"] == RECORDS
    return redis_server


def test_a_record_is_a_hash_and_its_key_is_in_the_index(server: RedisServer) -> None:
    assert server.ask("DBSIZE") == RECORDS + 1
    assert server.ask("ZCARD", "_indices") == RECORDS
    first = "user6284781860667377211"
    assert server.ask("HLEN", first) == 3
    assert server.ask("HSTRLEN", first, "field2") == 20
    assert server.ask("ZSCORE", "_indices", first) is not None


@pytest.mark.parametrize(
    "change",
    [
        {"proportions": {"read": 0.5, "update": 0.5}, "requestdistribution": "zipfian"},
        {"proportions": {"read": 0.9, "update": 0, "insert": 0.1}, "requestdistribution": "latest"},
        {"proportions": {"read": 0, "update": 0, "scan": 0.9, "insert": 0.1}},
        {"proportions": {"read": 0.5, "update": 0, "readmodifywrite": 0.5}, "writeallfields": True},
    ],
)
def test_the_server_counts_the_same(server: RedisServer, change: dict[str, Any]) -> None:
    before = server.calls()
    result = run(server.endpoint(), {**SMALL, **change}, workload="ycsb")
    after = server.calls()
    assert result["outcome"] == "completed", result
    assert result["errors"] == []
    assert_counted(result)
    done = result["lifetime"]["operations"]

    def called(name: str) -> int:
        return int(after.get(name, 0) - before.get(name, 0))

    def count(name: str) -> int:
        return int(done.get(name, 0))

    assert count("transaction") > 0
    assert called("zadd") == count("INSERT")
    assert called("hset") == count("UPDATE") + count("INSERT")
    assert called("zrangebyscore") == count("SCAN")
    reads = called("hgetall")
    if count("SCAN"):
        assert reads > count("SCAN")
    else:
        assert reads == count("READ")
    if count("READ-MODIFY-WRITE"):
        assert count("UPDATE") == count("READ-MODIFY-WRITE")
        assert count("READ") == count("transaction")
    assert count("missed") == 0
    assert server.ask("ZCARD", "_indices") == RECORDS + count("INSERT")


def test_the_load_phase_makes_the_records_that_the_run_phase_asks_for(redis_server: RedisServer) -> None:
    redis_server.ask("FLUSHALL")
    assert prepare(redis_server.endpoint(), {**SMALL, "phase": "load"}, workload="ycsb")["rows"] == 0
    more = {"requests_per_client": 50, "clients": 4, "warmup_ns": 0, "duration_ns": 20_000_000_000}
    result = run(redis_server.endpoint(), {**SMALL, "phase": "load"}, workload="ycsb", **more)
    assert operation(result, "INSERT")["succeeded"] == 200
    assert redis_server.ask("ZCARD", "_indices") == 200
    run_phase = run(redis_server.endpoint(), {**SMALL, "recordcount": 200}, workload="ycsb")
    assert operation(run_phase, "missed")["succeeded"] == 0
    assert operation(run_phase, "READ")["succeeded"] > 0
