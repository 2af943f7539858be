"""Key-value loads on a real Redis: everything is counted, every value is looked at, and trouble is named."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from execution.live import until
from redis_server import RedisServer, with_tls

from .loads import MS, assert_counted, failure, operation, prepare, run

KEYS = 2000
SMALL: dict[str, Any] = {"keys": KEYS, "value_size": 40}


@pytest.fixture
def server(redis_server: RedisServer) -> RedisServer:
    """The common server, empty."""
    redis_server.ask("FLUSHALL")
    return redis_server


def load(server: RedisServer, change: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A load that must come to its end."""
    result = run(server.endpoint(), {**SMALL, **change}, workload="kv", **more)
    assert result["outcome"] == "completed", result
    assert_counted(result)
    return result


def errors(result: dict[str, Any]) -> dict[str, int]:
    """Failed transactions by code."""
    return {
        error["code"]: error["count"] for error in result["errors"] if error["operation"] == "transaction"
    }


def test_all_keys_are_loaded_whatever_their_size(server: RedisServer) -> None:
    events: list[dict[str, Any]] = []
    account = prepare(server.endpoint(), {"keys": 25_000}, workload="kv", on_event=events.append)
    assert account["rows"] == 25_000
    assert server.ask("DBSIZE") == 25_000
    assert server.ask("STRLEN", "key:000000024999") == 100
    assert events[-1] == {"type": "progress", "doing": "keys", "done_rows": 25_000, "total_rows": 25_000}
    server.ask("FLUSHALL")
    large = {"keys": 7, "value_size": 300_000, "key_prefix": "large:"}
    assert prepare(server.endpoint(), large, workload="kv")["rows"] == 7
    assert server.ask("STRLEN", "large:0000000006") == 300_000


@pytest.mark.parametrize(
    ("change", "commands"),
    [
        ({"mix": {"get": 0.5, "set": 0.5}}, {"get": "get", "set": "set"}),
        ({"mix": {"get": 0.5, "set": 0.5}, "pipeline": 20}, {"get": "get", "set": "set"}),
        (
            {"mix": {"mget": 1, "mset": 1, "delete": 1, "insert": 1}, "multi": 5},
            {"mget": "mget", "mset": "mset", "delete": "del", "insert": "set"},
        ),
        (
            {
                "mix": {},
                "commands": {
                    "push": {"commands": ["LPUSH ${key}:l ${value}"]},
                    "see": {"commands": ["LLEN ${key}:l"]},
                },
            },
            {"push": "lpush", "see": "llen"},
        ),
    ],
)
def test_the_server_counts_the_same(
    server: RedisServer, change: dict[str, Any], commands: dict[str, str]
) -> None:
    prepare(server.endpoint(), SMALL, workload="kv")
    before = server.calls()
    result = load(server, change)
    after = server.calls()
    assert errors(result) == {}
    done = result["lifetime"]["operations"]
    assert done["transaction"] > 0
    for name, command in commands.items():
        assert done[name] == after.get(command, 0) - before.get(command, 0) > 0, name


def test_what_is_modified_is_read_and_written(server: RedisServer) -> None:
    counted: dict[str, Any] = {"requests_per_client": 100, "warmup_ns": 0, "duration_ns": 60_000 * MS}
    prepare(server.endpoint(), SMALL, workload="kv")
    result = load(server, {"mix": {"read_modify_write": 1}, "verify": True}, **counted)
    assert errors(result).keys() == {"corrupt"}, "loaded without checksums"
    prepare(server.endpoint(), {**SMALL, "verify": True}, workload="kv")
    before = server.calls()
    result = load(server, {"mix": {"read_modify_write": 1}, "verify": True, "pipeline": 4}, **counted)
    after = server.calls()
    assert errors(result) == {}
    done = result["lifetime"]["operations"]["read_modify_write"]
    assert done == after["get"] - before["get"] == after["set"] - before.get("set", 0) > 0


