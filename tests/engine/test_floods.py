"""Servers that send without end: the load ends in time, and its memory is bounded."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine.loads import MS, SECOND, run
from hostile import Answer, Hostile, response, says

ONE = {"requests": [{"path": "/"}]}
HTTP2 = {**ONE, "version": "2"}
PING, SETTINGS = 6, 4
#: What one client may hold for one response, in bytes.
LIMIT_BYTES = 64 << 20


def frame(kind: int, payload: bytes = b"") -> bytes:
    """A frame of the connection itself."""
    return len(payload).to_bytes(3, "big") + bytes([kind, 0]) + bytes(4) + payload


class HostileHttp2(Hostile):
    """Greets, and then does what the test says without a look at any request."""

    def _converse(self, stream: socket.socket) -> None:
        stream.recv(65536)
        stream.sendall(frame(SETTINGS))
        self._answer(stream, 1, b"")


def floods(piece: bytes, first: bytes = b"") -> Answer:
    """Send `first`, then `piece` for ever, and read nothing."""

    def answer(stream: socket.socket, number: int, head: bytes) -> bool:
        stream.sendall(first)
        while True:
            stream.sendall(piece)

    return answer


FLOODS = {
    "pings": (HostileHttp2, HTTP2, floods(frame(PING, b"12345678") * 4000)),
    "settings": (HostileHttp2, HTTP2, floods(frame(SETTINGS) * 7000)),
    "body": (Hostile, ONE, floods(b"x" * 65536, b"HTTP/1.1 200 OK\r\n\r\n")),
    "interim": (Hostile, ONE, floods(b"HTTP/1.1 100 Continue\r\n\r\n" * 2000)),
}


def flooded(name: str) -> dict[str, object]:
    """Memory (bytes) and time (seconds) of a load of one client beyond those of a load of a calm server, and
    its errors.
    """
    kind, options, answer = FLOODS[name]
    settings = {"clients": 1, "warmup_ns": 0, "duration_ns": SECOND, "drain_ns": 200 * MS}
    began = time.monotonic()
    with Hostile(says(response())) as calm:
        before = run(calm.target(), ONE, workload="http", **settings)["client"]["max_rss_bytes"]
        calm_s = time.monotonic() - began
    with kind(answer) as server:
        began = time.monotonic()
        result = run(server.target(), options, workload="http", **settings)
        took_s = time.monotonic() - began
    return {
        "added": result["client"]["max_rss_bytes"] - before,
        "errors": [error["message"] for error in result["errors"]],
        "longer_s": took_s - calm_s,
    }


@pytest.mark.parametrize("name", FLOODS)
def test_a_server_that_sends_without_end(name: str) -> None:
    """In a separate process, whose memory is measured."""
    done = subprocess.run(
        [sys.executable, "-m", "engine.test_floods", name],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=50,
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["added"] < LIMIT_BYTES + (16 << 20), "with the engine's own buffers"
    assert seen["longer_s"] < 0.2 + 5
    if name in ("pings", "settings"):
        assert all("does not read them" in message for message in seen["errors"])


def test_other_clients_have_their_turn_beside_an_endless_answer() -> None:
    def answer(stream: socket.socket, number: int, head: bytes) -> bool:
        if number == 1:
            return floods(b"x" * 65536, b"HTTP/1.1 200 OK\r\n\r\n")(stream, number, head)
        stream.sendall(response())
        return True

    settings = {"clients": 2, "threads": 1, "warmup_ns": 0, "duration_ns": SECOND, "drain_ns": 200 * MS}
    with Hostile(answer) as server:
        result = run(server.target(), ONE, workload="http", **settings)
    assert result["operations"][0]["succeeded"] > 3, (
        "a busy machine leaves few turns, a client that is held up none"
    )


if __name__ == "__main__":
    print(json.dumps(flooded(sys.argv[1])))
    sys.stdout.flush()
    sys.exit(0)
