"""An existing server: only what loadcell made is touched, and nothing is reconfigured or flushed."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from loadcell.model.json import document
from loadcell.systems.base import DataSpec, ServerEndpoint, TargetError
from loadcell.systems.redis.target import Redis
from redis_server import RedisServer, with_tls
from systems.bench import Bench

from .conftest import DATA, KEYS, OTHER, ask, load, loader


@pytest.fixture
def server(redis_server: RedisServer) -> RedisServer:
    """The common server, with keys of somebody else."""
    redis_server.ask_all([("FLUSHALL",), ("SET", "theirs", "precious"), ("SET", "key", "theirs, too")])
    return redis_server


def external(bench: Bench[Redis], server: RedisServer, **options: Any) -> Redis:
    bench.env["SECRET"] = server.password
    return bench.up(
        server="external", host=server.host, port=server.port, password="${env:SECRET}", **options
    )


def test_keys_are_loaded_beside_others_and_removed_alone(bench: Bench[Redis], server: RedisServer) -> None:
    target = external(bench, server)
    assert target.prepare(DATA, load, will_change=True).how == "loaded"
    assert target.prepare(DATA, load, will_change=False).how == "restored"
    assert target.prepare(DATA, load, will_change=False).how == "reused"
    assert target.prepare(OTHER, loader("other:"), will_change=False).how == "loaded"
    assert server.ask("DBSIZE") == KEYS + 2 + 2, (
        "the first data set has made room; mark and lock are keys too"
    )
    assert target.processes() == [server.pid]
    record = document(target.describe())
    assert (record["server"], record["tls"], record["host"]) == ("external", False, "127.0.0.1")
    target.down()
    assert server.ask("PING") == "PONG", "it is never stopped"
    target.destroy()
    assert sorted(server.ask("KEYS", "*")) == ["key", "theirs"]
    assert "2 keys are left in database 0" in "\n".join(bench.log)


def test_a_server_may_be_reached_by_its_unix_socket(bench: Bench[Redis], server: RedisServer) -> None:
    bench.env["SECRET"] = server.password
    path = str(server.root / "s")
    target = bench.up(server="external", socket=path, password="${env:SECRET}")
    assert target.prepare(DATA, load, will_change=True).how == "loaded"
    assert (target.endpoint().socket, target.describe().host) == (path, path)
    assert target.processes() == [server.pid]
    target.destroy()
    with pytest.raises(TargetError, match=f"no server responds at {path}x"):
        bench.up(server="external", socket=f"{path}x")


def test_a_server_started_by_its_bare_name_is_observed(bench: Bench[Redis]) -> None:
    """Its INFO names a program in the working directory, where there is none."""
    with RedisServer(program=Path("redis-server")) as server:
        target = external(bench, server)
        assert target.processes() == [server.pid]
        target.destroy()


def test_keys_that_loadcell_did_not_make_are_left_alone(bench: Bench[Redis], server: RedisServer) -> None:
    server.ask("SET", "key:theirs", "x")
    target = external(bench, server)
    with pytest.raises(TargetError, match="prefix `key:` that loadcell did not create") as raised:
        target.prepare(DATA, load, will_change=False)
    assert "key_prefix" in raised.value.advice
    assert target.prepare(OTHER, loader("other:"), will_change=False).how == "loaded"
    for prefixes, message in (
        ((), "declares no prefix"),
        (("",), "not create"),
        (("other:", ""), "not create"),
    ):
        with pytest.raises(TargetError, match=message):
            target.prepare(DataSpec({"kv": {"some": "data"}}, prefixes), load, will_change=False)
    target.destroy()
    assert server.ask("DBSIZE") == 3
    server.ask("SET", "loadcell:mark", "not a mark")
    with pytest.raises(TargetError, match="was not written by loadcell"):
        external(bench, server).prepare(OTHER, load, will_change=False)


def test_signs_in_a_prefix_mean_themselves(bench: Bench[Redis], server: RedisServer) -> None:
    server.ask("SET", "aXb", "theirs")
    target = external(bench, server)
    assert (
        target.prepare(
            DataSpec({"kv": {"key_prefix": "a?b"}}, ("a?b",)), loader("a?b"), will_change=False
        ).how
        == "loaded"
    )
    target.destroy()
    assert server.ask("EXISTS", "aXb") == 1
    assert server.ask("DBSIZE") == 3


def test_another_database_and_keeping_the_keys(bench: Bench[Redis], server: RedisServer) -> None:
    target = external(bench, server, database=5, keep_data=True)
    assert target.prepare(DATA, load, will_change=False).how == "loaded"
    assert server.ask("DBSIZE", database=5) == KEYS + 2, "mark and lock are keys, too"
    target.destroy()
    assert server.ask("DBSIZE", database=5) == KEYS + 1
    again = external(bench, server, database=5)
    assert again.prepare(DATA, load, will_change=False).how == "reused"
    again.destroy()
    assert server.ask("DBSIZE", database=5) == 0


def test_a_load_that_was_aborted_is_begun_again(bench: Bench[Redis], server: RedisServer) -> None:
    def broken(endpoint: ServerEndpoint) -> int:
        ask(endpoint, "SET", "key:1", "half")
        raise RuntimeError("given up")

    target = external(bench, server)
    with pytest.raises(RuntimeError):
        target.prepare(DATA, broken, will_change=False)
    assert target.prepare(DATA, load, will_change=False).how == "loaded"
    target.destroy()
    assert server.ask("DBSIZE") == 2


@pytest.mark.parametrize(
    ("change", "finding", "advice"),
    [
        ({"password": "wrong"}, "refused the default user", "target.redis.user"),
        ({"password": None}, "requires a password", "target.redis.password"),
        ({"port": 1}, "no server responds", "host and port"),
        ({"host": "nowhere.invalid"}, "host name", "target.redis.host"),
        ({"database": 4000}, "the database does not exist", "target.redis.database"),
    ],
)
def test_a_server_that_cannot_be_reached_says_why(
    bench: Bench[Redis], redis_server: RedisServer, change: dict[str, Any], finding: str, advice: str
) -> None:
    options = {"host": redis_server.host, "port": redis_server.port, "password": redis_server.password}
    with pytest.raises(TargetError) as raised:
        bench.up(server="external", **{**options, **change})
    assert finding in raised.value.finding, raised.value.finding
    assert advice in raised.value.advice
    assert redis_server.password not in raised.value.finding


def test_a_node_among_others_of_a_cluster_is_refused(bench: Bench[Redis]) -> None:
    with RedisServer({"cluster-enabled": "yes"}) as first, RedisServer({"cluster-enabled": "yes"}) as second:
        for node, slots in ((first, ("0", "8000")), (second, ("8001", "16383"))):
            node.ask("CLUSTER", "ADDSLOTSRANGE", *slots)
            node.ask("CONFIG", "SET", "masterauth", node.password)
        first.ask("CLUSTER", "MEET", second.host, second.port)

        def refusal() -> str | None:
            try:
                external(bench, first)
            except TargetError as error:
                return error.finding
            return None

        from execution.live import until

        assert "cluster of 2 primaries" in until(refusal, "the nodes to meet")


def test_tls(bench: Bench[Redis], tmp_path: Path) -> None:
    server, certificate = with_tls(tmp_path)
    with server:
        bench.env["SECRET"] = server.password
        options = {"server": "external", "port": server.port, "password": "${env:SECRET}", "tls": True}
        good = {**options, "host": "localhost", "tls_ca": str(certificate)}
        target = bench.up(**good)
        assert target.prepare(DATA, load, will_change=False).how == "loaded"
        assert (target.describe().tls, target.endpoint().sslmode) == (True, "verify-full")
        assert bench.up(**options, host="127.0.0.1", tls_verify=False).endpoint().sslmode == "require"
        for wrong in ({"host": "127.0.0.1"}, {"tls_ca": None}):
            with pytest.raises(TargetError, match="TLS with") as raised:
                bench.up(**{**good, **wrong})
            assert "target.redis.tls_ca" in raised.value.advice


@contextmanager
def _saying(answer: bytes) -> Iterator[int]:
    """A server that says one thing to everybody; its port."""
    listening = socket.create_server(("127.0.0.1", 0))
    ended = threading.Event()

    def serve() -> None:
        while not ended.is_set():
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                try:
                    connection.recv(1000)
                    connection.sendall(answer)
                    connection.settimeout(5)
                    while connection.recv(1000):
                        pass
                except OSError:
                    pass

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        ended.set()
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join(timeout=10)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"*1\r\n" * 10_000,
        b"$999999999999\r\n",
        b"*999999999999\r\n",
        b"-ERR max number of clients reached\r\n",
        b"$five\r\n",
        b"+half a line\n",
    ],
)
def test_what_is_no_redis_is_recognised(bench: Bench[Redis], answer: bytes) -> None:
    with _saying(answer) as port, pytest.raises(TargetError) as raised:
        bench.up(server="external", host="127.0.0.1", port=port)
    assert raised.value.advice
    expected = "no free connection" if b"max" in answer else "does not respond like Redis"
    assert expected in raised.value.finding