def test_a_load_makes_as_many_transactions_as_asked(server: RedisServer) -> None:
    for pipeline in (1, 7):
        before = server.calls().get("set", 0)
        more = {"requests_per_client": 25, "clients": 8, "warmup_ns": 0, "duration_ns": 20_000 * MS}
        result = load(server, {"mix": {"set": 1}, "pipeline": pipeline}, **more)
        assert operation(result, "transaction")["succeeded"] == 200
        assert server.calls()["set"] - before == 200


def test_values_expire(server: RedisServer) -> None:
    load(server, {"mix": {"set": 1}, "ttl_ns": 3_600_000 * MS})
    assert 3_590_000 < server.ask("PTTL", server.ask("RANDOMKEY")) <= 3_600_000
    load(server, {"mix": {"set": 1}, "keys": 50, "ttl_ns": {"from": 7_200_000 * MS, "to": 10_800_000 * MS}})
    remaining = [server.ask("PTTL", key) for key in server.ask("KEYS", "*")]
    ranged = [time for time in remaining if time > 7_100_000]
    assert len(set(ranged)) > 5
    assert max(ranged) <= 10_800_000


def test_a_thousand_connections(server: RedisServer) -> None:
    more = {"clients": 1000, "requests_per_client": 3, "warmup_ns": 0, "duration_ns": 60_000 * MS}
    result = load(server, {"mix": {"get": 0.5, "set": 0.5}}, **more)
    assert operation(result, "transaction")["succeeded"] == 3000
    assert errors(result) == {}
    assert result["client"]["connects"] == 1000


def test_a_rate_is_kept_and_has_no_pipeline(server: RedisServer) -> None:
    schedule = {"rate": [{"from_per_s": 500, "to_per_s": 500, "for_ns": 300 * MS}]}
    result = load(server, {"mix": {"get": 0.5, "set": 0.5}}, schedule=schedule)
    assert result["schedule"]["offered"] == 150
    problem = failure(lambda: run(server.endpoint(), {"pipeline": 2}, workload="kv", schedule=schedule))
    assert "pipeline" in problem["finding"]


# -- values


def verified(server: RedisServer, spoil: list[tuple[Any, ...]]) -> dict[str, int]:
    """The errors of a load of reads, before which values were spoilt behind its back."""
    prepare(server.endpoint(), {**SMALL, "verify": True}, workload="kv")
    if spoil:
        server.ask_all(spoil)
    return errors(load(server, {"mix": {"get": 3, "mget": 1}, "verify": True}))


def key(number: int) -> str:
    return f"key:{number:012}"


def test_values_that_are_right_are_no_errors(server: RedisServer) -> None:
    assert verified(server, []) == {}


def test_lost_values_are_found(server: RedisServer) -> None:
    assert verified(server, [("DEL", key(number)) for number in range(0, KEYS, 2)]).keys() == {"lost"}


def test_corrupt_values_are_found(server: RedisServer) -> None:
    value = b"x" * 40
    assert verified(server, [("SET", key(number), value) for number in range(0, KEYS, 2)]).keys() == {
        "corrupt"
    }
    assert verified(server, [("SETRANGE", key(number), 20, "?!") for number in range(KEYS)]).keys() == {
        "corrupt"
    }
    swapped = [("RENAME", key(number), key(number + 1)) for number in range(0, KEYS, 2)]
    assert verified(server, swapped).keys() == {"corrupt", "lost"}
    assert verified(server, [("SET", key(number), b"y" * 100_000) for number in range(50)]).keys() <= {
        "corrupt"
    }


