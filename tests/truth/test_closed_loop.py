"""The closed loop against a server whose service time and stalls are known.

The server keeps its own account, so what is compared is two records of one thing, not a record and a hope.
"""

from __future__ import annotations

import pytest

from truth.assertions import agrees
from truth.loads import MS, bound, counts_above, load, operation, undisturbed
from truth.reference_server import ReferenceServer


def test_a_fixed_service_time_is_measured_as_it_is() -> None:
    with ReferenceServer(service_us=5000) as server:
        result, _ = load(server.specification("oltp_point_select", clients=8, duration_s=bound(3, 1)))
    transaction = operation(result, "transaction")
    served_mean_ns = server.account["service_sum_ns"] / server.account["requests"]
    # What the server says it took is a lower bound; above it lie the network and the client's own work.
    assert served_mean_ns <= transaction["service"]["mean_ns"] < served_mean_ns * bound(1.1, 1.5) + MS
    assert transaction["service"]["min_ns"] >= 5 * MS
    title = "service of 5 ms by the server's own account, ns: median"
    agrees(title, transaction["service"]["p50_ns"], served_mean_ns, full=0.15, loose=0.5)
    assert transaction["service"]["mean_ns"] <= transaction["response"]["mean_ns"]


def test_every_request_the_server_answered_is_in_the_record_and_no_other() -> None:
    with ReferenceServer(service_us=300) as server:
        result, _ = load(
            server.specification("oltp_point_select", clients=16, duration_s=bound(2, 1), warmup_s=0.5)
        )
    assert result["lifetime"]["transactions"] == server.account["requests"]
    assert result["lifetime"]["failed"] == 0
    for op in result["operations"]:
        assert op["attempted"] == op["succeeded"] + op["failed"] + op["in_flight"], op
        if op["succeeded"]:
            assert op["response"]["count"] == op["service"]["count"] == op["succeeded"]


def test_intervals_add_up_to_the_window() -> None:
    with ReferenceServer(service_us=1000) as server:
        result, events = load(server.specification("oltp_read_only", clients=4, duration_s=3, warmup_s=1))
    intervals = [e for e in events if e["type"] == "interval" and e["phase"] == "measure"]
    assert len(intervals) == 3
    assert sum(e["duration_ns"] for e in intervals) == result["window"]["duration_ns"]
    for op in result["operations"]:
        counted = [next(o for o in e["operations"] if o["name"] == op["name"]) for e in intervals]
        assert sum(o["succeeded"] for o in counted) == op["succeeded"], op["name"]


@pytest.mark.parametrize("clients", [1, 4, 32])
def test_littles_law_holds(clients: int) -> None:
    with ReferenceServer(service_us=2000) as server:
        result, _ = load(
            server.specification("oltp_point_select", clients=clients, duration_s=bound(2, 1), warmup_s=0.2)
        )
    transaction = operation(result, "transaction")
    client = result["client"]
    within_ns = transaction["succeeded"] * transaction["response"]["mean_ns"]
    within_ns += client["age_at_end_ns"] - client["age_at_start_ns"]
    title = f"Little's law, closed loop of {clients}: clients by their response times"
    agrees(title, within_ns / result["window"]["duration_ns"], clients, full=0.002, loose=0.05)


def test_a_stall_is_seen_once_by_every_client_it_held_up() -> None:
    def check() -> None:
        with ReferenceServer(service_us=1000, stall_at_ms=1000, stall_ms=200) as server:
            load_of_ten = server.specification("oltp_point_select", clients=10, duration_s=bound(3, 2))
            result, events = load(load_of_ten)
        slow = counts_above(result, events, "transaction/service", 150 * MS)
        assert server.account["stalled"] == 10
        assert slow == 10
        longest = operation(result, "transaction")["service"]["max_ns"]
        assert 195 * MS < longest < bound(260, 2000) * MS

    undisturbed(check)


@pytest.mark.parametrize(
    ("script", "queries"), [("oltp_read_write", 20), ("oltp_read_only", 16), ("oltp_write_only", 6)]
)
def test_a_transaction_is_exactly_its_statements(script: str, queries: int) -> None:
    with ReferenceServer() as server:
        result, _ = load(server.specification(script, clients=4, duration_s=bound(1, 0.5), warmup_s=0.2))
    assert operation(result, "transaction")["succeeded"] * queries == result["queries"]["total"]
    assert (
        result["lifetime"]["queries"]
        == server.account["requests"]
        == result["lifetime"]["transactions"] * queries
    )
