"""The open loop against a server whose service time and stalls are known, and against what queueing theory
says of it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from specifications import complete
from truth import queue
from truth.assertions import agrees, below
from truth.loads import MS, SECOND, bound, counts_above, load, operation, paced, undisturbed
from truth.reference_server import ReferenceServer


def spec(server: ReferenceServer, clients: int, duration_s: float, warmup_s: float = 0.0) -> dict[str, Any]:
    return server.specification(
        "oltp_point_select", clients=clients, duration_s=duration_s, warmup_s=warmup_s
    )


@pytest.mark.parametrize(("rate", "threads"), [(50.0, 1), (1000.0, 1), (3000.0, 2)])
def test_what_is_offered_is_the_rate(rate: float, threads: int) -> None:
    results = []

    def check() -> None:
        with ReferenceServer(service_us=100) as server:
            specification = paced(spec(server, 16, 4, 0.5), (rate, 4))
            specification["load"]["threads"] = threads
            result, _ = load(specification)
        results.append(result)
        succeeded = operation(result, "transaction")["succeeded"]
        assert succeeded == pytest.approx(4 * rate, abs=16 + bound(0.01, 0.2) * rate)

    undisturbed(check)
    for result in results:
        assert result["schedule"]["offered"] == pytest.approx(4 * rate, abs=1)
        transaction = operation(result, "transaction")
        assert (
            transaction["attempted"]
            == transaction["carried_in"] + result["schedule"]["offered"]
            == transaction["succeeded"] + transaction["failed"] + transaction["in_flight"]
        )


def test_poisson_arrivals_are_as_many_as_chance_allows_and_as_uneven() -> None:
    def check() -> None:
        with ReferenceServer() as server:
            result, events = load(paced(spec(server, 16, 6), (1000, 6), arrivals="poisson"))
        counts = [operation(e, "transaction")["started"] for e in events if e["type"] == "interval"]
        assert sum(counts) == result["schedule"]["offered"]
        assert result["schedule"]["offered"] == pytest.approx(6000, abs=4 * 6000**0.5)
        assert all(abs(count - 1000) < 4 * 1000**0.5 for count in counts)
        assert len(set(counts)) > 1

    undisturbed(check)


def test_steps_are_followed_to_the_interval() -> None:
    def check() -> None:
        with ReferenceServer() as server:
            specification = paced(spec(server, 16, 4), (200, 1), (1000, 1), (0, 1), (500, 1))
            _, events = load(specification)
        counts = [operation(e, "transaction")["started"] for e in events if e["type"] == "interval"]
        assert counts == [200, 1000, 0, 500]

    undisturbed(check)


def test_every_request_the_server_answered_is_in_the_record_and_no_other() -> None:
    with ReferenceServer(service_us=300) as server:
        result, _ = load(paced(spec(server, 8, 2, 0.5), (2000, 2), arrivals="poisson"))
    assert result["lifetime"]["transactions"] == server.account["requests"]
    assert result["lifetime"]["failed"] == 0


def capacity(server: ReferenceServer, clients: int) -> float:
    """Throughput of this server with this client in a closed loop, per second."""
    result, _ = load(spec(server, clients, 1, 0.2))
    return float(operation(result, "transaction")["succeeded"]) / (result["window"]["duration_ns"] / SECOND)


def test_a_stall_of_200_ms_is_in_the_response_times_of_all_it_held_up() -> None:
    """1,000/s for 5 s with one stall: 200 of 5,000 requests are due in it, the first of them waiting for all
    of it.

    By hand: 100 wait longer than 100 ms; the 50th longest (p99) waits 150 ms, the 5th (p99.9) 195 ms. The
    queue's arithmetic adds the few milliseconds that it takes to work them off.
    """
    clients, rate, seconds = 8, 1000.0, 5

    def check() -> None:
        with ReferenceServer() as other:
            most = capacity(other, clients)
        with ReferenceServer(stall_at_ms=2000, stall_ms=200) as server:
            result, events = load(paced(spec(server, clients, seconds), (rate, seconds)))
        start = result["window"]["start_mono_ns"]
        begin, end = (
            (server.account[f"stall_{which}_mono_ns"] - start) / SECOND for which in ("begin", "end")
        )
        expected = queue.stalled([k / rate for k in range(int(rate * seconds))], (begin, end), most)
        response = operation(result, "transaction")["response"]
        agrees(
            "known server stopped for 200 ms under 1,000/s: p99, s",
            response["p99_ns"] / SECOND,
            queue.quantile(expected, 0.99),
            full=0.03,
            loose=0.2,
        )
        agrees(
            "known server stopped for 200 ms under 1,000/s: p99.9, s",
            response["p999_ns"] / SECOND,
            queue.quantile(expected, 0.999),
            full=0.03,
            loose=0.2,
        )
        above = sum(time > 0.1 for time in expected)
        assert 97 <= above <= bound(110, 130)  # the arithmetic itself is near the sum done by hand
        agrees(
            "known server stopped for 200 ms under 1,000/s: responses above 100 ms",
            counts_above(result, events, "transaction/response", 100 * MS),
            above,
            full=0.03,
            loose=0.2,
        )

        # Service time knows only of the requests that were under way: one a connection.
        assert counts_above(result, events, "transaction/service", 100 * MS) == clients
        assert operation(result, "transaction")["service"]["p99_ns"] < bound(20, 50) * MS
        assert result["schedule"]["backlog"]["peak"] == pytest.approx(200 - clients, rel=bound(0.05, 0.2))
        assert result["schedule"]["backlog"]["at_end"] == 0

    undisturbed(check)


@pytest.mark.parametrize("exponential", [False, True], ids=["M/D/1", "M/M/1"])
def test_one_connection_under_poisson_arrivals_waits_as_queueing_theory_says(exponential: bool) -> None:
    """Half busy: a request waits half a service time on average with M/D/1, a whole one with M/M/1.

    A loose bound: the mean of some thousand waits, of which neighbours are alike, is itself uncertain by a
    tenth.
    """
    rate, seconds = 500.0, 10

    def check() -> None:
        with ReferenceServer(service_us=1000, exponential=exponential) as server:
            result, _ = load(paced(spec(server, 1, seconds, 0.5), (rate, seconds), arrivals="poisson"))
        transaction = operation(result, "transaction")
        service = transaction["service"]
        mean, deviation = service["mean_ns"] / SECOND, service["stdev_ns"] / SECOND
        # A busy machine makes even a fixed time vary; what it varied by is in the formula.
        assert 0.8 < deviation / mean < 1.2 if exponential else deviation / mean < 0.8
        offered = result["schedule"]["offered_per_s"]
        expected = queue.mean_response(offered, mean, deviation)
        kind = "M/M/1" if exponential else "M/D/1"
        response_s = transaction["response"]["mean_ns"] / SECOND
        agrees(
            f"one connection, {kind} by its own service times: mean response, s",
            response_s,
            expected,
            full=0.2,
            loose=0.5,
        )

    undisturbed(check)


def test_littles_law_holds_between_counts_and_times() -> None:
    differences = []

    def check() -> None:
        with ReferenceServer(service_us=2000, exponential=True) as server:
            result, _ = load(paced(spec(server, 4, 4, 0.5), (1000, 4), arrivals="poisson"))
        transaction, presence_ns = operation(result, "transaction"), result["schedule"]["presence_ns"]
        spent = transaction["response"]["mean_ns"] * transaction["succeeded"]
        edges = (transaction["carried_in"] + transaction["in_flight"]) * transaction["response"]["max_ns"]
        differences.append((abs(spent - presence_ns), edges))
        title = "Little's law, open loop: response times over requests present, s"
        agrees(title, spent / SECOND, presence_ns / SECOND, full=0.05, loose=0.1)

    undisturbed(check)
    assert all(difference <= edges for difference, edges in differences)


def test_three_times_what_a_server_can_do_ends_as_overloaded() -> None:
    """Four connections of 1 ms each: 4,000/s at most, and 12,000/s are due."""
    accounts, backlogs = [], []

    def check() -> None:
        with ReferenceServer(service_us=1000) as server:
            specification = paced(spec(server, 4, 60), (12_000, 60), most_overdue_s=1)
            result, events = load(specification, outcome="overloaded")
        accounts.append((result["lifetime"]["transactions"], server.account["requests"]))
        backlogs.append([e["backlog"] for e in events if e["type"] == "interval"])
        backlog = result["schedule"]["backlog"]
        lasted_s = result["window"]["duration_ns"] / SECOND
        assert 1.4 < lasted_s < bound(6, 20)
        served = operation(result, "transaction")["succeeded"]
        assert backlog["at_end"] == pytest.approx(12_000 * lasted_s - served, abs=bound(20, 600))
        overdue_s = backlog["overdue_ns"] / SECOND
        assert overdue_s == pytest.approx(backlog["at_end"] / 12_000, abs=bound(0.05, 0.3))

    undisturbed(check)
    assert all(recorded == answered for recorded, answered in accounts)
    assert all(column == sorted(column) for column in backlogs)


def test_a_backlog_takes_no_memory() -> None:
    """A worker with a million requests waiting has no more memory than one with a few thousand."""

    def most_bytes(rate: float, seconds: float) -> tuple[int, int]:
        with ReferenceServer(service_us=1000) as server:
            specification = paced(spec(server, 4, seconds), (rate, seconds), most_overdue_s=100)
            order = json.dumps({"mode": "run", "parent": os.getpid(), "spec": complete(specification)})
            command = [sys.executable, "-m", "loadcell.execution.worker"]
            done = subprocess.run(command, input=order, capture_output=True, text=True, check=True)
        result = json.loads(done.stdout.splitlines()[-1])["result"]
        return result["client"]["max_rss_bytes"], result["schedule"]["backlog"]["at_end"]

    few, many = most_bytes(6_000, 1), most_bytes(300_000, 4)
    assert few[1] < 10_000 < 1_000_000 < many[1]
    assert many[0] < few[0] + 2**20


def test_at_10_000_a_second_half_of_the_requests_leave_within_20_microseconds() -> None:
    """And the waiting awake that this takes is not called work."""

    def check() -> None:
        with ReferenceServer() as server:
            result, _ = load(paced(spec(server, 32, 3, 0.5), (10_000, 3)))
        pacing, (thread,) = result["schedule"]["pacing_error"], result["client"]["threads"]
        assert pacing["count"] > 20_000
        below("10,000/s: median of due to sent, ns", pacing["p50_ns"], full=20_000, loose=10_000_000)
        assert thread["busy"] == pytest.approx((thread["cpu_ns"] - thread["spun_ns"]) / thread["wall_ns"])
        assert thread["busy"] < bound(0.9, 1.0)

    undisturbed(check)