def test_stale_values_are_found(server: RedisServer) -> None:
    prepare(server.endpoint(), {**SMALL, "keys": 20, "verify": True}, workload="kv")
    old = server.ask_all([("DUMP", key(number)) for number in range(20)])
    spoilt = threading.Event()

    def put_back(event: dict[str, Any]) -> None:
        # All keys were written by the end of the warm-up, again and again.
        if event["type"] == "phase" and event["phase"] == "measure":
            server.ask_all([("RESTORE", key(number), 0, dump, "REPLACE") for number, dump in enumerate(old)])
            spoilt.set()

    options = {**SMALL, "keys": 20, "mix": {"get": 0.9, "set": 0.1}, "verify": True}
    result = run(server.endpoint(), options, workload="kv", on_event=put_back, warmup_ns=300 * MS)
    assert spoilt.is_set()
    assert errors(result).keys() == {"stale"}


# -- the protocol's versions, and ways to come in


def test_resp2_and_a_socket_and_another_database(server: RedisServer) -> None:
    for change in ({"resp": 2}, {"socket": str(server.root / "s")}, {"database": "3"}):
        endpoint = server.endpoint(**change)
        prepare(endpoint, SMALL, workload="kv")
        result = run(endpoint, {**SMALL, "mix": {"get": 1, "mget": 1}}, workload="kv")
        assert (result["outcome"], errors(result)) == ("completed", {})
        assert operation(result, "missed")["succeeded"] == 0
    assert server.ask("DBSIZE", database=3) == KEYS


def test_a_user_with_a_password_and_one_with_few_rights(server: RedisServer) -> None:
    server.ask("ACL", "SETUSER", "reader", "on", ">other", "~*", "+get", "+hello", "+select", "+client")
    endpoint = server.endpoint(user="reader", password="other")
    result = run(endpoint, {**SMALL, "mix": {"get": 0.5, "set": 0.5}}, workload="kv")
    assert result["outcome"] == "completed"
    assert errors(result).keys() == {"NOPERM"}
    assert operation(result, "get")["succeeded"] > 0


@pytest.mark.parametrize(
    ("change", "code", "reason", "advice"),
    [
        ({"password": "wrong"}, "WRONGPASS", "[WRONGPASS]", "password"),
        ({"password": None}, "NOAUTH", "[NOAUTH]", "password"),
        ({"password": "wrong", "resp": 2}, "WRONGPASS", "[WRONGPASS]", "password"),
        ({"database": "99"}, "database", "DB index is out of range", "databases"),
        ({"port": 1}, "connection", "Connection refused", "host and port"),
    ],
)
def test_a_refused_login_is_reported_with_its_cause(
    server: RedisServer, change: dict[str, Any], code: str, reason: str, advice: str
) -> None:
    result = run(server.endpoint(**change), SMALL, workload="kv")
    assert result["outcome"] == "connect-failed"
    assert reason in result["reason"]
    assert advice in result["advice"]
    assert failure(lambda: prepare(server.endpoint(**change), SMALL, workload="kv"))["code"] == code
    assert "wrong" not in result["reason"]


@pytest.fixture(scope="module")
def tls_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RedisServer, Path]]:
    """A server that has a port for TLS only, and its certificate, which is good for `localhost`."""
    server, certificate = with_tls(tmp_path_factory.mktemp("tls"))
    with server:
        yield server, certificate


def test_tls(tls_server: tuple[RedisServer, Path]) -> None:
    server, certificate = tls_server
    good = {"host": "localhost", "sslmode": "verify-full", "sslrootcert": str(certificate)}
    for change in (good, {"sslmode": "require"}):
        endpoint = server.endpoint(**change)
        prepare(endpoint, {**SMALL, "verify": True}, workload="kv")
        result = run(endpoint, {**SMALL, "verify": True, "pipeline": 5}, workload="kv")
        assert (result["outcome"], errors(result)) == ("completed", {})
    for change in ({**good, "host": "127.0.0.1"}, {**good, "sslrootcert": None}):
        result = run(server.endpoint(**change), SMALL, workload="kv")
        assert result["outcome"] == "connect-failed", change
        assert result["advice"]


# -- trouble


