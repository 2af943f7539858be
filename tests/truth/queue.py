"""What arithmetic says of a queue: the answers that a measurement is held against."""

from __future__ import annotations

import math
from collections.abc import Sequence


def stalled(due_s: Sequence[float], stall: tuple[float, float], capacity_per_s: float) -> list[float]:
    """Response times of requests due at these instants (in order) at a server that stands still for a while.

    One after the other, each takes `1 / capacity`; nothing is begun between the two instants of `stall`, and what
    is under way then takes so much longer (Lindley's recursion, 1952, with one interruption).
    """
    begin, end = stall
    service, free = 1 / capacity_per_s, -math.inf
    found = []
    for due in due_s:
        start = max(due, free)
        if begin <= start < end:
            start = end
        free = start + service + (end - begin if start < begin < start + service else 0.0)
        found.append(free - due)
    return found


def quantile(values: Sequence[float], share: float) -> float:
    """The value that `share` of all do not exceed: the smallest such one, as the engine's histograms have it."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def mean_response(rate_per_s: float, service_mean: float, service_stdev: float) -> float:
    """Mean response time at one server under Poisson arrivals (Pollaczek 1930, Khinchine 1932), in the unit of the service.

    `S + lambda E[S^2] / (2 (1 - rho))`, times in seconds: M/D/1 with no deviation, M/M/1 with one equal to the mean.
    """
    utilisation = rate_per_s * service_mean
    second_moment = service_mean**2 + service_stdev**2
    return service_mean + rate_per_s * second_moment / (2 * (1 - utilisation))
