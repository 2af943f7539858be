"""HTTP against servers that do what no server should: every failure has a class, and nothing hangs or is
lost.
"""

from __future__ import annotations

import base64
import resource
import socket
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from engine.loads import MS, Result, failure, operation, run
from engine.test_own_certificate_postgres import self_signed
from hostile import Answer, Hostile, dribbles, never, resets, response, says

ONE = {"requests": [{"path": "/"}]}
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def load(answer: Answer, options: dict[str, Any] = ONE, **more: Any) -> tuple[Result, Hostile]:
    """A short load on a server that answers so; counts and times of its transactions agree."""
    settings = {"clients": 2, "warmup_ns": 0, "duration_ns": 400 * MS, "timeout_ns": 4000 * MS, **more}
    with Hostile(answer) as server:
        result = run(server.target(), options, workload="http", **settings)
    assert result["outcome"] == "completed", result["reason"]
    for entry in result["operations"]:
        assert entry["attempted"] == entry["succeeded"] + entry["failed"] + entry["in_flight"], entry
    transaction = operation(result, "transaction")
    assert sum(error["count"] for error in result["errors"]) == transaction["failed"]
    assert all(error["operation"] == "transaction" for error in result["errors"])
    return result, server


def codes(result: Result) -> set[str]:
    return {error["code"] for error in result["errors"]}


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        (response(b"", "404 Not Found"), "http-404", "status 404"),
        (response(b"", "500 Internal Server Error"), "http-500", "status 500"),
        (response() + b"and more", "length", "more than its response"),
        (CHUNKED + b"zz\r\nwhat?\r\n", "protocol", "no size of a chunk"),
        (CHUNKED + b"5\r\nhello, world\r\n", "protocol", "longer than its size"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * (1 << 20) + b"\r\n\r\n", "protocol", "longer than 65536 bytes"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 170_000 + b"\r\n", "protocol", "longer than 65536 bytes"),
        (b"SSH-2.0-OpenSSH_9.2p1\r\n", "protocol", "no status line"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1e3\r\n\r\n", "protocol", "no length"),
    ],
)
def test_an_answer_that_is_no_success_has_a_class(text: bytes, code: str, message: str) -> None:
    result, _ = load(says(text))
    assert codes(result) == {code}
    assert message in result["errors"][0]["message"]
    assert operation(result, "transaction")["succeeded"] == 0


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (says(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nhalf of it", continues=False), "length"),
        (says(CHUNKED + b"5\r\nhel", continues=False), "length"),
        (says(b"HTTP/1.1 200 OK\r\nContent-Le", continues=False), "length"),
        (says(b"", continues=False), "connection"),
        (resets, "reset"),
    ],
)
def test_a_connection_that_breaks_costs_one_request_and_no_pause(answer: Answer, code: str) -> None:
    result, server = load(answer)
    assert codes(result) == {code}
    transaction = operation(result, "transaction")
    assert (transaction["succeeded"], transaction["failed"] > 0) == (0, True)
    assert (result["client"]["reconnects"], result["client"]["reconnecting_ns"]) == (0, 0)
    assert server.connections >= transaction["failed"]


def test_redirections_are_successes_unless_the_plan_says_otherwise() -> None:
    moved = says(response(b"", "301 Moved Permanently", "Location: /elsewhere"))
    assert codes(load(moved)[0]) == set()
    result, _ = load(moved, {**ONE, "success": ["200"]})
    assert codes(result) == {"http-301"}
    assert result["received"]["statuses"].keys() == {"3xx"}


def test_a_request_without_an_answer_ends_at_the_time_out() -> None:
    result, server = load(never, timeout_ns=50 * MS)
    assert codes(result) == {"timeout"}
    transaction = operation(result, "transaction")
    assert transaction["succeeded"] == 0
    assert transaction["failed_response"]["min_ns"] >= 50 * MS
    assert server.connections >= 2


def test_a_slow_body_is_a_success_within_the_time_out_and_none_beyond_it() -> None:
    slow = dribbles(0.001)
    result, _ = load(slow, duration_ns=600 * MS)
    assert codes(result) == set()
    assert operation(result, "transaction")["service"]["min_ns"] >= 35 * MS
    first, complete = operation(result, "first_byte"), operation(result, "transaction")
    assert first["service"]["p50_ns"] < complete["service"]["p50_ns"]
    result, _ = load(slow, timeout_ns=20 * MS)
    assert codes(result) == {"timeout"}


def test_a_body_that_is_another_than_expected_fails_its_request() -> None:
    def every_other(stream: socket.socket, number: int, head: bytes) -> bool:
        stream.sendall(response(b"right" if number % 2 else b"wrong"))
        return True

    for check in ({"contains": "igh"}, {"equals": "right"}):
        result, _ = load(every_other, {"requests": [{"path": "/", "check": check}]})
        assert codes(result) == {"body"}
        transaction = operation(result, "transaction")
        assert abs(transaction["failed"] - transaction["succeeded"]) <= 4
    result, _ = load(every_other, {"requests": [{"path": "/", "check": {"size": 5}}]})
    assert codes(result) == set()


def test_the_limit_of_the_header_can_be_raised() -> None:
    long = says(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000 + b"\r\nContent-Length: 0\r\n\r\n")
    result, _ = load(long, {**ONE, "header_bytes": 1 << 20})
    assert codes(result) == set()
    assert result["lifetime"]["transactions"] > 0