def test_errors_have_the_servers_own_code(server: RedisServer) -> None:
    server.ask("LPUSH", key(0), "a list")
    result = load(server, {"keys": 1, "mix": {"get": 1}})
    assert errors(result).keys() == {"WRONGTYPE"}
    result = load(server, {"mix": {}, "commands": {"odd": {"commands": ["NOSUCH ${key}"]}}})
    assert errors(result).keys() == {"ERR"}
    server.ask_all([("CONFIG", "SET", "maxmemory", "1"), ("CONFIG", "SET", "maxmemory-policy", "noeviction")])
    try:
        result = load(server, {"mix": {"set": 1}})
        problem = failure(lambda: prepare(server.endpoint(), SMALL, workload="kv"), "resp")
    finally:
        server.ask("CONFIG", "SET", "maxmemory", "0")
    assert errors(result).keys() == {"OOM"}
    assert (problem["code"], "maxmemory" in problem["advice"]) == ("OOM", True)


def test_a_node_of_a_cluster_is_named_as_such() -> None:
    with RedisServer({"cluster-enabled": "yes"}) as server:
        problem = failure(lambda: prepare(server.endpoint(), SMALL, workload="kv"), "resp")
        assert problem["code"] == "CLUSTERDOWN"
        assert "cluster" in problem["advice"]


def half_served(node: RedisServer, code: str, message: str) -> None:
    """A load on a node with half of a cluster's slots: requests to the other half fail with this code."""
    before = node.calls().get("set", 0)
    result = load(node, {"mix": {"set": 1}}, duration_ns=100 * MS)
    assert errors(result).keys() == {code}
    assert message in next(error["message"] for error in result["errors"])
    assert result["lifetime"]["operations"]["set"] == node.calls()["set"] - before > 0
    problem = failure(lambda: prepare(node.endpoint(), SMALL, workload="kv"), "resp")
    assert problem["code"] in ("CROSSSLOT", code), "many keys at once are never of one node"
    assert "name a server without cluster mode, or a proxy of the cluster" in problem["advice"]


def test_keys_of_slots_that_are_elsewhere_are_errors_and_others_are_counted() -> None:
    half = {"cluster-enabled": "yes", "cluster-require-full-coverage": "no"}
    with RedisServer(half) as first, RedisServer(half) as second:
        first.ask("CLUSTER", "ADDSLOTSRANGE", "0", "8191")
        until(lambda: "cluster_state:ok" in str(first.ask("CLUSTER", "INFO")), "the node to serve its half")
        half_served(first, "CLUSTERDOWN", "Hash slot not served")
        second.ask("CLUSTER", "ADDSLOTSRANGE", "8192", "16383")
        first.ask("CLUSTER", "MEET", second.host, second.port)
        all_slots = "cluster_slots_assigned:16384"
        until(lambda: all_slots in str(first.ask("CLUSTER", "INFO")), "the nodes to meet")
        until(lambda: "cluster_state:ok" in str(first.ask("CLUSTER", "INFO")), "both to serve")
        half_served(first, "MOVED", f" {second.host}:{second.port}")


def test_more_clients_than_the_server_lets_in() -> None:
    with RedisServer({"maxclients": "3"}) as server:
        result = run(server.endpoint(connect_timeout_ns=500 * MS), SMALL, workload="kv", clients=8)
        assert result["outcome"] == "connect-failed"
        assert "max number of clients" in result["reason"]
        assert "maxclients" in result["advice"]


def test_a_server_that_is_killed_ends_the_load_and_nothing_is_counted_twice() -> None:
    with RedisServer() as server:
        prepare(server.endpoint(), SMALL, workload="kv")

        def kill(event: dict[str, Any]) -> None:
            if event["type"] == "interval":
                server.kill()

        more = {"duration_ns": 60_000 * MS, "lost_ns": 200 * MS, "clients": 8}
        result = run(server.endpoint(), {**SMALL, "pipeline": 3}, workload="kv", on_event=kill, **more)
    assert result["outcome"] == "lost"
    assert_counted(result)
    assert errors(result).keys() <= {"connection"}
