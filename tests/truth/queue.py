"""Queueing theory: the known answers that measurements are compared with."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray


def stalled(due_s: Sequence[float], stall: tuple[float, float], capacity_per_s: float) -> list[float]:
    """Response times of requests due at these instants (in order) at a server that stands still for a while.

    One after the other, each takes `1 / capacity`. No service starts between the two instants of `stall`, and
    one under way then is longer by the stall (Lindley's recursion, 1952, with one interruption).
    """
    begin, end = stall
    service, free = 1 / capacity_per_s, -math.inf
    responses = []
    for due in due_s:
        start = max(due, free)
        if begin <= start < end:
            start = end
        free = start + service + (end - begin if start < begin < start + service else 0.0)
        responses.append(free - due)
    return responses


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that `share` of all do not exceed, as in the engine's histograms."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def mean_response(rate_per_s: float, service_mean: float, service_stdev: float) -> float:
    """Mean response time at one server under Poisson arrivals (Pollaczek 1930, Khinchine 1932), in the unit
    of the service.

    `S + lambda E[S^2] / (2 (1 - rho))`, times in seconds: M/D/1 with no deviation, M/M/1 with one equal to
    the mean.
    """
    utilisation = rate_per_s * service_mean
    second_moment = service_mean**2 + service_stdev**2
    return service_mean + rate_per_s * second_moment / (2 * (1 - utilisation))


def busy_probability(servers: int, load: float) -> float:
    """The probability that a request finds all servers busy under Poisson arrivals and exponential service
    (Erlang C, 1917).

    `load` is the rate times the mean service time, less than the number of servers.
    """
    blocked = 1.0  # Erlang B by its recursion in the number of servers
    for server in range(1, servers + 1):
        blocked = load * blocked / (server + load * blocked)
    return blocked / (1 - load / servers * (1 - blocked))


def mean_of_several(servers: int, rate_per_s: float, service_s: float) -> float:
    """Mean response time of M/M/c, in seconds: `S + C S / (c (1 - rho))`."""
    load = rate_per_s * service_s
    return service_s + busy_probability(servers, load) * service_s / (servers - load)


def exceeds(servers: int, rate_per_s: float, service_s: float, time_s: float) -> float:
    """The probability that an M/M/c response takes longer than `time_s`: a wait of 0 or exponential, then a
    service.
    """
    busy = busy_probability(servers, rate_per_s * service_s)
    end, drain = 1 / service_s, servers / service_s - rate_per_s
    alone = math.exp(-end * time_s)
    if math.isclose(end, drain):  # both exponential with one rate: an Erlang distribution of order 2
        return alone + busy * end * time_s * alone
    return alone + busy * end / (end - drain) * (math.exp(-drain * time_s) - alone)


def waits_at_most(rate_per_s: float, service_s: float, time_s: float) -> float:
    """The probability that an M/D/1 wait takes at most `time_s` (Erlang 1909)."""
    load = rate_per_s * service_s
    terms = (
        (rate_per_s * (k * service_s - time_s)) ** k
        / math.factorial(k)
        * math.exp(-rate_per_s * (k * service_s - time_s))
        for k in range(int(time_s / service_s) + 1)
    )
    return (1 - load) * math.fsum(terms)


def where(probability: Callable[[float], float], share: float, most_s: float) -> float:
    """The time at which a rising probability reaches `share`, between 0 and `most_s`, by bisection."""
    low, high = 0.0, most_s
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if probability(middle) < share else (low, middle)
    return high


def served(gaps_s: NDArray[np.float64], services_s: NDArray[np.float64], servers: int) -> NDArray[np.float64]:
    """Response times of requests, given interarrival and service times, at servers with one queue."""
    arrivals = np.cumsum(gaps_s)
    if servers == 1:  # a request starts once all before it are done: at the latest end of any of them
        work = np.cumsum(services_s)
        return work + np.maximum.accumulate(arrivals - (work - services_s)) - arrivals
    free, responses = [0.0] * servers, np.empty(len(arrivals))
    for k, (now, service) in enumerate(zip(arrivals.tolist(), services_s.tolist(), strict=True)):
        done = max(now, free[0]) + service
        heapq.heapreplace(free, done)
        responses[k] = done - now
    return responses