def test_requests_are_as_often_as_their_shares_and_have_places_filled() -> None:
    seen: list[bytes] = []

    def notes(stream: socket.socket, number: int, head: bytes) -> bool:
        seen.append(head.split(b" ", 2)[1])
        stream.sendall(response())
        return True

    options = {
        "requests": [
            {"name": "get", "path": "/random_get?key=${key}", "share": 75},
            {
                "name": "set",
                "method": "POST",
                "path": "/random_set?key=${key}",
                "body": "${value}",
                "share": 25,
            },
        ],
        "parameters": {"key": {"from": 1, "to": 50}, "value": {"letters": 100}},
    }
    result, _ = load(notes, options, clients=1)
    gets = [path for path in seen if path.startswith(b"/random_get?key=")]
    assert len(gets) + sum(path.startswith(b"/random_set?key=") for path in seen) == len(seen)
    keys = {int(path.rpartition(b"=")[2]) for path in seen}
    assert keys <= set(range(1, 51))
    assert result["lifetime"]["operations"]["get"] == len(gets)
    assert len(gets) == pytest.approx(0.75 * len(seen), abs=5 * len(seen) ** 0.5)


@pytest.mark.parametrize("keep_alive", [True, False])
def test_a_body_of_bytes_arrives_as_it_stands(keep_alive: bool) -> None:
    sent, seen = bytes(range(256)) * 300 + b"${key}", set()

    class Echo(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_PUT(self) -> None:
            seen.add(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        target = {
            "protocol": "http",
            "host": "127.0.0.1",
            "port": server.server_port,
            "sslmode": "disable",
        }
        request = {"method": "PUT", "path": "/", "body": {"base64": base64.b64encode(sent).decode()}}
        options = {"requests": [request], "keep_alive": keep_alive}
        result = run(target, options, workload="http", clients=2, warmup_ns=0, duration_ns=300 * MS)
        server.shutdown()
    assert (result["errors"], seen) == ([], {sent})


def test_nobody_listening_is_reported_with_advice() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    target = {"protocol": "http", "host": "127.0.0.1", "port": port, "sslmode": "disable"}
    result = run(target, ONE, workload="http")
    assert result["outcome"] == "connect-failed"
    assert "Connection refused" in result["reason"]
    assert "no program listens there" in result["advice"]


def test_a_server_that_goes_away_is_lost_and_not_hammered_at() -> None:
    with Hostile(says(response())) as server:

        def leave(event: dict[str, Any]) -> None:
            if event["type"] == "interval":
                server.__exit__()
                server._answer = resets

        result = run(
            server.target(), ONE, workload="http", on_event=leave, duration_ns=60_000 * MS, lost_ns=300 * MS
        )
    assert result["outcome"] == "lost"
    assert "refused" in result["reason"].lower()
    refused = sum(error["count"] for error in result["errors"] if error["code"] == "refused")
    assert refused <= 4 * 4, "each client asks once, and then with pauses that are no requests"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certificate of a service called `shop.example`."""
    folder = tmp_path_factory.mktemp("tls")
    return self_signed(folder, "shop", "subjectAltName=DNS:shop.example")


def secured(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_suffix(".key"))
    return context


def test_tls_wants_the_right_name_from_somebody_trusted(certificate: Path) -> None:
    with Hostile(says(response()), secured(certificate)) as server:

        def tried(**tls: Any) -> Result:
            return run(
                server.target(**tls), ONE, workload="http", clients=2, duration_ns=500 * MS, warmup_ns=0
            )

        wrong = tried(sslmode="verify-full", sslrootcert=str(certificate))
        assert wrong["outcome"] == "connect-failed"
        assert wrong["reason"].endswith(
            'not valid for name "127.0.0.1"; certificate is only valid for DnsName("shop.example")'
        )
        assert "`tls.name` another expected name" in wrong["advice"]
        stranger = tried(sslmode="verify-full")
        assert stranger["outcome"] == "connect-failed"
        assert "`tls.ca` names a file" in stranger["advice"]
        right = tried(sslmode="verify-full", sslrootcert=str(certificate), tls_name="shop.example")
        anybody = tried(sslmode="require")
    for good in (right, anybody):
        assert good["outcome"] == "completed", good["reason"]
        assert good["errors"] == []
        assert good["lifetime"]["transactions"] > 0


def test_each_request_can_have_its_own_secure_connection(certificate: Path) -> None:
    with Hostile(says(response(), continues=False), secured(certificate)) as server:
        result = run(
            server.target(sslmode="require"),
            {**ONE, "keep_alive": False},
            workload="http",
            clients=2,
            warmup_ns=0,
            duration_ns=300 * MS,
        )
    assert result["errors"] == []
    assert result["lifetime"]["operations"]["connect"] == result["lifetime"]["transactions"] > 0


def test_plain_words_to_a_secure_server_are_a_protocol_of_another_kind(certificate: Path) -> None:
    with Hostile(says(response()), secured(certificate)) as server:
        result = run(server.target(), ONE, workload="http", clients=1, warmup_ns=0, duration_ns=100 * MS)
    assert result["lifetime"]["transactions"] == 0
    assert codes(result) <= {"protocol", "connection", "reset", "length"}


def test_too_few_file_descriptors_are_named_with_what_is_needed() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    clients = hard + 1
    if clients > 2**32 - 1:
        clients = 2**32 - 2
    with Hostile(says(response())) as server:
        problem = failure(lambda: run(server.target(), ONE, workload="http", clients=clients))
    assert problem["code"] == "limit"
    assert f"{clients:,} clients need {clients + 64} file descriptors" in problem["finding"]
    assert f"ulimit -Hn {clients + 64}" in problem["advice"]
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
