"""ab, wrk and redis-benchmark beside loadcell, each in its turn on a server that is the limit: all find the
same throughput.

The servers take two milliseconds a request, one request at a time: the one of HTTP sleeps meanwhile, so that
it and nobody's CPU is the limit, also where two cores are all there is; Redis works on one of them.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from engine.loads import run
from redis_server import RedisServer
from truth.assertions import agrees
from truth.loads import FULL_STRENGTH, load, operation, undisturbed
from truth.reference_server import ReferenceServer

SERVICE_US = 2000
LIMIT_PER_S = 1e6 / SERVICE_US
CLIENTS = 8
SECONDS = 4.0 if FULL_STRENGTH else 0.5
REQUESTS = int(LIMIT_PER_S * SECONDS)
MS = 1_000_000


@dataclass(frozen=True)
class Measured:
    """A tool's report: requests, and requests per second."""

    requests: int
    per_s: float


def parse_output(command: list[str], requests: str, rate: str) -> Measured:
    """Parse a tool's output by two patterns with one group each."""
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    matches = [re.search(pattern, done.stdout) for pattern in (requests, rate)]
    assert all(matches), done.stdout + done.stderr
    return Measured(*(kind(match[1]) for kind, match in zip((int, float), matches, strict=True) if match))  # type: ignore[arg-type]


def ab(port: int) -> Measured:
    command = ["ab", "-q", "-k", "-c", str(CLIENTS), "-n", str(REQUESTS), f"http://127.0.0.1:{port}/"]
    return parse_output(command, r"Complete requests:\s+(\d+)", r"Requests per second:\s+([\d.]+)")


def wrk(port: int) -> Measured:
    seconds = max(int(SECONDS), 1)  # It knows no parts of seconds.
    command = ["wrk", "-t", "1", "-c", str(CLIENTS), "-d", f"{seconds}s", f"http://127.0.0.1:{port}/"]
    return parse_output(command, r"(\d+) requests in", r"Requests/sec:\s+([\d.]+)")


def over_http() -> tuple[Measured, int]:
    """loadcell, and how many requests the server saw."""
    with ReferenceServer(service_us=SERVICE_US, servers=1, http=True) as server:
        result, _ = load(server.http_specification(clients=CLIENTS, duration_s=SECONDS))
    made = result["lifetime"]["transactions"]
    per_s = operation(result, "transaction")["succeeded"] / SECONDS
    return Measured(made, per_s), server.account["requests"]


@pytest.mark.parametrize("peer", [ab, wrk])
def test_a_service_of_http_is_as_fast_for_every_tool(peer: Callable[[int], Measured]) -> None:
    def check() -> None:
        with ReferenceServer(service_us=SERVICE_US, servers=1, http=True) as server:
            theirs = peer(server.port)
        # A tool that ends by the clock has sent what it does not wait for.
        assert theirs.requests <= server.account["requests"] <= theirs.requests + CLIENTS
        ours, seen = over_http()
        assert ours.requests == seen
        title = "HTTP, one request of 2 ms at a time, requests/s"
        agrees(f"{title}: {peer.__name__}", theirs.per_s, LIMIT_PER_S, full=0.03, loose=1.0)
        agrees(f"{title}: loadcell", ours.per_s, LIMIT_PER_S, full=0.03, loose=1.0)
        agrees(
            f"{title}: loadcell, compared with {peer.__name__}",
            ours.per_s,
            theirs.per_s,
            full=0.03,
            loose=9.0,
        )

    undisturbed(check)


def test_a_redis_is_as_fast_for_redis_benchmark() -> None:
    """A script that counts to 200,000: of Redis' one thread's own time, about two milliseconds."""

    def check() -> None:
        with RedisServer(password="") as server:
            count = server.ask("SCRIPT", "LOAD", "for i = 1, 200000 do end return 1")
            words = ["EVALSHA", count.decode() if isinstance(count, bytes) else str(count), "0"]
            command = ["redis-benchmark", "-p", str(server.port), "-c", str(CLIENTS), "-n", str(REQUESTS)]
            theirs = parse_output(
                [*command, *words],
                r"(\d+) requests completed",
                r"throughput summary: ([\d.]+) requests per second",
            )
            assert server.calls()["evalsha"] == theirs.requests == REQUESTS
            options = {"mix": {}, "commands": {"count": {"commands": [" ".join(words)]}}, "keys": 1}
            load_for = {"clients": CLIENTS, "warmup_ns": 0, "duration_ns": int(SECONDS * 1000) * MS}
            result = run(server.endpoint(), options, workload="kv", **load_for)
            assert server.calls()["evalsha"] - REQUESTS == result["lifetime"]["transactions"]
        ours = operation(result, "transaction")["succeeded"] / SECONDS
        title = "Redis, a script of about 2 ms at a time, commands/s: loadcell, compared with redis-benchmark"
        agrees(title, ours, theirs.per_s, full=0.05, loose=9.0)

    undisturbed(check)
