"""HTTP against a server whose delays, stalls and refusals are known: percentiles, counts and classes agree
with its account.
"""

from __future__ import annotations

import math

from truth.assertions import agrees
from truth.loads import MS, bound, counts_above, load, operation, paced
from truth.reference_server import ReferenceServer


def test_a_fixed_delay_is_measured_as_it_is() -> None:
    with ReferenceServer(service_us=5000, http=True) as server:
        result, _ = load(server.http_specification(clients=8, duration_s=1))
    transaction = operation(result, "transaction")
    served_mean_ns = server.account["service_sum_ns"] / server.account["requests"]
    assert transaction["service"]["min_ns"] >= 5 * MS
    assert served_mean_ns <= transaction["service"]["mean_ns"] < served_mean_ns * bound(1.1, 1.5) + MS
    title = "HTTP, service of 5 ms by the server's own account, ns: median"
    agrees(title, transaction["service"]["p50_ns"], served_mean_ns, full=0.15, loose=0.5)
    first = operation(result, "first_byte")
    assert first["succeeded"] == transaction["succeeded"]
    assert 5 * MS <= first["service"]["min_ns"] <= transaction["service"]["min_ns"]


def test_delays_that_vary_have_the_percentiles_they_should() -> None:
    with ReferenceServer(service_us=4000, exponential=True, http=True) as server:
        result, _ = load(server.http_specification(clients=16, duration_s=2))
    service = operation(result, "transaction")["service"]
    for quantile, key in ((0.5, "p50_ns"), (0.9, "p90_ns"), (0.99, "p99_ns")):
        title = f"HTTP, exponential delays with a mean of 4 ms, ns: {key.removesuffix('_ns')}"
        expected_ns = -math.log(1 - quantile) * 4 * MS
        agrees(title, service[key], expected_ns, full=0.1, loose=2.0)
        assert service[key] > 0.8 * expected_ns, "what the server has slept nobody can have been faster than"


def test_every_request_is_counted_once_and_in_its_class() -> None:
    with ReferenceServer(service_us=200, http=True, busy_every=7) as server:
        result, _ = load(server.http_specification(clients=8, duration_s=0.5, warmup_s=0.2))
    lifetime = result["lifetime"]
    assert lifetime["transactions"] + lifetime["failed"] == server.account["requests"]
    assert lifetime["failed"] == server.account["busy"] == server.account["requests"] // 7
    assert {error["code"] for error in result["errors"]} == {"http-503"}
    statuses, transaction = result["received"]["statuses"], operation(result, "transaction")
    assert statuses == {"2xx": transaction["succeeded"], "5xx": transaction["failed"]}
    assert result["received"]["body_bytes"] == 4 * (transaction["succeeded"] + transaction["failed"])


def test_a_stall_is_seen_by_every_client_it_held_up() -> None:
    with ReferenceServer(service_us=1000, stall_at_ms=300, stall_ms=200, http=True) as server:
        result, events = load(server.http_specification(clients=10, duration_s=1))
    assert server.account["stalled"] == 10
    assert counts_above(result, events, "transaction/service", 150 * MS) >= 10
    assert operation(result, "transaction")["service"]["max_ns"] > 195 * MS
    assert result["errors"] == []


def test_a_stall_beyond_the_time_out_fails_what_it_holds_up() -> None:
    with ReferenceServer(service_us=1000, stall_at_ms=200, stall_ms=400, http=True) as server:
        result, _ = load(server.http_specification(clients=10, duration_s=1, timeout_s=0.15))
    assert {error["code"] for error in result["errors"]} == {"timeout"}
    failed = operation(result, "transaction")["failed_response"]
    assert failed["count"] >= 10
    assert failed["min_ns"] >= 150 * MS


def test_littles_law_holds_with_a_connection_for_each_request() -> None:
    with ReferenceServer(service_us=2000, http=True) as server:
        result, _ = load(server.http_specification(clients=8, duration_s=1, keep_alive=False))
    transaction, client = operation(result, "transaction"), result["client"]
    within_ns = transaction["succeeded"] * transaction["response"]["mean_ns"]
    within_ns += client["age_at_end_ns"] - client["age_at_start_ns"]
    title = "HTTP, Little's law, a connection a request: clients by their response times"
    agrees(title, within_ns / result["window"]["duration_ns"], 8, full=0.005, loose=0.05)
    assert result["lifetime"]["transactions"] == server.account["requests"]
    assert operation(result, "connect")["succeeded"] >= transaction["succeeded"]


def test_an_open_loop_offers_what_it_should() -> None:
    with ReferenceServer(service_us=1000, http=True) as server:
        specification = server.http_specification(clients=16, duration_s=1)
        result, _ = load(paced(specification, (400, 1)))
    assert abs(result["schedule"]["offered"] - 400) <= 1
    assert result["lifetime"]["transactions"] == server.account["requests"]
