"""A search on a server whose capacity is known: `servers` of them, each taking a fixed or an exponential
time, behind one queue.

What it can do in a second is its number of servers by its mean service time; the search knows nothing of
that.
"""

from __future__ import annotations

import json
from statistics import median
from typing import Any

import pytest

from loadcell import _engine
from loadcell.design.search import Answer, Question, Seen, answer, decide
from loadcell.design.search.model import SUSTAINED_SHARE
from specifications import complete
from truth.assertions import agrees
from truth.loads import SECOND, bound, operation, paced, undisturbed
from truth.reference_server import ReferenceServer

SERVERS, SERVICE_US = 4, 4000
CAPACITY_PER_S = SERVERS / SERVICE_US * 1e6

CLIENTS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64)
RATES = tuple(float(f"{200 * 1.02**step:.3g}") for step in range(120))


def run(specification: dict[str, Any]) -> dict[str, Any]:
    """A load's result, whatever its outcome: an overload is an answer."""
    result: dict[str, Any] = json.loads(_engine.run(json.dumps(complete(specification)), lambda _: None))
    return result


def search(question: Question, *, exponential: bool, rate: bool) -> Answer:
    seconds = bound(4, 0.4)
    seen: list[Seen] = []
    while (probe := decide(question, seen)) is not None:
        level = question.values[probe.level]
        with ReferenceServer(service_us=SERVICE_US, exponential=exponential, servers=SERVERS) as server:
            clients = 64 if rate else int(level)
            specification = server.specification(
                "oltp_point_select", clients=clients, duration_s=seconds, warmup_s=seconds / 4
            )
            if rate:
                specification = paced(specification, (level, seconds), most_overdue_s=seconds)
            result = run(specification)
        window_s = result["window"]["duration_ns"] / SECOND
        per_s = operation(result, "transaction")["succeeded"] / window_s if window_s else 0.0
        sustained = result["outcome"] == "completed" and (not rate or per_s >= SUSTAINED_SHARE * level)
        seen.append(Seen(probe.level, probe.stage, per_s or None, sustained))
    return answer(question, seen)


@pytest.mark.parametrize("exponential", [False, True], ids=["fixed", "exponential"])
def test_the_highest_throughput_of_any_number_of_clients_is_the_capacity(exponential: bool) -> None:
    question = Question("maximum", tuple(map(float, CLIENTS)), repeats=2, trials=10, tolerance=0.02)

    def check() -> None:
        outcome = search(question, exponential=exponential, rate=False)
        assert outcome.level is not None
        kind = "exponential" if exponential else "fixed"
        title = f"search over clients, 4 servers of {kind} 4 ms: throughput found"
        agrees(title, median(outcome.values), CAPACITY_PER_S, full=0.03, loose=0.6)

    undisturbed(check)


def test_the_highest_rate_that_is_kept_up_with_is_the_capacity() -> None:
    question = Question("bound", RATES, repeats=2, trials=15, tolerance=0.02)

    def check() -> None:
        outcome = search(question, exponential=False, rate=True)
        assert outcome.level is not None
        title = "search over rates, 4 servers of fixed 4 ms: rate found"
        agrees(title, RATES[outcome.level], CAPACITY_PER_S, full=0.03, loose=0.6)

    undisturbed(check)
