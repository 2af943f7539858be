"""The open loop against a real PostgreSQL that stands still: every backend gets SIGSTOP, and SIGCONT 200 ms
later.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from engine.loads import prepare
from servers import PostgresServer
from truth import queue
from truth.assertions import agrees
from truth.loads import MS, SECOND, bound, counts_above, load, operation, paced, undisturbed

TABLES = {"script": "oltp_point_select", "tables": 2, "table_size": 1000}


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer() as running:
        running.sql("CREATE DATABASE open_loop")
        prepare(running.endpoint("open_loop"), TABLES)
        yield running


def specification(server: PostgresServer, clients: int, seconds: float) -> dict[str, Any]:
    return {
        "version": 1,
        "seed": 3,
        "target": server.endpoint("open_loop"),
        "workload": {"sysbench": TABLES},
        "load": {"clients": clients, "threads": 1, "duration_ns": int(seconds * SECOND)},
    }


def backends(server: PostgresServer) -> list[int]:
    """Process ids of the backends that serve the load."""
    return [
        pid for (pid,) in server.sql("SELECT pid FROM pg_stat_activity WHERE application_name = 'loadcell'")
    ]


@contextlib.contextmanager
def standing_still(server: PostgresServer, after_s: float, for_s: float) -> Iterator[list[float]]:
    """Stops the server's backends some time from now; when that was (monotonic seconds), once it is over."""
    when: list[float] = []

    def stall() -> None:
        time.sleep(after_s)
        pids = backends(server)
        when.append(time.monotonic())
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(for_s - (time.monotonic() - when[0]))
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        when.append(time.monotonic())

    thread = threading.Thread(target=stall)
    thread.start()
    try:
        yield when
    finally:
        thread.join()


def test_backends_that_are_stopped_for_200_ms_are_in_the_response_times_as_arithmetic_says(
    server: PostgresServer,
) -> None:
    clients, rate, seconds = 8, 1000.0, 5

    def check() -> None:
        closed, _ = load(specification(server, clients, 1))
        most = operation(closed, "transaction")["succeeded"]
        with standing_still(server, 2.0, 0.2) as when:
            result, events = load(paced(specification(server, clients, seconds), (rate, seconds)))
        start = result["window"]["start_mono_ns"] / SECOND
        begin, end = when[0] - start, when[1] - start
        expected = queue.stalled([k / rate for k in range(int(rate * seconds))], (begin, end), most)
        response = operation(result, "transaction")["response"]
        agrees(
            "PostgreSQL's backends stopped for 200 ms under 1,000/s: p99, s",
            response["p99_ns"] / SECOND,
            queue.quantile(expected, 0.99),
            full=0.03,
            loose=0.2,
        )
        agrees(
            "PostgreSQL's backends stopped for 200 ms under 1,000/s: p99.9, s",
            response["p999_ns"] / SECOND,
            queue.quantile(expected, 0.999),
            full=0.03,
            loose=0.2,
        )
        above = sum(response > 0.1 for response in expected)
        count = counts_above(result, events, "transaction/response", 100 * MS)
        title = "PostgreSQL's backends stopped for 200 ms under 1,000/s: responses above 100 ms"
        agrees(title, count, above, full=0.03, loose=0.2)
        # Service time knows only of one request a connection.
        assert counts_above(result, events, "transaction/service", 100 * MS) <= clients
        assert operation(result, "transaction")["service"]["p99_ns"] < bound(20, 50) * MS
        assert operation(result, "transaction")["failed"] == 0

    undisturbed(check)


def test_what_a_real_server_cannot_do_ends_as_overloaded_and_it_lives_on(server: PostgresServer) -> None:
    specified = paced(specification(server, 4, 60), (300_000, 60), most_overdue_s=1)
    result, _ = load(specified, outcome="overloaded")
    assert result["schedule"]["backlog"]["at_end"] > 100_000
    assert result["lifetime"]["failed"] == 0
    again, _ = load(paced(specification(server, 4, 1), (200, 1)))
    assert operation(again, "transaction")["succeeded"] == pytest.approx(200, abs=bound(2, 60))
