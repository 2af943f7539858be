"""Key-value loads on a real Valkey: what a Redis is asked, Valkey answers, and counts the same."""

from __future__ import annotations

from typing import Any

import pytest

from execution.live import until
from redis_server import RedisServer, valkey

from .loads import MS, assert_counted, failure, operation, prepare, run

KEYS = 1000
SMALL: dict[str, Any] = {"keys": KEYS, "value_size": 40}


@pytest.fixture
def server(valkey_server: RedisServer) -> RedisServer:
    """The common Valkey, empty."""
    valkey_server.ask("FLUSHALL")
    return valkey_server


def load(endpoint: dict[str, Any], options: dict[str, Any], workload: str = "kv") -> dict[str, Any]:
    """A load that must come to its end: a thousand requests."""
    more = {"warmup_ns": 0, "requests_per_client": 250, "duration_ns": 60_000 * MS}
    result = run(endpoint, options, workload=workload, **more)
    assert result["outcome"] == "completed", result
    assert_counted(result)
    return result


def errors(result: dict[str, Any]) -> dict[str, int]:
    """Failed transactions by code."""
    return {
        error["code"]: error["count"] for error in result["errors"] if error["operation"] == "transaction"
    }


@pytest.mark.parametrize("resp", [2, 3])
def test_every_verb_is_counted_as_the_server_does(server: RedisServer, resp: int) -> None:
    endpoint = server.endpoint(resp=resp)
    prepare(endpoint, SMALL, workload="kv")
    verbs = ("get", "set", "mget", "mset", "delete", "insert", "read_modify_write")
    options = {**SMALL, "mix": dict.fromkeys(verbs, 1), "multi": 5, "pipeline": 8}
    before = server.calls()
    result = load(endpoint, options)
    after = server.calls()
    assert errors(result) == {}
    done = result["lifetime"]["operations"]
    made = {name: after.get(name, 0) - before.get(name, 0) for name in ("get", "set", "mget", "mset", "del")}
    both = done["read_modify_write"]
    assert made == {
        "get": done["get"] + both, "set": done["set"] + done["insert"] + both, "mget": done["mget"],
        "mset": done["mset"], "del": done["delete"],
    }  # fmt: skip
    assert min(done[name] for name in verbs) > 0


def test_values_expire_and_commands_of_ones_own_are_done(server: RedisServer) -> None:
    load(server.endpoint(), {**SMALL, "mix": {"set": 1}, "ttl_ns": 3_600_000 * MS})
    assert 3_590_000 < server.ask("PTTL", server.ask("RANDOMKEY")) <= 3_600_000
    commands = {"push": {"commands": ["LPUSH ${key}:l ${value}"]}, "all": {"commands": ["HGETALL none"]}}
    before = server.calls().get("lpush", 0)
    result = load(server.endpoint(), {**SMALL, "mix": {}, "commands": commands})
    assert errors(result) == {}
    assert result["lifetime"]["operations"]["push"] == server.calls()["lpush"] - before > 0


def test_values_are_compared_with_those_written(server: RedisServer) -> None:
    verified = {**SMALL, "verify": True, "mix": {"get": 3, "set": 1, "mget": 1}}
    prepare(server.endpoint(), verified, workload="kv")
    assert errors(load(server.endpoint(), verified)) == {}
    server.ask_all([("DEL", f"key:{number:012}") for number in range(KEYS)])
    only_read = {**verified, "mix": {"get": 1}}
    assert errors(load(server.endpoint(), only_read)).keys() == {"lost"}


def test_ways_to_come_in(server: RedisServer) -> None:
    server.ask("ACL", "SETUSER", "reader", "on", ">other", "~*", "+get", "+hello", "+select", "+client")
    socket = {"socket": str(server.root / "s")}
    for change in (socket, {**socket, "resp": 2}, {"user": "reader", "password": "other"}):
        result = load(server.endpoint(**change), {**SMALL, "mix": {"get": 0.5, "set": 0.5}})
        assert errors(result).keys() == ({"NOPERM"} if "user" in change else set())
    result = run(server.endpoint(password="wrong"), SMALL, workload="kv")
    assert (result["outcome"], "WRONGPASS" in result["reason"]) == ("connect-failed", True)


def test_ycsb(server: RedisServer) -> None:
    options = {"recordcount": 200, "fieldcount": 3, "fieldlength": 20, "maxscanlength": 20}
    assert prepare(server.endpoint(), options, workload="ycsb")["rows"] == 200
    mix = {"read": 0.3, "update": 0.3, "insert": 0.1, "scan": 0.1, "readmodifywrite": 0.2}
    before = server.calls()
    result = load(server.endpoint(), {**options, "proportions": mix}, workload="ycsb")
    after = server.calls()
    assert result["errors"] == []
    done = result["lifetime"]["operations"]
    assert after["zadd"] - before["zadd"] == done["INSERT"]
    assert after["zrangebyscore"] - before.get("zrangebyscore", 0) == done["SCAN"]


def test_half_of_a_cluster() -> None:
    half = {"cluster-enabled": "yes", "cluster-require-full-coverage": "no"}
    with RedisServer(half, program=valkey()) as first, RedisServer(half, program=valkey()) as second:
        first.ask("CLUSTER", "ADDSLOTSRANGE", "0", "8191")
        second.ask("CLUSTER", "ADDSLOTSRANGE", "8192", "16383")
        first.ask("CLUSTER", "MEET", second.host, second.port)
        complete = "cluster_slots_assigned:16384"
        until(lambda: complete in str(first.ask("CLUSTER", "INFO")), "the nodes to meet")
        until(lambda: "cluster_state:ok" in str(first.ask("CLUSTER", "INFO")), "both to serve")
        before = first.calls().get("set", 0)
        result = load(first.endpoint(), {**SMALL, "mix": {"set": 1}})
        assert errors(result).keys() == {"MOVED"}
        assert f" {second.host}:{second.port}" in next(error["message"] for error in result["errors"])
        assert result["lifetime"]["operations"]["set"] == first.calls()["set"] - before > 0
        assert operation(result, "set")["failed"] == errors(result)["MOVED"]
        problem = failure(lambda: prepare(first.endpoint(), SMALL, workload="kv"), "resp")
        assert "name a server without cluster mode, or a proxy of the cluster" in problem["advice"]
