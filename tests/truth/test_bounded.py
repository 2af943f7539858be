"""A number of requests against a server that keeps its own account: never one more or fewer."""

from __future__ import annotations

from typing import Any

import pytest

from truth.loads import load, operation, paced
from truth.reference_server import ReferenceServer


def bounded(specification: dict[str, Any], **more: int) -> dict[str, Any]:
    return {**specification, "load": {**specification["load"], **more}}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("warmup_s", [0.0, 0.1])
def test_the_server_answered_what_was_asked_for(threads: int, warmup_s: float) -> None:
    with ReferenceServer(service_us=200) as server:
        asked = server.specification("oltp_point_select", clients=7, duration_s=60, warmup_s=warmup_s)
        result, events = load(bounded(asked, requests=1001, threads=threads))
    transaction = operation(result, "transaction")
    assert (transaction["attempted"], transaction["succeeded"], transaction["in_flight"]) == (1001, 1001, 0)
    assert result["lifetime"]["transactions"] == server.account["requests"]
    warmed = [e for e in events if e["type"] == "interval" and e["phase"] == "warmup"]
    before = sum(operation(e, "transaction")["succeeded"] for e in warmed)
    assert server.account["requests"] == 1001 + before
    assert (before > 0) == (warmup_s > 0)


def test_each_client_makes_its_own_and_an_open_loop_its_number() -> None:
    with ReferenceServer(service_us=200) as server:
        asked = server.specification("oltp_point_select", clients=5, duration_s=60)
        load(bounded(asked, requests_per_client=100, threads=2))
    assert server.account["requests"] == 500
    with ReferenceServer(service_us=200) as server:
        asked = server.specification("oltp_point_select", clients=5, duration_s=60)
        result, _ = load(bounded(paced(asked, (1000.0, 60.0)), requests=300, threads=2))
    assert (server.account["requests"], result["schedule"]["offered"]) == (300, 300)
