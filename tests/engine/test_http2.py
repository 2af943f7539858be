"""HTTP/2 with real servers: what is counted is what they have seen, also when they leave in the
middle of it.
"""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from engine.loads import MS, Event, Result, operation, run
from engine.test_own_certificate_postgres import self_signed
from http2_servers import Nghttpd, Nginx, Server

ONE = {"path": "/"}


def load(
    server: Server, request: dict[str, Any], target: dict[str, Any] | None = None, **more: Any
) -> Result:
    """A short load of these requests; its counts agree with each other."""
    options = {"version": "2", "requests": [request], "parameters": more.pop("parameters", {})}
    options["streams"] = more.pop("streams", 1)
    settings = {"warmup_ns": 0, "duration_ns": 200 * MS, "drain_ns": 20_000 * MS, **more}
    result = run(target or server.target(), options, workload="http", **settings)
    for entry in result["operations"]:
        assert entry["attempted"] == entry["succeeded"] + entry["failed"] + entry["in_flight"], entry
    transaction = operation(result, "transaction")
    assert sum(error["count"] for error in result["errors"]) == transaction["failed"]
    return result


def codes(result: Result) -> set[str]:
    return {error["code"] for error in result["errors"]}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return self_signed(tmp_path_factory.mktemp("own"), "server", "subjectAltName=IP:127.0.0.1")


def with_tls(certificate: Path) -> str:
    return f"ssl_certificate {certificate}; ssl_certificate_key {certificate.with_suffix('.key')};"


def test_every_request_is_in_the_servers_log_although_it_leaves_again_and_again(
    tmp_path: Path, certificate: Path
) -> None:
    lines = with_tls(certificate) + " keepalive_requests 25;"
    with Nginx(tmp_path, listen="ssl http2", lines=lines) as server:
        target = server.target(sslmode="verify-full", sslrootcert=str(certificate))
        result = load(server, ONE, target, requests=400, duration_ns=30_000 * MS)
        assert server.log(400) == ["200 HTTP/2.0 GET /index.html"] * 400
    assert codes(result) == set()
    assert result["lifetime"]["transactions"] == 400
    # GOAWAY comes with every 25th answer; the last connections are not used up.
    assert 16 <= result["client"]["connects"] <= 16 + 4
    assert result["client"]["reconnects"] == 0


def test_a_server_that_is_reloaded_loses_no_count(tmp_path: Path) -> None:
    with Nginx(tmp_path) as server:

        def reload(event: Event) -> None:
            if event["type"] == "interval":
                server.signal(signal.SIGHUP)

        result = load(server, ONE, on_event=reload, duration_ns=450 * MS)
        made = result["lifetime"]["transactions"]
        log = server.log(made)
    assert set(log) == {"200 HTTP/2.0 GET /index.html"}
    # Of a connection that is reset, the word that the server leaves need not be heard.
    assert codes(result) <= {"reset", "connection"}
    assert made <= len(log) <= made + result["lifetime"]["failed"]


def test_several_requests_at_once_are_in_the_servers_log_once_each(tmp_path: Path) -> None:
    # Whoever asks for more is refused, and asks again elsewhere.
    with Nginx(tmp_path, lines="keepalive_requests 25;") as server:
        result = load(server, ONE, requests=400, clients=3, streams=8, duration_ns=30_000 * MS)
        assert server.log(400) == ["200 HTTP/2.0 GET /index.html"] * 400
    assert (codes(result), result["lifetime"]["transactions"]) == (set(), 400)
    assert result["client"]["connects"] >= 400 // 25


def test_no_more_are_made_at_once_than_the_server_takes(tmp_path: Path) -> None:
    events = []

    def listen(event: Event) -> None:
        events.extend([event["message"]] if event["type"] == "trouble" else [])

    with Nginx(tmp_path, lines="http2_max_concurrent_streams 3;") as server:
        result = load(
            server, ONE, on_event=listen, requests=300, clients=2, streams=16, duration_ns=30_000 * MS
        )
        assert server.log(300) == ["200 HTTP/2.0 GET /index.html"] * 300
    assert (codes(result), operation(result, "transaction")["retried"]) == (set(), 0)
    assert events[0] == "the server takes 3 requests at once on a connection: fewer than `streams: 16`"


def test_bodies_sent_at_once_share_a_tiny_window(tmp_path: Path) -> None:
    request = {"method": "POST", "path": "/", "body": "${text}", "check": {"size": 20_000}}
    with Nghttpd(tmp_path, "--window-bits=10", "--connection-window-bits=16", "--padding=7") as server:
        letters = {"text": {"letters": 20_000}}
        many = {"clients": 2, "streams": 5, "requests": 12, "duration_ns": 60_000 * MS}
        result = load(server, request, parameters=letters, **many)
    assert (codes(result), result["lifetime"]["transactions"]) == (set(), 12)


@pytest.mark.parametrize(
    ("path", "code"), [("/moved", None), ("/nowhere", "http-404"), ("/broken", "http-500")]
)
def test_statuses_decide_what_a_success_is(tmp_path: Path, path: str, code: str | None) -> None:
    with Nginx(tmp_path) as server:
        result = load(server, {"path": path}, duration_ns=50 * MS)
        made = result["lifetime"]["transactions"] + result["lifetime"]["failed"]
        assert len(server.log(made)) == made
    assert codes(result) == ({code} if code else set())


def test_bodies_beyond_the_window_come_whole(tmp_path: Path) -> None:
    size = 40 << 20
    with Nginx(tmp_path) as server:
        with (tmp_path / "files" / "large").open("wb") as file:
            file.truncate(size)
        result = load(server, {"path": "/large", "check": {"size": size}}, clients=1)
    assert codes(result) == set()
    made = result["lifetime"]["transactions"]
    assert made >= 1
    assert operation(result, "transaction")["failed"] == 0


def test_bodies_are_sent_as_fast_as_a_tiny_window_lets_them(tmp_path: Path) -> None:
    request = {"method": "POST", "path": "/", "body": "${text}", "check": {"size": 200_000}}
    with Nghttpd(tmp_path, "--window-bits=10", "--connection-window-bits=16") as server:
        result = load(server, request, parameters={"text": {"letters": 200_000}}, clients=2)
    assert codes(result) == set()
    assert operation(result, "transaction")["succeeded"] > 0


def test_trailers_padding_and_checks_of_bodies(tmp_path: Path) -> None:
    with Nghttpd(tmp_path, "--trailer=x-sum: 1", "--padding=7") as server:
        assert codes(load(server, {"path": "/", "check": {"equals": "hello"}})) == set()
        assert codes(load(server, {"path": "/", "check": {"equals": "bye"}})) == {"body"}


def test_a_server_of_http_1_is_reported(tmp_path: Path, certificate: Path) -> None:
    with Nginx(tmp_path, listen="") as server:
        result = load(server, ONE, duration_ns=50 * MS)
        assert codes(result) == {"protocol"}
        assert "does not speak HTTP/2: it answers in HTTP/1" in result["errors"][0]["message"]
    with Nginx(tmp_path, listen="ssl", lines=with_tls(certificate)) as server:
        result = load(server, ONE, server.target(sslmode="require"))
        assert result["outcome"] == "connect-failed"
        assert "does not offer the protocol h2" in result["reason"]
        assert "version" in result["advice"]
