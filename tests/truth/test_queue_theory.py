"""An open loop on a server with one queue, compared with queueing theory.

Three records of one thing: the formulas; the server's own account, which computes every response from
arrivals and service times; and loadcell's measurement. Some thousand requests scatter round their
expectation, the more the busier the server is. So the measurement is compared with the account, closely, and
the account's arithmetic, on a million simulated requests, with the formulas.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from truth import queue
from truth.assertions import agrees
from truth.loads import SECOND, bound, load, operation, paced, undisturbed
from truth.reference_server import ReferenceServer

#: Requests per second that the servers of each model can do. A request wakes threads three times on its way,
#: which takes a virtual machine 50 us and more each time: the service time must be much longer.
CAPACITY = 100


@dataclass(frozen=True)
class Model:
    """A queue in Kendall's notation, with a capacity of `CAPACITY` requests per second."""

    name: str
    servers: int
    exponential: bool

    @property
    def service_s(self) -> float:
        return self.servers / CAPACITY

    def mean(self, rate: float) -> float:
        if self.servers > 1:
            return queue.mean_of_several(self.servers, rate, self.service_s)
        return queue.mean_response(rate, self.service_s, self.service_s if self.exponential else 0.0)

    def p99(self, rate: float) -> float:
        probability: Callable[[float], float] = lambda time: (  # noqa: E731
            1 - queue.exceeds(self.servers, rate, self.service_s, time)
            if self.exponential
            else queue.waits_at_most(rate, self.service_s, time)
        )
        return queue.where(probability, 0.99, 0.4) + (0.0 if self.exponential else self.service_s)


MODELS = (Model("M/M/1", 1, True), Model("M/D/1", 1, False), Model("M/M/4", 4, True))
UTILISATIONS = (0.3, 0.6, 0.85)


@pytest.mark.parametrize("utilisation", UTILISATIONS)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_the_accounts_arithmetic_is_what_the_formulas_say(model: Model, utilisation: float) -> None:
    rate, chance, requests = CAPACITY * utilisation, np.random.default_rng(11), 1_000_000
    gaps = chance.exponential(1 / rate, requests)
    fixed = np.full(requests, model.service_s)
    services = chance.exponential(model.service_s, requests) if model.exponential else fixed
    responses = queue.served(gaps, services, model.servers)
    title = f"{model.name} at {utilisation:.0%}, 1,000,000 simulated requests"
    agrees(f"{title}: mean", float(responses.mean()), model.mean(rate), full=0.02, loose=0.02)
    agrees(f"{title}: p99", float(np.quantile(responses, 0.99)), model.p99(rate), full=0.04, loose=0.04)


@pytest.mark.parametrize("utilisation", UTILISATIONS)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_the_measurement_is_what_the_account_says(model: Model, utilisation: float) -> None:
    rate, seconds = CAPACITY * utilisation, bound(20, 3)

    def check() -> None:
        service_us = int(model.service_s * 1e6)
        with ReferenceServer(
            service_us=service_us, exponential=model.exponential, servers=model.servers
        ) as server:
            specification = server.specification("oltp_point_select", clients=64, duration_s=seconds)
            result, _ = load(paced(specification, (rate, seconds), arrivals="poisson"))
        expected = [time / SECOND for time in server.account["responses_ns"]]
        response = operation(result, "transaction")["response"]
        assert len(expected) == result["lifetime"]["transactions"]
        title = f"{model.name} at {utilisation:.0%}, measured"
        mean, p99 = response["mean_ns"] / SECOND, response["p99_ns"] / SECOND
        agrees(f"{title}: mean", mean, sum(expected) / len(expected), full=0.03, loose=1.0)
        agrees(f"{title}: p99", p99, queue.quantile(expected, 0.99), full=0.07, loose=1.0)

    undisturbed(check)
